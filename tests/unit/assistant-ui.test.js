// turnmark/assistant-ui over the built package: the tree that assistant-ui gives is the tree it gets back.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

const PKG = new URL(process.env.TURNMARK_PKG ?? "../../pkg/", import.meta.url);
const { open } = await import(new URL("index.js", PKG));
const { createHistoryAdapter } = await import(new URL("assistant-ui.js", PKG));

let names = 0;

/** A store of its own, or another tab's of the same database; closed when the test ends. */
async function storeFor(t, name = `assistant-ui-${(names += 1)}`) {
  const store = await open({ backend: "memory", name });
  t.after(store.close);
  return store;
}

const message = (id, text = id, more = {}) => ({ id, role: "user", content: [{ type: "text", text }], createdAt: new Date(5), metadata: { custom: {} }, ...more });
const tell = (adapter, parentId, id, text) => adapter.append({ parentId, message: message(id, text) });
const collect = async (iterable) => {
  const items = [];
  for await (const item of iterable) items.push(item);
  return items;
};
const count = async (session) => (await collect(session.checkpoints())).length;
const channels = async (session) => Object.keys(await session.state()).filter((key) => key !== "messages").sort();
const edges = ({ headId, messages }) => [headId, ...messages.map(({ message: { id }, parentId }) => `${parentId}>${id}`)];
const failing = (promise) => promise.then(() => assert.fail("it did not fail"), (error) => error);

/** A store whose sessions fail as told, once. */
function flaky(store, fail) {
  const session = async (id) => {
    const real = await store.session(id);
    const through = (method) => async (...args) => {
      const error = fail.shift();
      if (error) throw error;
      return real[method](...args);
    };
    return { ...real, append: through("append"), put: through("put") };
  };
  return { ...store, session };
}

// --- any history ------------------------------------------------------------------------------------------------------

/** What a thread is, written down naively: parents, children in order, and the line that is shown. */
class Model {
  parents = new Map();
  texts = new Map();
  children = new Map([[null, []]]);
  head = null;

  below(id, other) {
    for (let at = other; at !== null; at = this.parents.get(at)) if (at === id) return true;
    return false;
  }

  put(id, parentId, text) {
    if (parentId !== null && !this.parents.has(parentId)) return false;
    if (parentId !== null && this.below(id, parentId)) return false;
    const old = this.parents.get(id);
    this.texts.set(id, text);
    if (old === parentId) return true;
    if (old !== undefined) this.children.set(old, this.children.get(old).filter((other) => other !== id));
    else {
      this.children.set(id, []);
      this.head = id;
    }
    this.parents.set(id, parentId);
    this.children.get(parentId).push(id);
    return true;
  }

  remove(id) {
    if (!this.parents.has(id)) return;
    const parentId = this.parents.get(id);
    const orphans = this.children.get(id);
    this.children.set(parentId, [...this.children.get(parentId).filter((other) => other !== id), ...orphans]);
    for (const orphan of orphans) this.parents.set(orphan, parentId);
    for (const map of [this.parents, this.texts, this.children]) map.delete(id);
    if (this.head !== id) return;
    for (this.head = parentId; this.children.get(this.head).length > 0;) this.head = this.children.get(this.head).at(-1);
  }

  edges() {
    const list = [];
    const walk = (parentId) => {
      for (const id of this.children.get(parentId)) {
        list.push(`${parentId}>${id} ${this.texts.get(id)}`);
        walk(id);
      }
    };
    walk(null);
    return [this.head, ...list];
  }

  line() {
    const ids = [];
    for (let at = this.head; at !== null; at = this.parents.get(at)) ids.unshift(at);
    return ids;
  }
}

const withTexts = ({ headId, messages }) => [headId, ...messages.map(({ message: { id, content }, parentId }) => `${parentId}>${id} ${content[0].text}`)];
const id = fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h");
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("reply"), id, text: fc.nat(99) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("append"), id, parentId: fc.option(id), text: fc.nat(99) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("update"), id, parentId: fc.option(id), text: fc.nat(99) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("delete"), id }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("reload", "other tab") }) },
);

test("any history of appends, edits, updates and deletions in two tabs comes back as the very tree, and every checkpoint holds the tree of its time", async (t) => {
  // assistant-ui/assistant-ui#4774, #4904: the tree is restored exactly, from one record of it.
  const here = await storeFor(t);
  const there = await storeFor(t, here.name);
  let session = 0;
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async (steps) => {
    const sessionId = `s${(session += 1)}`;
    const adapters = [here, there].map((store) => createHistoryAdapter({ store, sessionId }));
    const model = new Model();
    const past = [];
    let active = 0;
    for (const { do: what, id: about, parentId = model.head, text } of steps) {
      const adapter = adapters[active];
      if (what === "reload") assert.deepEqual(withTexts(await adapter.load()), model.edges());
      else if (what === "other tab") active = 1 - active;
      else if (what === "delete") {
        await adapter.delete([{ parentId: null, message: message(about) }]);
        model.remove(about);
      } else {
        const call = adapter[what === "update" ? "update" : "append"]({ parentId, message: message(about, String(text)) });
        if (model.put(about, parentId, String(text))) await call;
        else assert.equal((await failing(call)).code, "InvalidArgument");
      }
      const [newest] = await collect(here.checkpoints.list(sessionId, 1));
      if (newest && past.at(-1)?.checkpointId !== newest.id) past.push({ checkpointId: newest.id, edges: model.edges() });
    }
    assert.deepEqual(withTexts(await adapters[1].load()), model.edges());
    assert.deepEqual((await (await here.session(sessionId)).messages()).map((stored) => stored.id), model.line());
    assert.deepEqual((await collect(here.sessions())).filter(({ conflictOf }) => conflictOf), [], "a branch was left behind");
    for (const { checkpointId, edges: then } of past.slice(-4)) {
      await here.checkpoints.rollback(sessionId, checkpointId);
      assert.deepEqual(withTexts(await adapters[0].load()), then);
    }
  }), { numRuns: 300, seed: 4774 });
  assert.ok((await here.verify()).ok);
});

// --- the tree ---------------------------------------------------------------------------------------------------------

test("siblings come back with their parents and in their order, as does the line that was shown", async (t) => {
  // assistant-ui/assistant-ui#4774: a load that drops parentId flattens branches.
  const store = await storeFor(t);
  const { append } = createHistoryAdapter({ store, sessionId: "s" });
  for (const [parentId, about] of [[null, "u1"], ["u1", "a1"], ["u1", "a2"], [null, "u0"], ["u0", "a0"], ["u1", "a3"], ["a1", "u2"]]) await tell({ append }, parentId, about);
  const loaded = await createHistoryAdapter({ store: await storeFor(t, store.name), sessionId: "s" }).load();
  assert.deepEqual(edges(loaded), ["u2", "null>u1", "u1>a1", "a1>u2", "u1>a2", "u1>a3", "null>u0", "u0>a0"]);
  const session = await store.session("s");
  assert.deepEqual((await session.messages()).map((stored) => stored.id), ["u1", "a1", "u2"]);
  assert.deepEqual(await channels(session), [
    "assistant-ui/node/a0", "assistant-ui/node/a2", "assistant-ui/node/a3", "assistant-ui/node/u0", "assistant-ui/roots", "assistant-ui/siblings/u1",
  ]);
});

test("a call is one checkpoint; below the head it is an append, which costs the message only", async (t) => {
  const store = await storeFor(t);
  const adapter = createHistoryAdapter({ store, sessionId: "s" });
  assert.deepEqual(await adapter.load(), { headId: null, messages: [] });
  for (const [parentId, about] of [[null, "u1"], ["u1", "a1"], ["u1", "a2"], ["a2", "u2"]]) await tell(adapter, parentId, about);
  assert.deepEqual((await store.log("s")).map(({ type }) => type), ["append", "put", "append", "append"]);
});

test("a parent that the thread does not hold is refused and told, and nothing is written", async (t) => {
  // assistant-ui/assistant-ui#1935: a dangling id breaks the list later, far from its cause.
  const store = await storeFor(t);
  const told = [];
  const adapter = createHistoryAdapter({ store, sessionId: "s", onError: (error, failure) => told.push({ code: error.code, ...failure }) });
  await tell(adapter, null, "u1");
  const session = await store.session("s");
  const error = await failing(tell(adapter, "gone", "a1"));
  assert.match(error.message, /"a1".*"gone"/);
  assert.equal((await failing(adapter.append({ message: message("a2") }))).code, "InvalidId");
  assert.equal((await failing(tell(adapter, "u1", "u1"))).code, "InvalidArgument");
  assert.deepEqual(told, [
    { code: "InvalidArgument", operation: "append", sessionId: "s", messageIds: ["a1"] },
    { code: "InvalidId", operation: "append", sessionId: "s", messageIds: ["a2"] },
    { code: "InvalidArgument", operation: "append", sessionId: "s", messageIds: ["u1"] },
  ]);
  assert.equal(await count(session), 1);
  assert.deepEqual(edges(await adapter.load()), ["u1", "null>u1"]);
});

test("a message whose id exists is replaced where it is, on the line and beside it, and is never there twice", async (t) => {
  const store = await storeFor(t);
  const adapter = createHistoryAdapter({ store, sessionId: "s" });
  for (const [parentId, about] of [[null, "u1"], ["u1", "a1"], ["u1", "a2"], ["a2", "u2"]]) await tell(adapter, parentId, about);
  await adapter.update({ parentId: "u1", message: message("a1", "beside") });
  await tell(adapter, "u1", "a2", "on the line");
  await adapter.update({ parentId: "u2", message: message("a3", "its append never came") });
  const loaded = await adapter.load();
  assert.deepEqual(withTexts(loaded), ["a3", "null>u1 u1", "u1>a1 beside", "u1>a2 on the line", "a2>u2 u2", "u2>a3 its append never came"]);
});

test("a deleted message gives its children to its parent; what is gone already is no failure, and the last may go", async (t) => {
  const store = await storeFor(t);
  const { append, load, delete: remove } = createHistoryAdapter({ store, sessionId: "s" });
  for (const [parentId, about] of [[null, "u1"], ["u1", "a1"], ["a1", "u2"], ["u1", "a2"]]) await tell({ append }, parentId, about);
  await remove([{ parentId: "u1", message: message("a1") }, { parentId: null, message: message("nobody") }]);
  assert.deepEqual(edges(await load()), ["a2", "null>u1", "u1>a2", "u1>u2"]);
  await remove([{ parentId: "u1", message: message("a2") }]);
  assert.deepEqual(edges(await load()), ["u2", "null>u1", "u1>u2"]);
  const before = await count(await store.session("s"));
  await remove([{ parentId: "u1", message: message("a2") }]);
  assert.equal(await count(await store.session("s")), before);
  await remove([{ parentId: null, message: message("u1") }, { parentId: "u1", message: message("u2") }]);
  assert.deepEqual(await load(), { headId: null, messages: [] });
  await tell({ append }, null, "u3");
  assert.deepEqual(edges(await load()), ["u3", "null>u3"]);
});

test("the channels of others stay as they are", async (t) => {
  const store = await storeFor(t);
  const session = await store.session("s");
  const adapter = createHistoryAdapter({ store, sessionId: "s" });
  await tell(adapter, null, "u1");
  await session.append([], { channels: { plan: { days: 7 } } });
  for (const about of ["a1", "a2"]) await tell(adapter, "u1", about);
  assert.deepEqual((await session.state()).plan, { days: 7 });
});

test("messages restored without their channels lose no branch: what hangs nowhere is kept until its parent is back", async (t) => {
  const store = await storeFor(t);
  const session = await store.session("s");
  const adapter = createHistoryAdapter({ store, sessionId: "s" });
  await tell(adapter, null, "u1");
  const [first] = await collect(session.checkpoints());
  for (const [parentId, about] of [["u1", "a1"], ["a1", "u2"], ["a1", "u3"], ["a1", "u4"]]) await tell(adapter, parentId, about);
  await session.rollback(first.id, { parts: ["messages"] });
  assert.deepEqual(edges(await adapter.load()), ["u1", "null>u1"]);
  await tell(adapter, "u1", "u3");
  assert.deepEqual(edges(await adapter.load()), ["u3", "null>u1", "u1>u3"]);
  await session.undo();
  assert.deepEqual(edges(await adapter.load()), ["u1", "null>u1"]);
  for (const [parentId, about] of [["u1", "a1"], ["a1", "u5"]]) await tell(adapter, parentId, about);
  assert.deepEqual(edges(await adapter.load()), ["u5", "null>u1", "u1>a1", "a1>u2", "a1>u3", "a1>u5"]);
});

test("a session that is no thread is not loaded as one, and a thread of another format neither", async (t) => {
  const store = await storeFor(t);
  await (await store.session("s")).append([{ role: "user", content: "no id" }]);
  const adapter = createHistoryAdapter({ store, sessionId: "s" });
  assert.match((await failing(adapter.load())).message, /without an id/);
  const other = createHistoryAdapter({ store, sessionId: "formatted" });
  await other.withFormat(chat).append({ parentId: null, message: { id: "m", role: "user", parts: [] } });
  assert.match((await failing(other.load())).message, /"chat\/v1"/);
  assert.match((await failing(other.withFormat({ ...chat, format: "chat/v2" }).load())).message, /"chat\/v1".*"chat\/v2"/);
});

// --- values -----------------------------------------------------------------------------------------------------------

test("dates, attached files, tool results and the run's configuration come back equal, on the line and beside it", async (t) => {
  const store = await storeFor(t);
  const adapter = createHistoryAdapter({ store, sessionId: "s" });
  const file = new File(["bytes"], "plan.txt", { type: "text/plain", lastModified: 5 });
  const items = ["u1", "u2"].map((about) => ({
    parentId: null,
    runConfig: { custom: { model: "small" } },
    message: message(about, "see", { attachments: [{ id: "f", type: "document", name: "plan.txt", file, content: [], status: { type: "complete" } }], when: undefined, result: new Map([[1n, NaN]]) }),
  }));
  for (const item of items) await adapter.append(item);
  await adapter.append({ parentId: "u2", runConfig: {}, message: message("a2") });
  const { messages } = await createHistoryAdapter({ store: await storeFor(t, store.name), sessionId: "s" }).load();
  assert.deepStrictEqual(messages, [...items, { parentId: "u2", runConfig: {}, message: message("a2") }]);
  const [{ file: back }] = messages[0].message.attachments;
  assert.deepEqual([back instanceof File, back.name, back.lastModified, await back.text()], [true, "plan.txt", 5, "bytes"]);
});

test("what is saved is what was passed, in the order of the calls, though nobody waits", async (t) => {
  const store = await storeFor(t);
  const adapter = createHistoryAdapter({ store: Promise.resolve(store), sessionId: "s" });
  const calls = [];
  for (let i = 0; i < 20; i += 1) {
    const said = message(`m${i}`, "as it was");
    calls.push(adapter.append({ parentId: i === 0 ? null : `m${i - 1}`, message: said }));
    said.content[0].text = "changed since";
  }
  const loaded = await adapter.load();
  await Promise.all(calls);
  assert.equal(loaded.headId, "m19");
  assert.deepEqual([...new Set(loaded.messages.map(({ message: { content } }) => content[0].text))], ["as it was"]);
  assert.equal((await failing(adapter.append({ parentId: "m19", message: message("m20", () => {}) }))).path, "message.content[0].text");
});

// --- formats ----------------------------------------------------------------------------------------------------------

/** As the AI SDK's adapter does it: the id is beside the content, and a decoded message is whole again. */
const chat = {
  format: "chat/v1",
  encode: ({ message: { id: _, ...content } }) => content,
  decode: ({ id: about, parent_id: parentId, content }) => ({ parentId, message: { id: about, ...content } }),
  getId: ({ id: about }) => about,
};

test("a runtime with a format of its own gets its messages back, branches and all, and Turnmark sees their roles", async (t) => {
  const store = await storeFor(t);
  const { append, update, load } = createHistoryAdapter({ store, sessionId: "s" }).withFormat(chat);
  const said = (about, text, role = "user") => ({ id: about, role, parts: [{ type: "text", text }] });
  await append({ parentId: null, message: said("u1", "hi") });
  await append({ parentId: "u1", message: said("a1", "one", "assistant") });
  await append({ parentId: "u1", message: said("a2", "two", "assistant") });
  await update({ parentId: "u1", message: said("a1", "ONE", "assistant") }, "a1");
  assert.deepEqual(await load(), {
    headId: "a2",
    messages: [{ parentId: null, message: said("u1", "hi") }, { parentId: "u1", message: said("a1", "ONE", "assistant") }, { parentId: "u1", message: said("a2", "two", "assistant") }],
  });
  assert.deepEqual((await (await store.session("s")).messages())[1], { id: "a2", role: "assistant", format: "chat/v1", content: { role: "assistant", parts: [{ type: "text", text: "two" }] } });
});

test("a format adapter that fails is told as what it is, and nothing is written", async (t) => {
  const store = await storeFor(t);
  const told = [];
  const adapter = createHistoryAdapter({ store, sessionId: "s", onError: (error) => told.push(error) });
  const broken = adapter.withFormat({ ...chat, encode: () => { throw new RangeError("no such part"); } });
  const error = await failing(broken.append({ parentId: null, message: { id: "m" } }));
  assert.deepEqual([error.code, told[0]], ["InvalidArgument", error]);
  assert.match(error.message, /"chat\/v1" failed: RangeError: no such part/);
  assert.equal(await (await store.session("s")).get(), undefined);
});

test("the session can be asked for at every call; a run that was pinned to one is saved there", async (t) => {
  const store = await storeFor(t);
  let current;
  const told = [];
  const adapter = createHistoryAdapter({ store, sessionId: () => current, onError: (_, failure) => told.push(failure) });
  assert.deepEqual(await adapter.load(), { headId: null, messages: [] });
  assert.equal((await failing(tell(adapter, null, "u1"))).code, "InvalidArgument");
  assert.deepEqual(told, [{ operation: "append", sessionId: null, messageIds: [null] }]);
  current = "one";
  assert.equal(adapter.scopeId, "one");
  await tell(adapter, null, "u1");
  const formatted = adapter.withFormat(chat);
  current = "two";
  formatted.pin();
  current = "three";
  await formatted.append({ parentId: null, message: { id: "u2", role: "user" } });
  assert.deepEqual((await collect(store.sessions())).map(({ id: about }) => about).sort(), ["one", "two"]);
  assert.equal((await formatted.load()).headId, null);
  assert.equal(createHistoryAdapter({ store, sessionId: "one", scopeId: "mine" }).scopeId, "mine");
});

// --- other writers, and failures --------------------------------------------------------------------------------------

test("two tabs that answer the same message at once: both answers are branches of the one thread, and no session is left over", async (t) => {
  const store = await storeFor(t);
  const told = [];
  const tabs = [store, await storeFor(t, store.name)].map((own) => createHistoryAdapter({ store: own, sessionId: "s", onError: (error) => told.push(error) }));
  await tell(tabs[0], null, "u1");
  await tabs[1].load();
  await Promise.all([tell(tabs[0], "u1", "a1"), tell(tabs[1], "u1", "a2")]);
  await Promise.all([tell(tabs[0], "a1", "u2"), tell(tabs[1], "a2", "u3")]);
  assert.deepEqual((await tabs[0].load()).messages.map(({ parentId, message: { id: about } }) => `${parentId}>${about}`).sort(), ["a1>u2", "a2>u3", "null>u1", "u1>a1", "u1>a2"]);
  assert.deepEqual((await collect(store.sessions())).map(({ id: about }) => about), ["s"]);
  assert.deepEqual(told, []);
});

test("two tabs that begin the same thread at once: both beginnings are there", async (t) => {
  const store = await storeFor(t);
  const tabs = [store, await storeFor(t, store.name)].map((own) => createHistoryAdapter({ store: own, sessionId: "s" }));
  for (const tab of tabs) await tab.load();
  await Promise.all([tell(tabs[0], null, "u1"), tell(tabs[1], null, "u2")]);
  assert.deepEqual((await tabs[0].load()).messages.map(({ message: { id: about } }) => about).sort(), ["u1", "u2"]);
  assert.deepEqual((await collect(store.sessions())).map(({ id: about }) => about), ["s"]);
});

test("a message whose parent another tab has taken away meanwhile is kept in a branch that the error names", async (t) => {
  const store = await storeFor(t);
  const told = [];
  const adapter = createHistoryAdapter({ store, sessionId: "s", onError: (error) => told.push(error) });
  await tell(adapter, null, "u1");
  const [first] = await collect(store.checkpoints.list("s"));
  await tell(adapter, "u1", "a1");
  const other = await storeFor(t, store.name);
  await other.checkpoints.rollback("s", first.id);
  const error = await failing(tell(adapter, "a1", "u2"));
  assert.deepEqual([error.code, told], ["Conflict", [error]]);
  assert.deepEqual((await (await store.session(error.branch.sessionId)).messages()).map(({ id: about }) => about), ["u1", "a1", "u2"]);
  assert.deepEqual(edges(await adapter.load()), ["u1", "null>u1"]);
  await tell(adapter, "u1", "a2");
  assert.equal((await adapter.load()).headId, "a2");
});

test("a rollback by this page's own code is not written over either", async (t) => {
  const store = await storeFor(t);
  const session = await store.session("s");
  const adapter = createHistoryAdapter({ store, sessionId: "s" });
  await tell(adapter, null, "u1");
  const [first] = await collect(session.checkpoints());
  await tell(adapter, "u1", "a1");
  await session.rollback(first.id);
  assert.equal((await failing(tell(adapter, "a1", "u2"))).code, "Conflict");
  assert.deepEqual((await session.messages()).map(({ id: about }) => about), ["u1"]);
});

test("a race that is lost again and again ends with a Conflict that names the branch", async (t) => {
  const store = await storeFor(t);
  const lost = () => Object.assign(new Error("lost"), { turnmark: true, code: "Conflict", branch: { sessionId: "kept", checkpointId: "cp" } });
  const fail = [lost(), lost(), lost()];
  const error = await failing(tell(createHistoryAdapter({ store: flaky(store, fail), sessionId: "s" }), null, "u1"));
  assert.deepEqual([error.code, error.branch.sessionId, fail.length], ["Conflict", "kept", 0]);
});

test("a message whose write failed on a full disk is brought along by the next one, so that nothing after it is lost", async (t) => {
  const store = await storeFor(t);
  const told = [];
  const full = () => Object.assign(new Error("full"), { turnmark: true, code: "QuotaExceeded" });
  const fail = [];
  const adapter = createHistoryAdapter({ store: flaky(store, fail), sessionId: "s", onError: (error, { messageIds }) => told.push([error.code, ...messageIds]) });
  await tell(adapter, null, "u1");
  fail.push(full(), full());
  await Promise.allSettled([tell(adapter, "u1", "a1"), tell(adapter, "a1", "u2")]);
  assert.deepEqual(told, [["QuotaExceeded", "a1"], ["QuotaExceeded", "u2"]]);
  await tell(adapter, "u2", "a2");
  assert.deepEqual(edges(await adapter.load()), ["a2", "null>u1", "u1>a1", "a1>u2", "u2>a2"]);
  assert.equal(told.length, 2);
});

test("a message whose write failed is not brought along once it was deleted, or written and taken away since", async (t) => {
  const store = await storeFor(t);
  const full = () => Object.assign(new Error("full"), { turnmark: true, code: "QuotaExceeded" });
  const fail = [];
  const adapter = createHistoryAdapter({ store: flaky(store, fail), sessionId: "s" });
  await tell(adapter, null, "u1");
  const [first] = await collect(store.checkpoints.list("s"));
  fail.push(full());
  await failing(tell(adapter, "u1", "a1"));
  await adapter.delete([{ parentId: "u1", message: message("a1") }]);
  assert.equal((await failing(tell(adapter, "a1", "u2"))).code, "InvalidArgument");
  fail.push(full());
  await failing(tell(adapter, "u1", "a2"));
  await adapter.load();
  await tell(adapter, "u1", "a2");
  await store.checkpoints.rollback("s", first.id);
  await adapter.load();
  assert.equal((await failing(tell(adapter, "a2", "u3"))).code, "InvalidArgument");
});

test("an error handler that fails changes nothing for whoever called", async (t) => {
  const store = await storeFor(t);
  const reported = t.mock.method(console, "error", () => {});
  const adapter = createHistoryAdapter({ store, sessionId: "s", onError: () => { throw new Error("mine"); } });
  assert.equal((await failing(tell(adapter, "gone", "a1"))).code, "InvalidArgument");
  assert.equal(reported.mock.callCount(), 1);
});

test("an adapter that is made anew with every render goes on where the last one was", async (t) => {
  const store = await storeFor(t);
  const made = () => createHistoryAdapter({ store, sessionId: "s" });
  await Promise.all([tell(made(), null, "u1"), tell(made(), "u1", "a1"), tell(made(), "a1", "u2")]);
  assert.deepEqual((await store.log("s")).map(({ type }) => type).slice(0, 2), ["append", "append"]);
  assert.deepEqual(edges(await made().load()), ["u2", "null>u1", "u1>a1", "a1>u2"]);
});

test("mistakes in the options are told at once", () => {
  for (const [options, code] of [[undefined, "InvalidArgument"], [{ sessionId: "s" }, "InvalidArgument"], [{ store: {} }, "InvalidId"], [{ store: {}, sessionId: "s", onError: 1 }, "InvalidArgument"]]) {
    assert.throws(() => createHistoryAdapter(options), { code });
  }
});
