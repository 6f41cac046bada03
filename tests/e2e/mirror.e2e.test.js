// What a browser leaves that throws its databases away: the newest checkpoints of each session, in files. They are a second behind at most, told
// at the next start, and come back by recover().
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
  const profile = temporary("mirror");
  const prepare = (page) => page.evaluate(async () => {
    const { open, deleteDatabase } = await import("/pkg/index.js");
    const { MirrorFiles } = await import("/pkg/mirror-files.js");
    Object.assign(globalThis, { open, deleteDatabase, told: [] });
    globalThis.sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    globalThis.start = async (options = {}) => {
      const store = await open({ name: "m", ...options });
      store.on("data.recoverable", ({ sessions }) => told.push(sessions));
      await store.status();
      return store;
    };
    globalThis.say = async (store, id, times, size = 1) => {
      const session = await store.session(id);
      await session.state();
      for (let i = 0; i < times; i += 1) await session.append([{ id: `${id}${Math.random()}`, role: "user", content: "x".repeat(size) }]);
      return session;
    };
    globalThis.chains = () => navigator.locks.request('turnmark-mirror:["m","default"]:files', async () => (await MirrorFiles.open("m", "default")).chains());
    /** Waits until the mirror has the newest checkpoint of each of these sessions. */
    globalThis.mirrored = async (...ids) => {
      for (let left = 400; left > 0; left -= 1) {
        const seqs = new Map((await chains()).filter(({ held }) => !held).map(({ session, seq }) => [session, seq]));
        if (ids.every(([id, seq]) => seqs.get(id) === seq)) return;
        await sleep(25);
      }
      throw new Error(`not mirrored in 10 s: ${JSON.stringify(await chains())}`);
    };
    globalThis.everything = async (store, id) => {
      const list = [];
      for await (const { id: checkpointId } of (await store.session(id)).checkpoints()) {
        const { state, pendingWrites, checkpoint } = await (await store.session(id)).get(checkpointId);
        list.push({ checkpointId, state: JSON.stringify(state), pendingWrites, pinned: checkpoint.pinned, name: checkpoint.name });
      }
      return list;
    };
  });
  return {
    wipe: () => rmSync(join(profile, "Default/IndexedDB"), { recursive: true }),
    async live(...works) {
      const context = await launch({ profile });
      try {
        let answer;
        for (const work of works) {
          const page = await openPage(t, context, `${server.origin}/blank.html`);
          await prepare(page);
          answer = await page.evaluate(work);
        }
        return answer;
      } finally {
        await context.close();
      }
    },
  };
}

test("after a wipe every session comes back up to the mirror's last checkpoint, and what is missing is said", { timeout: 120_000 }, async (t) => {
  // lobehub/lobehub#8238, CherryHQ/cherry-studio#15423: every chat was gone, and nothing brought one back.
  const { live, wipe } = await lives(t);
  const before = await live(async () => {
    const store = await start();
    const long = await say(store, "long", 25, 3000);
    await long.put({ messages: await long.messages(), plan: { days: 7, when: new Date(5) }, picture: new Blob([new Uint8Array(100_000)]) });
    const [newest] = await everything(store, "long");
    await store.checkpoints.pin("long", newest.checkpointId);
    await store.saver().putWrites("long", [["x", 1]], "task");
    await (await store.session("long")).setTitle("A long one");
    await say(store, "short", 2);
    await (await say(store, "other", 1)).fork((await everything(store, "other"))[0].checkpointId, "fork");
    await mirrored(["long", 25], ["short", 1], ["other", 0], ["fork", 0]);
    await sleep(1200);
    return Object.fromEntries(await Promise.all(["long", "short", "other", "fork"].map(async (id) => [id, (await everything(store, id)).slice(0, 20)])));
  });
  wipe();
  const after = await live(async () => {
    const store = await start();
    // Somebody goes on before anything is brought back.
    await say(store, "short", 1);
    const { mirror, lost } = await store.status();
    const done = await store.recover();
    const found = {};
    for (const { sessionId, restoredFrom } of done) found[restoredFrom] = await everything(store, sessionId);
    const titles = {};
    for await (const { id, title } of store.sessions()) titles[id] = title;
    return { told, mirror, lost, done, found, titles, short: (await everything(store, "short")).length, verified: (await store.verify()).ok, later: (await store.status()).mirror.recoverable };
  });
  assert.deepEqual(after.lost.map(({ sessionId }) => sessionId).sort(), ["fork", "long", "other", "short"]);
  assert.deepEqual(after.mirror.recoverable.map(({ sessionId, lastSeq, mirroredSeq, foundSeq }) => [sessionId, lastSeq, mirroredSeq, foundSeq]).sort(),
    [["fork", 0, 0, null], ["long", 25, 25, null], ["other", 0, 0, null], ["short", 1, 1, null]]);
  assert.deepEqual(after.told[0].map(({ sessionId }) => sessionId).sort(), ["fork", "long", "other", "short"]);
  assert.deepEqual(after.done.map(({ action, restoredSeq, lastSeq }) => [action, lastSeq - restoredSeq]), Array(4).fill(["restored", 0]));
  const names = Object.fromEntries(after.done.map(({ restoredFrom, sessionId }) => [restoredFrom, sessionId]));
  assert.deepEqual([names.long, names.other, names.fork, names.short === "short", after.short], ["long", "other", "fork", false, 1], "what is there is not written over");
  assert.equal(after.titles.long, "A long one");
  assert.deepEqual(after.found, before);
  assert.ok(after.verified);
  assert.deepEqual(after.later, []);
  const next = await live(async () => {
    const store = await start();
    const sessions = [];
    for await (const { id } of store.sessions()) sessions.push(id);
    await mirrored(...sessions.map((id) => [id, id === "long" ? 25 : id === "fork" || id === "other" || id === "short" ? 0 : 1]));
    return { told, done: await store.recover() };
  });
  assert.deepEqual(next, { told: [], done: [] }, "it is done once, and mirrored again");
});

test("a mirror that is behind, or damaged, gives what it has, and says what is missing", { timeout: 120_000 }, async (t) => {
  const { live, wipe } = await lives(t);
  await live(async () => {
    const store = await start();
    for (const id of ["cut", "flipped", "behind", "gone"]) await say(store, id, 2);
    await mirrored(["cut", 1], ["flipped", 1], ["behind", 1], ["gone", 1]);
    for (const id of ["cut", "flipped", "gone"]) await say(store, id, 3);
    await mirrored(["cut", 4], ["flipped", 4], ["gone", 4]);
    await sleep(1200);
    // From now on nothing is mirrored: the disk has no room for it.
    const { getFileHandle } = FileSystemDirectoryHandle.prototype;
    FileSystemDirectoryHandle.prototype.getFileHandle = function refusing(name, options) {
      return /^\d+-\d+$/.test(name) ? Promise.reject(new DOMException("full", "QuotaExceededError")) : getFileHandle.call(this, name, options);
    };
    await say(store, "behind", 5);
    await sleep(1500);
  }, async () => {
    const buckets = await navigator.storageBuckets.open("turnmark-mirror");
    const root = await (await buckets.getDirectory()).getDirectoryHandle("turnmark-mirror");
    const walk = async function* walk(folder) {
      for await (const [, entry] of folder.entries()) {
        if (entry.kind === "directory") yield* walk(entry);
        else yield [folder, entry];
      }
    };
    for await (const [folder, file] of walk(root)) {
      const text = await (await file.getFile()).text();
      const session = /"session":"(\w+)"/.exec(text)?.[1];
      if (file.name.endsWith("-0") && session !== "gone") continue;
      const change = { cut: () => text.slice(0, -1), flipped: () => text.replace(/x(?=[^x]*$)/, "y"), gone: () => "" }[session];
      if (!change) continue;
      if (session === "gone") await folder.removeEntry(file.name);
      else {
        const writable = await file.createWritable();
        await writable.write(change());
        await writable.close();
      }
    }
  });
  wipe();
  const { recoverable, done, lengths, lost } = await live(async () => {
    const store = await start();
    const { mirror: { recoverable: list }, lost: all } = await store.status();
    const brought = await store.recover();
    const counts = {};
    for await (const { id, messageCount } of store.sessions()) counts[id] = messageCount;
    return { recoverable: list, done: brought, lengths: counts, lost: all };
  });
  assert.deepEqual(lengths, { cut: 2, flipped: 2, behind: 2 });
  const seqs = Object.fromEntries(done.map(({ restoredFrom, restoredSeq, lastSeq, action }) => [restoredFrom, [action, restoredSeq, lastSeq]]));
  assert.deepEqual(seqs, { cut: ["restored", 1, 4], flipped: ["restored", 1, 4], behind: ["restored", 1, 6] });
  assert.equal(recoverable.length, 3);
  assert.ok(lost.some(({ sessionId }) => sessionId === "gone"), "what nobody has is told all the same");
});

test("what its owner deletes leaves the mirror: a session, a checkpoint, a database", { timeout: 90_000 }, async (t) => {
  const { live, wipe } = await lives(t);
  await live(async () => {
    const store = await start();
    await say(store, "kept", 2);
    await say(store, "deleted", 2);
    const secret = await say(store, "secret", 1);
    await secret.append([{ id: "s", role: "user", content: "my secret" }]);
    await mirrored(["kept", 1], ["deleted", 1], ["secret", 1]);
    await (await store.session("deleted")).delete();
    const [newest] = await everything(store, "secret");
    await store.checkpoints.delete("secret", newest.checkpointId);
    const deleted = (await chains()).map(({ session }) => session).sort();
    if (JSON.stringify(deleted) !== '["kept","secret"]') throw new Error(JSON.stringify(deleted));
    await sleep(2500);
    await store.close();
  }, async () => {
    const files = await (await import("/pkg/mirror-files.js")).MirrorFiles.open("m", "default");
    const all = [];
    for (const chain of await files.chains()) all.push(JSON.stringify((await files.read(chain)).bundles));
    if (all.length !== 2 || all.some((text) => text.includes("my secret"))) throw new Error("a deleted checkpoint is still in the mirror");
  });
  wipe();
  assert.deepEqual(await live(async () => {
    const store = await start();
    return (await store.recover()).map(({ sessionId }) => sessionId).sort();
  }), ["kept", "secret"]);
  assert.deepEqual(await live(async () => {
    await deleteDatabase("m");
    const store = await start();
    return [told, await store.recover(), (await chains()).length];
  }), [[], [], 0]);
});

test("one tab keeps it; when that one dies another goes on; a session deleted by one does not come back from the other", { timeout: 90_000 }, async (t) => {
  const { live } = await lives(t);
  const result = await live(async () => {
    const store = await start();
    await say(store, "s", 1);
    await mirrored(["s", 0]);
    const frame = document.createElement("iframe");
    frame.src = "/blank.html";
    await new Promise((resolve) => {
      frame.onload = resolve;
      document.body.append(frame);
    });
    const theirs = await frame.contentWindow.eval('import("/pkg/index.js")');
    const there = await theirs.open({ name: "m" });
    const session = await there.session("s");
    await session.state();
    await session.append([{ id: "m2", role: "user", content: "from the other" }]);
    await mirrored(["s", 1]);
    await (await there.session("t")).append([{ id: "m3", role: "user", content: "x" }]);
    await mirrored(["t", 0]);
    await session.delete();
    const once = (await chains()).map(({ session: id }) => id);
    await sleep(1500);
    const twice = (await chains()).map(({ session: id }) => id);
    await store.close();
    await (await there.session("u")).append([{ id: "m4", role: "user", content: "x" }]);
    await mirrored(["u", 0]);
    await there.close();
    return { once, twice, last: (await chains()).map(({ session: id }) => id).sort() };
  });
  assert.deepEqual(result, { once: ["t"], twice: ["t"], last: ["t", "u"] });
});

test("tabs that keep it in turn, and end in the middle of it, leave a mirror from which everything comes back", { timeout: 90_000 }, async (t) => {
  const { live, wipe } = await lives(t);
  const before = await live(async () => {
    const inFrame = async () => {
      const frame = document.createElement("iframe");
      frame.src = "/blank.html";
      await new Promise((resolve) => {
        frame.onload = resolve;
        document.body.append(frame);
      });
      const { open: there } = await frame.contentWindow.eval('import("/pkg/index.js")');
      return { frame, store: await there({ name: "m" }) };
    };
    const open = await Promise.all([inFrame(), inFrame(), inFrame()]);
    for (let round = 0; round < 18; round += 1) {
      const at = round % 3;
      const { frame, store } = open[at];
      const session = await store.session(`s${round % 2}`);
      await session.state();
      await session.append([{ id: `m${round}`, role: "user", content: "x".repeat(100 * round) }]);
      await sleep(130 * (round % 4));
      // Closed well, or just gone.
      if (round % 2) await store.close();
      frame.remove();
      open[at] = await inFrame();
    }
    const store = await start();
    await mirrored(["s0", 8], ["s1", 8]);
    await sleep(1200);
    return { s0: await everything(store, "s0"), s1: await everything(store, "s1") };
  });
  wipe();
  const after = await live(async () => {
    const store = await start();
    const done = await store.recover();
    return { done: done.map(({ action, lastSeq, restoredSeq }) => [action, lastSeq - restoredSeq]), s0: await everything(store, "s0"), s1: await everything(store, "s1") };
  });
  assert.deepEqual(after, { done: [["restored", 0], ["restored", 0]], ...before });
});

test("it stays within its budget, keeps what is new, and begins anew before a chain grows long", { timeout: 90_000 }, async (t) => {
  const { live } = await lives(t);
  const result = await live(async () => {
    const store = await start({ mirror: { budget: 400_000 } });
    for (let i = 0; i < 8; i += 1) {
      await say(store, `s${i}`, 1, 90_000);
      await mirrored([`s${i}`, 0]);
    }
    const kept = (await chains()).map(({ session }) => session).sort();
    await say(store, "huge", 5, 100_000);
    let { mirror } = await store.status();
    for (let left = 400; left > 0 && !mirror.full; left -= 1) {
      await sleep(25);
      ({ mirror } = await store.status());
    }
    const bytes = (await chains()).reduce((sum, chain) => sum + chain.bytes, 0);
    const lengths = [];
    for (let i = 0; i < 10; i += 1) {
      await say(store, "many", 1, 30_000);
      await mirrored(["many", i]);
      lengths.push((await chains()).find(({ session }) => session === "many").index);
    }
    return { kept, mirror, bytes, lengths };
  });
  assert.deepEqual(result.kept, ["s4", "s5", "s6", "s7"]);
  assert.ok(result.mirror.full && result.bytes <= 400_000, JSON.stringify(result.mirror));
  assert.equal(result.lengths.filter((index) => index === 0).length, 2, `the beginnings of ${result.lengths}`);
});

test("without a mirror there is none, and where a page cannot keep files nobody is hindered", { timeout: 60_000 }, async (t) => {
  const { live } = await lives(t);
  const result = await live(async () => {
    const off = await start({ mirror: false });
    await say(off, "s", 1);
    await sleep(1500);
    const none = [(await off.status()).mirror, (await chains()).length];
    await off.close();
    navigator.storage.getDirectory = () => Promise.reject(new Error("no files"));
    navigator.storageBuckets.open = () => Promise.reject(new Error("no buckets"));
    const blind = await start({ name: "blind" });
    await say(blind, "s", 1);
    await (await blind.session("s")).delete();
    const answer = [(await blind.status()).mirror, await blind.recover()];
    await blind.close();
    return [none, answer];
  });
  assert.deepEqual(result, [[null, 0], [null, []]]);
});

test("a page whose database is thrown away under it does not write over what the mirror has", { timeout: 60_000 }, async (t) => {
  const { live } = await lives(t);
  const result = await live(async () => {
    const store = await start();
    await say(store, "s", 5);
    await mirrored(["s", 4]);
    await new Promise((resolve) => { indexedDB.deleteDatabase("m").onsuccess = resolve; });
    const anew = await store.session("s");
    await anew.state();
    await anew.append([{ id: "n", role: "user", content: "new" }]);
    await sleep(2500);
    const { mirror: { recoverable } } = await store.status();
    const [{ sessionId, action, messages, restoredSeq }] = await store.recover();
    return { restoredSeq, recoverable: recoverable.map(({ mirroredSeq }) => mirroredSeq), action, messages, other: sessionId !== "s", now: (await anew.messages()).length, told: told.length };
  });
  assert.deepEqual(result, { restoredSeq: 4, recoverable: [4], action: "restored", messages: 5, other: true, now: 1, told: 1 });
});
