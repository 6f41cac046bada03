// Faults at every single request of every operation, on the real IndexedDB of a real Chromium.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, openPage } from "./harness/chromium.js";
import { PAGES, PKG } from "./harness/paths.js";
import { serve } from "./harness/server.js";

let server;
let context;

before(async () => {
  server = await serve({ mounts: { "/": PAGES, "/pkg/": PKG } });
  context = await launch();
});
after(async () => {
  await context.close();
  await server.close();
});

test("a request that throws, an abort, or a closed connection at any request leaves the state before or after, and the next call works", { timeout: 600_000 }, async (t) => {
  // R2; dexie/Dexie.js#613, devashishdxt/rexie#6: every promise settles, with a typed error.
  // Two pages of two origins, hence with databases of their own, halve the time.
  const pages = await Promise.all(["127.0.0.1", "localhost"].map(async (host) => {
    const page = await openPage(t, context, `${server.origin.replace("127.0.0.1", host)}/blank.html`, { expected: [/a test says so/] });
    await page.evaluate(async () => { globalThis.faults = await import("/faults.js"); });
    return page;
  }));
  const names = await pages[0].evaluate(() => faults.NAMES);
  const waiting = [...names];
  const results = {};
  await Promise.all(pages.map(async (page) => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) results[name] = await page.evaluate((operation) => faults.examine(operation), name);
  }));
  for (const name of names) {
    await t.test(name, () => {
      assert.deepEqual(results[name].wrong, []);
      assert.ok(results[name].tried > 3, "hardly any request: nothing was tried");
    });
  }
  t.diagnostic(`${Object.values(results).reduce((sum, { tried }) => sum + tried, 0)} faults in ${names.length} operations`);
});
