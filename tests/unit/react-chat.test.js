// The chat hooks of turnmark/react over a fake engine: what is shown and when, what renders, two pages on one chat.
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { StrictMode, createElement as h, memo, useState } from "react";
import { renderToString } from "react-dom/server";
import { fakeGlue, gate, joinTabs, raw } from "./fake-engine.js";
import { eventually, pageForTests, sleep, undone, useReactFromHere } from "./react-kit.js";

const SOURCES = new URL("../../pkg-template/", import.meta.url);
useReactFromHere({ withoutWasm: true });
const { createApi } = await import(new URL("api.js", SOURCES));
const { TurnmarkProvider, useChatActions, useChatHistory, useChatSessions, useSession } = await import(new URL("react.js", SOURCES));
const { SILENCE_MS } = await import(new URL("react-chat-session.js", SOURCES));

const REGISTRY = Symbol.for("turnmark.registry");
const user = (id, content = id) => ({ id, role: "user", content });
const answer = (id, content = id) => ({ id, role: "assistant", content });
const ids = ({ messages }) => messages.map(({ id }) => id).join(" ");

let glue;
let api;

beforeEach(() => {
  delete globalThis[REGISTRY];
  glue = fakeGlue();
  api = createApi(glue, () => new Uint8Array());
});

const opens = async (name = "page") => {
  const store = await api.open({ backend: "memory", name, streamInterval: 16 });
  undone.push(() => store.close());
  return store;
};

/** A store and its engine, with turns in its sessions: `{ a: ["q1 a1", "q2 a2"] }`. The first is the active one. */
async function filled(sessions = {}) {
  const store = await opens();
  const engine = glue.opened.at(-1);
  for (const [id, turns] of Object.entries(sessions)) {
    const { session } = await store.newSession({ id });
    for (const turn of turns) {
      const [question, ...answers] = turn.split(" ");
      await (await session.begin({ raw: question })).end([user(question), ...answers.map((each) => answer(each))]);
    }
  }
  const [first] = Object.keys(sessions);
  if (first) await store.openSession(first);
  engine.calls.length = 0;
  return { store, engine, count: (method) => engine.calls.filter(([name]) => name === method).length };
}

/** Two pages on one database. */
async function twoPages(sessions) {
  const here = await filled(sessions);
  const store = await opens("other page");
  joinTabs(here.engine, glue.opened.at(-1));
  return { here, there: { store, engine: glue.opened.at(-1) } };
}

const wrap = (target, members) => new Proxy({}, { get: (_, key) => (key in members ? members[key] : target[key]) });

test("A-36 on a server nothing is opened, and a chat is still to come", () => {
  assert.equal(typeof window, "undefined");
  let opened = 0;
  function Page() {
    const { status, messages, sessionId, sessions, begin } = useChatHistory();
    return h("p", null, `${status} ${messages.length} ${sessionId} ${sessions.entries.length} ${sessions.loading} ${typeof begin}`);
  }
  const html = renderToString(h(TurnmarkProvider, { options: {}, open: () => (opened += 1) }, h(Page)));
  assert.equal(html, "<p>loading 0 null 0 true function</p>");
  assert.equal(opened, 0);
  assert.throws(() => renderToString(h(Page)), { message: /<TurnmarkProvider>/ });
});

describe("in a browser", () => {
  const page = pageForTests();

  /** Renders under a provider. `seen` is what `look()`, a hook, returned in each render. */
  function mount(props, look = () => useChatHistory(), { strict = false } = {}) {
    const root = page.createRoot(page.dom.document.createElement("div"));
    const seen = [];
    let current = look;
    function Probe() {
      const value = current();
      seen.push(value);
      return null;
    }
    const render = (nextLook = current, nextProps = props) => {
      current = nextLook;
      const tree = h(TurnmarkProvider, nextProps, h(Probe, { nonce: {} }));
      root.render(strict ? h(StrictMode, null, tree) : tree);
    };
    render();
    undone.push(() => root.unmount());
    const last = () => seen.at(-1);
    return { seen, render, last, unmount: () => root.unmount(), shows: (expected) => eventually(() => assert.equal(ids(last()), expected)) };
  }

  const ready = (view) => eventually(() => assert.equal(view.last()?.status, "ready"));

  describe("what is shown", () => {
    test("the active session, its messages and what can be done, under StrictMode too", async () => {
      const { store } = await filled({ a: ["q1 a1"], b: ["q2 a2"] });
      const view = mount({ store }, undefined, { strict: true });
      await view.shows("q1 a1");
      const { sessionId, status, streaming, interrupted, error, canUndo, ui, head, sessions } = view.last();
      assert.deepEqual([sessionId, status, streaming, interrupted, error, canUndo], ["a", "ready", null, null, null, true]);
      assert.deepEqual(ui, {});
      assert.equal(head.messageCount, 2);
      await eventually(() => assert.deepEqual(view.last().sessions.entries.map((entry) => entry.sessionId).sort(), ["a", "b"]));
      assert.deepEqual([sessions.page, sessions.pages], [1, 1]);
    });

    test("before the first session there is none, and the first prompt makes it, once for two prompts at once", async () => {
      const { store, engine, count } = await filled();
      const errors = [];
      const view = mount({ store, onError: (error) => errors.push(error.message) });
      await ready(view);
      assert.equal(view.last().sessionId, null);
      // Nobody waits for it, and yet it is told.
      view.last().undo();
      await eventually(() => assert.match(errors[0] ?? "", /^undo\(\) needs a session/));
      await assert.rejects(view.last().restore("x"), { code: "InvalidArgument" });
      const [first, second] = await Promise.allSettled([view.last().begin({ raw: "one" }), view.last().begin({ raw: "two" })]);
      assert.equal(count("newSession"), 1);
      assert.equal(second.reason.code, "ActiveRun");
      await eventually(() => assert.equal(view.last().sessionId, first.value.sessionId));
      assert.equal(engine.active_, first.value.sessionId);
      await first.value.end([user("q")]);
      await view.shows("q");
    });

    test("a turn from submit to answer, which costs no reading of the chat and keeps what did not change", async () => {
      const { store, count, engine } = await filled({ a: ["q1 a1"] });
      const view = mount({ store });
      await view.shows("q1 a1");
      const before = view.last().messages;
      engine.calls.length = 0;
      const turn = await view.last().begin({ raw: "q2", ui: { targets: [1] } });
      await eventually(() => assert.equal(view.last().status, "streaming"));
      assert.deepEqual(view.last().streaming, { runId: turn.runId, messageId: null, mine: true });
      assert.deepEqual(view.last().ui, { targets: [1] });
      await turn.append([user("q2")]);
      await view.shows("q1 a1 q2");
      const growing = answer("a2", "He");
      turn.stream(growing);
      await eventually(() => assert.equal(view.last().messages.at(-1), growing, "the very object, at once"));
      assert.equal(view.last().streaming.messageId, "a2");
      await turn.end([answer("a2", "Hello")]);
      await ready(view);
      assert.equal(ids(view.last()), "q1 a1 q2 a2");
      assert.equal(view.last().messages.at(-1).content, "Hello");
      assert.deepEqual([view.last().messages[0], view.last().messages[1]], before);
      assert.equal(view.last().messages[0], before[0]);
      assert.equal(view.last().head.messageCount, 4);
      assert.equal(view.last().reloadKey > 0, true);
      assert.equal(count("load"), 0);
      assert.deepEqual((await (await store.session("a")).messages()).map(({ content }) => content), ["q1", "a1", "q2", "Hello"]);
    });

    test("a message that grows in place is another object each time, and so is rendered", async () => {
      const { store } = await filled({ a: ["q1 a1"] });
      const view = mount({ store });
      await ready(view);
      const turn = await view.last().begin();
      const growing = answer("a2", "H");
      turn.stream(growing);
      await view.shows("q1 a1 a2");
      const first = view.last().messages.at(-1);
      growing.content += "i";
      turn.stream(growing);
      await eventually(() => assert.equal(view.last().messages.at(-1).content, "Hi"));
      assert.notEqual(view.last().messages.at(-1), first);
      assert.equal(view.last().messages[0], view.seen.find(({ messages }) => messages.length === 2).messages[0]);
      await turn.abort();
      await ready(view);
      assert.equal(ids(view.last()), "q1 a1 a2");
    });

    test("messages that follow one another in a turn stay in their order; a dropped one goes", async () => {
      const { store } = await filled({ a: [] });
      const view = mount({ store });
      await ready(view);
      const turn = await view.last().begin();
      await turn.append([user("q1")]);
      turn.stream(answer("t1", "tool"));
      turn.stream(answer("a1", "and"));
      await view.shows("q1 t1 a1");
      await turn.flush();
      assert.equal(ids(view.last()), "q1 t1 a1");
      await turn.abort({ keep: false });
      await ready(view);
      assert.equal(ids(view.last()), "q1 t1");
      assert.deepEqual((await (await store.session("a")).messages()).map(({ id }) => id), ["q1", "t1"]);
    });

    test("restore and edit go back, with the prompt for the input; the turn itself may be handed to them", async () => {
      const { store, count } = await filled({ a: ["q1 a1", "q2 a2"] });
      const view = mount({ store });
      await view.shows("q1 a1 q2 a2");
      const key = view.last().reloadKey;
      const edited = await view.last().edit("q2");
      assert.deepEqual([edited.rawPrompt, edited.removedMessageIds, "state" in edited], ["q2", ["q2", "a2"], false]);
      await view.shows("q1 a1");
      assert.ok(view.last().reloadKey > key);
      const turn = await view.last().begin({ raw: "q3" });
      await turn.append([user("q3")]);
      await assert.rejects(view.last().restore("q3"), { code: "ActiveRun" });
      await eventually(() => assert.equal(view.last().error?.code, "ActiveRun"));
      await view.last().restore("q3", { turn });
      await view.shows("q1 a1");
      await ready(view);
      assert.equal(turn.ended, true);
      assert.equal(view.last().error, null);
      assert.equal(count("restoreTo"), 3);
    });

    test("regenerate cuts the chat after the question at once, and versions and show reach the engine", async () => {
      const { store, count } = await filled({ a: ["q1 a1", "q2 a2"] });
      const view = mount({ store });
      await view.shows("q1 a1 q2 a2");
      const reads = count("load");
      const turn = await view.last().regenerate("q2", { raw: "q2" });
      await view.shows("q1 a1 q2");
      assert.equal(count("load"), reads, "what was known is not read again");
      turn.stream(answer("a3", "other"));
      await view.shows("q1 a1 q2 a3");
      await turn.end();
      await ready(view);
      assert.equal(ids(view.last()), "q1 a1 q2 a3");
      const [version] = await view.last().versions("q2");
      assert.equal(version.version, "v1");
      await view.last().show(version);
      assert.equal(count("rollback"), 1);
    });

    test("an interrupted answer is shown and marked, and stays until somebody decides", async () => {
      const { store, engine, count } = await filled({ a: ["q1 a1"] });
      const turn = await (await store.session("a")).begin();
      await turn.append([user("q2")]);
      turn.stream(answer("a2", "half"));
      await turn.flush();
      engine.dead.add(turn.runId);
      const view = mount({ store });
      await view.shows("q1 a1 q2 a2");
      assert.deepEqual(view.last().interrupted, { messageId: "a2", runId: turn.runId, since: 5 });
      assert.deepEqual([view.last().status, view.last().streaming], ["ready", null]);
      await sleep(30);
      assert.equal(count("recover"), 0, "never finalized silently");
      const done = await view.last().recover({ drop: true });
      assert.equal(done.action, "dropped");
      assert.deepEqual(engine.calls.findLast(([name]) => name === "recover"), ["recover", true, "a"]);
      const next = await view.last().begin();
      await eventually(() => assert.equal(view.last().interrupted, null));
      await next.end();
    });

    test("A-06 pages of eight, the page before staying while the next is read", async () => {
      const { store } = await filled(Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`s${i}`, ["q a"]])));
      const view = mount({ store });
      await eventually(() => assert.equal(view.last().sessions.entries.length, 8));
      assert.deepEqual([view.last().sessions.pages, view.last().sessions.total], [2, 10]);
      const mark = view.seen.length;
      view.last().setPage(2);
      await eventually(() => assert.equal(view.last().sessions.entries.length, 2));
      assert.equal(view.last().sessions.page, 2);
      assert.ok(view.seen.slice(mark).every(({ sessions }) => sessions.entries.length > 0));
    });

    test("a new session follows the chat that is shown here, not the one that another page has made the active one", async () => {
      const { store, engine } = await filled({ a: ["q1 a1"], b: ["q2 a2"] });
      const asked = [];
      const view = mount({ store: wrap(store, { newSession: (options) => (asked.push(options), store.newSession(options)) }) });
      await view.shows("q1 a1");
      engine.active_ = "b";
      const { sessionId, number } = await view.last().newSession({ title: "Next" });
      assert.deepEqual(asked, [{ from: "a", title: "Next" }]);
      assert.equal(number, 3);
      await eventually(() => assert.equal(view.last().sessionId, sessionId));
      await view.shows("");
      await ready(view);
      await (await view.last().begin()).end([user("q3")]);
      await view.shows("q3");
    });

    test("titles and deletions; deleting the chat that is shown leads to the active one", async () => {
      const { store, engine } = await filled({ a: ["q1 a1"], b: ["q2 a2"] });
      engine.setTitle = async (id, title) => engine.calls.push(["setTitle", id, title]);
      const view = mount({ store });
      await view.shows("q1 a1");
      await view.last().setTitle("b", "Trip");
      assert.deepEqual(engine.calls.findLast(([name]) => name === "setTitle"), ["setTitle", "b", "Trip"]);
      engine.active_ = "b";
      await view.last().deleteSession("a");
      await view.shows("q2 a2");
      assert.equal(view.last().sessionId, "b");
    });

    test("a session that the application names is shown, whichever is active, and opening another is its own affair", async () => {
      const { store } = await filled({ a: ["q1 a1"], b: ["q2 a2"] });
      const view = mount({ store }, () => useChatHistory({ sessionId: "b" }));
      await view.shows("q2 a2");
      const opened = await view.last().open("a");
      assert.equal(opened.sessionId, "a");
      await sleep(20);
      assert.equal(view.last().sessionId, "b");
      await (await view.last().begin()).end([user("q3")]);
      await view.shows("q2 a2 q3");
    });
  });

  describe("what renders", () => {
    test("what is read again and is the same renders nothing", async () => {
      const { store, engine, count } = await filled({ a: ["q1 a1"] });
      const view = mount({ store });
      await view.shows("q1 a1");
      await eventually(() => assert.equal(view.last().sessions.loading, false));
      const renders = view.seen.length;
      const reads = count("load");
      engine.emit({ type: "session.changed", sessionId: "a", reason: "import", origin: "remote" });
      await eventually(() => assert.equal(count("load"), reads + 1));
      await sleep(30);
      assert.equal(view.seen.length, renders);
      engine.emit({ type: "session.changed", sessionId: "b", reason: "import", origin: "remote" });
      engine.emit({ type: "stream", sessionId: "b", runId: "r", origin: "remote" });
      await sleep(30);
      assert.equal(count("load"), reads + 1, "another chat is no reason to read");
    });

    test("a growing message makes no other hook read its session", async () => {
      const { store, engine, count } = await filled({ a: ["q1 a1"] });
      const view = mount({ store }, () => useSession("a"));
      await view.shows("q1 a1");
      const reads = count("load");
      for (let i = 0; i < 3; i += 1) engine.emit({ type: "stream", sessionId: "a", runId: "r", origin: "remote" });
      await sleep(30);
      assert.equal(count("load"), reads);
    });

    test("typing renders no message, and a token renders one", async () => {
      const { store } = await filled({ a: ["q1 a1", "q2 a2"] });
      const rendered = [];
      const Message = memo(function Message({ message }) {
        rendered.push(message.id);
        return message.content;
      });
      const List = memo(function List({ messages }) {
        rendered.push("list");
        return messages.map((message) => h(Message, { key: message.id, message }));
      });
      let chat;
      let type;
      function App() {
        const [input, setInput] = useState("");
        chat = useChatHistory();
        type = setInput;
        return h("div", null, input, h(List, { messages: chat.messages }));
      }
      const root = page.createRoot(page.dom.document.createElement("div"));
      undone.push(() => root.unmount());
      root.render(h(TurnmarkProvider, { store }, h(App)));
      await eventually(() => assert.equal(chat?.status, "ready"));
      const before = chat;
      rendered.length = 0;
      for (const text of ["h", "he", "hel"]) {
        type(text);
        await sleep(5);
      }
      assert.deepEqual(rendered, []);
      assert.equal(chat, before, "nothing of the hook is another");

      const turn = await chat.begin();
      await turn.append([user("q3")]);
      turn.stream(answer("a3", "x"));
      await eventually(() => assert.equal(ids(chat), "q1 a1 q2 a2 q3 a3"));
      await sleep(40);
      for (const content of ["xy", "xyz"]) {
        rendered.length = 0;
        const shown = chat;
        turn.stream(answer("a3", content));
        await eventually(() => assert.equal(chat.messages.at(-1).content, content));
        await sleep(40);
        assert.deepEqual(rendered, ["list", "a3"]);
        const others = Object.keys(chat).filter((key) => chat[key] !== shown[key]);
        assert.deepEqual(others, ["messages"], "not even the save of it changes anything else");
      }
      await turn.end();
    });

    test("actions never render, and are the same in every render; the list of sessions does not render for a token", async () => {
      const opening = gate();
      const { store } = await filled({ a: ["q1 a1"] });
      const open = async () => (await opening, wrap(store, { close: async () => {} }));
      const actions = mount({ options: { name: "x" }, open }, () => useChatActions());
      const view = mount({ options: { name: "x" }, open });
      const sessions = mount({ options: { name: "x" }, open }, () => useChatSessions());
      const early = actions.last;
      opening.open();
      await ready(view);
      const turn = await early().begin();
      turn.stream(answer("a2", "x"));
      await view.shows("q1 a1 a2");
      await sleep(40);
      const mark = sessions.seen.length;
      const first = view.seen[0];
      for (const content of ["xy", "xyz", "xyzw"]) {
        turn.stream(answer("a2", content));
        await sleep(25);
      }
      assert.equal(sessions.seen.length, mark);
      assert.equal(actions.seen.length, 1);
      for (const name of Object.keys(actions.last())) assert.equal(view.last()[name], first[name], name);
      await turn.end();
    });
  });

  describe("two pages on one chat", () => {
    test("what another page commits, and what grows there, is shown; tokens do not read the chat", async () => {
      const { here, there } = await twoPages({ a: ["q1 a1"] });
      const view = mount({ store: here.store });
      const other = mount({ store: there.store });
      await view.shows("q1 a1");
      await other.shows("q1 a1");
      const turn = await other.last().begin();
      await turn.append([user("q2")]);
      await view.shows("q1 a1 q2");
      await eventually(() => assert.deepEqual(view.last().streaming, { runId: turn.runId, messageId: null, mine: false }));
      assert.equal(view.last().status, "streaming");
      turn.stream(answer("a2", "He"));
      await view.shows("q1 a1 q2 a2");
      const known = view.last().messages;
      await sleep(40);
      const reads = here.count("load");
      for (const content of ["Hel", "Hell", "Hello"]) {
        turn.stream(answer("a2", content));
        await eventually(() => assert.equal(view.last().messages.at(-1).content, content));
      }
      assert.equal(here.count("load"), reads, "only the growing message is read");
      assert.deepEqual(view.last().messages.slice(0, 3).map((message, i) => message === known[i]), [true, true, true]);
      assert.equal(view.last().streaming.messageId, "a2");
      await turn.end();
      await ready(view);
      assert.equal(ids(view.last()), "q1 a1 q2 a2");
      assert.equal(view.last().streaming, null);
      await (await there.store.session("a")).delete();
      await view.shows("");
    });

    test("whoever looks in the middle of an answer sees it, and sees it interrupted when its page dies without a word", async () => {
      const { here, there } = await twoPages({ a: ["q1 a1"] });
      const session = await there.store.session("a");
      await session.get();
      const turn = await session.begin();
      turn.stream(answer("a2", "half"));
      await turn.flush();
      const view = mount({ store: here.store });
      await view.shows("q1 a1 a2");
      assert.deepEqual(view.last().streaming, { runId: turn.runId, messageId: "a2", mine: false });
      const reads = here.count("load");
      await sleep(SILENCE_MS + 100);
      assert.equal(view.last().status, "streaming");
      assert.equal(here.count("load"), reads);
      here.engine.dead.add(turn.runId);
      await eventually(() => assert.equal(view.last().interrupted?.messageId, "a2"), SILENCE_MS / 5 + 100);
      assert.deepEqual([view.last().status, ids(view.last())], ["ready", "q1 a1 a2"]);
      assert.equal(here.count("recover"), 0);
    });

    test("a sidebar and a panel load 4 messages; the panel saves a fifth, and the sidebar's 4 with a pin take nothing away", async () => {
      const { here, there } = await twoPages({ a: ["q1 a1", "q2 a2"] });
      const sidebar = mount({ store: here.store }, () => ({ ...useChatHistory(), session: useSession("a") }));
      const panel = mount({ store: there.store });
      await sidebar.shows("q1 a1 q2 a2");
      await panel.shows("q1 a1 q2 a2");
      await eventually(() => assert.equal(sidebar.last().session.messages.length, 4));
      const { messages, head } = sidebar.last();
      const turn = await panel.last().begin();
      const ended = turn.end([user("q3")]);
      await ended;
      // A write that was put together from what was shown before, as the last word of a page that has heard nothing yet.
      const stale = here.store.session("a").then((session) => session.put({ messages, pins: [1] }, { source: "message", parentCheckpointId: head.id }));
      await assert.rejects(stale, { code: "Conflict" });
      await sidebar.shows("q1 a1 q2 a2 q3");
      assert.equal((await (await there.store.session("a")).messages()).length, 5);
    });

    test("a stale page that sends keeps its prompt in a branch, and goes on there", async () => {
      const { here, there } = await twoPages({ a: ["q1 a1"] });
      const view = mount({ store: here.store });
      await view.shows("q1 a1");
      // The other page writes, and this one has not heard of it yet.
      const session = await there.store.session("a");
      await session.get();
      there.engine.tabs = [];
      await (await session.begin()).end([user("q2"), answer("a2")]);
      const failure = await view.last().begin({ raw: "mine" }).catch((error) => error);
      assert.equal(failure.code, "Conflict");
      await eventually(() => assert.equal(view.last().error, failure));
      const turn = await view.last().openBranch(failure);
      await eventually(() => assert.equal(view.last().sessionId, failure.branch.sessionId));
      await turn.append([user("q2b")]);
      const grown = answer("a2b", "here");
      turn.stream(grown);
      await view.shows("q1 a1 q2b a2b");
      assert.equal(view.last().messages.at(-1), grown);
      await turn.end();
      await ready(view);
      assert.equal(view.last().error, null);
      assert.deepEqual((await session.messages()).map(({ id }) => id), ["q1", "a1", "q2", "a2"]);
      await assert.rejects(view.last().openBranch(new TypeError("other")), TypeError);
    });

    test("two pages that send at the same time lose nothing", async () => {
      const { here, there } = await twoPages({ a: ["q1 a1"] });
      const views = [mount({ store: here.store }), mount({ store: there.store })];
      for (const view of views) await view.shows("q1 a1");
      const turns = await Promise.all(views.map((view, i) => view.last().begin({ raw: `m${i}` }).catch(view.last().openBranch)));
      await Promise.all(turns.map((turn, i) => turn.end([user(`m${i}`)])));
      const kept = await Promise.all(turns.map(async (turn) => (await (await here.store.session(turn.sessionId)).messages()).map(({ id }) => id).join(" ")));
      assert.deepEqual(kept, ["q1 a1 m0", "q1 a1 m1"]);
      assert.notEqual(turns[0].sessionId, turns[1].sessionId);
      await views[0].shows("q1 a1 m0");
      await views[1].shows("q1 a1 m1");
    });

    test("another page that opens another chat takes nobody from the one they read; the first chat of all is shown to both", async () => {
      const { here, there } = await twoPages({});
      const view = mount({ store: here.store });
      const other = mount({ store: there.store });
      await ready(view);
      await ready(other);
      const { sessionId } = await other.last().newSession();
      await eventually(() => assert.equal(view.last().sessionId, sessionId));
      await other.last().newSession();
      await eventually(() => assert.notEqual(other.last().sessionId, sessionId));
      await sleep(20);
      assert.equal(view.last().sessionId, sessionId);
      // The other page's chat is the active one already, and still this page can go to it.
      await view.last().open(other.last().sessionId);
      await eventually(() => assert.equal(view.last().sessionId, other.last().sessionId));
    });
  });

  describe("what must not be lost", () => {
    test("a prompt that is sent before anything is open or read waits for both, in its order", async () => {
      const opening = gate();
      const loading = gate();
      const { store, engine } = await filled({ a: ["q1 a1"] });
      const view = mount({ options: { name: "late" }, open: async () => (await opening, wrap(store, { close: async () => {} })) });
      await eventually(() => assert.ok(view.last()));
      const turn = view.last().begin({ raw: "early" });
      await sleep(20);
      engine.gates.set("load", loading);
      opening.open();
      await sleep(20);
      assert.equal(engine.calls.some(([name]) => name === "begin"), false, "A-36 nothing is written before the chat is read");
      loading.open();
      await (await turn).end([user("q2")]);
      await view.shows("q1 a1 q2");
    });

    test("what cannot be read is not written to, and is read again by the next attempt", async () => {
      const { store, engine, count } = await filled({ a: ["q1 a1"] });
      const errors = [];
      engine.fail.set("load", raw("RecordUnreadable"));
      const view = mount({ store, onError: (error) => errors.push(error.code) });
      await eventually(() => assert.equal(view.last()?.status, "error"));
      engine.fail.set("load", raw("RecordUnreadable"));
      await assert.rejects(view.last().begin(), { code: "RecordUnreadable" });
      assert.equal(count("begin"), 0);
      await (await view.last().begin()).end([user("q2")]);
      await view.shows("q1 a1 q2");
      assert.equal(view.last().error, null);
      assert.deepEqual(errors, ["RecordUnreadable", "RecordUnreadable"]);
    });

    test("what could not be read of another page is read with whatever comes next", async () => {
      const { here, there } = await twoPages({ a: ["q1 a1"] });
      const view = mount({ store: here.store });
      await view.shows("q1 a1");
      const session = await there.store.session("a");
      await session.get();
      const turn = await session.begin();
      await eventually(() => assert.equal(view.last().streaming?.runId, turn.runId));
      here.engine.fail.set("load", raw("RecordUnreadable"));
      await turn.append([user("q2")]);
      await eventually(() => assert.equal(view.last().error?.code, "RecordUnreadable"));
      assert.equal(ids(view.last()), "q1 a1", "what was read before stays");
      turn.stream(answer("a2"));
      await view.shows("q1 a1 q2 a2");
      assert.equal(view.last().error, null);
      await turn.end();
    });

    test("refreshing two and three times while it loads leaves what was there", async () => {
      const { store, engine } = await filled({ a: ["q1 a1", "q2 a2"] });
      for (let i = 0; i < 3; i += 1) {
        const loading = gate();
        engine.gates.set("load", loading);
        const view = mount({ store: await opens() });
        await eventually(() => assert.equal(view.last()?.status, "loading"));
        view.unmount();
        loading.open();
      }
      engine.gates.clear();
      const view = mount({ store: await opens() });
      await view.shows("q1 a1 q2 a2");
      assert.equal(engine.calls.some(([name]) => ["begin", "append", "put", "recover"].includes(name)), false);
    });

    test("switching in mid-stream puts no text into the other chat, and coming back shows it at once", async () => {
      const { store } = await filled({ a: ["q1 a1"], b: ["q2 a2"] });
      const view = mount({ store });
      await view.shows("q1 a1");
      const turn = await view.last().begin();
      await turn.append([user("q3")]);
      turn.stream(answer("a3", "on"));
      await view.shows("q1 a1 q3 a3");
      await view.last().open("b");
      await view.shows("q2 a2");
      turn.stream(answer("a3", "on and"));
      await sleep(30);
      for (const shown of view.seen) assert.ok(shown.sessionId !== "b" || ["", "q2 a2"].includes(ids(shown)), ids(shown));
      assert.deepEqual([view.last().status, view.last().streaming], ["ready", null]);
      await sleep(1200);
      await view.last().open("a");
      await view.shows("q1 a1 q3 a3");
      const grown = answer("a3", "on and on");
      turn.stream(grown);
      await eventually(() => assert.equal(view.last().messages.at(-1), grown, "what was given, not what was read back"));
      await turn.end();
      await ready(view);
      assert.deepEqual((await (await store.session("a")).messages()).map(({ content }) => content), ["q1", "a1", "q3", "on and on"]);
      assert.deepEqual((await (await store.session("b")).messages()).map(({ id }) => id), ["q2", "a2"]);
    });

    test("a component that goes in mid-stream takes neither the turn nor its store away", async () => {
      const { store } = await filled({ a: ["q1 a1"] });
      let closed = 0;
      const view = mount({ options: { name: "goes" }, open: async () => wrap(store, { close: async () => (closed += 1) }) });
      await view.shows("q1 a1");
      const turn = await view.last().begin();
      turn.stream(answer("a2", "x"));
      view.unmount();
      await sleep(1200);
      assert.equal(closed, 0);
      turn.stream(answer("a2", "xy"));
      await turn.end();
      assert.equal((await (await store.session("a")).messages()).at(-1).content, "xy");
      await eventually(() => assert.equal(closed, 1));
    });

    test("a full disk in the middle of a turn is told, touches nothing earlier, and the turn can go on", async () => {
      const { store, engine } = await filled({ a: ["q1 a1"] });
      const errors = [];
      const view = mount({ store, onError: (error) => errors.push(error.code) });
      await view.shows("q1 a1");
      const turn = await view.last().begin();
      engine.fail.set("append", raw("QuotaExceeded"));
      await assert.rejects(turn.append([user("q2")]), { code: "QuotaExceeded" });
      await eventually(() => assert.equal(view.last().error?.code, "QuotaExceeded"));
      assert.equal(view.last().status, "streaming");
      assert.equal(ids(view.last()), "q1 a1");
      engine.fail.set("stream", raw("QuotaExceeded"));
      turn.stream(answer("a2", "x"));
      await eventually(() => assert.deepEqual(errors, ["QuotaExceeded", "QuotaExceeded"]));
      assert.equal(ids(view.last()), "q1 a1 a2", "what arrives is still shown");
      await turn.append([user("q2")]);
      await eventually(() => assert.equal(view.last().error, null));
      await turn.end([answer("a2", "xy")]);
      await ready(view);
      assert.deepEqual([...(await (await store.session("a")).messages())].map(({ id }) => id).sort(), ["a1", "a2", "q1", "q2"]);
      assert.equal(ids(view.last()), (await (await store.session("a")).messages()).map(({ id }) => id).join(" "));
    });

    test("a message that could not be stored is not shown as if it were", async () => {
      const { store, engine } = await filled({ a: ["q1 a1"] });
      const view = mount({ store });
      await view.shows("q1 a1");
      const turn = await view.last().begin();
      await turn.append([user("q2", "one")]);
      engine.fail.set("append", raw("QuotaExceeded"));
      await assert.rejects(turn.append([user("q2", "two")]));
      await turn.append([answer("a2")]);
      await view.shows("q1 a1 q2 a2");
      assert.equal(view.last().messages[2].content, "one");
      await turn.end();
    });

    test("regenerate after a reload keeps the old answer where the engine keeps it", async () => {
      const { store, engine } = await filled({ a: ["q1 a1"] });
      const before = mount({ store });
      await before.shows("q1 a1");
      before.unmount();
      const view = mount({ store: await opens() });
      await view.shows("q1 a1");
      const turn = await view.last().regenerate("q1");
      assert.equal(engine.calls.findLast(([name]) => name === "begin")[2].regenerate, "q1");
      await turn.end([answer("a1b")]);
      await view.shows("q1 a1b");
      assert.equal(view.last().messages[0].content, "q1");
    });

    test("a provider with another store shows nothing of the one before, and its actions go to the new one", async () => {
      const { store } = await filled({ a: ["q1 a1"] });
      const second = await opens("second");
      const { session } = await second.newSession({ id: "z" });
      await (await session.begin()).end([user("q9")]);
      const view = mount({ store });
      await view.shows("q1 a1");
      const mark = view.seen.length;
      view.render(undefined, { store: second });
      await view.shows("q9");
      for (const shown of view.seen.slice(mark)) {
        assert.ok(["", "q9"].includes(ids(shown)), ids(shown));
        assert.ok(shown.sessions.entries.every(({ sessionId }) => sessionId === "z"));
      }
      await (await view.last().begin()).end([user("q10")]);
      assert.equal((await session.messages()).length, 2);
    });

    test("a read that was under way while a turn went on does not take its messages away again", async () => {
      const { store, engine } = await filled({ a: ["q1 a1"] });
      const view = mount({ store });
      await view.shows("q1 a1");
      const turn = await view.last().begin();
      const late = gate();
      engine.gates.set("log", late);
      engine.emit({ type: "session.changed", sessionId: "a", reason: "import", origin: "remote" });
      await eventually(() => assert.equal(engine.calls.at(-1)[0], "log"));
      // `log` holds the session's queue: it is the read of it that came before what the turn writes now.
      const written = turn.append([user("q2")]);
      late.open();
      engine.gates.clear();
      await written;
      await view.shows("q1 a1 q2");
      const mark = view.seen.length;
      await sleep(50);
      assert.ok(view.seen.slice(mark - 1).every((shown) => ids(shown) === "q1 a1 q2"));
      await turn.end();
    });
  });
});
