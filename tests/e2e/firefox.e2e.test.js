// The built package in a real Firefox: what the other files prove at length in Chromium, once over, because its IndexedDB,
// its locks and its channels between tabs are other code.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { temporary } from "./harness/chromium.js";
import { LEFT_OUT, kill, launch } from "./harness/firefox.js";
import { Lab, interrupted, reload } from "./harness/tabs.js";

/** A kill for each, so many milliseconds after enough turns were acknowledged. */
const PAUSES = [0, 5, 20, 60, 150];
const ENOUGH = 12;

/** Turns without end; the test hears of each that is stored. */
async function chatter(page, acknowledge) {
  await page.exposeFunction("acknowledge", acknowledge);
  await page.evaluate(async () => {
    await session.get();
    for (let n = 1; ; n += 1) {
      const { id } = await exchange(`${n}@${performance.timeOrigin}`);
      acknowledge([id, ids(await session.messages())]);
    }
  });
}

describe("Firefox", { skip: LEFT_OUT, timeout: 300_000 }, () => {
  let lab;
  before(async () => { lab = await Lab.start(launch); });
  after(() => lab.close());

  test("what is gone from the database comes back from the mirror", async (t) => {
    const name = lab.fresh("mirror");
    const page = await lab.tab(t, name);
    const result = await page.evaluate(async (database) => {
      await exchange(1);
      await exchange(2);
      const { MirrorFiles } = await import("/pkg/mirror-files.js");
      const { open } = await import("/pkg/index.js");
      const before = JSON.stringify(await session.messages());
      const newest = (await session.get()).checkpoint.id;
      const seen = async () => {
        const [chain] = await (await MirrorFiles.open(database, "default")).chains();
        return chain && (await (await MirrorFiles.open(database, "default")).read(chain)).bundles.at(-1).sessions[0].head.id;
      };
      for (let left = 400; left > 0 && (await seen().catch(() => null)) !== newest; left -= 1) await new Promise((resolve) => setTimeout(resolve, 25));
      await store.close();
      await new Promise((resolve) => { indexedDB.deleteDatabase(database).onsuccess = resolve; });
      const anew = await open({ name: database });
      const [done] = await anew.recover();
      const after = JSON.stringify(await (await anew.session(done.sessionId)).messages());
      await anew.close();
      return [done.action, done.sessionId === session.id, done.lastSeq - done.restoredSeq, after === before];
    }, name);
    assert.deepEqual(result, ["restored", true, 0, true]);
  });

  test("turns are there after a reload, with every kind of value; a restore is undone and redone after another", async (t) => {
    // P-07, A-20, R12.
    const name = lab.fresh("reload");
    const page = await lab.tab(t, name);
    const before = await page.evaluate(async () => {
      await session.append([{ ...kit.user("rich"), ...kit.richValues(), largest: 2n ** 1_000_000n - 1n }]);
      await exchange(1);
      await exchange(2);
      await session.restore("q2");
      const { _durability } = (await session.get()).checkpoint;
      return { backend: (await store.status()).backend, level: _durability.level, mode: _durability.mode };
    });
    assert.deepEqual(before, { backend: "indexeddb", level: "disk", mode: "strict" });
    await reload(page, name);
    const undone = await page.evaluate(async () => {
      const [rich] = await session.messages();
      const seen = [await kit.difference({ ...kit.user("rich"), ...kit.richValues(), largest: 2n ** 1_000_000n - 1n }, rich), ids(await session.messages())];
      await session.undo();
      return [...seen, ids(await session.messages())];
    });
    assert.deepEqual(undone, [null, "rich q1 a1", "rich q1 a1 q2 a2"]);
    await reload(page, name);
    const redone = await page.evaluate(async () => {
      await session.redo();
      return [ids(await session.messages()), (await store.verify()).faults];
    });
    assert.deepEqual(redone, ["rich q1 a1", []]);
  });

  test("a tab hears of the other's turn and goes on from it; while the other answers, it may not go back; when the other is closed, the answer is told as interrupted", async (t) => {
    const name = lab.fresh("tabs");
    const [a, b] = [await lab.tab(t, name), await lab.tab(t, name)];
    await b.evaluate(() => { globalThis.told = kit.heard(store, "turn.ended"); });
    await a.evaluate(() => exchange(1));
    assert.equal(await b.evaluate(() => told.then(() => session.messages()).then(ids)), "q1 a1");
    assert.equal(await b.evaluate(() => exchange(2).then(() => session.messages()).then(ids)), "q1 a1 q2 a2");

    await a.evaluate(() => session.get().then(() => growing(3, "half an ans")).then(() => {}));
    const busy = await b.evaluate(async () => {
      const { streaming } = await session.get();
      return [streaming.message.content, (await refusal(session.restore("q1"))).code, (await store.status()).interrupted.length];
    });
    assert.deepEqual(busy, ["half an ans", "ActiveRun", 0]);
    await a.close();
    await interrupted(b, 1);
  });

  test("whatever a page was told is stored is there, whole, at the next start of a Firefox that was killed in the midst of its writing", async (t) => {
    // R2, P-07.
    const profile = temporary("firefox-killed");
    const acknowledged = [];
    const judge = async (page) => {
      const found = await page.evaluate(async (known) => {
        const differing = [];
        for (const [id, messages] of known) {
          const tuple = await session.get(id).catch(() => null);
          if (tuple === null || ids(tuple.state.messages) !== messages) differing.push(id);
        }
        const { faults } = await store.verify();
        return { differing, faults, dataLost: (await store.status()).dataLost };
      }, acknowledged);
      assert.deepEqual(found, { differing: [], faults: [], dataLost: false });
    };
    for (const pause of PAUSES) {
      const browser = await lab.browser({ profile });
      const page = await lab.tab(t, "killed", { on: browser });
      await judge(page);
      const goal = acknowledged.length + ENOUGH;
      await new Promise((resolve, reject) => {
        const acknowledge = (one) => acknowledged.push(one) >= goal && resolve();
        chatter(page, acknowledge).catch(reject);
      });
      await sleep(pause);
      await kill(browser, profile);
    }
    await judge(await lab.tab(t, "killed", { on: await lab.browser({ profile }) }));
    t.diagnostic(`${PAUSES.length} kills, ${acknowledged.length} acknowledged turns`);
  });

  test("an answer whose Firefox is killed opens with exactly the text that was saved, interrupted, and recover() makes it a message", async (t) => {
    // A-16, E-34.
    const profile = temporary("firefox-interrupted");
    const browser = await lab.browser({ profile });
    // Nothing is saved but what is asked for.
    const writer = await lab.tab(t, "interrupted", { on: browser, settings: { streamInterval: 60_000 } });
    const before = await writer.evaluate(async () => {
      const turn = await growing(1, "Once ");
      turn.stream(kit.assistant("a1", "Once upon a 😀"));
      await turn.flush();
      turn.stream(kit.assistant("a1", "Once upon a 😀 time"));
      return whole();
    });
    assert.equal(before.streaming.message.content, "Once upon a 😀");
    await kill(browser, profile);

    const page = await lab.tab(t, "interrupted", { on: await lab.browser({ profile }) });
    await interrupted(page, 1);
    assert.deepEqual(await page.evaluate(() => whole()), before);
    const recovered = await page.evaluate(async () => {
      await session.recover();
      const { messages, streaming } = await whole();
      return { messages, streaming, interrupted: (await store.status()).interrupted };
    });
    const messages = [{ id: "q1", role: "user", content: "question q1" }, { id: "a1", role: "assistant", content: "Once upon a 😀" }];
    assert.deepEqual(recovered, { messages, streaming: null, interrupted: [] });
  });
});
