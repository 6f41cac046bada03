// turnmark/checkpoint-store, the store API of seed 000, over the built package and the memory backend.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import fc from "fast-check";

const PKG = new URL(process.env.TURNMARK_PKG ?? "../../pkg/", import.meta.url);
const { TurnmarkError, open } = await import(new URL("index.js", PKG));
const { createCheckpointStore } = await import(new URL("checkpoint-store.js", PKG));

const openMemory = (options) => open({ ...options, backend: "memory" });
const scopeOf = (projectId) => `project:${projectId}/checkpoint-store`;
const snapshots = (...texts) => texts.map((content, i) => ({ id: `m${i}`, role: i % 2 ? "assistant" : "user", content }));
const target = (tagName) => ({ projectId: "p", tagName, classNames: ["a"], boundingRect: { x: 0.5, y: -0, width: 1, height: 2 } });
const png = (seed, length = 3000) => `data:image/png;base64,${Buffer.from(new Uint8Array(length).map((_, i) => i * seed)).toString("base64")}`;
const shot = (id, dataUrl = png(7)) => ({ id, dataUrl, serverPath: `/tmp/${id}.png`, source: "inspector", selector: "#a" });
const foreign = (id, more) => ({
  id, name: id, createdAt: 5, targets: [], screenshots: [], messageIds: [], commitHash: null, isSessionBoundary: false, messages: [], ...more,
});
const ids = (store) => store.checkpoints.map(({ id }) => id);
const until = async (test) => {
  for (let i = 0; !test(); i += 1) {
    assert.ok(i < 500, `never: ${test}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
};

let names = 0;
let name;
let opened;
let errors;
let unhandled;
const note = (error) => unhandled.push(error);

beforeEach(() => {
  name = `checkpoint-store-${(names += 1)}`;
  opened = [];
  errors = [];
  unhandled = [];
  process.on("unhandledRejection", note);
});

afterEach(async () => {
  await Promise.all(opened.map((store) => store.close()));
  await new Promise((resolve) => setTimeout(resolve, 1));
  process.off("unhandledRejection", note);
  assert.deepEqual(unhandled, [], "a rejection nobody handled");
  assert.deepEqual(errors, [], "an error nobody expected");
});

/** A store of its own view, as a tab has it: what is stored is shared by name. */
function create(options) {
  const store = createCheckpointStore({ name, projectId: "p", open: openMemory, onError: (error) => errors.push(error), ...options });
  opened.push(store);
  return store;
}

/** The storage of a project as Turnmark sees it, kept open, so that the memory outlives a store's close. */
async function storage(projectId = "p") {
  const store = await openMemory({ name, scope: scopeOf(projectId), maxCheckpoints: 20 });
  opened.push(store);
  return store;
}

/** Opens that wait, for one project, until they are let go. */
function heldOpens(projectId) {
  let release;
  const held = new Promise((resolve) => {
    release = resolve;
  });
  return { release, open: async (options) => {
    if (options.scope === scopeOf(projectId)) await held;
    return openMemory(options);
  } };
}

const sessionsOf = async (store) => {
  const list = [];
  for await (const session of store.sessions()) list.push(session);
  return list;
};

// --- the seed's methods -----------------------------------------------------------------------------------------------

test("A-26, A-27 saveCheckpoint makes the seed's checkpoint from its arguments and the present targets and screenshots", async () => {
  const { saveCheckpoint, ready, setScreenshots, setTargets, getSnapshot } = create();
  await ready;
  const before = Date.now();
  setTargets([target("div")]);
  setScreenshots([shot("s1")]);
  const saved = await saveCheckpoint("Prompt 1", ["u1", "a1"], "abc1234", true, snapshots("hi", "there"));
  const { id, createdAt, ...rest } = saved;
  assert.match(id, /^cp-\d+-\d+$/);
  assert.equal(typeof createdAt, "number");
  assert.ok(createdAt >= before && createdAt <= Date.now());
  assert.equal(Number(id.split("-")[1]), createdAt);
  assert.deepStrictEqual(rest, {
    name: "Prompt 1", targets: [target("div")], screenshots: [shot("s1")], messageIds: ["u1", "a1"], commitHash: "abc1234",
    isSessionBoundary: true, messages: snapshots("hi", "there"),
  });
  assert.deepEqual(getSnapshot().checkpoints, [saved]);
  const plain = await saveCheckpoint("Prompt 2", []);
  assert.deepEqual([plain.messageIds, plain.commitHash, plain.isSessionBoundary, plain.messages], [[], null, false, []]);
  assert.notEqual(plain.id, id);
});

test("A-34, A-35 a rehydrated list equals what was saved, in order, and createdAt is a number", async () => {
  await storage();
  const store = create();
  store.setTargets([target("a")]);
  store.setScreenshots([shot("s1"), shot("s2", png(11)), shot("s3", "data:image/svg+xml,<svg/>"), shot("s4", "blob:x")]);
  const one = await store.saveCheckpoint("Prompt 1", []);
  const foreignOne = foreign("f0f0", { createdAt: "1721000000123", screenshots: [shot("x", `${png(3)}=`)], extra: { kept: [1] } });
  await store.setCheckpoints([foreignOne, one]);
  const last = await store.saveCheckpoint("Session 1", ["u"], null, true, snapshots("u"));
  await store.updateCheckpointMessages(one.id, snapshots("x", "y"));
  await store.close();

  const again = create();
  await again.ready;
  assert.deepStrictEqual(again.checkpoints, store.checkpoints);
  assert.deepEqual(ids(again), ["f0f0", one.id, last.id]);
  assert.deepStrictEqual(again.checkpoints[0], { ...foreignOne, createdAt: 1721000000123 });
  assert.deepStrictEqual(again.checkpoints[1], { ...one, messageIds: ["m0", "m1"], messages: snapshots("x", "y") });
});

test("A-28 loadCheckpoint gives the checkpoint and brings its targets and screenshots back; of an unknown id undefined, and nothing changes", async () => {
  const store = create();
  store.setTargets([target("div")]);
  store.setScreenshots([shot("s1")]);
  const saved = await store.saveCheckpoint("Prompt 1", []);
  store.setTargets([target("p")]);
  store.setScreenshots([]);
  assert.equal(store.loadCheckpoint("nope"), undefined);
  assert.deepEqual(store.targets, [target("p")]);
  assert.equal(store.loadCheckpoint(saved.id), saved);
  assert.deepStrictEqual(store.targets, [target("div")]);
  assert.deepStrictEqual(store.screenshots, [shot("s1")]);
});

test("A-29 removeCheckpoint removes from memory and storage, once and for all; one that is not there is no error", async () => {
  await storage();
  const store = create();
  const [a, b] = [await store.saveCheckpoint("a", []), await store.saveCheckpoint("b", [])];
  await store.removeCheckpoint(a.id);
  await store.removeCheckpoint(a.id);
  assert.deepEqual(store.checkpoints, [b]);
  await store.close();
  const again = create();
  await again.ready;
  assert.deepEqual(again.checkpoints, [b]);
});

test("A-30 setCheckpoints replaces the whole list in one transaction, and writes only what is not there already", async () => {
  const kept = await storage();
  const store = create();
  for (const text of ["a", "b", "c"]) await store.saveCheckpoint(text, []);
  const [a, b, c] = store.checkpoints;
  const session = await kept.session("checkpoints");
  const count = async () => (await session.summary()).checkpointCount;
  const before = await count();
  await store.setCheckpoints([c, foreign("__proto__"), a]);
  assert.equal(await count(), before + 1);
  assert.deepEqual(ids(store), [c.id, "__proto__", a.id]);
  assert.equal(store.checkpoints[0], c, "what did not change keeps its identity");
  assert.equal(store.checkpoints[2], a);
  const list = store.checkpoints;
  await store.setCheckpoints([...list.map((checkpoint) => structuredClone(checkpoint))]);
  assert.equal(store.checkpoints, list);
  assert.equal(await count(), before + 1, "nothing to write");
  assert.ok(await session.state().then((state) => !Object.keys(state).some((key) => key.includes(b.id))));
  await store.setCheckpoints([]);
  assert.deepEqual(store.checkpoints, []);
  const again = create();
  await again.ready;
  assert.deepEqual(again.checkpoints, []);
});

test("A-31 updateCheckpointMessages sets messages and messageIds and nothing else; a removed checkpoint is not brought back", async () => {
  const session = await (await storage()).session("checkpoints");
  const store = create();
  const first = await store.saveCheckpoint("Session 1", ["x"], "hash", true, snapshots("old"));
  await store.saveCheckpoint("Prompt 2", []);
  const updated = await store.updateCheckpointMessages(first.id, snapshots("new", "er"));
  assert.deepStrictEqual(updated, { ...first, messages: snapshots("new", "er"), messageIds: ["m0", "m1"] });
  assert.equal(store.checkpoints[0], updated);
  const { headCheckpointId } = await session.summary();
  assert.equal(await store.updateCheckpointMessages(first.id, snapshots("new", "er")), updated);
  assert.equal((await session.summary()).headCheckpointId, headCheckpointId, "what is the same is not written again (B3)");
  await store.removeCheckpoint(first.id);
  await assert.rejects(store.updateCheckpointMessages(first.id, []), { code: "UnknownCheckpoint" });
  assert.equal(store.checkpoints.length, 1);
});

test("A-32 checkpoints is frozen, is another array only when something changed, and is no window on the caller's objects", async () => {
  const store = create();
  const targets = [target("div")];
  const messages = snapshots("hi");
  store.setTargets(targets);
  const saving = store.saveCheckpoint("a", ["u"], null, false, messages);
  messages[0].content = "changed after the call";
  targets[0].tagName = "changed after the call";
  const saved = await saving;
  assert.equal(saved.messages[0].content, "hi");
  assert.equal(saved.targets[0].tagName, "div");
  for (const part of [store.checkpoints, saved, saved.targets[0].classNames, saved.messages[0], saved.messageIds, saved.screenshots]) {
    assert.ok(Object.isFrozen(part));
  }
  const [list, snapshot] = [store.checkpoints, store.getSnapshot()];
  await store.removeCheckpoint("nope");
  assert.equal(store.checkpoints, list);
  assert.deepEqual((await store.updateCheckpointMessages(saved.id, snapshots("hi"))).messageIds, ["m0"]);
  assert.notEqual(store.checkpoints, list, "messageIds changed");
  const second = store.checkpoints;
  await store.updateCheckpointMessages(saved.id, snapshots("hi"));
  store.setTargets([target("div")]);
  store.setScreenshots([]);
  assert.equal(store.checkpoints, second);
  assert.notEqual(store.getSnapshot(), snapshot);
  assert.equal(store.getSnapshot(), store.getSnapshot());
});

test("subscribe and getSnapshot are what useSyncExternalStore needs: every change is told, nothing else is", async () => {
  const store = create();
  let calls = 0;
  const stop = store.subscribe(() => {
    calls += 1;
  });
  await store.ready;
  const at = calls;
  await store.saveCheckpoint("a", []);
  assert.equal(calls, at + 1);
  store.setTargets([]);
  store.setTargets([target("p")]);
  store.setTargets([target("p")]);
  assert.equal(calls, at + 2);
  // Its own event makes it look at the storage once more, which is no change.
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(calls, at + 2);
  stop();
  stop();
  await store.saveCheckpoint("b", []);
  assert.equal(calls, at + 2);
});

// --- durability and loading -------------------------------------------------------------------------------------------

test("B3 a save resolves after the commit and its failure reaches the caller; nothing then shows what is not stored", async () => {
  let failing = false;
  const failure = Object.assign(new Error("the disk is full"), { name: "TurnmarkError", code: "QuotaExceeded" });
  const store = create({
    open: async (options) => {
      const real = await openMemory(options);
      return { ...real, session: async (id) => {
        const session = await real.session(id);
        return { ...session, append: (...args) => (failing ? Promise.reject(failure) : session.append(...args)) };
      } };
    },
  });
  await storage();
  const kept = await store.saveCheckpoint("kept", []);
  failing = true;
  await assert.rejects(store.saveCheckpoint("lost", []), { code: "QuotaExceeded" });
  await assert.rejects(store.removeCheckpoint(kept.id), { code: "QuotaExceeded" });
  await assert.rejects(store.setCheckpoints([]), { code: "QuotaExceeded" });
  assert.deepEqual(store.checkpoints, [kept]);
  failing = false;
  await store.saveCheckpoint("later", []);
  const again = create();
  await again.ready;
  assert.deepEqual(again.checkpoints.map((checkpoint) => checkpoint.name), ["kept", "later"]);
});

test("B3 one save writes one checkpoint, and a screenshot in all of them is stored once, as bytes", async () => {
  const kept = await storage();
  const store = create();
  store.setScreenshots([shot("s", png(5, 30_000))]);
  await store.saveCheckpoint("a", []);
  const { counts: first } = await kept.status();
  for (let i = 0; i < 10; i += 1) await store.saveCheckpoint(`b${i}`, []);
  const { counts } = await kept.status();
  assert.equal(counts.checkpoints, first.checkpoints + 10);
  const text = await kept.export();
  assert.ok(!text.includes("data:image/png;base64,A"), "the data URL is not stored as it is");
  const size = text.length - (await kept.export({ sessions: [] })).length;
  assert.ok(size < 3 * 40_000, `${size} characters for eleven times the same image of 40,000`);
});

test("A-36 calls made before the list is loaded wait for it, in their order", async () => {
  await storage();
  const first = create();
  const old = await first.saveCheckpoint("old", []);
  const { open: slowly, release } = heldOpens("p");
  const store = create({ open: slowly });
  const done = [];
  const calls = [
    store.saveCheckpoint("a", []).then(() => done.push("save")),
    store.removeCheckpoint(old.id).then(() => done.push("remove")),
    store.saveCheckpoint("b", []).then(() => done.push("save")),
  ];
  assert.equal(store.loaded, false);
  assert.throws(() => store.loadCheckpoint(old.id), { code: "NotLoaded" });
  await new Promise((resolve) => setTimeout(resolve, 10));
  assert.deepEqual(done, []);
  assert.deepEqual(first.checkpoints, [old]);
  release();
  await Promise.all(calls);
  assert.deepEqual(done, ["save", "remove", "save"]);
  assert.deepEqual(store.checkpoints.map((checkpoint) => checkpoint.name), ["a", "b"]);
});

test("A-36 when loading fails nothing is written, everyone hears why, and the next call tries again", async () => {
  let failures = 2;
  const store = create({ open: (options) => (failures-- > 0 ? Promise.reject(new TurnmarkError("Blocked", "another tab")) : openMemory(options)) });
  await assert.rejects(store.ready, { code: "Blocked" });
  assert.equal(store.error.code, "Blocked");
  await assert.rejects(store.saveCheckpoint("a", []), { code: "Blocked" });
  assert.deepEqual([store.loaded, store.checkpoints.length], [false, 0]);
  assert.deepEqual(errors.splice(0).map(({ code }) => code), ["Blocked", "Blocked"]);
  await store.saveCheckpoint("b", []);
  assert.deepEqual([store.loaded, store.error, store.checkpoints.length], [true, null, 1]);
});

test("nothing is opened until the store is used, as on a server; there it fails with Unavailable and touches nothing", async () => {
  let opens = 0;
  const store = create({ open: (options) => {
    opens += 1;
    return openMemory(options);
  } });
  assert.deepEqual([store.getSnapshot().loaded, store.checkpoints, store.projectId], [false, [], "p"]);
  assert.equal(opens, 0);
  await store.ready;
  assert.equal(opens, 1);
  const onServer = createCheckpointStore({ onError: () => {} });
  await assert.rejects(onServer.saveCheckpoint("a", []), { code: "Unavailable" });
  await onServer.close();
});

// --- projects ---------------------------------------------------------------------------------------------------------

test("A-36, B4 switching clears the list, targets and screenshots first, and loads the other project's", async () => {
  await storage("q");
  const other = create({ projectId: "q" });
  const theirs = await other.saveCheckpoint("theirs", []);
  const store = create();
  const mine = await store.saveCheckpoint("mine", []);
  store.setTargets([target("p")]);
  store.setScreenshots([shot("s")]);
  const seen = [];
  store.subscribe(() => seen.push([store.projectId, store.loaded, ids(store)]));
  const switching = store.switchProject("q");
  assert.deepEqual([store.projectId, store.loaded, store.checkpoints, store.targets, store.screenshots], ["q", false, [], [], []]);
  await switching;
  assert.deepEqual(seen[0], ["q", false, []]);
  assert.deepEqual(seen.at(-1), ["q", true, [theirs.id]]);
  assert.ok(seen.every(([, , list]) => !list.includes(mine.id)));
  const list = store.checkpoints;
  await store.switchProject("q");
  assert.equal(store.checkpoints, list, "switching to where one is changes nothing");
});

test("R10, A-36 what began under one project ends in it, however the projects are switched meanwhile", async () => {
  await storage("p");
  await storage("q");
  const store = create();
  const calls = [store.saveCheckpoint("p1", [])];
  store.switchProject("q");
  calls.push(store.saveCheckpoint("q1", []), store.saveCheckpoint("q2", []));
  store.switchProject("p");
  calls.push(store.saveCheckpoint("p2", []));
  store.switchProject("q");
  calls.push(store.updateCheckpointMessages((await calls[1]).id, snapshots("x")));
  await Promise.all(calls);
  const content = async (projectId) => {
    const reader = create({ projectId });
    await reader.ready;
    return reader.checkpoints.map((checkpoint) => checkpoint.name).sort();
  };
  assert.deepEqual(await content("p"), ["p1", "p2"]);
  assert.deepEqual(await content("q"), ["q1", "q2"]);
  await store.ready;
  assert.equal(store.checkpoints[0].messages[0].content, "x");
});

test("A-36 a project that is slow to load never shows in the one that was switched to", async () => {
  await storage("p");
  await create().saveCheckpoint("p1", []);
  const { open: slowly, release } = heldOpens("p");
  const store = create({ open: slowly });
  const late = store.saveCheckpoint("p2", []);
  await store.switchProject("q");
  const mine = await store.saveCheckpoint("q1", []);
  const snapshot = store.getSnapshot();
  release();
  assert.equal((await late).name, "p2");
  assert.equal(store.getSnapshot(), snapshot);
  assert.deepEqual(store.checkpoints, [mine]);
});

test("A-37 a project that is deleted while something of it is still to be written stays deleted", async () => {
  const p = await storage("p");
  const { open: slowly, release } = heldOpens("p");
  let isFirst = true;
  const store = create({ open: (options) => {
    if (!isFirst) return openMemory(options);
    isFirst = false;
    return slowly(options);
  } });
  store.ready.catch(() => {});
  const late = store.saveCheckpoint("p1", []);
  await store.switchProject("q");
  const deleting = store.deleteProject("p");
  setTimeout(release, 10);
  await Promise.all([late, deleting]);
  assert.deepEqual(await sessionsOf(p), []);
});

test("A-38 projects are isolated by their exact ids", async () => {
  const odd = ["p", "p/checkpoint-store", "P", "p ", "p-0", "__proto__"];
  const stores = odd.map((projectId) => create({ projectId }));
  await Promise.all(stores.map((store, i) => store.saveCheckpoint(odd[i], [])));
  for (const [i, projectId] of odd.entries()) {
    const reader = create({ projectId });
    await reader.ready;
    assert.deepEqual(reader.checkpoints, stores[i].checkpoints);
    assert.equal(reader.checkpoints[0].name, projectId);
  }
});

test("A-37 deleting a project deletes everything of it, what is still being written included, and nothing of another", async () => {
  const [p, q] = [await storage("p"), await storage("q")];
  const store = create();
  store.setScreenshots([shot("s")]);
  const late = store.saveCheckpoint("p1", []);
  await store.switchProject("q");
  const kept = await store.saveCheckpoint("q1", []);
  await store.deleteProject("p");
  await late;
  assert.deepEqual(await sessionsOf(p), []);
  assert.deepEqual(store.checkpoints, [kept]);
  store.saveCheckpoint("q2", []);
  await store.deleteProject("q");
  assert.deepEqual(store.checkpoints, []);
  assert.deepEqual(await sessionsOf(q), []);
  assert.equal((await q.status()).counts.objects, 0, "no object is left behind");
  await store.saveCheckpoint("anew", []);
  assert.equal(store.checkpoints.length, 1);
});

// --- other tabs -------------------------------------------------------------------------------------------------------

test("another tab's changes appear: what it saves, updates, removes and deletes", async () => {
  const [a, b] = [create(), create()];
  await Promise.all([a.ready, b.ready]);
  const one = await a.saveCheckpoint("one", []);
  await until(() => b.checkpoints.length === 1);
  assert.deepStrictEqual(b.checkpoints, [one]);
  const two = await b.saveCheckpoint("two", []);
  await until(() => a.checkpoints.length === 2);
  assert.equal(a.checkpoints[0], one, "what did not change keeps its identity");
  await b.updateCheckpointMessages(one.id, snapshots("x"));
  await until(() => a.checkpoints[0].messages.length === 1);
  await b.removeCheckpoint(two.id);
  await until(() => a.checkpoints.length === 1);
  await b.deleteProject("p");
  await until(() => a.checkpoints.length === 0);
  await a.saveCheckpoint("three", []);
  await until(() => b.checkpoints.length === 1);
});

test("R9 tabs that write at once all succeed, lose nothing, give distinct ids in one millisecond, and leave no branch behind", async (t) => {
  const kept = await storage();
  const tabs = [create(), create(), create()];
  await Promise.all(tabs.map((tab) => tab.ready));
  const shared = await tabs[0].saveCheckpoint("shared", []);
  t.mock.method(Date, "now", () => 1_721_000_000_000);
  const saved = await Promise.all(tabs.flatMap((tab, i) => [
    tab.saveCheckpoint(`a${i}`, []), tab.saveCheckpoint(`b${i}`, [], null, true, snapshots("x")), tab.saveCheckpoint(`c${i}`, []),
  ]));
  assert.equal(new Set(saved.map(({ id }) => id)).size, 9);
  assert.ok(saved.every(({ id }) => /^cp-1721000000000-\d+$/.test(id)));
  await Promise.all([
    tabs[1].removeCheckpoint(saved[0].id), tabs[2].updateCheckpointMessages(shared.id, snapshots("y")), tabs[0].saveCheckpoint("d", []),
  ]);
  await until(() => tabs.every((tab) => tab.checkpoints.length === 10 && tab.loadCheckpoint(shared.id).messages.length === 1));
  for (const tab of tabs.slice(1)) assert.deepStrictEqual(tab.checkpoints, tabs[0].checkpoints);
  const fresh = create();
  await fresh.ready;
  assert.deepStrictEqual(fresh.checkpoints, tabs[0].checkpoints);
  assert.deepEqual((await sessionsOf(kept)).map(({ id }) => id), ["checkpoints"]);
});

test("A-27 an id that is taken is not given again", async (t) => {
  const store = create();
  t.mock.method(Date, "now", () => 1_721_000_000_000);
  const first = await store.saveCheckpoint("first", []);
  const count = Number(first.id.split("-")[2]);
  await store.setCheckpoints([first, foreign(`cp-1721000000000-${count + 1}`)]);
  const second = await store.saveCheckpoint("second", []);
  assert.equal(second.id, `cp-1721000000000-${count + 2}`);
  assert.equal(store.checkpoints.length, 3);
});

test("a tab that is behind and updates a checkpoint that another one removed is told, and does not bring it back", async () => {
  const [a, b] = [create(), create()];
  const one = await a.saveCheckpoint("one", []);
  await b.ready;
  const [removed, updated] = await Promise.allSettled([a.removeCheckpoint(one.id), b.updateCheckpointMessages(one.id, snapshots("x"))]);
  assert.equal(removed.status, "fulfilled");
  assert.equal(updated.reason?.code, "UnknownCheckpoint");
  await until(() => a.checkpoints.length === 0 && b.checkpoints.length === 0);
});

test("a branch that a dead tab left is cleared away when the list is next loaded", async () => {
  const kept = await storage();
  const store = create();
  await store.saveCheckpoint("one", []);
  const behind = await openMemory({ name, scope: scopeOf("p"), maxCheckpoints: 20 });
  opened.push(behind);
  const session = await behind.session("checkpoints");
  await session.state();
  await store.saveCheckpoint("two", []);
  await assert.rejects(session.append([], { channels: { "checkpoint:x": 1 } }), { code: "Conflict" });
  assert.equal((await sessionsOf(kept)).length, 2);
  const next = create();
  await next.ready;
  assert.equal(next.checkpoints.length, 2);
  for (let i = 0; (await sessionsOf(kept)).length > 1; i += 1) assert.ok(i < 100);
});

test("any mix of calls in two tabs ends with both showing what is stored, and every acknowledged call in it", async () => {
  const call = fc.record({
    tab: fc.nat(1), at: fc.nat(5), do: fc.constantFrom("save", "save", "remove", "update", "move"), wait: fc.boolean(), shots: fc.nat(2),
  });
  await fc.assert(fc.asyncProperty(fc.array(call, { maxLength: 14 }), async (calls) => {
    name = `checkpoint-store-${(names += 1)}`;
    const tabs = [create(), create()];
    await Promise.all(tabs.map((tab) => tab.ready));
    const [saved, gone, pending] = [new Set(), new Set(), []];
    for (const { tab: index, at, do: what, wait, shots } of calls) {
      const tab = tabs[index];
      const id = ids(tab)[at % (tab.checkpoints.length || 1)];
      tab.setScreenshots(Array.from({ length: shots }, (_, i) => shot(`s${i}`, png(i + 2, 300))));
      let done;
      if (what === "save") done = tab.saveCheckpoint("x", []).then((checkpoint) => saved.add(checkpoint.id));
      else if (id === undefined || what === "move") continue;
      else if (what === "remove") done = tab.removeCheckpoint(id).then(() => gone.add(id));
      else done = tab.updateCheckpointMessages(id, snapshots(`${at}`)).catch((error) => assert.equal(error.code, "UnknownCheckpoint"));
      pending.push(done);
      if (wait) await done;
    }
    await Promise.all(pending);
    const fresh = create();
    await fresh.ready;
    assert.deepEqual(ids(fresh).sort(), [...saved].filter((id) => !gone.has(id)).sort());
    for (const tab of tabs) {
      await until(() => JSON.stringify(tab.checkpoints) === JSON.stringify(fresh.checkpoints));
    }
    await Promise.all([...tabs, fresh].map((store) => store.close()));
  }), { numRuns: Number(process.env.TURNMARK_RUNS ?? 40) });
});

// --- limits and mistakes ----------------------------------------------------------------------------------------------

test("more than five screenshots are TooLarge, before anything is written", async () => {
  const store = create();
  const six = Array.from({ length: 6 }, (_, i) => shot(`s${i}`));
  store.setScreenshots(six.slice(0, 5));
  assert.throws(() => store.setScreenshots(six), { code: "TooLarge" });
  assert.equal(store.screenshots.length, 5);
  await store.saveCheckpoint("a", []);
  await assert.rejects(store.setCheckpoints([foreign("x"), foreign("y", { screenshots: six })]), { code: "TooLarge" });
  assert.equal(store.checkpoints.length, 1);
  assert.equal(store.checkpoints[0].screenshots.length, 5);
});

test("A-25 a wrong argument, a message of another form included, is refused with its place, before anything is written", async () => {
  const store = create();
  const invalid = { code: "InvalidArgument" };
  await store.ready;
  const cyclic = { a: [] };
  cyclic.a.push(cyclic);
  assert.throws(() => store.setTargets([cyclic]), { code: "NotStorable", path: "targets[0].a[0]" });
  assert.throws(() => store.setTargets([{ file: new Blob(["x"]) }]), { code: "NotStorable", path: "targets[0].file" });
  assert.throws(() => store.setTargets("div"), invalid);
  assert.throws(() => store.setScreenshots([{ id: "a" }]), invalid);
  await assert.rejects(store.saveCheckpoint(5, []), invalid);
  await assert.rejects(store.saveCheckpoint("a", [1]), invalid);
  await assert.rejects(store.saveCheckpoint("a", [], 5), invalid);
  await assert.rejects(store.saveCheckpoint("a", [], null, "yes"), invalid);
  await assert.rejects(store.saveCheckpoint("a", [], null, true, [{ id: "m", role: "system", content: "" }]), invalid);
  await assert.rejects(store.saveCheckpoint("a", [], null, true, [{ id: "m", role: "user", content: [] }]), invalid);
  await assert.rejects(store.setCheckpoints([foreign("x"), foreign("x")]), invalid);
  await assert.rejects(store.setCheckpoints([foreign("x", { createdAt: "yesterday" })]), invalid);
  for (const id of ["", "x".repeat(257), 5, "\ud800"]) {
    await assert.rejects(store.removeCheckpoint(id), { code: "InvalidId" });
    await assert.rejects(store.setCheckpoints([{ ...foreign("x"), id }]), { code: "InvalidId" });
    assert.throws(() => store.loadCheckpoint(id), { code: "InvalidId" });
  }
  await assert.rejects(store.switchProject(""), invalid);
  assert.throws(() => createCheckpointStore({ projectId: 5 }), invalid);
  assert.deepEqual([store.projectId, store.checkpoints], ["p", []]);
});

test("ids of any form are kept: those that are channels, prototype names, or long", async () => {
  await storage();
  const store = create();
  const odd = ["messages", "__proto__", "constructor", "checkpoint:x", "x", "cp-1721000000-1", "é".repeat(256), " "];
  await store.setCheckpoints(odd.map((id) => foreign(id)));
  await store.updateCheckpointMessages("messages", snapshots("x"));
  await store.removeCheckpoint("x");
  const again = create();
  await again.ready;
  assert.deepEqual(ids(again), odd.filter((id) => id !== "x"));
  assert.deepStrictEqual(again.checkpoints, store.checkpoints);
});

test("a closed store has finished what was asked for, and refuses the rest", async () => {
  await storage();
  const store = create();
  const saving = store.saveCheckpoint("a", []);
  await store.close();
  assert.equal((await saving).name, "a");
  await assert.rejects(store.saveCheckpoint("b", []), { code: "Closed" });
  await assert.rejects(store.ready, { code: "Closed" });
  await assert.rejects(store.switchProject("q"), { code: "Closed" });
  assert.throws(() => store.loadCheckpoint("a"), { code: "Closed" });
  await store.close();
  const again = create();
  await again.ready;
  assert.equal(again.checkpoints.length, 1);
});

test("B1 the caller names the session whose messages it updates: nothing is guessed from the order of the list", async () => {
  const store = create();
  const old = await store.saveCheckpoint("Session 1", ["m0"], null, true, snapshots("old"));
  const now = await store.saveCheckpoint("Session 2", [], null, true, []);
  await store.updateCheckpointMessages(now.id, snapshots("new"));
  assert.equal(store.loadCheckpoint(old.id), old, "the finished session holds what it held");
});
