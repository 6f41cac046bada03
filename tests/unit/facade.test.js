// The facade over a fake engine: order of calls, what was seen, events, sharing, arguments, failures.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createApi } from "../../pkg-template/api.js";
import { fakeGlue, gate, raw } from "./fake-engine.js";

const REGISTRY = Symbol.for("turnmark.registry");
const message = (id) => ({ id, role: "user", content: id });
const tick = () => new Promise((resolve) => setTimeout(resolve, 1));

let glue;
let api;
let unhandled;
const note = (error) => unhandled.push(error);

beforeEach(() => {
  delete globalThis[REGISTRY];
  glue = fakeGlue();
  api = createApi(glue, () => new Uint8Array());
  unhandled = [];
  process.on("unhandledRejection", note);
});

afterEach(async () => {
  await tick();
  process.off("unhandledRejection", note);
  assert.deepEqual(unhandled, [], "a rejection nobody handled");
});

const openMemory = (options) => api.open({ backend: "memory", ...options });
const callsOf = (engine, method) => engine.calls.filter(([name]) => name === method);

test("what is written continues what this owner has seen: its own writes and loads of the newest, never a broadcast", async () => {
  const store = await openMemory();
  const session = await store.session("s");
  await session.append([message("a")]);
  await session.append([message("b")]);
  const [engine] = glue.opened;
  assert.deepEqual(callsOf(engine, "append").map((call) => call.at(-1)), [null, 101]);

  engine.sessions_.get("s").epoch = 200;
  engine.emit({ type: "session.changed", sessionId: "s", epoch: 200, reason: "append", origin: "remote" });
  await assert.rejects(session.append([message("c")]), { code: "Conflict" });
  await session.state();
  await session.append([message("c")]);
  assert.equal(callsOf(engine, "append").at(-1).at(-1), 200);
});

test("two owners on one page have seen different things, though they share an engine", async () => {
  const [a, b] = [await openMemory(), await openMemory()];
  assert.equal(glue.opened.length, 1);
  await (await a.session("s")).append([message("a")]);
  await assert.rejects((await b.session("s")).append([message("b")]), { code: "NotLoaded" });
});

test("reading an older checkpoint is not having seen the newest", async () => {
  const [a, b] = [await openMemory(), await openMemory()];
  const { id } = await (await a.session("s")).append([message("a")]);
  const session = await b.session("s");
  await session.get(id);
  await assert.rejects(session.append([message("b")]), { code: "NotLoaded" });
  await session.get();
  await session.append([message("b")]);
});

test("a session that is gone has been seen empty once it was looked at", async () => {
  const store = await openMemory();
  const session = await store.session("s");
  await session.append([message("a")]);
  glue.opened[0].sessions_.delete("s");
  assert.deepEqual(await session.state(), {});
  await session.append([message("b")]);
});

test("a state that cannot be read must not be overwritten: failing to load is not having seen", async () => {
  const [a, b] = [await openMemory(), await openMemory()];
  await (await a.session("s")).append([message("a")]);
  glue.opened[0].sessions_.get("s").checkpoints[0].state.messages.texts[0] = "{broken";
  const session = await b.session("s");
  await assert.rejects(session.state(), (error) => error.code === "RecordUnreadable" && /message 0/.test(error.message));
  await assert.rejects(session.append([message("b")]), { code: "NotLoaded" });
});

test("calls take effect in the order they were made, even when an earlier one has a file to read", async () => {
  const store = await openMemory();
  const session = await store.session("s");
  const reading = gate();
  const blob = new Blob(["slow"]);
  const { arrayBuffer } = Blob.prototype;
  Blob.prototype.arrayBuffer = async function slow() {
    await reading;
    return arrayBuffer.call(this);
  };
  try {
    const first = session.append([{ id: "a", file: blob }]);
    const second = session.append([message("b")]);
    const state = session.messages();
    const other = await (await store.session("other")).append([message("x")]);
    assert.equal(other.messageCount, 1, "another session does not wait");
    reading.open();
    await Promise.all([first, second]);
    assert.deepEqual((await state).map(({ id }) => id), ["a", "b"]);
    assert.deepEqual([...callsOf(glue.opened[0], "append")[1][2].binaries[0][0]], [...Buffer.from("slow")]);
  } finally {
    Blob.prototype.arrayBuffer = arrayBuffer;
  }
});

test("a file that cannot be read fails its own call, naming the place, and no other", async () => {
  const store = await openMemory();
  const session = await store.session("s");
  const { arrayBuffer } = Blob.prototype;
  Blob.prototype.arrayBuffer = async () => { throw new DOMException("gone", "NotReadableError"); };
  const first = session.append([{ id: "a", parts: [{ file: new Blob(["x"]) }] }]);
  const second = session.append([message("b")]);
  await assert.rejects(first, (error) => error.code === "NotStorable" && error.path === "messages[0].parts[0].file" && error.cause.name === "NotReadableError");
  Blob.prototype.arrayBuffer = arrayBuffer;
  await second;
  assert.deepEqual((await session.messages()).map(({ id }) => id), ["b"]);
});

test("what is passed is taken as it is at the call, even when the call has to wait its turn", async () => {
  const store = await openMemory();
  const session = await store.session("s");
  const held = gate();
  await session.append([message("a")]);
  const [engine] = glue.opened;
  engine.gates.set("append", held);
  const first = session.append([message("b")]);
  const late = message("c");
  const metadata = { source: "sync", note: "before" };
  const second = session.append([late], { metadata, channels: { plan: { steps: [1] } } });
  late.content = "changed";
  metadata.note = "after";
  held.open();
  await Promise.all([first, second]);
  const [, , messages, channels, , raw] = callsOf(engine, "append").at(-1);
  assert.deepEqual(messages.texts, ['{"id":"c","role":"user","content":"c"}']);
  assert.deepEqual(channels, { keys: ["plan"], texts: ['{"steps":[1]}'], binaries: null });
  assert.deepEqual(raw, { source: "sync", extra: [["note", '"before"']] });
});

test("a failed call does not hold up the next, and rejects once, with a TurnmarkError", async () => {
  const store = await openMemory();
  const session = await store.session("s");
  await session.append([message("a")]);
  glue.opened[0].fail.set("append", Object.assign(raw("QuotaExceeded", "full"), { cause: "QuotaExceededError: x" }));
  const failing = session.append([message("b")]);
  const next = session.append([message("c")]);
  await assert.rejects(failing, (error) => error.constructor.name === "TurnmarkError" && error.code === "QuotaExceeded" && error.message === "full" && error.cause === "QuotaExceededError: x");
  await next;
  glue.opened[0].fail.set("append", Object.assign(raw("Conflict"), { branch: { sessionId: "b", checkpointId: "c" } }));
  await assert.rejects(session.append([message("d")]), { code: "Conflict", branch: { sessionId: "b", checkpointId: "c" } });
  for (const thrown of [new WebAssembly.RuntimeError("unreachable"), "a string", null, { turnmark: true, code: "Unknown" }]) {
    glue.opened[0].fail.set("append", thrown ?? undefined);
    if (thrown !== null) await assert.rejects(session.append([message("d")]), { name: "TurnmarkError", code: "Internal" });
  }
});

test("messageIds is computed when it is looked at, in the order of the state", async () => {
  const store = await openMemory();
  const session = await store.session("s");
  await session.append([message("a"), { role: "user" }]);
  const second = await session.append([message("b")]);
  assert.deepEqual(second.messageIds, ["a", "b"]);
  assert.equal(second.messageCount, 3);
  assert.deepEqual({ ...second }.messageIds, ["a", "b"]);
  assert.ok(Object.isFrozen(second) && Object.isFrozen(second.metadata));
  const put = await session.put({ messages: [message("z")] });
  assert.deepEqual(put.messageIds, ["z"]);
  assert.deepEqual((await session.get(second.id)).checkpoint.messageIds, ["a", "b"]);
  assert.equal(callsOf(glue.opened[0], "messageIds").length, 0, "nothing was read for it");
});

test("message ids that the writer cannot know are asked of the engine", async () => {
  const store = await openMemory();
  const session = await store.session("s");
  const first = await session.append([message("a")]);
  await session.append([message("b")]);
  const restored = await session.rollback(first.id, { load: false });
  // Nothing that costs by the length of the chat is done when it is not asked for.
  assert.equal("messageIds" in restored.checkpoint, false);
  assert.equal("state" in restored, false);
  assert.equal(callsOf(glue.opened[0], "messageIds").length, 0);
  assert.deepEqual((await session.append([message("c")])).messageIds, ["a", "c"]);
});

test("ids that cannot be read after a commit are an error when looked at, not a failed write", async () => {
  const store = await openMemory();
  const session = await store.session("s");
  const first = await session.append([message("a")]);
  await session.rollback(first.id, { load: false });
  glue.opened[0].fail.set("messageIds", raw("RecordUnreadable", "torn"));
  const checkpoint = await session.append([message("b")]);
  assert.throws(() => checkpoint.messageIds, { code: "RecordUnreadable", message: "torn" });
});

test("a restore gives the restored state and both ids, and a failure to read it says that it was committed", async () => {
  const store = await openMemory();
  const session = await store.session("s");
  const first = await session.append([message("a")]);
  const second = await session.append([message("b")]);
  const restored = await store.checkpoints.rollback("s", first.id);
  assert.deepEqual(restored.state, { messages: [message("a")] });
  assert.equal(restored.targetCheckpointId, first.id);
  assert.equal(restored.files, "not-restored");
  assert.deepEqual(restored.parts, ["messages", "state", "ui"]);
  assert.deepEqual(restored.checkpoint.metadata.writes, ["rollback"]);
  glue.opened[0].fail.set("load", raw("RecordUnreadable", "torn"));
  await assert.rejects(session.rollback(second.id), (error) => error.code === "RecordUnreadable" && /the restore is committed, and undo\(\)/.test(error.message));
  await assert.rejects(session.append([message("c")]), { code: "NotLoaded" });
});

test("deleting the newest checkpoint leaves its owner able to go on", async () => {
  const store = await openMemory();
  const session = await store.session("s");
  await session.append([message("a")]);
  const second = await session.append([message("b")]);
  await store.checkpoints.delete("s", second.id);
  assert.deepEqual((await session.append([message("c")])).messageIds, ["a", "c"]);
});

test("an owner goes on from what it recovered, and looks first at what it dropped", async () => {
  const store = await openMemory();
  const session = await store.session("s");
  const { id } = await session.append([message("a")]);
  assert.deepEqual(await store.recover(), [{ sessionId: "s", checkpointId: id, action: "finalized" }]);
  assert.deepEqual((await session.append([message("b")])).messageIds, ["a", "b"]);
  await store.recover({ drop: true });
  await assert.rejects(session.append([message("c")]), { code: "Conflict" });
});

test("an event is heard before the operation resolves, with everything in it", async () => {
  const store = await openMemory();
  const session = await store.session("s");
  const heard = [];
  const stop = store.on("checkpoint.created", (event) => heard.push(event));
  const first = await session.append([message("a")], { metadata: { source: "sync", note: 1 } });
  assert.equal(heard.length, 1);
  assert.deepEqual(heard[0].checkpoint, first);
  assert.deepEqual(heard[0].checkpoint.messageIds, ["a"]);
  assert.equal(heard[0].origin, "local");
  await session.rollback(first.id);
  assert.deepEqual(heard.slice(1).map(({ checkpoint }) => [checkpoint.kind, checkpoint.messageIds]), [["restore-point", ["a"]], ["manual", ["a"]]]);
  stop();
  stop();
  await session.append([message("b")]);
  assert.equal(heard.length, 3);
});

test("another tab's events come in order, with their message ids read first", async () => {
  const store = await openMemory();
  await (await store.session("s")).append([message("a")]);
  const [engine] = glue.opened;
  const checkpoint = engine.sessions_.get("s").checkpoints[0].raw;
  const heard = [];
  store.on("checkpoint.created", (event) => heard.push(["created", event.origin, event.checkpoint.messageIds]));
  store.on("session.changed", (event) => heard.push(["changed", event]));
  const held = gate();
  engine.gates.set("messageIds", held);
  engine.emit({ type: "checkpoint.created", checkpoint, origin: "remote" });
  engine.emit({ type: "session.changed", sessionId: "s", epoch: 5, reason: "append", origin: "remote" });
  await tick();
  assert.deepEqual(heard, []);
  held.open();
  await tick();
  assert.deepEqual(heard, [["created", "remote", ["a"]], ["changed", { sessionId: "s", reason: "append", origin: "remote" }]]);
  engine.emit({ type: "session.changed", sessionId: "s", epoch: 6, reason: "title", origin: "remote" });
  assert.equal(heard.length, 3, "with nothing to read, at once");
});

test("nothing is read for an event that nobody listens to", async () => {
  const store = await openMemory();
  await (await store.session("s")).append([message("a")]);
  const [engine] = glue.opened;
  engine.emit({ type: "checkpoint.created", checkpoint: engine.sessions_.get("s").checkpoints[0].raw, origin: "remote" });
  await tick();
  assert.equal(callsOf(engine, "messageIds").length, 0);
});

test("a listener that throws or rejects is reported, and hurts neither the others nor the write", async () => {
  const store = await openMemory();
  const reported = [];
  const { error } = console;
  console.error = (...args) => reported.push(args.at(-1).message);
  let heard = 0;
  try {
    store.on("checkpoint.created", () => { throw new Error("sync"); });
    store.on("checkpoint.created", async () => { throw new Error("async"); });
    store.on("checkpoint.created", () => { heard += 1; });
    await (await store.session("s")).append([message("a")]);
    await tick();
  } finally {
    console.error = error;
  }
  assert.equal(heard, 1);
  assert.deepEqual(reported.sort(), ["async", "sync"]);
});

test("one listener added twice is called twice, and each stop stops one", async () => {
  const store = await openMemory();
  let heard = 0;
  const listener = () => { heard += 1; };
  const stop = store.on("session.changed", listener);
  store.on("session.changed", listener);
  const event = { type: "session.changed", sessionId: "s", epoch: 1, reason: "x", origin: "local" };
  glue.opened[0].emit(event);
  stop();
  glue.opened[0].emit(event);
  assert.equal(heard, 3);
});

test("a loss that was noticed while opening is told to those who listen afterwards", async () => {
  const { open } = glue.Engine;
  glue.Engine.open = async (options) => {
    options.listener({ type: "data.lost", message: "wiped" });
    return open(options);
  };
  const store = await openMemory();
  const heard = [];
  store.on("data.lost", (event) => heard.push(event));
  assert.deepEqual(heard, []);
  await tick();
  assert.deepEqual(heard, [{ message: "wiped", sessions: [] }]);
  const saver = new api.MemorySaver();
  saver.on("data.lost", (event) => heard.push(event));
  await saver.get("t");
  assert.equal(heard.length, 2);
});

test("owners of one store share an engine, which is closed when the last has left", async () => {
  const stores = await Promise.all([openMemory(), openMemory(), openMemory({ name: "other" })]);
  assert.equal(glue.opened.length, 2);
  await stores[0].close();
  await stores[0].close();
  assert.equal(glue.opened[0].closed, 0);
  await assert.rejects(stores[0].status(), { code: "Closed" });
  await assert.rejects((async () => { for await (const _ of stores[0].checkpoints.list("s")); })(), { code: "Closed" });
  await stores[1].status();
  await stores[1].close();
  assert.equal(glue.opened[0].closed, 1);
});

test("opening again waits for the closing to end", async () => {
  const first = await openMemory();
  const held = gate();
  glue.opened[0].gates.set("close", held);
  const closing = first.close();
  const reopening = openMemory();
  await tick();
  assert.equal(glue.opened.length, 1);
  held.open();
  await closing;
  await (await reopening).status();
  assert.equal(glue.opened.length, 2);
});

test("a closing that never ends makes the next opening time out, not hang", async () => {
  const first = await openMemory();
  glue.opened[0].gates.set("close", gate());
  first.close();
  await assert.rejects(openMemory({ timeout: 5 }), { code: "TimedOut" });
});

test("a module that never arrives makes opening time out, not hang", async () => {
  glue.initWasm = () => gate();
  await assert.rejects(openMemory({ timeout: 5 }), { code: "TimedOut" });
});

test("close waits for the calls that were made before it", async () => {
  const store = await openMemory();
  const session = await store.session("s");
  const held = gate();
  glue.opened[0].gates.set("append", held);
  const writing = session.append([message("a")]);
  const closing = store.close();
  await assert.rejects(session.append([message("b")]), { code: "Closed" });
  await tick();
  assert.equal(glue.opened[0].closed, 0);
  held.open();
  assert.equal((await writing).messageCount, 1);
  await closing;
  assert.equal(glue.opened[0].closed, 1);
});

test("a failed opening is everybody's, and the next one starts afresh", async () => {
  glue.failOpen = raw("Blocked", "another tab");
  const [a, b] = await Promise.allSettled([openMemory(), openMemory()]);
  assert.deepEqual([a.reason.code, b.reason.code], ["Blocked", "Blocked"]);
  glue.failOpen = null;
  await (await openMemory()).status();
});

test("a store cannot be open with two different settings", async () => {
  await openMemory({ maxCheckpoints: 5 });
  await assert.rejects(openMemory(), (error) => error.code === "InvalidArgument" && /maxCheckpoints 5/.test(error.message));
});

test("two copies of the package on a page share the module and the engines", async () => {
  const other = createApi(fakeGlue(), () => new Uint8Array());
  await openMemory();
  await other.open({ backend: "memory" });
  assert.equal(glue.opened.length, 1);
  assert.equal(glue.loads, 1);
});

test("the module is loaded once, and again after a failure", async () => {
  glue.failLoad = new WebAssembly.CompileError("WebAssembly.instantiate(): expected magic word 00 61 73 6d, found 3c 21 64 6f @+0");
  await assert.rejects(openMemory(), (error) => error.code === "WasmFailed" && /optimizeDeps/.test(error.message) && /turnmark\/inline/.test(error.message));
  glue.failLoad = new WebAssembly.CompileError("WebAssembly.instantiateStreaming(): violates the following Content Security Policy directive because 'unsafe-eval' is not an allowed source");
  await assert.rejects(openMemory(), (error) => error.code === "WasmFailed" && /'wasm-unsafe-eval'/.test(error.message) && error.cause === glue.failLoad);
  glue.failLoad = null;
  await Promise.all([api.init(), openMemory(), api.init(new Uint8Array())]);
  assert.equal(glue.loads, 3);
});

test("an address that answers with a page or not at all is WasmFailed with what to do", async (t) => {
  const { fetch } = globalThis;
  t.after(() => { globalThis.fetch = fetch; });
  globalThis.fetch = async () => new Response("<!doctype html>", { headers: { "content-type": "text/html" } });
  await assert.rejects(api.init("https://example.com/x.wasm"), (error) => error.code === "WasmFailed" && /https:\/\/example.com\/x.wasm/.test(error.message) && /HTML page/.test(error.message) && /optimizeDeps/.test(error.message));
  globalThis.fetch = async () => new Response("", { status: 404 });
  await assert.rejects(api.init(new URL("https://example.com/x.wasm")), (error) => error.code === "WasmFailed" && /404/.test(error.message) && /turnmark\/inline/.test(error.message));
  await api.init(new Uint8Array());
});

test("on a server, opening says what is missing, before anything is loaded", async () => {
  await assert.rejects(api.open(), (error) => error.code === "Unavailable" && /memory/.test(error.message));
  await assert.rejects(api.deleteDatabase(), { code: "Unavailable" });
  await assert.rejects(new api.IndexedDBSaver().get("s"), { code: "Unavailable" });
  assert.equal(glue.loads, 0);
});

test("memory takes the place of IndexedDB only when that was asked for", async () => {
  const store = await api.open({ fallbackToMemory: true });
  assert.equal(glue.opened[0].options.backend, "memory");
  await store.close();
  globalThis.indexedDB = {};
  glue.failOpen = raw("SchemaTooNew");
  await assert.rejects(api.open({ fallbackToMemory: true }), { code: "SchemaTooNew" });
  delete globalThis.indexedDB;
});

test("a saver's constructor loads nothing, its first call does, and a failure is not kept", async () => {
  const saver = new api.MemorySaver({ scope: "s", maxCheckpoints: 3 });
  assert.equal(glue.loads, 0);
  glue.failLoad = new Error("offline");
  await assert.rejects(saver.get("t"), { code: "WasmFailed" });
  glue.failLoad = null;
  await Promise.all([saver.put("t", { messages: [message("a")] }, { source: "message" }), saver.get("t")]);
  assert.equal(glue.opened.length, 1);
  assert.equal(glue.opened[0].options.maxCheckpoints, 3);
  await saver.close();
  await assert.rejects(saver.get("t"), { code: "Closed" });
});

test("two memory savers share nothing; a saver of a store is that store", async () => {
  const [a, b] = [new api.MemorySaver(), new api.MemorySaver()];
  await a.put("t", {}, { source: "message" });
  assert.equal(await b.get("t"), undefined);
  const store = await openMemory();
  const { put, get } = store.saver();
  await put("t", { n: 1 }, { source: "message" });
  assert.deepEqual((await get("t")).state, { n: 1 });
  await (await store.session("t")).append([message("a")]);
});

test("a saver can be extended like any class", async () => {
  class Counting extends api.MemorySaver {
    count = 0;
    async put(...args) {
      this.count += 1;
      return super.put(...args);
    }
  }
  const saver = new Counting();
  await saver.put("t", {}, { source: "message" });
  assert.equal(saver.count, 1);
});

test("a listing reads no page before it is needed", async () => {
  const store = await openMemory();
  const session = await store.session("s");
  for (let i = 0; i < 120; i += 1) await session.put({ i });
  const [engine] = glue.opened;
  const pages = () => callsOf(engine, "list").map(([, , { limit }]) => limit);
  const iterator = session.checkpoints()[Symbol.asyncIterator]();
  assert.deepEqual(pages(), []);
  await iterator.next();
  assert.deepEqual(pages(), [50]);
  await iterator.return();
  engine.calls.length = 0;
  for await (const _ of store.checkpoints.list("s", 3));
  assert.deepEqual(pages(), [3]);
  engine.calls.length = 0;
  for await (const _ of store.listCheckpoints("s", 70));
  assert.deepEqual(pages(), [50, 20]);
  engine.calls.length = 0;
  for await (const _ of store.checkpoints.list("s", { limit: 0 }));
  assert.deepEqual(pages(), []);
});

test("an export sees what was called before it; an import is before what is called after it", async () => {
  const store = await openMemory();
  const session = await store.session("s");
  const held = gate();
  const [engine] = glue.opened;
  engine.gates.set("append", held);
  engine.gates.set("import", gate());
  const writing = session.append([message("a")]);
  const exported = store.export();
  const imported = store.import("[]");
  const after = session.append([message("b")]);
  held.open();
  await writing;
  assert.equal(await exported, '["s"]');
  await tick();
  assert.equal(callsOf(engine, "append").length, 1);
  engine.gates.get("import").open();
  await Promise.all([imported, after]);
  assert.equal(callsOf(engine, "append").length, 2);
});

test("every mistaken argument is refused in words before anything is touched", async () => {
  const store = await openMemory();
  const session = await store.session("s");
  const drain = async (iterable) => { for await (const _ of iterable); };
  const cases = [
    ["InvalidId", () => store.session(5)],
    ["InvalidId", () => store.session("\ud800")],
    ["InvalidId", () => store.checkpoints.get("s", 5)],
    ["InvalidId", () => store.fork("s", undefined)],
    ["InvalidId", () => store.checkpoints.rollback("s", null)],
    ["InvalidId", () => session.append([{ id: "" , role: 1 }, { id: 7 }])],
    ["InvalidId", () => session.append([{ id: null }])],
    ["InvalidId", () => session.put({}, { source: "message", parentCheckpointId: 3 })],
    ["InvalidArgument", () => session.append("a message")],
    ["InvalidArgument", () => session.append([1])],
    ["InvalidArgument", () => session.append([], 1)],
    ["InvalidArgument", () => session.append([], { metadata: { source: "nobody" } })],
    ["InvalidArgument", () => session.append([], { channels: [] })],
    ["InvalidArgument", () => session.append([], { channels: { "\ud800": 1 } })],
    ["InvalidArgument", () => session.append([], { channels: { messages: [] } })],
    ["InvalidArgument", () => session.append([], { remove: "plan" })],
    ["InvalidArgument", () => session.put([])],
    ["InvalidArgument", () => session.put({ messages: {} })],
    ["InvalidArgument", () => session.put({}, { provisional: 1 })],
    ["InvalidArgument", () => session.put({}, { usage: { inputTokens: 1 } })],
    ["InvalidArgument", () => session.put({}, { kind: "none" })],
    ["InvalidArgument", () => store.saver().put("s", {})],
    ["InvalidArgument", () => store.saver().put("s", {}, {})],
    ["InvalidArgument", () => store.saver().putWrites("s", {}, "t")],
    ["InvalidArgument", () => session.rollback("c", { parts: ["files"] })],
    ["InvalidArgument", () => session.rollback("c", { load: 1 })],
    ["InvalidArgument", () => store.checkpoints.prune("s", -1)],
    ["InvalidArgument", () => store.checkpoints.prune("s", 1.5)],
    ["InvalidArgument", () => store.checkpoints.pin("s", "c", "yes")],
    ["InvalidArgument", () => store.checkpoints.diff("a", "b")],
    ["InvalidArgument", () => session.preview({ operation: "destroy" })],
    ["InvalidArgument", () => session.log({ limit: "x" })],
    ["InvalidArgument", () => session.setTitle(5)],
    ["InvalidArgument", () => store.import({})],
    ["InvalidArgument", () => store.import("{}", { onExisting: "overwrite" })],
    ["InvalidArgument", () => store.export({ sessions: "s" })],
    ["InvalidArgument", () => store.recover({ drop: 1 })],
    ["InvalidArgument", () => drain(session.checkpoints({ limit: NaN }))],
    ["InvalidArgument", () => drain(session.checkpoints({ filter: [] }))],
    ["InvalidArgument", () => drain(session.checkpoints({ filter: { source: "nobody" } }))],
    ["InvalidId", () => drain(session.checkpoints({ before: 1 }))],
    ["InvalidArgument", () => api.open({ backend: "disk" })],
    ["InvalidArgument", () => api.open({ durability: "none" })],
    ["InvalidArgument", () => api.open({ maxCheckpoints: -1 })],
    ["InvalidArgument", () => api.open({ timeout: 0 })],
    ["InvalidArgument", () => api.open({ timeout: 2 ** 31 })],
    ["InvalidArgument", () => api.open("name")],
    ["InvalidArgument", () => api.deleteDatabase(5)],
    ["NotStorable", () => session.append([{ id: "a", f() {} }])],
    ["NotStorable", () => session.put(new Map([["plan", 1]]))],
    ["NotStorable", () => session.append(Object.assign([message("a")], { total: 1 }))],
    ["NotStorable", () => session.put({ messages: new (class Log extends Array {})() })],
    ["InvalidArgument", () => session.put({}, new (class Meta { source = "message"; })())],
    ["NotStorable", () => session.put({ get plan() { return 1; } })],
    ["NotStorable", () => session.put({}, { bytes: new Uint8Array(1) })],
    ["NotStorable", () => session.put(new Proxy({}, { ownKeys() { throw new Error("x"); } }))],
    ["NotStorable", () => session.append(new Proxy([{}], { get() { throw new Error("x"); } }))],
  ];
  for (const [code, attempt] of cases) await assert.rejects(attempt, (error) => error.name === "TurnmarkError" && error.code === code && error.message.length > 20, `${attempt}`);
  assert.throws(() => store.on("nothing", () => {}), { code: "InvalidArgument" });
  assert.throws(() => store.on("restored", "f"), { code: "InvalidArgument" });
  assert.throws(() => new api.MemorySaver({ maxCheckpoints: "5" }), { code: "InvalidArgument" });
  assert.deepEqual(glue.opened[0].calls, []);
});

test("an argument that cannot be read, or that has four billion holes, is refused in words and soon, whatever reading it throws", async () => {
  const store = await openMemory();
  const session = await store.session("s");
  const drain = async (iterable) => { for await (const _ of iterable); };
  const revoked = (target) => {
    const { proxy, revoke } = Proxy.revocable(target, {});
    revoke();
    return proxy;
  };
  const throwing = (thrown) => new Proxy({}, { get: () => { throw thrown; }, ownKeys: () => { throw thrown; } });
  const readers = [
    (value) => session.append([message("a")], value), (value) => session.put({}, value), (value) => session.undo(value), (value) => session.rollback("c", value), (value) => session.restore("m", value),
    (value) => session.preview(value), (value) => session.log(value), (value) => store.history(value), (value) => store.newSession(value), (value) => store.export(value), (value) => store.import("{}", value), (value) => store.recover(value),
    (value) => store.checkpoints.diff(value, value), (value) => drain(session.checkpoints(value)), (value) => session.begin(value), (value) => session.show(value), (value) => api.open(value), async (value) => new api.MemorySaver(value),
  ];
  for (const value of [revoked({}), revoked([]), throwing(new Error("x")), throwing(null), throwing("text"), throwing(revoked({}))]) {
    for (const read of readers) await assert.rejects(() => read(value), (error) => error.name === "TurnmarkError" && ["InvalidArgument", "InvalidId", "NotStorable"].includes(error.code), `${read}`);
  }
  const holes = new Array(2 ** 32 - 1);
  const walkers = [() => session.append([], { remove: holes }), () => session.put({}, { source: "message", writes: holes }), () => session.rollback("c", { parts: holes }), () => store.export({ sessions: holes }), () => store.saver().putWrites("s", holes, "t")];
  const started = performance.now();
  for (const walk of walkers) await assert.rejects(walk, { code: "InvalidArgument" }, `${walk}`);
  assert.ok(performance.now() - started < 1000, "it walked over holes");
});

test("metadata that is left out gets its default where the contract says so", async () => {
  const store = await openMemory();
  const session = await store.session("s");
  await session.append([message("a")]);
  await session.put({ messages: [message("a")] }, { name: null, writes: ["x"], provisional: true, usage: { total: { input_tokens: 1 }, delta: {} } });
  const [engine] = glue.opened;
  assert.deepEqual(callsOf(engine, "append")[0][5], { source: "message", extra: [] });
  assert.deepEqual(callsOf(engine, "put")[0][3], { source: "message", name: null, writes: ["x"], provisional: true, usage: { total: { input_tokens: 1 }, delta: {} }, extra: [] });
});

test("the methods of a store, its checkpoints and its sessions may be called unbound", async () => {
  const { session, checkpoints, close, on, status } = await openMemory();
  const { append, state } = await session("s");
  on("session.changed", () => {});
  const { id } = await append([message("a")]);
  const { get, list } = checkpoints;
  assert.equal((await get("s", id)).checkpoint.id, id);
  for await (const summary of list("s")) assert.equal(summary.id, id);
  assert.deepEqual(await state(), { messages: [message("a")] });
  await status();
  await close();
});
