// turnmark/ai-sdk beside the real `useChat`, with a scripted transport, over a store in memory. `node --test tests/unit`.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { StrictMode, createElement as h } from "react";
import { renderToString } from "react-dom/server";
import { fakeStore } from "./fake-history.js";
import { eventually, pageForTests, sleep, undone, useReactFromHere } from "./react-kit.js";

useReactFromHere();
const { safeToSend, useDurableChat } = await import("../../pkg-template/ai-sdk.js");
const { TurnmarkError } = await import("../../pkg-template/errors.js");
const { judge } = await import("../../pkg-template/ai-sdk-judge.js");
const { Chat, useChat } = await import(process.env.AI_SDK_REACT ?? "@ai-sdk/react");
const { convertToModelMessages, lastAssistantMessageIsCompleteWithToolCalls, validateUIMessages } = await import(process.env.AI_SDK ?? "ai");

const user = (id, text = `text of ${id}`) => ({ id, role: "user", parts: [{ type: "text", text }] });
const assistant = (id, text = `text of ${id}`) => ({ id, role: "assistant", parts: [{ type: "text", text, state: "done" }] });
const textOf = ({ parts }) => parts.filter(({ type }) => type === "text").map(({ text }) => text).join("");
const ids = (messages) => messages.map(({ id }) => id).join(" ");
const texts = (messages) => messages.map(textOf).join(" | ");

/** A transport whose answers the test writes: `next()` is the next request, with `say`, `done` and `fail`. */
function scripted() {
  const requests = [];
  const waiting = [];
  const answer = (options) => {
    let controller;
    let texts = 0;
    let open = false;
    const stream = new ReadableStream({ start: (it) => (controller = it) });
    const request = {
      options,
      send: (...chunks) => chunks.forEach((chunk) => controller.enqueue(chunk)),
      start: (messageId) => request.send({ type: "start", messageId }, { type: "start-step" }),
      say(text) {
        if (!open) request.send({ type: "text-start", id: `t${(texts += 1)}` });
        open = true;
        request.send({ type: "text-delta", id: `t${texts}`, delta: text });
      },
      done() {
        if (open) request.send({ type: "text-end", id: `t${texts}` });
        request.send({ type: "finish-step" }, { type: "finish" });
        controller.close();
      },
      close: () => controller.close(),
      fail: (error) => controller.error(error),
    };
    options.abortSignal?.addEventListener("abort", () => controller.error(Object.assign(new Error("aborted"), { name: "AbortError" })));
    requests.push(request);
    waiting.splice(0).forEach((wake) => wake());
    return stream;
  };
  let taken = 0;
  return {
    requests,
    resumable: null,
    async sendMessages(options) { return answer(options); },
    async reconnectToStream(options) { return this.resumable ? answer(options) : null; },
    async next() {
      while (requests.length <= taken) await new Promise((resolve) => waiting.push(resolve));
      return requests[taken++];
    },
  };
}

/** Says and finishes a whole answer. */
async function answers(transport, id, text = `text of ${id}`) {
  const request = await transport.next();
  request.start(id);
  request.say(text);
  request.done();
  return request;
}

describe("safeToSend", () => {
  const message = (...parts) => ({ id: "a", role: "assistant", parts });
  const call = (state, more) => ({ type: "tool-look", toolCallId: "c1", state, input: { q: 1 }, ...more });

  test("what needs no change is the very same list", () => {
    const messages = [user("u"), message({ type: "step-start" }, { type: "text", text: "x" }, call("output-available", { output: 1 }))];
    assert.equal(safeToSend(messages), messages);
  });

  test("a half-finished tool call is completed with an error or left out, and nothing given is changed", async () => {
    const messages = [
      user("u1"),
      { ...message(
        { type: "step-start" }, { type: "text", text: "x" }, call("input-available"), call("input-streaming", { toolCallId: "c2", input: undefined }),
        { type: "dynamic-tool", toolName: "free", toolCallId: "c3", state: "input-available", input: {} }, call("approval-requested", { toolCallId: "c4", approval: { id: "p" } }),
        call("approval-responded", { toolCallId: "c5", approval: { id: "p2", approved: true } }), call("approval-responded", { toolCallId: "c6", approval: { id: "p3", approved: false } }),
      ), metadata: { at: new Date(0) } },
      message(call("input-streaming", { input: undefined })),
      user("u2"),
    ];
    const before = structuredClone(messages);
    const safe = safeToSend(messages);
    assert.deepEqual(messages, before);
    assert.equal(safe.length, 3, "a message of which nothing is left is not sent");
    assert.deepEqual(safe[1].parts.map(({ type, toolCallId, state }) => [type, toolCallId, state].filter(Boolean).join(" ")), [
      "step-start", "text", "tool-look c1 output-error", "dynamic-tool c3 output-error", "tool-look c4 output-error", "tool-look c5 output-error", "tool-look c6 output-denied",
    ]);
    assert.equal(safe[1].metadata, messages[1].metadata);
    await validateUIMessages({ messages: safe });
    const model = await convertToModelMessages(safe);
    const calls = model.flatMap(({ content }) => (Array.isArray(content) ? content : [])).filter(({ type }) => type === "tool-call").map(({ toolCallId }) => toolCallId);
    const results = model.flatMap(({ content }) => (Array.isArray(content) ? content : [])).filter(({ type }) => type === "tool-result").map(({ toolCallId }) => toolCallId);
    assert.deepEqual(results.sort(), calls.sort(), "every call that is sent has its result");
    // Without it the conversion leaves calls without a result, which providers refuse.
    const raw = (await convertToModelMessages(messages)).flatMap(({ content }) => content);
    assert.ok(raw.filter(({ type }) => type === "tool-call").length > raw.filter(({ type }) => type === "tool-result").length);
  });

  test("a consent in the last message can still be acted on; a thought that leads to nothing any more is left out", () => {
    const last = [user("u"), message(call("approval-responded", { approval: { id: "p", approved: true } }))];
    assert.equal(safeToSend(last), last);
    const thought = { type: "reasoning", text: "hm", state: "done" };
    assert.deepEqual(safeToSend([user("u"), message(thought, { type: "text", text: "x" }, { type: "step-start" }, thought, call("input-streaming"))])[1].parts, [thought, { type: "text", text: "x" }, { type: "step-start" }]);
    assert.deepEqual(safeToSend([user("u"), message({ type: "text", text: "x" }, { ...thought, state: "streaming" })])[1].parts, [{ type: "text", text: "x" }]);
  });
});

describe("judge", () => {
  const [u1, a1, u2, a2] = [user("u1"), assistant("a1"), user("u2"), assistant("a2")];
  const kind = (...args) => judge(...args).kind;

  test("tells what the application did from the lists before and after", () => {
    assert.equal(kind([u1, a1], [u1, a1], false, false), "same");
    assert.deepEqual(judge([u1, a1], [u1, a1, u2], true, false), { kind: "send", at: 2, edited: false });
    assert.deepEqual(judge([u1, a1], [u1, a1, u2, a2], false, false), { kind: "send", at: 2, edited: false });
    assert.deepEqual(judge([u1, a1, u2, a2], [u1, a1, { ...u2 }], true, false), { kind: "send", at: 2, edited: true });
    assert.deepEqual(judge([u1, a1, u2, a2], [u1, a1, u2], true, false), { kind: "regenerate", at: 2 });
    assert.deepEqual(judge([u1, a1], [u1, a2], false, false), { kind: "regenerate", at: 0 });
    assert.deepEqual(judge([u1], [u1], true, false), { kind: "regenerate", at: 0 });
    assert.deepEqual(judge([u1, a1], [u1, a1], true, true), { kind: "resume", at: 0 });
    assert.equal(kind([u1, a1], [u1, a1], true, false), "continue");
    assert.equal(kind([u1, a1], [u1, { ...a1 }], true, false), "continue");
    assert.equal(kind([u1, a1], [u1, { ...a1 }], false, false), "edit");
    assert.equal(kind([u1, a1], [], false, false), "edit");
  });
});

test("rendering on a server opens nothing, and without a store the hook says what is missing", () => {
  const store = fakeStore();
  function Page() {
    const history = useDurableChat(useChat({ id: "s" }), { sessionId: "s", store });
    return h("p", null, `${history.ready} ${history.sessionId} ${history.messages.length}`);
  }
  assert.equal(renderToString(h(Page)), "<p>false s 0</p>");
  assert.deepEqual(store.log, []);
  function Lost() {
    useDurableChat(useChat({ id: "s" }), { sessionId: "s" });
    return null;
  }
  assert.throws(() => renderToString(h(Lost)), { name: "TurnmarkError", message: /<TurnmarkProvider>/ });
});

describe("useDurableChat", () => {
  const page = pageForTests({ settle: 20 });

  /** Renders `useChat` with the hook beside it. `props` are the hook's and, as `chat`, those of `useChat`. */
  async function mount(props, { strict = false } = {}) {
    const root = page.createRoot(page.dom.document.createElement("div"));
    const seen = [];
    const errors = [];
    let current = props;
    function Probe() {
      const { chat: chatOptions, ...options } = current;
      const chat = useChat(chatOptions ?? { id: options.sessionId, transport: current.transport });
      const history = useDurableChat(chat, { onError: (error) => errors.push(error), ...options });
      seen.push({ chat, history });
      return null;
    }
    const render = (next = current) => {
      current = next;
      root.render(h(strict ? StrictMode : "div", null, h(Probe, { nonce: {} })));
    };
    render();
    undone.push(() => root.unmount());
    const last = () => seen.at(-1);
    await eventually(() => assert.ok(last()));
    return { seen, errors, render, last, history: () => last().history, chat: () => last().chat, unmount: () => root.unmount(), ready: () => eventually(() => assert.ok(last()?.history.ready)) };
  }

  /** A store with a chat in it. */
  async function withChat(id, messages, options) {
    const store = fakeStore(options);
    await store.remote(id).put({ messages, plan: "kept" }, {});
    store.log.length = 0;
    return store;
  }

  for (const strict of [false, true]) {
    test(`A-02 a message is sent after its prompt checkpoint, streamed, and stored with its answer${strict ? ", under StrictMode" : ""}`, async () => {
      const [store, transport] = [fakeStore(), scripted()];
      const view = await mount({ sessionId: "s", store, transport, raw: "typed", ui: () => ({ target: 1 }) }, { strict });
      const sending = view.history().sendMessage({ text: "composed", metadata: { at: new Date(5) } });
      const request = await transport.next();
      assert.deepEqual(store.log.filter((line) => line.startsWith("begin")), ["begin s typed"]);
      assert.deepEqual(request.options.messages.map(textOf), ["composed"]);
      request.start("a1");
      request.say("Hel");
      await eventually(() => assert.equal(texts(view.history().messages), "composed | Hel"));
      await eventually(() => assert.ok(store.log.includes("stream s a1")));
      assert.equal(texts(store.messages("s")), "composed", "the user's message is there before the answer");
      assert.equal(textOf(store.row("s").run.streaming), "Hel");
      request.say("lo");
      request.done();
      await sending;
      assert.equal(texts(store.messages("s")), "composed | Hello");
      assert.deepEqual(store.messages("s"), view.history().messages, "every part and date, exactly");
      assert.deepEqual(store.messages("s")[0].metadata.at, new Date(5));
      const { prompt, ui, state } = store.row("s").checkpoints[0];
      assert.deepEqual([prompt.raw, prompt.composed, ui, ids(state.messages)], ["typed", "composed", { target: 1 }, ""]);
      assert.deepEqual(store.log.filter((line) => /^(begin|append|end|put)/.test(line)).map((line) => line.split(" ")[0]), ["begin", "append", "end"]);
      assert.equal(view.history().lastCheckpoint.id, store.row("s").checkpoints.at(-1).checkpoint.id);
      assert.deepEqual([view.history().saving, view.history().error, view.errors], [false, null, []]);
    });
  }

  test("nothing is written before the session is read, and a message that is sent meanwhile waits for it", async () => {
    let open;
    const opened = new Promise((resolve) => (open = resolve));
    const transport = scripted();
    const store = await withChat("s", [user("u1"), assistant("a1")], { gate: (operation) => (operation === "get" ? opened : undefined) });
    const view = await mount({ sessionId: "s", store, transport }, { strict: true });
    const sending = view.history().sendMessage({ text: "next" });
    await sleep(30);
    assert.deepEqual([view.history().ready, view.history().messages, transport.requests.length], [false, [], 0]);
    assert.ok(store.log.every((line) => line.startsWith("get")), String(store.log));
    open();
    const request = await answers(transport, "a2");
    await sending;
    assert.equal(texts(request.options.messages), "text of u1 | text of a1 | next");
    assert.equal(texts(store.messages("s")), "text of u1 | text of a1 | next | text of a2");
    assert.equal(store.row("s").checkpoints.at(-1).state.plan, "kept");
    assert.ok(!store.log.some((line) => line.startsWith("put")), "what is loaded is not written again");
  });

  test("vercel/ai#550 a message sent by code that does not know the hook is stored as a turn too, also when the answer is instant", async () => {
    const transport = scripted();
    const store = await withChat("s", [user("u1"), assistant("a1")]);
    const view = await mount({ sessionId: "s", store, transport });
    await view.ready();
    view.chat().sendMessage({ text: "direct" });
    await eventually(() => assert.ok(store.log.some((line) => line.startsWith("append"))));
    assert.deepEqual(store.log.filter((line) => line.startsWith("begin")), ["begin s direct"]);
    const prompt = store.row("s").checkpoints.find(({ checkpoint }) => checkpoint.kind === "prompt-before");
    assert.equal(ids(prompt.state.messages), "u1 a1", "the prompt checkpoint is of the messages before it");
    await answers(transport, "a2");
    await eventually(() => assert.equal(texts(store.messages("s")), "text of u1 | text of a1 | direct | text of a2"));
    view.chat().sendMessage({ text: "again" });
    await answers(transport, "a3");
    await eventually(() => assert.equal(texts(store.messages("s").slice(4)), "again | text of a3"));
    await sleep(30);
    assert.equal(store.row("s").run, null);
    assert.ok(!store.log.some((line) => line.startsWith("put")), String(store.log));
  });

  test("regenerate keeps the old answer as a version, which can be shown again", async () => {
    const [store, transport] = [fakeStore(), scripted()];
    const view = await mount({ sessionId: "s", store, transport });
    const first = view.history().sendMessage({ text: "q" });
    await answers(transport, "a1", "one");
    await first;
    const asked = view.history().messages[0].id;
    const second = view.history().regenerate();
    const request = await answers(transport, "a2", "two");
    await second;
    assert.equal(request.options.trigger, "regenerate-message");
    assert.equal(texts(store.messages("s")), "q | two");
    assert.deepEqual(store.log.filter((line) => line.startsWith("begin")), ["begin s q", `begin s again ${asked}`]);
    const versions = await view.history().versions(asked);
    assert.equal(versions.length, 2);
    await view.history().show(versions[0]);
    await eventually(() => assert.equal(texts(view.history().messages), "q | one"));
    // And by a button that calls useChat's own.
    view.chat().regenerate();
    await answers(transport, "a3", "three");
    await eventually(() => assert.equal(texts(store.messages("s")), "q | three"));
    await eventually(() => assert.equal(store.row("s").run, null));
    assert.equal((await view.history().versions(asked)).length, 3);
    await assert.rejects(view.history().regenerate({ messageId: "nowhere" }), { code: "InvalidArgument" });
  });

  test("stop keeps what arrived, and is the end of the turn", async () => {
    const [store, transport] = [fakeStore(), scripted()];
    const view = await mount({ sessionId: "s", store, transport });
    const sending = view.history().sendMessage({ text: "q" });
    const request = await transport.next();
    request.start("a1");
    request.say("half an ans");
    await eventually(() => assert.equal(texts(view.history().messages), "q | half an ans"));
    await view.history().stop();
    await sending;
    assert.equal(texts(store.messages("s")), "q | half an ans");
    assert.equal(store.row("s").checkpoints.at(-1).checkpoint.metadata.finishReason, "aborted");
    assert.equal(store.row("s").run, null);
    const more = view.history().sendMessage({ text: "r" });
    await answers(transport, "a2");
    await more;
    assert.equal(texts(store.messages("s")), "q | half an ans | r | text of a2");
  });

  test("an error of the model ends the turn with what arrived, and says so", async () => {
    const [store, transport] = [fakeStore(), scripted()];
    const view = await mount({ sessionId: "s", store, transport, chat: { id: "s", transport, onError: () => {} } });
    const sending = view.history().sendMessage({ text: "q" });
    const request = await transport.next();
    request.start("a1");
    request.say("half");
    await eventually(() => assert.equal(texts(view.history().messages), "q | half"));
    request.fail(new Error("overloaded"));
    await sending;
    assert.equal(texts(store.messages("s")), "q | half");
    const { finishReason, error } = store.row("s").checkpoints.at(-1).checkpoint.metadata;
    assert.deepEqual([finishReason, error], ["error", "overloaded"]);
  });

  test("restore and edit stop the answer first; removed messages do not come back, and edit gives the typed text", async () => {
    const [store, transport] = [fakeStore(), scripted()];
    const view = await mount({ sessionId: "s", store, transport, raw: (message) => `raw ${message.text}` }, { strict: true });
    const first = view.history().sendMessage({ text: "q1" });
    await answers(transport, "a1");
    await first;
    view.history().sendMessage({ text: "q2" });
    const request = await transport.next();
    request.start("a2");
    request.say("half");
    await eventually(() => assert.equal(texts(view.history().messages), "q1 | text of a1 | q2 | half"));
    const edited = await view.history().edit(view.history().messages[2].id);
    assert.equal(edited.rawPrompt, "raw q2");
    assert.ok(store.log.findIndex((line) => line.startsWith("end") && line.endsWith("a2")) < store.log.findIndex((line) => line.startsWith("restore")));
    await eventually(() => assert.equal(texts(view.history().messages), "q1 | text of a1"));
    await sleep(50);
    assert.equal(texts(view.history().messages), "q1 | text of a1");
    assert.equal(texts(view.chat().messages), "q1 | text of a1");
    await view.history().undo();
    await eventually(() => assert.equal(texts(view.history().messages), "q1 | text of a1 | q2 | half"));
    const again = view.history().sendMessage({ text: "q2, better", messageId: view.history().messages[2].id });
    await answers(transport, "a3");
    await again;
    assert.equal(texts(store.messages("s")), "q1 | text of a1 | q2, better | text of a3");
    await view.history().restore(view.history().messages[0].id);
    await eventually(() => assert.deepEqual(view.history().messages, []));
    assert.deepEqual(store.messages("s"), []);
  });

  test("switching chats in mid-stream puts no text into the other chat, and keeps what arrived in its own", async () => {
    for (const chatId of [undefined, "one for all"]) {
      const transport = scripted();
      const store = await withChat("b", [user("ub"), assistant("ab")]);
      const props = (sessionId) => ({ sessionId, store, transport, chat: { id: chatId ?? sessionId, transport, throttle: chatId ? 40 : undefined } });
      const view = await mount(props("a"), { strict: true });
      view.history().sendMessage({ text: "q" });
      const request = await transport.next();
      request.start("a1");
      request.say("half");
      await eventually(() => assert.equal(texts(view.history().messages), "q | half"));
      const before = view.seen.length;
      view.render(props("b"));
      await eventually(() => assert.equal(ids(view.history().messages), "ub ab"));
      await eventually(() => assert.equal(texts(store.messages("a")), "q | half"));
      await sleep(50);
      assert.equal(store.row("a").run, null);
      assert.equal(ids(store.messages("b")), "ub ab");
      for (const { history } of view.seen.slice(before)) {
        if (history.sessionId === "b") assert.ok(["", "ub ab"].includes(ids(history.messages)), ids(history.messages));
      }
      view.render(props("a"));
      await eventually(() => assert.equal(texts(view.history().messages), "q | half"));
      view.render(props("empty"));
      await eventually(() => assert.deepEqual([view.history().ready, view.history().sessionId, view.chat().messages], [true, "empty", []]));
      await sleep(50);
      assert.deepEqual(store.messages("empty"), []);
      assert.equal(texts(store.messages("a")), "q | half");
    }
  });

  test("an operation that was asked of the session before a switch is refused, not done to the other", async () => {
    const transport = scripted();
    const store = fakeStore();
    const view = await mount({ sessionId: "a", store, transport });
    await view.ready();
    const { sendMessage } = view.history();
    view.render({ sessionId: "b", store, transport });
    await eventually(() => assert.equal(view.history().sessionId, "b"));
    await view.ready();
    await assert.rejects(sendMessage({ text: "for a" }), { code: "Aborted" });
    assert.deepEqual([store.messages("a"), store.messages("b"), transport.requests.length], [[], [], 0]);
  });

  test("leaving in mid-stream stores what arrived; coming back shows it", async () => {
    const [store, transport] = [fakeStore(), scripted()];
    const view = await mount({ sessionId: "s", store, transport });
    view.history().sendMessage({ text: "q" });
    const request = await transport.next();
    request.start("a1");
    request.say("half");
    await eventually(() => assert.equal(texts(view.history().messages), "q | half"));
    view.unmount();
    await eventually(() => assert.equal(store.row("s").run, null));
    assert.equal(texts(store.messages("s")), "q | half");
    const back = await mount({ sessionId: "s", store, transport });
    await eventually(() => assert.equal(texts(back.history().messages), "q | half"));
    assert.equal(back.history().interrupted, null);
  });

  test("a chat that outlives its component is recorded to its end, and found again", async () => {
    const [store, transport] = [fakeStore(), scripted()];
    const chat = new Chat({ id: "s", transport });
    const view = await mount({ sessionId: "s", store, chat: { chat }, instance: chat });
    await view.ready();
    chat.sendMessage({ text: "q" });
    const request = await transport.next();
    request.start("a1");
    request.say("one ");
    await eventually(() => assert.equal(texts(view.history().messages), "q | one "));
    view.unmount();
    await sleep(20);
    request.say("two ");
    await eventually(() => assert.equal(textOf(store.row("s").run.streaming), "one two "));
    const back = await mount({ sessionId: "s", store, chat: { chat }, instance: chat });
    await eventually(() => assert.equal(texts(back.history().messages), "q | one two "));
    back.unmount();
    await sleep(20);
    request.say("three");
    request.done();
    await eventually(() => assert.equal(store.row("s").run, null));
    assert.equal(texts(store.messages("s")), "q | one two three");
    assert.equal(store.log.filter((line) => line.startsWith("begin")).length, 1);
  });

  /** A session whose page died while it answered. */
  async function interrupted(...parts) {
    const store = fakeStore();
    const session = store.remote("s");
    await session.get();
    const turn = await session.begin({ raw: "q" });
    await turn.append([user("u1", "q")]);
    turn.stream({ id: "a1", role: "assistant", parts });
    store.kill("s");
    store.log.length = 0;
    return store;
  }
  const half = { type: "text", text: "half", state: "streaming" };

  test("after a crash the text that had arrived is there, marked, and kept by the next message", async () => {
    const transport = scripted();
    const store = await interrupted(half);
    const view = await mount({ sessionId: "s", store, transport });
    await view.ready();
    assert.equal(texts(view.history().messages), "q | half");
    assert.equal(view.history().interrupted.message.id, "a1");
    await sleep(30);
    assert.ok(store.log.every((line) => line.startsWith("get")), "showing it writes nothing");
    const sending = view.history().sendMessage({ text: "go on" });
    const request = await answers(transport, "a2");
    await sending;
    assert.equal(texts(request.options.messages), "q | half | go on");
    assert.equal(texts(store.messages("s")), "q | half | go on | text of a2");
    assert.equal(view.history().interrupted, null);
  });

  test("recover finalizes an interrupted answer or drops it", async () => {
    for (const [drop, expected] of [[false, "q | half"], [true, "q"]]) {
      const store = await interrupted(half);
      const view = await mount({ sessionId: "s", store, transport: scripted() });
      await view.ready();
      await view.history().recover({ drop });
      await eventually(() => assert.equal(texts(view.history().messages), expected));
      assert.equal(view.history().interrupted, null);
      assert.equal(texts(store.messages("s")), expected);
    }
  });

  test("vercel/ai#18457 a resumed answer takes the place of its first half, whatever its id", async () => {
    for (const id of ["a1", "another"]) {
      for (const automatic of [false, true]) {
        const transport = Object.assign(scripted(), { resumable: true });
        const store = await interrupted(half);
        const view = await mount({ sessionId: "s", store, chat: { id: "s", transport, resume: automatic } });
        if (!automatic) {
          await view.ready();
          view.history().resume();
        }
        const request = await transport.next();
        request.start(id);
        request.say("half and ");
        await sleep(20);
        request.say("whole");
        request.done();
        await eventually(() => assert.equal(store.row("s").run, null));
        await eventually(() => assert.equal(texts(store.messages("s")), "q | half and whole"));
        await eventually(() => assert.equal(texts(view.history().messages), "q | half and whole"));
        assert.equal(texts(view.chat().messages), "q | half and whole");
        view.unmount();
        await sleep(20);
      }
    }
  });

  test("when there is nothing to resume, or it brings nothing, the half answer stays", async () => {
    const transport = scripted();
    const store = await interrupted(half);
    const view = await mount({ sessionId: "s", store, chat: { id: "s", transport, resume: true } });
    await view.ready();
    await view.history().resume();
    await sleep(30);
    assert.equal(texts(view.history().messages), "q | half");
    assert.equal(view.history().interrupted.message.id, "a1");
    transport.resumable = true;
    view.history().resume();
    const request = await transport.next();
    await eventually(() => assert.equal(view.history().interrupted, null));
    request.send({ type: "finish" });
    request.fail(new Error("gone"));
    await eventually(() => assert.equal(store.row("s").run, null));
    await eventually(() => assert.equal(texts(view.history().messages), "q | half"));
    assert.equal(texts(store.messages("s")), "q | half");
  });

  test("a tool call that was cut off is shown as it is, sent as a failed one, and the chat goes on", async () => {
    const transport = scripted();
    const store = await interrupted({ type: "tool-look", toolCallId: "c", state: "input-available", input: { q: 1 } });
    const view = await mount({ sessionId: "s", store, transport });
    await view.ready();
    assert.equal(view.history().messages[1].parts[0].state, "input-available");
    assert.equal(view.history().safeMessages()[1].parts[0].state, "output-error");
    const sending = view.history().sendMessage({ text: "go on" });
    await answers(transport, "a2");
    await sending;
    assert.equal(store.messages("s")[1].parts[0].state, "input-available", "the store has what was received");
  });

  test("a tool's output given later, and the answer that goes on by itself after it, are stored", async () => {
    const [store, transport] = [fakeStore(), scripted()];
    const view = await mount({ sessionId: "s", store, chat: { id: "s", transport, sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls } });
    const sending = view.history().sendMessage({ text: "q" });
    const request = await transport.next();
    request.start("a1");
    request.send({ type: "tool-input-available", toolCallId: "c", toolName: "ask", input: {} });
    request.done();
    await sending;
    assert.equal(store.messages("s")[1].parts.at(-1).state, "input-available");
    view.chat().addToolOutput({ tool: "ask", toolCallId: "c", output: "yes" });
    const next = await transport.next();
    next.start("a1");
    next.say("thanks");
    await eventually(() => assert.equal(textOf(store.messages("s")[1]), "thanks"), 800);
    assert.ok(store.row("s").checkpoints.at(-1).checkpoint.provisional, "not finished yet");
    next.say(", done");
    next.done();
    await eventually(() => assert.equal(texts(store.messages("s")), "q | thanks, done"));
    await eventually(() => assert.equal(store.row("s").checkpoints.at(-1).checkpoint.provisional, false));
    assert.deepEqual(store.messages("s"), view.history().messages);
    assert.deepEqual(store.messages("s")[1].parts.filter(({ type }) => type === "tool-ask").map(({ state }) => state), ["output-available"]);
  });

  test("an answer that went on by itself is finished in the store too when its end brings nothing new", async () => {
    const transport = scripted();
    const asked = { id: "a1", role: "assistant", parts: [{ type: "tool-ask", toolCallId: "c", state: "input-available", input: {} }] };
    const store = await withChat("s", [user("u1"), asked]);
    const view = await mount({ sessionId: "s", store, chat: { id: "s", transport, sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls } });
    await view.ready();
    view.chat().addToolOutput({ tool: "ask", toolCallId: "c", output: "yes" });
    const request = await transport.next();
    request.start("a1");
    request.send({ type: "data-note", data: 1 });
    await eventually(() => assert.ok(store.messages("s")[1].parts.some(({ type }) => type === "data-note")), 800);
    assert.equal(store.row("s").checkpoints.at(-1).checkpoint.provisional, true);
    request.close();
    await eventually(() => assert.equal(store.row("s").checkpoints.at(-1).checkpoint.provisional, false));
  });

  test("regenerate in mid-answer stops the answer first, and keeps what arrived of it as a version", async () => {
    const [store, transport] = [fakeStore(), scripted()];
    const view = await mount({ sessionId: "s", store, transport });
    view.history().sendMessage({ text: "q" });
    const request = await transport.next();
    request.start("a1");
    request.say("half");
    await eventually(() => assert.equal(texts(view.history().messages), "q | half"));
    const again = view.history().regenerate();
    await answers(transport, "a2", "whole");
    await again;
    assert.equal(texts(store.messages("s")), "q | whole");
    assert.equal(request.options.abortSignal.aborted, true);
    const [first, second, ...none] = await view.history().versions(view.history().messages[0].id);
    assert.equal(none.length, 0);
    const shown = ({ checkpointId }) => texts(store.row("s").checkpoints.find(({ checkpoint }) => checkpoint.id === checkpointId).state.messages);
    assert.deepEqual([first, second].map(shown), ["q | half", "q | whole"]);
  });

  test("a message that is sent while an answer is written is a turn of its own, with its own prompt", async () => {
    const [store, transport] = [fakeStore(), scripted()];
    const view = await mount({ sessionId: "s", store, chat: { id: "s", transport, experimental_queue: true } });
    const first = view.history().sendMessage({ text: "q1" });
    const request = await transport.next();
    request.start("a1");
    request.say("one");
    await eventually(() => assert.equal(texts(view.history().messages), "q1 | one"));
    view.history().sendMessage({ text: "q2" }, undefined, { raw: "typed 2" });
    await sleep(20);
    request.done();
    await answers(transport, "a2");
    await first;
    await eventually(() => assert.equal(texts(store.messages("s")), "q1 | one | q2 | text of a2"));
    await eventually(() => assert.equal(store.row("s").run, null));
    assert.deepEqual(store.log.filter((line) => line.startsWith("begin")), ["begin s q1", "begin s typed 2"]);
  });

  test("what another tab commits is shown, but never while this one writes", async () => {
    const transport = scripted();
    const store = await withChat("s", [user("u1"), assistant("a1")]);
    const view = await mount({ sessionId: "s", store, transport });
    await view.ready();
    const kept = view.history().messages[0];
    await store.remote("s").put({ messages: [user("u1"), assistant("a1"), user("u2"), assistant("a2")] }, {});
    await eventually(() => assert.equal(ids(view.history().messages), "u1 a1 u2 a2"));
    assert.equal(view.history().messages[0], kept, "what did not change is the same object");
    await sleep(30);
    assert.ok(!store.log.some((line) => line.startsWith("put s u1,a1,u2,a2") && store.log.indexOf(line) !== store.log.lastIndexOf(line)), "it is not written back");

    view.history().sendMessage({ text: "q" });
    const request = await transport.next();
    request.start("a3");
    request.say("half");
    await eventually(() => assert.equal(texts(view.history().messages.slice(4)), "q | half"));
    store.emit("checkpoint.created", { checkpoint: { id: "cp_else", sessionId: "s" }, origin: "remote" });
    await sleep(30);
    assert.equal(texts(view.history().messages.slice(4)), "q | half");
    request.done();
    await eventually(() => assert.equal(store.row("s").run, null));
  });

  test("a tab that was not first goes on where its work is kept, and says where", async () => {
    const transport = scripted();
    const store = await withChat("s", [user("u1"), assistant("a1")]);
    const branches = [];
    const whenTold = [];
    const view = await mount({ sessionId: "s", store, transport, onConflict: ({ branch }) => {
      branches.push(branch.sessionId);
      whenTold.push(texts(store.messages(branch.sessionId).slice(-2)));
    } });
    await view.ready();
    // Another tab's answer is being written.
    const other = store.remote("s");
    await other.get();
    const theirs = await other.begin({ raw: "theirs" });
    await theirs.append([user("u9", "theirs")]);
    const sending = view.history().sendMessage({ text: "mine" });
    const request = await transport.next();
    await eventually(() => assert.notEqual(view.history().sessionId, "s"));
    request.start("a2");
    request.say("text of a2");
    await eventually(() => assert.equal(texts(view.history().messages.slice(-1)), "text of a2"));
    assert.deepEqual(branches, [], "opening the branch now would cut the answer off");
    request.done();
    await sending;
    await eventually(() => assert.deepEqual(whenTold, ["mine | text of a2"]));
    assert.equal(branches.length, 1);
    assert.equal(view.history().sessionId, branches[0]);
    assert.equal(texts(store.messages(branches[0]).slice(-2)), "mine | text of a2");
    await theirs.end([assistant("a9", "their answer")]);
    assert.equal(texts(store.messages("s")), "text of u1 | text of a1 | theirs | their answer");
    const more = view.history().sendMessage({ text: "more" });
    await answers(transport, "a3");
    await more;
    assert.equal(texts(store.messages(branches[0]).slice(-2)), "more | text of a3");
    assert.equal(store.messages("s").length, 4);
    assert.deepEqual(view.errors, []);
  });

  test("another tab can ask this one to stop: what arrived is stored", async () => {
    const [store, transport] = [fakeStore(), scripted()];
    const view = await mount({ sessionId: "s", store, transport });
    const sending = view.history().sendMessage({ text: "q" });
    const request = await transport.next();
    request.start("a1");
    request.say("half");
    await eventually(() => assert.ok(store.row("s").run?.streaming));
    store.stopRun("s");
    await sending;
    assert.equal(texts(store.messages("s")), "q | half");
    assert.equal(view.chat().status, "ready");
  });

  test("when the prompt cannot be stored nothing is sent, and the caller is told", async () => {
    let full = true;
    const transport = scripted();
    const fault = (operation) => {
      if (full && operation === "begin") throw new TurnmarkError("QuotaExceeded", "the disk is full");
    };
    const store = await withChat("s", [user("u1"), assistant("a1")], { fault });
    const view = await mount({ sessionId: "s", store, transport });
    await view.ready();
    await assert.rejects(view.history().sendMessage({ text: "q" }), { code: "QuotaExceeded" });
    assert.deepEqual([transport.requests.length, ids(view.chat().messages)], [0, "u1 a1"]);
    await eventually(() => assert.equal(view.history().error.code, "QuotaExceeded"));
    assert.deepEqual(view.errors.map(({ code }) => code), ["QuotaExceeded"]);
    full = false;
    const sending = view.history().sendMessage({ text: "q" });
    await answers(transport, "a2");
    await sending;
    assert.equal(texts(store.messages("s")), "text of u1 | text of a1 | q | text of a2");
    assert.equal(view.history().error, null);
  });

  test("a disk that fills up in the middle of a turn is told once; the answer goes on, and is stored when there is room", async () => {
    let full = false;
    const transport = scripted();
    const store = fakeStore({ fault: (operation) => {
      if (full && ["append", "end", "put"].includes(operation)) throw new TurnmarkError("QuotaExceeded", "the disk is full");
    } });
    const view = await mount({ sessionId: "s", store, transport });
    await view.ready();
    full = true;
    const sending = view.history().sendMessage({ text: "q" });
    const request = await transport.next();
    request.start("a1");
    for (let i = 0; i < 20; i += 1) {
      request.say(`${i} `);
      await sleep(2);
    }
    request.done();
    await assert.rejects(sending, { code: "QuotaExceeded" });
    await sleep(50);
    assert.ok(view.errors.length <= 3, `${view.errors.length} reports`);
    assert.equal(view.history().error.code, "QuotaExceeded");
    assert.ok(textOf(view.history().messages[1]).endsWith("19 "));
    full = false;
    const more = view.history().sendMessage({ text: "r" });
    await answers(transport, "a2");
    await more;
    assert.deepEqual(store.messages("s"), view.history().messages);
    assert.equal(store.messages("s").length, 4);
  });

  test("what the application changes itself is stored, and an emptied list is refused, not stored", async () => {
    const transport = scripted();
    const store = await withChat("s", [user("u1"), assistant("a1")]);
    const view = await mount({ sessionId: "s", store, transport });
    await view.ready();
    view.chat().setMessages((messages) => [...messages.slice(0, 1), { ...messages[1], metadata: { rating: 5 } }]);
    await eventually(() => assert.deepEqual(store.messages("s")[1].metadata, { rating: 5 }));
    view.chat().setMessages([]);
    await eventually(() => assert.equal(view.errors.at(-1)?.code, "EmptyOverNonEmpty"));
    await sleep(30);
    assert.equal(view.errors.length, 1);
    assert.equal(store.messages("s").length, 2);
  });

  test("a change that no render has shown yet is part of the prompt checkpoint of what is sent right after it", async () => {
    const transport = scripted();
    const store = await withChat("s", [user("u1"), assistant("a1")]);
    const view = await mount({ sessionId: "s", store, transport });
    await view.ready();
    view.chat().setMessages((messages) => [messages[0], { ...messages[1], metadata: { rating: 5 } }]);
    const sending = view.history().sendMessage({ text: "q" });
    await answers(transport, "a2");
    await sending;
    const { state } = store.row("s").checkpoints.find(({ checkpoint }) => checkpoint.kind === "prompt-before");
    assert.deepEqual(state.messages[1].metadata, { rating: 5 });
    assert.equal(texts(store.messages("s")), "text of u1 | text of a1 | q | text of a2");
  });

  test("a change that was made over what another tab has written meanwhile goes to a branch, and overwrites nothing", async () => {
    let hold;
    const transport = scripted();
    const store = await withChat("s", [user("u1"), assistant("a1")], { gate: (operation) => (operation === "put" ? hold : undefined) });
    const branches = [];
    const view = await mount({ sessionId: "s", store, transport, onConflict: ({ branch }) => branches.push(branch.sessionId) });
    await view.ready();
    let release;
    hold = new Promise((resolve) => (release = resolve));
    view.chat().setMessages((messages) => [messages[0], { ...messages[1], metadata: { rating: 5 } }]);
    await eventually(() => assert.ok(store.log.some((line) => line.startsWith("put"))));
    store.row("s").checkpoints.push({ checkpoint: { id: "theirs", sessionId: "s", messageCount: 3 }, state: { messages: [user("u1"), assistant("a1"), user("u2")] } });
    release();
    await eventually(() => assert.equal(branches.length, 1));
    assert.equal(ids(store.messages("s")), "u1 a1 u2");
    assert.deepEqual(store.messages(branches[0])[1].metadata, { rating: 5 });
    assert.deepEqual([view.history().sessionId, ids(view.history().messages), view.errors], [branches[0], "u1 a1", []]);
  });

  test("messages that the application brings along are kept when nothing is stored, and give way when something is", async () => {
    const transport = scripted();
    const mine = [user("u0"), assistant("a0")];
    const empty = fakeStore();
    const view = await mount({ sessionId: "s", store: empty, chat: { id: "s", transport, messages: mine } });
    await eventually(() => assert.deepEqual(empty.messages("s"), mine));
    assert.equal(ids(view.history().messages), "u0 a0");
    const store = await withChat("s", [user("u1"), assistant("a1")]);
    const other = await mount({ sessionId: "s", store, chat: { id: "s", transport, messages: mine } });
    await eventually(() => assert.equal(ids(other.history().messages), "u1 a1"));
    assert.equal(ids(store.messages("s")), "u1 a1");
  });

  test("a new session continues from this one, and the hook goes over to it", async () => {
    const [store, transport] = [fakeStore(), scripted()];
    const view = await mount({ sessionId: "s", store, transport });
    const first = view.history().sendMessage({ text: "q" });
    await answers(transport, "a1");
    await first;
    const made = await view.history().newSession();
    assert.equal(made.sealed.sessionId, "s");
    await eventually(() => assert.deepEqual([view.history().sessionId, view.history().messages], [made.sessionId, []]));
    const second = view.history().sendMessage({ text: "r" });
    await answers(transport, "a2");
    await second;
    assert.equal(texts(store.messages(made.sessionId)), "r | text of a2");
    assert.equal(texts(store.messages("s")), "q | text of a1");
  });

  test("a session that cannot be read is told, and nothing is written until it can", async () => {
    let broken = true;
    const transport = scripted();
    const store = await withChat("s", [user("u1"), assistant("a1")], { fault: (operation) => {
      if (broken && operation === "get") throw new TurnmarkError("RecordUnreadable", "a record is damaged");
    } });
    const view = await mount({ sessionId: "s", store, transport });
    await eventually(() => assert.equal(view.history().error?.code, "RecordUnreadable"));
    await assert.rejects(view.history().sendMessage({ text: "q" }), { code: "RecordUnreadable" });
    assert.equal(transport.requests.length, 0);
    broken = false;
    const sending = view.history().sendMessage({ text: "q" });
    await answers(transport, "a2");
    await sending;
    assert.equal(texts(store.messages("s")), "text of u1 | text of a1 | q | text of a2");
  });
});
