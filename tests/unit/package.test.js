// The built package as an application meets it, in Node, over the memory backend.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import fc from "fast-check";

const PKG = new URL(process.env.TURNMARK_PKG ?? "../../pkg/", import.meta.url);
const { ERROR_CODES, MemorySaver, TimeTravelAPI, open } = await import(new URL("index.js", PKG));
const run = promisify(execFile);

const message = (id, content = id) => ({ id, role: "user", content });
let names = 0;
const openStore = (options) => open({ backend: "memory", name: `package-${(names += 1)}`, ...options });
const collect = async (iterable) => {
  const items = [];
  for await (const item of iterable) items.push(item);
  return items;
};

/** A store of its own, closed when the test ends. */
async function storeFor(t, options) {
  const store = await openStore(options);
  t.after(store.close);
  return store;
}

// --- what must hold after any history ---------------------------------------------------------------------------------

const content = fc.oneof(fc.string({ unit: "binary" }), fc.integer(), fc.constant(undefined), fc.date({ noInvalidDate: true }), fc.uint8Array(), fc.bigInt());
const chat = fc.array(fc.record({ id: fc.constantFrom("a", "b", "c", "d"), role: fc.constantFrom("user", "assistant"), content }), { minLength: 1, maxLength: 5 });
const channels = fc.dictionary(fc.constantFrom("plan", "jobs", "__proto__", "constructor"), content, { maxKeys: 3, noNullPrototype: true });
const operation = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("append"), messages: chat, channels, remove: fc.subarray(["plan", "jobs"]) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("put"), messages: chat, channels }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("rollback"), at: fc.nat(), parts: fc.constantFrom(undefined, ["messages"], ["state"]) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("undo", "redo") }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("fork"), at: fc.nat() }) },
);

/** What an editor's history is: a list of steps and a place in it. */
class Model {
  state = {};
  past = [];
  future = [];
  checkpoints = [];

  change(state) {
    this.past.push(this.state);
    this.future = [];
    this.state = state;
  }

  step(from, to) {
    if (from.length === 0) return false;
    to.push(this.state);
    this.state = from.pop();
    return true;
  }
}

const own = (target, entries) => {
  for (const [key, value] of entries) Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  return target;
};

const steps = {
  async append(session, model, { messages, channels: set, remove }) {
    const kept = Object.entries(model.state).filter(([key]) => key !== "messages" && !remove.includes(key) && !Object.hasOwn(set, key));
    const after = remove.filter((key) => !Object.hasOwn(set, key));
    const state = own({ messages: [...(model.state.messages ?? []), ...messages] }, [...kept, ...Object.entries(set)]);
    const checkpoint = await session.append(messages, { channels: set, remove: after });
    model.change(state);
    return checkpoint;
  },
  async put(session, model, { messages, channels: set }) {
    const state = own({ messages }, Object.entries(set));
    const checkpoint = await session.put(state);
    model.change(state);
    return checkpoint;
  },
  async rollback(session, model, { at, parts }) {
    if (model.checkpoints.length === 0) return null;
    const [id, target] = model.checkpoints[at % model.checkpoints.length];
    const restored = await session.rollback(id, { parts });
    const list = !parts || parts.includes("messages") ? target : model.state;
    const rest = !parts || parts.includes("state") ? target : model.state;
    const state = own("messages" in list ? { messages: list.messages } : {}, Object.entries(rest).filter(([key]) => key !== "messages"));
    assert.deepStrictEqual((await session.get(restored.restorePointId)).state, model.state, "the restore point is the state before (R4)");
    assert.deepStrictEqual(restored.state, state, "a rollback gives what it restores (R3)");
    assert.equal(restored.targetCheckpointId, id);
    model.change(state);
    return restored.checkpoint;
  },
  undo: (session, model) => walk(session, "undo", () => model.step(model.past, model.future)),
  redo: (session, model) => walk(session, "redo", () => model.step(model.future, model.past)),
  async fork(session, model, { at }) {
    if (model.checkpoints.length === 0) return null;
    const [id, state] = model.checkpoints[at % model.checkpoints.length];
    const forked = await session.fork(id);
    assert.deepStrictEqual(await forked.state(), state, "a fork begins at its base (R6)");
    await forked.append([message("fork")]);
    return null;
  },
};

async function walk(session, direction, moves) {
  if (moves()) return (await session[direction]()).checkpoint;
  await assert.rejects(session[direction](), (error) => ["NothingToUndo", "NothingToRedo", "UnknownSession"].includes(error.code));
  return null;
}

test("R3, R4 after any history every checkpoint holds what it held, undo and redo are a walk along it, and nothing is damaged", async () => {
  const store = await openStore();
  await fc.assert(fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 14 }), async (operations) => {
    const session = await store.session();
    const model = new Model();
    for (const step of operations) {
      const checkpoint = await steps[step.do](session, model, step);
      if (checkpoint) {
        model.checkpoints.push([checkpoint.id, model.state]);
        assert.deepStrictEqual(checkpoint.messageIds, (model.state.messages ?? []).map(({ id }) => id));
      }
      assert.deepStrictEqual(await session.state(), model.state);
    }
    for (const [id, state] of model.checkpoints) assert.deepStrictEqual((await session.get(id)).state, state);
  }), { numRuns: Number(process.env.TURNMARK_RUNS ?? 60) });
  const report = await store.verify();
  assert.deepEqual(report.faults.filter(({ fault }) => fault !== "unreachable"), []);
  assert.ok(report.ok);
  await store.close();
});

// --- what the declarations promise ------------------------------------------------------------------------------------

test("every answer has the fields of its declaration", async (t) => {
  const store = await storeFor(t);
  const session = await store.session("s");
  const fields = (value) => Object.keys(value).sort().join(" ");
  const first = await session.append([message("a")], { channels: { plan: 1 } });
  const second = await session.put({ messages: [message("b")] }, { name: "named", usage: { total: { input_tokens: 2 }, delta: { input_tokens: 1 } } });
  const checkpoint = "_durability commitHash createdAt id kind messageCount messageIds metadata name parentCheckpointId pinned provisional scopeId sealed sessionId turn vector";
  assert.equal(fields(first), checkpoint);
  assert.equal(fields(second), `${checkpoint} usage`.split(" ").sort().join(" "));
  assert.deepEqual(second.usage, { total: { input_tokens: 2 }, delta: { input_tokens: 1 } });
  assert.equal(fields(await session.get()), "checkpoint metadata parentCheckpointId pendingWrites prompt state streaming ui");
  const [newest] = await collect(session.checkpoints({ limit: 1 }));
  assert.equal(fields(newest), "_durability createdAt forkedFrom head id kind messageCount metadata name parentCheckpointId pinned provisional sealed seq sessionId size source writes");
  assert.equal(fields(await session.rollback(first.id)), "checkpoint files parts restorePointId sessionId state targetCheckpointId ui");
  assert.equal(fields(await session.undo({ load: false })), "checkpoint files parts restorePointId sessionId targetCheckpointId");
  assert.equal(fields(await session.diff(first.id)), "added changed channels commonPrefix from messages removed to ui");
  assert.equal(fields((await session.log())[0]), "checkpointId createdAt seq source summary type undoable");
  assert.equal(fields(await session.preview({ operation: "prune", keepLast: 1 })), "deletes diff keeps operation targetCheckpointId");
  assert.equal(fields(await session.summary()), "active boundaryCommitHash boundaryId checkpointCount conflictOf createdAt forkedFrom headCheckpointId id messageCount number parentSessionId provisional remoteSessionId run sealed title updatedAt");
  assert.equal(fields((await collect(store.sessions()))[0]), fields(await session.summary()));
  assert.equal(fields(await store.status()), "backend connection counts dataLost deviceId durability healed interrupted level lost mirror name persisted quota runs schemaVersion scope suspect unreadable version");
  assert.equal(fields(await store.verify()), "checked faults ok quarantined");
  assert.equal(fields(await store.repair({ dryRun: true })), "actions dryRun lost");
  assert.deepEqual(first._durability.level, "memory");
  assert.equal("mode" in first._durability, false);
});

test("P-13 a rollback writes what the seed asks for, keeps the state before, and can be undone and done again", async (t) => {
  const store = await storeFor(t);
  const session = await store.session("s");
  const first = await session.append([message("a")], { channels: { plan: { step: 1 } } });
  const second = await session.append([message("b")], { channels: { plan: { step: 2 }, pending: ["tool"] } });
  const { checkpoint, state, restorePointId, parts, files } = await session.rollback(first.id);
  assert.deepEqual(state, { messages: [message("a")], plan: { step: 1 } });
  assert.equal(checkpoint.metadata.source, "manual");
  assert.deepEqual(checkpoint.metadata.writes, ["rollback"]);
  assert.equal(checkpoint.parentCheckpointId, first.id);
  assert.notDeepEqual(checkpoint.vector, second.vector);
  assert.deepEqual(parts, ["messages", "state", "ui"]);
  assert.equal(files, "not-restored");
  assert.deepEqual((await session.get(restorePointId)).state, (await session.get(second.id)).state);
  assert.deepEqual((await session.undo()).state, (await session.get(second.id)).state);
  assert.deepEqual((await session.redo()).state, state);
  assert.deepEqual((await store.undo("s")).state, (await session.get(second.id)).state);
  const partial = await session.rollback(first.id, { parts: ["messages"] });
  assert.deepEqual(partial.state, { messages: [message("a")], plan: { step: 2 }, pending: ["tool"] });
  assert.deepEqual(partial.parts, ["messages"]);
});

test("P-10 checkpoint.created carries the whole envelope, before the write's promise resolves; every listener hears it", async (t) => {
  const store = await storeFor(t);
  const other = await open({ backend: "memory", name: store.name });
  t.after(other.close);
  const heard = { store: [], other: [] };
  store.on("checkpoint.created", ({ checkpoint, origin }) => heard.store.push([checkpoint, origin]));
  other.on("checkpoint.created", ({ checkpoint }) => heard.other.push(checkpoint));
  const order = [];
  for (const event of ["checkpoint.created", "session.changed", "restored", "session.deleted"]) store.on(event, () => order.push(event));
  const session = await store.session("s");
  const first = await session.append([message("a")]);
  // The moment of the acknowledgement is read once for each.
  const timeless = (checkpoint) => ({ ...checkpoint, _durability: { ...checkpoint._durability, at: 0 } });
  assert.deepEqual(heard.store.map(([checkpoint, origin]) => [timeless(checkpoint), origin]), [[timeless(first), "local"]]);
  assert.deepEqual(heard.other.map(timeless), [timeless(first)]);
  await session.append([message("b")]);
  const { checkpoint } = await session.rollback(first.id);
  assert.deepEqual(timeless(heard.store.at(-1)[0]), timeless(checkpoint));
  assert.deepEqual(heard.store.map(([{ messageIds }]) => messageIds), [["a"], ["a", "b"], ["a", "b"], ["a"]]);
  await session.delete();
  const turn = ["checkpoint.created", "session.changed"];
  assert.deepEqual(order, [...turn, ...turn, "checkpoint.created", "checkpoint.created", "restored", "session.changed", "session.deleted"]);
});

test("R9 a writer that was not first gets Conflict, and its work is kept in a branch that the error names", async (t) => {
  const store = await storeFor(t);
  const other = await open({ backend: "memory", name: store.name });
  t.after(other.close);
  const [mine, theirs] = [await store.session("s"), await other.session("s")];
  await mine.append([message("a")]);
  await theirs.state();
  await mine.append([message("b")]);
  const error = await theirs.append([message("c")]).then(() => assert.fail(), (thrown) => thrown);
  assert.equal(error.code, "Conflict");
  const branch = await other.checkpoints.get(error.branch.sessionId, error.branch.checkpointId);
  assert.deepEqual(branch.state.messages.map(({ id }) => id), ["a", "c"]);
  assert.deepEqual((await theirs.messages()).map(({ id }) => id), ["a", "b"]);
  assert.equal((await (await other.session(error.branch.sessionId)).summary()).conflictOf, "s");
  await theirs.append([message("c")]);
});

test("R10 nothing is written over a session that was not read", async (t) => {
  const store = await storeFor(t);
  const other = await open({ backend: "memory", name: store.name });
  t.after(other.close);
  await (await store.session("s")).append([message("a")]);
  const session = await other.session("s");
  await assert.rejects(session.append([message("b")]), { code: "NotLoaded" });
  await assert.rejects(session.put({ messages: [message("b")] }), { code: "NotLoaded" });
  await session.messages();
  await assert.rejects(session.put({ messages: [] }), { code: "EmptyOverNonEmpty" });
  assert.equal((await session.put({ messages: [] }, { source: "manual", allowEmpty: true })).messageCount, 0);
});

test("P-04 a saver's ceiling holds after every put", async (t) => {
  const saver = new MemorySaver({ maxCheckpoints: 3 });
  t.after(() => saver.close());
  for (let i = 0; i < 6; i += 1) await saver.put("t", { i }, { source: "message" });
  assert.equal((await collect(saver.list("t"))).length, 3);
  assert.deepEqual((await saver.get("t")).state, { i: 5 });
});

test("llama.cpp#13552, #19372 an export holds everything: imported elsewhere, every checkpoint and the head are equal", async (t) => {
  const [store, elsewhere] = [await storeFor(t), await storeFor(t)];
  const session = await store.session("s");
  const file = new File(["bytes"], "a.txt", { type: "text/plain", lastModified: 5 });
  const ids = [(await session.append([message("a"), { id: "b", role: "user", at: new Date(5), bytes: new Uint8Array([1, 2]) }], { channels: { map: new Map([[1, 2]]) } })).id];
  ids.push((await session.append([{ id: "c", role: "assistant", file, half: "\ud800" }])).id);
  ids.push((await session.rollback(ids[0])).checkpoint.id, (await session.undo()).checkpoint.id);
  await store.saver().putWrites("s", [["a", new Set([1n])]], "task");
  await elsewhere.import(await store.export());
  for (const id of ids) {
    const [here, there] = [await session.get(id), await elsewhere.checkpoints.get("s", id)];
    const strip = ({ state, pendingWrites, metadata }) => ({ state: JSON.parse(JSON.stringify(state)), pendingWrites, metadata });
    assert.deepStrictEqual(strip(there), strip(here));
  }
  const { messages } = await (await elsewhere.session("s")).state();
  assert.equal(await messages[2].file.text(), "bytes");
  assert.equal(messages[2].file.name, "a.txt");
  assert.deepStrictEqual(messages[1], { id: "b", role: "user", at: new Date(5), bytes: new Uint8Array([1, 2]) });
  assert.equal(messages[2].half, "\ud800");
  assert.ok((await elsewhere.verify()).ok);
  await assert.rejects(elsewhere.import(await store.export()), { code: "AlreadyExists" });
  await assert.rejects(elsewhere.import('{"format":"turnmark-bundle"}'), { code: "BadBundle" });
});

test("P-15 a fork is found by its lineage, and two branches of one parent keep to themselves", async (t) => {
  const store = await storeFor(t);
  const session = await store.session("s");
  const base = await session.append([message("a")]);
  await session.append([message("b", "source")]);
  const fork = await store.fork("s", base.id, "f");
  await fork.append([message("b", "fork")]);
  const forkedFrom = { sessionId: "s", checkpointId: base.id };
  assert.deepEqual((await fork.summary()).forkedFrom, forkedFrom);
  const [found] = await collect(fork.checkpoints({ filter: { forkedFrom } }));
  assert.deepEqual(found.forkedFrom, forkedFrom);
  assert.equal(found.source, "fork");
  assert.deepEqual((await session.messages()).map((m) => m.content), ["a", "source"]);
  assert.deepEqual((await fork.messages()).map((m) => m.content), ["a", "fork"]);
  const diff = await store.checkpoints.diff({ sessionId: "s", checkpointId: (await session.summary()).headCheckpointId }, { sessionId: "f", checkpointId: (await fork.summary()).headCheckpointId });
  assert.equal(diff.commonPrefix, 1);
  assert.deepEqual(diff.messages, [{ change: "changed", id: "b", fromIndex: 1, toIndex: 1, before: message("b", "source"), after: message("b", "fork") }]);
});

test("a streaming answer is one checkpoint, and one that was cut off is told and recovered, never silently", async (t) => {
  const store = await storeFor(t);
  const session = await store.session("s");
  await session.append([message("q")]);
  for (const text of ["H", "He", "Hello"]) await session.put({ messages: [message("q"), message("a", text)] }, { source: "message", provisional: text !== "Hello" });
  assert.deepEqual((await collect(session.checkpoints())).map(({ provisional, messageCount }) => [provisional, messageCount]), [[false, 2], [false, 1]]);
  assert.deepEqual((await store.status()).interrupted, []);
  assert.deepEqual(await store.recover(), []);
});

test("errors are of one class, with a code of the list", async (t) => {
  const store = await storeFor(t);
  const attempts = [
    () => store.checkpoints.rollback("nobody", "cp_1"), () => store.checkpoints.get("__proto__"), () => store.undo("nobody"),
    () => store.fork("nobody", "cp_1"), () => new TimeTravelAPI(store.saver()).fork("nobody", "cp_1"), () => store.import("x"), () => store.checkpoints.delete("s", "\u0000"),
  ];
  for (const attempt of attempts) {
    await assert.rejects(attempt, (error) => error.name === "TurnmarkError" && ERROR_CODES.includes(error.code) && error.message.length > 20);
  }
});

test("a store can be disposed of", { skip: !Symbol.asyncDispose }, async () => {
  const store = await openStore();
  await store[Symbol.asyncDispose]();
  await assert.rejects(store.status(), { code: "Closed" });
  const saver = new MemorySaver();
  await saver.put("t", {}, { source: "message" });
  saver[Symbol.dispose]();
  await assert.rejects(saver.get("t"), { code: "Closed" });
});

test("closing and opening a memory store again starts empty; while somebody has it open, it is the same", async () => {
  const first = await openStore();
  const second = await open({ backend: "memory", name: first.name });
  await (await first.session("s")).append([message("a")]);
  await first.close();
  assert.equal((await (await second.session("s")).messages()).length, 1);
  await second.close();
  const third = await open({ backend: "memory", name: first.name });
  assert.deepEqual(await (await third.session("s")).state(), {});
  await third.close();
});

// --- how it is loaded ---------------------------------------------------------------------------------------------------

const entry = (name) => JSON.stringify(new URL(name, PKG).href);
const node = async (code) => (await run(process.execPath, ["--input-type=module", "-e", code], { cwd: fileURLToPath(PKG) })).stdout.trim();
const use = 'const store = await open({ backend: "memory" }); const { messageIds } = await (await store.session("s")).append([{ id: "a" }]); await store.close(); console.log(messageIds.join());';

test("turnmark/inline carries its module with it", async () => {
  assert.equal(await node(`import { open } from ${entry("inline.js")}; globalThis.fetch = () => { throw new Error("fetched"); }; ${use}`), "a");
});

test("the module can be given as bytes, as a compiled module or as an address", async () => {
  const read = `import { readFile } from "node:fs/promises"; const bytes = await readFile(new URL(${entry("wasm/turnmark_bg.wasm")}));`;
  for (const source of ["bytes", "new WebAssembly.Module(bytes)", `new URL(${entry("wasm/turnmark_bg.wasm")})`, 'new Response(bytes, { headers: { "content-type": "application/wasm" } })']) {
    assert.equal(await node(`${read} import { open, init } from ${entry("index.js")}; await Promise.all([init(${source}), init(${source})]); ${use}`), "a", source);
  }
});

test("importing any entry on a server touches nothing, and opening there says what is missing", async () => {
  const code = `
    for (const name of ["window", "document", "indexedDB", "localStorage", "navigator", "fetch"]) {
      Object.defineProperty(globalThis, name, { configurable: true, get() { throw new Error("touched " + name); } });
    }
    const { open } = await import(${entry("index.js")});
    await import(${entry("inline.js")});
    await import(${entry("testing.js")});
    delete globalThis.indexedDB;
    await open().catch((error) => console.log(error.code));`;
  assert.equal(await node(code), "Unavailable");
});
