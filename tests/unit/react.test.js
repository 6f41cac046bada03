// turnmark/react on the built package, over the memory backend. `node --test tests/unit` after scripts/build.sh.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { StrictMode, createElement as h } from "react";
import { renderToString } from "react-dom/server";
import { eventually, pageForTests, sleep, undone, useReactFromHere } from "./react-kit.js";

const PKG = new URL(process.env.TURNMARK_PKG ?? "../../pkg/", import.meta.url);
useReactFromHere();
const { open, TurnmarkError } = await import(new URL("index.js", PKG));
const { TurnmarkProvider, useChatHistory, useCheckpoints, useHarnessDevTools, useMessages, useSession, useSessions, useTurnmark } = await import(new URL("react.js", PKG));

const GLOBAL = "__HARNESS_DEVTOOLS__";
/** Longer than a store outlives its last provider. */
const LINGER = 1200;

const user = (id) => ({ id, role: "user", parts: [{ type: "text", text: `text of ${id}` }] });
const ids = (messages) => messages.map(({ id }) => id).join(" ");
let names = 0;
/** Options of a store that no other test shares, although theirs may still be open for a moment. */
const memory = () => ({ backend: "memory", name: `react ${(names += 1)}` });

/** `target` with some of its members replaced. */
const wrap = (target, members) => new Proxy({}, { get: (_, key) => (key in members ? members[key] : target[key]) });

/** Counts what an application opens and closes. */
function counting() {
  const opener = async (options) => {
    opener.opened += 1;
    const store = await open(options);
    opener.stores.push(store);
    return wrap(store, {
      close: () => {
        opener.closed += 1;
        return store.close();
      },
    });
  };
  return Object.assign(opener, { opened: 0, closed: 0, stores: [] });
}

/** A store of the test's own, with a function that writes to it. */
async function opened() {
  const store = await open(memory());
  undone.push(() => store.close());
  const write = async (sessionId, messageIds, options) => {
    const session = await store.session(sessionId);
    await session.state();
    return session.append(messageIds.split(" ").map(user), options);
  };
  return { store, write };
}

/** Every event listener of the store, to be called as another page would. */
function eavesdrop(store) {
  const listeners = new Map();
  const on = (event, listener) => {
    listeners.set(event, [...(listeners.get(event) ?? []), listener]);
    return store.on(event, listener);
  };
  const emit = (event, payload) => listeners.get(event)?.forEach((listener) => listener(payload));
  return { store: wrap(store, { on }), emit };
}

/** `store` whose sessions' `get` runs through `around(sessionId, get)`. */
function withReads(store, around) {
  const session = async (id) => {
    const real = await store.session(id);
    return wrap(real, { get: () => around(id, () => real.get()) });
  };
  return wrap(store, { session });
}

describe("on a server", () => {
  function Status() {
    const { status } = useTurnmark();
    const { messages, loading } = useSession("s");
    return h("p", null, `${status} ${messages.length} ${loading} ${useSessions().sessions.length} ${useCheckpoints("s").loading} ${useMessages(null).loading}`);
  }

  test("P-20 rendering needs no window, opens nothing and shows what is still to come", () => {
    assert.equal(typeof window, "undefined");
    const opener = counting();
    const html = renderToString(h(TurnmarkProvider, { options: memory(), open: opener }, h(Status)));
    assert.equal(html, "<p>opening 0 true 0 true false</p>");
    assert.equal(renderToString(h(TurnmarkProvider, { options: memory(), open: opener, fallback: "wait" }, h(Status))), "wait");
    assert.equal(opener.opened, 0);
  });

  test("a hook outside of a provider says what is missing", () => {
    assert.throws(() => renderToString(h(Status)), { name: "TurnmarkError", message: /<TurnmarkProvider>/ });
  });
});

describe("in a browser", () => {
  const page = pageForTests();

  /** Renders under a provider. `seen` is what `look()`, a hook, returned in each render. */
  function mount(providerProps, look, { strict = false } = {}) {
    const container = page.dom.document.createElement("div");
    const root = page.createRoot(container);
    const seen = [];
    let current = look;
    function Probe() {
      const value = current();
      seen.push(value);
      return null;
    }
    const render = (nextLook = current, props = providerProps) => {
      current = nextLook;
      const tree = h(TurnmarkProvider, props, h(Probe, { key: "probe", nonce: {} }));
      root.render(strict ? h(StrictMode, null, tree) : tree);
    };
    render();
    undone.push(() => root.unmount());
    return { seen, container, render, last: () => seen.at(-1), unmount: () => root.unmount() };
  }

  test("StrictMode's double mount opens one store and does not close it", async () => {
    const opener = counting();
    const view = mount({ options: memory(), open: opener }, useTurnmark, { strict: true });
    await eventually(() => assert.equal(view.last().status, "ready"));
    await sleep(LINGER);
    assert.deepEqual([opener.opened, opener.closed], [1, 0]);
  });

  test("options that are equal are one store, in every render and in every provider", async () => {
    const opener = counting();
    const first = mount({ options: { backend: "memory", name: "shared" }, open: opener }, useTurnmark);
    const second = mount({ options: { name: "shared", scope: undefined, backend: "memory" }, open: opener }, useTurnmark);
    await eventually(() => assert.equal(second.last().status, "ready"));
    first.render(useTurnmark, { options: { name: "shared", backend: "memory" }, open: opener });
    await sleep(20);
    assert.equal(first.last().store, second.last().store);
    first.unmount();
    await sleep(LINGER);
    assert.deepEqual([opener.opened, opener.closed], [1, 0], "the second provider still needs it");
    second.unmount();
    await eventually(() => assert.equal(opener.closed, 1));
  });

  test("other options are another store, and the one before is closed", async () => {
    const opener = counting();
    const view = mount({ options: memory(), open: opener }, useTurnmark);
    await eventually(() => assert.equal(view.last().status, "ready"));
    const first = view.last().store;
    view.render(useTurnmark, { options: memory(), open: opener });
    await eventually(() => assert.equal(view.last().status === "ready" && view.last().store !== first, true));
    await eventually(() => assert.deepEqual([opener.opened, opener.closed], [2, 1]));
    assert.notEqual(view.last().store.name, first.name);
  });

  test("a provider that comes back within a moment finds its store open", async () => {
    const opener = counting();
    const props = { options: memory(), open: opener };
    const view = mount(props, useTurnmark);
    await eventually(() => assert.equal(view.last().status, "ready"));
    view.unmount();
    const again = mount(props, useTurnmark);
    await eventually(() => assert.equal(again.last().status, "ready"));
    await sleep(LINGER);
    assert.deepEqual([opener.opened, opener.closed], [1, 0]);
  });

  test("a provider that goes while its store is still opening leaves none open", async () => {
    const opener = counting();
    const view = mount({ options: memory(), open: async (options) => (await sleep(LINGER + 300), opener(options)) }, useTurnmark);
    await sleep(20);
    view.unmount();
    await eventually(() => assert.deepEqual([opener.opened, opener.closed], [1, 1]));
  });

  test("a given store is passed on and never closed", async () => {
    const { store } = await opened();
    let closed = 0;
    const given = wrap(store, { close: () => (closed += 1) });
    const view = mount({ store: given }, useTurnmark);
    await eventually(() => assert.equal(view.last().status, "ready"));
    assert.equal(view.seen[0].store, given, "from the first render on");
    view.unmount();
    await sleep(LINGER);
    assert.equal(closed, 0);
  });

  test("a store that cannot be opened is an error in every hook, is reported once, and is tried again by the next mount", async () => {
    const errors = [];
    let broken = true;
    const opener = async (options) => {
      if (broken) throw new Error("no disk");
      return open(options);
    };
    const look = () => ({ ...useTurnmark(), session: useSession("s"), sessions: useSessions() });
    const props = { options: memory(), open: opener, onError: (error) => errors.push(error) };
    const view = mount(props, look, { strict: true });
    await eventually(() => assert.equal(view.last().status, "error"));
    const { error, session, sessions } = view.last();
    assert.equal(error.name, "TurnmarkError");
    assert.equal(error.cause.message, "no disk");
    assert.deepEqual([session.error, session.loading, sessions.error, sessions.loading], [error, false, error, false]);
    await assert.rejects(session.append([user("m1")]), error);
    session.undo();
    await sleep(10);
    assert.deepEqual(errors, [error]);
    view.unmount();
    await sleep(10);
    broken = false;
    const again = mount(props, look);
    await eventually(() => assert.equal(again.last().status, "ready"));
  });

  test("the fallback stands in while the store opens; a function is also asked when it could not be opened", async () => {
    let release;
    const gate = new Promise((resolve) => (release = resolve));
    const slow = mount({ options: memory(), open: async (options) => (await gate, open(options)), fallback: "wait" }, useTurnmark);
    await eventually(() => assert.equal(slow.container.textContent, "wait"));
    assert.equal(slow.seen.length, 0);
    release();
    await eventually(() => assert.equal(slow.last()?.status, "ready"));
    const failing = mount({ options: memory(), open: () => { throw new TurnmarkError("Unavailable", "none"); }, fallback: ({ status, error }) => `${status} ${error?.code}` }, useTurnmark);
    await eventually(() => assert.equal(failing.container.textContent, "error Unavailable"));
  });

  test("what a server rendered is taken over without a mismatch", async () => {
    const { store, write } = await opened();
    await write("s", "m1 m2");
    function Page() {
      return h("p", null, `${useTurnmark().status}: ${ids(useMessages("s").messages)}`);
    }
    const props = { options: memory(), open: async () => wrap(store, { close: async () => {} }) };
    const tree = h(TurnmarkProvider, props, h(Page));
    const container = page.dom.document.createElement("div");
    container.innerHTML = renderToString(tree);
    assert.equal(container.textContent, "opening: ");
    // The server cannot know that another root of the page has opened the store already.
    const other = mount(props, useTurnmark);
    await eventually(() => assert.equal(other.last().status, "ready"));
    const mismatches = [];
    const root = page.hydrateRoot(container, tree, { onRecoverableError: (error) => mismatches.push(error) });
    undone.push(() => root.unmount());
    await eventually(() => assert.equal(container.textContent, "ready: m1 m2"));
    assert.deepEqual(mismatches, []);
  });

  test("P-13 a session shows what it holds, and renders again after append, put, rollback, undo and redo", async () => {
    const { store } = await opened();
    const view = mount({ store }, () => useSession("s"), { strict: true });
    const shows = (expected) => eventually(() => assert.equal(ids(view.last().messages), expected));
    await eventually(() => assert.equal(view.last().loading, false));
    assert.equal(view.last().head, null);
    assert.equal(view.last().canUndo, false);

    const first = await view.last().append([user("m1")]);
    await shows("m1");
    await view.last().append([user("m2")], { channels: { plan: { step: 1 } } });
    await shows("m1 m2");
    assert.deepEqual(view.last().state.plan, { step: 1 });
    assert.equal(view.last().messages, view.last().state.messages);
    assert.deepEqual([view.last().canUndo, view.last().canRedo], [true, false]);

    await view.last().rollback(first.id);
    await shows("m1");
    assert.deepEqual(view.last().head.metadata.writes, ["rollback"]);
    await view.last().undo();
    await shows("m1 m2");
    assert.equal(view.last().canRedo, true);
    await view.last().redo();
    await shows("m1");
    await view.last().put({ messages: [user("m9")] });
    await shows("m9");
    assert.equal(view.last().canRedo, false);

    const forked = await view.last().fork(first.id, "other");
    assert.equal(ids(await forked.messages()), "m1");
    await shows("m9");
  });

  test("P-19 a rollback from the console renders the application against the restored state", async () => {
    const { store, write } = await opened();
    const first = await write("s", "m1");
    await write("s", "m2");
    const silent = { log() {}, warn() {}, error() {}, table() {} };
    const view = mount({ store }, () => (useHarnessDevTools({ console: silent }), useMessages("s")));
    await eventually(() => assert.equal(ids(view.last().messages), "m1 m2"));
    await eventually(() => assert.ok(GLOBAL in globalThis));
    await globalThis[GLOBAL].rollback(first.id);
    await eventually(() => assert.equal(ids(view.last().messages), "m1"));
  });

  test("the operations can be used before anything is open, in the order in which they are called", async () => {
    const opener = counting();
    let release;
    const gate = new Promise((resolve) => (release = resolve));
    const view = mount({ options: memory(), open: async (options) => (await gate, opener(options)) }, () => useSession("s"));
    await eventually(() => assert.ok(view.last()));
    const { append } = view.last();
    const both = Promise.all([append([user("m1")]), append([user("m2")])]);
    release();
    await both;
    await eventually(() => assert.equal(ids(view.last().messages), "m1 m2"));
    assert.equal(view.last().append, append, "the same functions for the same session");
    view.unmount();
    await append([user("m3")]);
    const { checkpoint } = await opener.stores[0].checkpoints.get("s");
    assert.equal(checkpoint.messageCount, 3, "also after the component has gone");
  });

  test("nothing is written before the session has been read, and not at all when it cannot be", async () => {
    const { store, write } = await opened();
    await write("s", "m1");
    let broken = true;
    const errors = [];
    const fragile = withReads(store, async (_, get) => {
      if (broken) throw new TurnmarkError("RecordUnreadable", "a record is damaged");
      return get();
    });
    const view = mount({ store: fragile, onError: (error) => errors.push(error) }, () => useSession("s"));
    await eventually(() => assert.equal(view.last()?.error?.code, "RecordUnreadable"));
    await assert.rejects(view.last().append([user("m2")]), { code: "RecordUnreadable" });
    assert.equal((await store.checkpoints.get("s")).checkpoint.messageCount, 1);
    broken = false;
    await view.last().append([user("m2")]);
    await eventually(() => assert.equal(ids(view.last().messages), "m1 m2"));
    assert.equal(view.last().error, null);
    assert.ok(errors.every((error) => error.code === "RecordUnreadable"));
  });

  test("a refused operation rejects, is shown in `error` until the next one succeeds, and is reported once", async () => {
    const { store } = await opened();
    const errors = [];
    const look = () => [useSession("s"), useSession("s")];
    const view = mount({ store, onError: (error) => errors.push(error) }, look, { strict: true });
    await eventually(() => assert.equal(view.last()[0].loading, false));
    view.last()[0].put({ f: () => {} });
    await eventually(() => assert.equal(view.last()[1].error?.code, "NotStorable"));
    assert.equal(errors.length, 1);
    assert.equal(errors[0], view.last()[0].error);
    await view.last()[0].append([user("m1")]);
    await eventually(() => assert.equal(ids(view.last()[0].messages), "m1"));
    assert.equal(view.last()[0].error, null);
  });

  test("what did not change keeps its identity, and nothing renders without a reason", async () => {
    const { store, write } = await opened();
    await write("s", "m1");
    await write("s", "m2");
    const view = mount({ store }, () => ({ session: useSession("s"), sessions: useSessions(), checkpoints: useCheckpoints("s") }));
    await eventually(() => assert.equal(view.last().checkpoints.checkpoints.length, 2));
    await eventually(() => assert.equal(ids(view.last().session.messages), "m1 m2"));
    const before = view.last();
    const { messages } = before.session;
    await write("other", "x");
    await eventually(() => assert.equal(view.last().sessions.sessions.length, 2));
    assert.equal(view.last().session, before.session, "another session is no reason");
    assert.equal(view.last().checkpoints, before.checkpoints);

    await write("s", "m3");
    await eventually(() => assert.equal(ids(view.last().session.messages), "m1 m2 m3"));
    assert.equal(view.last().session.messages[0], messages[0]);
    assert.equal(view.last().session.messages[1], messages[1]);
    await eventually(() => assert.equal(view.last().checkpoints.checkpoints.length, 3));
    const [head, previous, oldest] = view.last().checkpoints.checkpoints;
    assert.deepEqual([head.head, previous.head], [true, false]);
    assert.equal(oldest, before.checkpoints.checkpoints[1]);
  });

  test("useMessages does not render for a channel", async () => {
    const { store, write } = await opened();
    await write("s", "m1");
    const view = mount({ store }, () => useMessages("s"));
    await eventually(() => assert.equal(ids(view.last().messages), "m1"));
    const renders = view.seen.length;
    const session = await store.session("s");
    const state = await session.state();
    await session.put({ ...state, plan: "new" });
    await sleep(50);
    assert.equal(view.seen.length, renders);
    await write("s", "m2");
    await eventually(() => assert.equal(ids(view.last().messages), "m1 m2"));
  });

  test("switching the session in the middle of a load never shows the other's messages", async () => {
    const { store, write } = await opened();
    await write("a", "a1");
    await write("b", "b1 b2");
    const gates = { a: gate(), b: gate() };
    const slow = withReads(store, async (id, get) => (await gates[id].promise, get()));
    let id = "a";
    const view = mount({ store: slow }, () => ({ id, ...useSession(id), list: useCheckpoints(id) }));
    await sleep(20);
    id = "b";
    view.render();
    await sleep(20);
    gates.b.resolve();
    await eventually(() => assert.equal(ids(view.last().messages), "b1 b2"));
    gates.a.resolve();
    await sleep(50);
    assert.equal(ids(view.last().messages), "b1 b2");
    for (const shown of view.seen) assert.ok(shown.messages.every((message) => message.id.startsWith(shown.id)), `${ids(shown.messages)} under ${shown.id}`);
    id = "a";
    view.render();
    await eventually(() => assert.equal(ids(view.last().messages), "a1"));
    for (const shown of view.seen) assert.ok(shown.messages.every((message) => message.id.startsWith(shown.id)));
    for (const shown of view.seen) assert.ok(shown.list.checkpoints.every((checkpoint) => checkpoint.sessionId === shown.id));
  });

  test("an old load that comes late does not replace a newer one", async () => {
    const { store, write } = await opened();
    await write("s", "m1");
    const first = gate();
    let reads = 0;
    const slow = withReads(store, async (_, get) => {
      const result = await get();
      if ((reads += 1) === 1) await first.promise;
      return result;
    });
    const view = mount({ store: slow }, () => useSession("s"));
    await eventually(() => assert.equal(reads, 1));
    await write("s", "m2");
    await sleep(20);
    first.resolve();
    await eventually(() => assert.equal(ids(view.last().messages), "m1 m2"));
    await sleep(50);
    assert.equal(ids(view.last().messages), "m1 m2");
  });

  test("a burst of events is one read", async () => {
    const { store, write } = await opened();
    await write("s", "m0");
    let reads = 0;
    const { store: heard, emit } = eavesdrop(withReads(store, (_, get) => ((reads += 1), get())));
    const view = mount({ store: heard }, () => useSession("s"));
    await eventually(() => assert.equal(view.last().loading, false));
    reads = 0;
    for (let i = 0; i < 100; i += 1) emit("session.changed", { sessionId: "s", reason: "put", origin: "remote" });
    await sleep(50);
    assert.equal(reads, 1);
  });

  test("changes of another page are shown", async () => {
    const { store, write } = await opened();
    await write("s", "m1");
    let hidden = true;
    // Until it is revealed, the second message is one that only the other page has seen.
    const { store: heard, emit } = eavesdrop(
      withReads(store, async (_, get) => {
        const tuple = await get();
        return hidden ? { ...tuple, state: { messages: [user("m1")] } } : tuple;
      }),
    );
    const view = mount({ store: heard }, () => ({ session: useSession("s"), sessions: useSessions() }));
    await eventually(() => assert.equal(view.last().session.loading, false));
    await write("s", "m2");
    await sleep(30);
    for (const [event, payload] of [
      ["session.changed", { sessionId: "s", reason: "append", origin: "remote" }],
      ["restored", { sessionId: "s", origin: "remote" }],
      ["checkpoint.created", { checkpoint: { sessionId: "s" }, origin: "remote" }],
      ["connection", { state: "open", reason: "reopened" }],
    ]) {
      hidden = true;
      emit("session.changed", { sessionId: "s", reason: "hide", origin: "remote" });
      await eventually(() => assert.equal(ids(view.last().session.messages), "m1"), 200);
      hidden = false;
      emit(event, payload);
      await eventually(() => assert.equal(ids(view.last().session.messages), "m1 m2", event), 200);
    }
  });

  test("a deleted session is empty, and gone from the list", async () => {
    const { store, write } = await opened();
    await write("s", "m1");
    const view = mount({ store }, () => ({ session: useSession("s"), sessions: useSessions() }));
    await eventually(() => assert.equal(ids(view.last().session.messages), "m1"));
    await (await store.session("s")).delete();
    await eventually(() => assert.equal(view.last().session.messages.length, 0));
    await eventually(() => assert.equal(view.last().sessions.sessions.length, 0));
    assert.equal(view.last().session.error, null);
    assert.equal(view.last().session.head, null);
  });

  test("P-12 useCheckpoints lists the newest first, and no more than its limit", async () => {
    const { store, write } = await opened();
    for (const id of ["m1", "m2", "m3"]) await write("s", id);
    const view = mount({ store }, () => useCheckpoints("s", { limit: 2 }));
    await eventually(() => assert.deepEqual(view.last().checkpoints.map(({ messageCount }) => messageCount), [3, 2]));
    await write("s", "m4");
    await eventually(() => assert.deepEqual(view.last().checkpoints.map(({ messageCount }) => messageCount), [4, 3]));
  });

  test("without an id there is nothing to show and nothing can be written", async () => {
    const { store } = await opened();
    const view = mount({ store }, () => useSession(undefined));
    await eventually(() => assert.deepEqual([view.last().loading, view.last().messages.length, view.last().error], [false, 0, null]));
    await assert.rejects(view.last().append([user("m1")]), { code: "InvalidArgument" });
  });

  describe("useChatHistory, whose other tests are in react-chat.test.js", () => {
    test("turns, versions, edits and sessions go through the real engine, and what is shown is what is stored", async () => {
      const { store } = await opened();
      let reads = 0;
      const counted = withReads(store, (_, get) => ((reads += 1), get()));
      const view = mount({ store: counted }, useChatHistory, { strict: true });
      const shows = (expected) => eventually(() => assert.deepEqual([ids(view.last().messages), view.last().status], [expected, "ready"]));
      const stored = async () => (await (await store.session(view.last().sessionId)).messages());
      await shows("");
      const ask = async (question, reply, begin = () => view.last().begin({ raw: question })) => {
        const turn = await begin();
        await turn.append([user(question)]);
        turn.stream({ ...user(reply), role: "assistant" });
        await turn.flush();
        turn.stream({ ...user(reply), role: "assistant", parts: [] });
        return turn.end();
      };
      await ask("q1", "a1");
      await shows("q1 a1");
      const before = reads;
      await ask("q2", "a2");
      await shows("q1 a1 q2 a2");
      assert.equal(reads, before, "a turn of this page is not read back");
      assert.deepEqual(view.last().messages, await stored());
      await eventually(() => assert.equal(view.last().canUndo, true));

      await ask("q2", "a3", () => view.last().regenerate("q2", { raw: "q2" }));
      await shows("q1 a1 q2 a3");
      const versions = await view.last().versions("q2");
      assert.deepEqual(versions.map(({ live }) => live), [false, true]);
      await view.last().show(versions[0]);
      await shows("q1 a1 q2 a2");
      assert.deepEqual(view.last().messages, await stored());

      const edited = await view.last().edit("q2");
      assert.deepEqual([edited.rawPrompt, edited.removedMessageIds], ["q2", ["q2", "a2"]]);
      await shows("q1 a1");
      await view.last().undo();
      await shows("q1 a1 q2 a2");
      await eventually(() => assert.equal(view.last().canRedo, true));
      await view.last().redo();
      await shows("q1 a1");

      const first = view.last().sessionId;
      const { sessionId } = await view.last().newSession();
      await shows("");
      assert.equal(view.last().sessionId, sessionId);
      const left = await view.last().begin();
      left.stream({ ...user("half"), role: "assistant" });
      await left.flush();
      await view.last().open(first);
      await shows("q1 a1");
      await left.end();
      await view.last().open(sessionId);
      await shows("half");
      await view.last().setTitle(sessionId, "Two");
      await eventually(() => assert.deepEqual(view.last().sessions.entries.map(({ name }) => name), ["Two", "Session 1"]));
      await view.last().deleteSession(sessionId);
      await eventually(() => assert.equal(view.last().sessions.total, 1));
      assert.equal(view.last().error, null);
    });
  });

  describe("useHarnessDevTools", () => {
    const silent = { log() {}, warn() {}, error() {}, table() {} };

    test("P-20 installs the provider's store, once under StrictMode, and uninstalls it with its component", async () => {
      const { store } = await opened();
      const view = mount({ store }, () => useHarnessDevTools({ console: silent, tools: ["one"] }), { strict: true });
      await eventually(() => assert.equal(globalThis[GLOBAL]?.store, store));
      await sleep(20);
      assert.deepEqual(globalThis[GLOBAL].stores(), [store.name]);
      assert.deepEqual(globalThis[GLOBAL].tools(), ["one"]);
      const installed = globalThis[GLOBAL];
      view.render(() => useHarnessDevTools({ console: silent, tools: () => ["two"] }));
      await eventually(() => assert.deepEqual(globalThis[GLOBAL].tools(), ["two"]));
      assert.equal(globalThis[GLOBAL], installed, "new options are no reason to install again");
      view.unmount();
      await eventually(() => assert.equal(GLOBAL in globalThis, false));
    });

    test("P-20 with `enabled: false` nothing is installed", async () => {
      const { store } = await opened();
      const view = mount({ store }, () => useHarnessDevTools({ enabled: false, console: silent }));
      await sleep(50);
      assert.equal(GLOBAL in globalThis, false);
      view.render(() => useHarnessDevTools({ enabled: true, console: silent }));
      await eventually(() => assert.ok(GLOBAL in globalThis));
      view.render(() => useHarnessDevTools({ enabled: false, console: silent }));
      await eventually(() => assert.equal(GLOBAL in globalThis, false));
    });

    test("P-20 called above the provider, as the seed shows it, it takes the store of the newest provider", async () => {
      const { store } = await opened();
      function App() {
        useHarnessDevTools({ console: silent });
        return h(TurnmarkProvider, { store }, "chat");
      }
      const root = page.createRoot(page.dom.document.createElement("div"));
      root.render(h(StrictMode, null, h(App)));
      await eventually(() => assert.equal(globalThis[GLOBAL]?.store, store));
      root.unmount();
      await eventually(() => assert.equal(GLOBAL in globalThis, false));
    });
  });
});

/** A promise and what resolves it. */
function gate() {
  let resolve;
  const promise = new Promise((settle) => (resolve = settle));
  return { promise, resolve };
}
