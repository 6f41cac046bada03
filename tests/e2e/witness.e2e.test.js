// A browser that has thrown its databases away says nothing: a store that is empty because of that must not look like a new one.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { launch, openPage, temporary } from "./harness/chromium.js";
import { PAGES, PKG } from "./harness/paths.js";
import { serve } from "./harness/server.js";

/** Sessions of a profile, each started on a fresh browser: `live(work)` runs it on a page. */
async function lives(t) {
  const server = await serve({ mounts: { "/": PAGES, "/pkg/": PKG } });
  t.after(() => server.close());
  const profile = temporary("witness");
  return {
    wipe: () => rmSync(join(profile, "Default/IndexedDB"), { recursive: true }),
    async live(work, options) {
      const context = await launch({ profile });
      try {
        const page = await openPage(t, context, `${server.origin}/blank.html`, options);
        await page.evaluate(async () => {
          const { open, deleteDatabase } = await import("/pkg/index.js");
          Object.assign(globalThis, { open, deleteDatabase, lost: [] });
          globalThis.start = async (scope = "default") => {
            const store = await open({ name: "w", scope });
            store.on("data.lost", ({ message, sessions }) => lost.push({ message, sessions }));
            await new Promise((resolve) => setTimeout(resolve, 20));
            return store;
          };
          globalThis.say = async (store, id, times) => {
            const session = await store.session(id);
            await session.state();
            for (let i = 0; i < times; i += 1) await session.append([{ id: `${id}${Math.random()}`, role: "user", content: "x" }]);
          };
          globalThis.settle = () => new Promise((resolve) => setTimeout(resolve, 1200));
        });
        return await page.evaluate(work);
      } finally {
        await context.close();
      }
    },
  };
}

test("a database that is gone is told once, with its sessions and how far they were, before anything is written", { timeout: 120_000 }, async (t) => {
  // element-hq/element-web#9109: an evicted store looks merely empty.
  const { live, wipe } = await lives(t);
  await live(async () => {
    const store = await start();
    await say(store, "long", 3);
    await say(store, "short", 1);
    await say(await start("other scope"), "elsewhere", 1);
    await say(store, "deleted", 2);
    await (await store.session("deleted")).delete();
    await settle();
  });
  wipe();
  const told = await live(async () => {
    const store = await start();
    const { dataLost, lost: list, counts } = await store.status();
    await say(store, "long", 1);
    await settle();
    return { lost, dataLost, list, counts };
  });
  const sessions = [{ sessionId: "long", lastSeq: 2, foundSeq: null }, { sessionId: "short", lastSeq: 0, foundSeq: null }];
  assert.deepEqual([told.lost.map((one) => one.sessions), told.dataLost, told.list, told.counts.sessions], [[sessions], true, sessions, 0]);
  assert.match(told.lost[0].message, /2 sessions hold less than before \("long", "short"\)/);
  const next = await live(async () => {
    const store = await start();
    return [lost, (await store.status()).dataLost];
  });
  assert.deepEqual(next, [[], false], "it is told once");
  const other = await live(async () => {
    await start("other scope");
    return lost.map(({ sessions: gone }) => gone);
  });
  assert.deepEqual(other, [[{ sessionId: "elsewhere", lastSeq: 0, foundSeq: null }]], "each scope has a witness of its own");
});

test("what its owner deletes is not lost, and neither is what was pruned", { timeout: 60_000 }, async (t) => {
  const { live } = await lives(t);
  await live(async () => {
    const store = await start();
    await say(store, "s", 5);
    await store.checkpoints.prune("s", 1);
    await say(store, "gone", 2);
    await settle();
    await (await store.session("gone")).delete();
    for await (const { id, head } of (await store.session("s")).checkpoints()) if (head) await store.checkpoints.delete("s", id);
    await store.close();
  });
  const after = await live(async () => {
    await (await start()).close();
    await deleteDatabase("w");
    const store = await start();
    return [lost, (await store.status()).dataLost];
  });
  assert.deepEqual(after, [[], false]);
});

test("a browser without files has a witness all the same, one that can remember nothing is no hindrance, and a forged one harms nobody", { timeout: 60_000 }, async (t) => {
  const { live, wipe } = await lives(t);
  const init = () => {
    navigator.storage.getDirectory = () => Promise.reject(new Error("no files"));
  };
  const without = { init };
  await live(async () => {
    await say(await start(), "s", 2);
    await settle();
    // Time for localStorage to reach the disk.
    await new Promise((resolve) => setTimeout(resolve, 6000));
  }, without);
  wipe();
  const told = await live(async () => {
    await start();
    const [key] = Object.keys(localStorage);
    localStorage.setItem(key, '[["__proto__", 1], ["x", -1], ["y", 1e12], 3, null, ["z"], ["ok", 7]]');
    return lost.map(({ sessions }) => sessions);
  }, without);
  assert.deepEqual(told, [[{ sessionId: "s", lastSeq: 1, foundSeq: null }]]);
  const blind = await live(async () => {
    Storage.prototype.getItem = () => {
      throw new Error("forbidden");
    };
    const store = await start();
    await say(store, "t", 1);
    await store.close();
    return lost;
  }, without);
  assert.deepEqual(blind, []);
});
