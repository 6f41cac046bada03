// A browser that is killed in the middle of a record leaves a torn one in LevelDB's log; the next session appends behind it, and a later one finds
// the damage and throws the whole database away, what was flushed to the disk included. A store that was not closed well is healed before anything it
// acknowledges counts as being on the disk.
import assert from "node:assert/strict";
import { test } from "node:test";
import { launch, openPage, temporary } from "./harness/chromium.js";
import { nothingIsLost, nothingIsSilentlyLost, summary, tornLogs, tornWhileClosed } from "./harness/ordeals.js";
import { PAGES, PKG } from "./harness/paths.js";
import { SEED } from "./harness/profile.js";
import { serve } from "./harness/server.js";

test("a torn log costs nothing that was on the disk, after a kill and after a clean end: the store is healed", { timeout: 240_000 }, async (t) => {
  // google/leveldb#1287: one torn record costs the origin all of its databases.
  const tally = await tornLogs({ total: 10, seed: SEED });
  t.diagnostic(`seed ${SEED}; ${summary(tally)}`);
  nothingIsLost(tally);
  assert.ok(tally.healings.length >= 2 * tally.done, "after each kill at least");
  for (const milliseconds of tally.healings) assert.ok(milliseconds > 0 && milliseconds < 5000, `healing took ${milliseconds} ms`);
});

test("without healing the same costs what was on the disk: the test does what it says", { timeout: 60_000 }, async (t) => {
  const tally = await tornLogs({ total: 3, seed: SEED, query: "unhealed", heals: false });
  t.diagnostic(`seed ${SEED}; ${summary(tally)}`);
  assert.ok(tally.lostOnDisk > 0, "nothing was lost: the log was not torn as Chromium tears it");
  // The browser says nothing, but the witness does, of what it had heard of.
  assert.ok(tally.told > 0, "the loss was not told");
});

test("what another writer of the origin tears behind a store that was closed well is not seen; what that costs is told, and comes back from the mirror", { timeout: 90_000 }, async (t) => {
  // google/leveldb#1287
  const tally = await tornWhileClosed({ total: 2, seed: SEED });
  t.diagnostic(`seed ${SEED}; ${summary(tally)}`);
  nothingIsSilentlyLost(tally);
  // The newest 20 of each session, as they were a second before at most.
  assert.ok(tally.lost === 0 || tally.broughtBack > tally.lost / 2, `of ${tally.lost} that were lost ${tally.broughtBack} came back`);
});

test("a store that is closed, reloaded, or opened beside another tab is trusted at once; one whose tab died is healed", { timeout: 60_000 }, async (t) => {
  const server = await serve({ mounts: { "/": PAGES, "/pkg/": PKG } });
  t.after(() => server.close());
  const profile = temporary("healing");
  const context = await launch({ profile });
  t.after(() => context.close());
  const page = await openPage(t, context, `${server.origin}/blank.html`);
  const opened = (on) => on.evaluate(async () => {
    const { open } = await import("/pkg/index.js");
    globalThis.heard = [];
    globalThis.store = await open({ name: "healing" });
    store.on("suspect", (event) => heard.push(["suspect", event]));
    store.on("healed", (event) => heard.push(["healed", event]));
    const session = await store.session(`s${Math.random()}`);
    const { _durability } = await session.append([{ id: "m", role: "user", content: "x" }]);
    const { suspect, healed, level } = await store.status();
    return { suspect, healed, stamp: _durability.level, level };
  });
  const trusted = { suspect: null, healed: null, stamp: "disk", level: "disk" };
  assert.deepEqual(await opened(page), trusted, "a new store");
  const other = await openPage(t, context, `${server.origin}/blank.html`);
  assert.deepEqual(await opened(other), trusted, "beside another tab");
  await page.reload();
  assert.deepEqual(await opened(page), trusted, "after a reload");
  await other.evaluate(() => store.close());
  assert.deepEqual(await opened(other), trusted, "after it was closed");
  await page.goto("about:blank");
  await page.goto(`${server.origin}/blank.html`);
  assert.deepEqual(await opened(page), trusted, "after another page");

  const session = await context.newCDPSession(page);
  const crashed = page.waitForEvent("crash");
  session.send("Page.crash").catch(() => {});
  await crashed;
  const late = await openPage(t, context, `${server.origin}/blank.html`);
  // The browser frees the locks of a page a moment after it has told that the page is gone.
  await late.evaluate(async () => {
    const stores = async () => (await navigator.locks.query()).held.filter(({ name }) => !name.startsWith("turnmark-mirror"));
    while ((await stores()).length > 1) await new Promise((resolve) => setTimeout(resolve, 20));
  });
  // Its healing waits, so that it can be looked at.
  await late.evaluate(() => new Promise((held) => {
    navigator.locks.request("turnmark-heal:healing", () => new Promise((resolve) => {
      globalThis.goOn = resolve;
      held();
    }));
  }));
  const after = await opened(late);
  assert.deepEqual([after.suspect, after.stamp, after.level], ["a page that had the store open ended without closing it", "os", "os"]);
  await late.evaluate(async () => {
    goOn();
    while (!(await store.status()).healed) await new Promise((resolve) => setTimeout(resolve, 20));
  });
  const [level, suspect, healed, heard] = await late.evaluate(async () => {
    const { suspect: why, healed: how, level: now } = await store.status();
    return [now, why, how, heard];
  });
  assert.deepEqual([level, suspect, healed.reason], ["disk", null, after.suspect]);
  assert.deepEqual(heard, [["healed", { reason: healed.reason, milliseconds: healed.milliseconds }]]);
  assert.equal(await late.evaluate(async () => (await (await store.session("t")).append([{ id: "m", role: "user", content: "x" }]))._durability.level), "disk");
  // Healed once: whoever comes next finds nothing.
  const next = await openPage(t, context, `${server.origin}/blank.html`);
  assert.deepEqual(await opened(next), trusted);
});
