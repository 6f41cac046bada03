// Four tabs that write the same sessions as fast as they can: nothing is lost (harness/race.js says what that means).
import { test } from "node:test";
import { launch } from "./harness/chromium.js";
import { PAGES, PKG } from "./harness/paths.js";
import { race } from "./harness/race.js";
import { serve } from "./harness/server.js";

test("4 tabs that race on 3 sessions lose nothing, and each session is the sum of what won", { timeout: 180_000 }, async (t) => {
  // R9; dexie/Dexie.js#2296.
  const server = await serve({ mounts: { "/": PAGES, "/pkg/": PKG } });
  t.after(() => server.close());
  const context = await launch();
  t.after(() => context.close());
  const { won, lost } = await race(t, context, `${server.origin}/blank.html`, { tabs: 4, each: 100 });
  t.diagnostic(`${won} won, ${lost} are in branches`);
});
