// Turns and conversations over a fake engine: what a turn sends and when, what it owes, whose run it is, the host's files.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import fc from "fast-check";
import { createApi } from "../../pkg-template/api.js";
import { MessageIds } from "../../pkg-template/checkpoint.js";
import { delta } from "../../pkg-template/streaming.js";
import { fakeGlue, gate, raw } from "./fake-engine.js";

const REGISTRY = Symbol.for("turnmark.registry");
const user = (id) => ({ id, role: "user", content: id });
const answer = (id, content) => ({ id, role: "assistant", content });
const text = (message) => JSON.stringify(message);
const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const tick = () => sleep(1);

let glue;
let unhandled;
let reported;
const note = (error) => unhandled.push(error);

beforeEach(() => {
  delete globalThis[REGISTRY];
  glue = fakeGlue();
  unhandled = [];
  reported = [];
  globalThis.reportError = (error) => reported.push(error);
  process.on("unhandledRejection", note);
});

afterEach(async () => {
  await tick();
  process.off("unhandledRejection", note);
  delete globalThis.reportError;
  assert.deepEqual(unhandled, [], "a rejection nobody handled");
});

const openStore = (options) => createApi(glue, () => new Uint8Array()).open({ backend: "memory", ...options });
const calls = (method) => glue.opened[0].calls.filter(([name]) => name === method);
const sent = (method, at) => calls(method).at(at ?? -1);
const ids = async (session) => (await session.messages()).map(({ id }) => id);

async function openTurn(options, storeOptions) {
  const store = await openStore(storeOptions);
  const session = await store.session("s");
  return { store, session, turn: await session.begin(options), engine: glue.opened[0] };
}

test("a submit is: the host's snapshot, the prompt checkpoint, and only then a turn to write the message with", async () => {
  const order = [];
  const files = { snapshot: async () => { order.push(["snapshot", glue.opened[0].calls.length]); return "abc"; }, restore: async () => true };
  const { turn, session } = await openTurn({ raw: "hi", composed: "hi, with targets", ui: { targets: [1] }, metadata: { createdByEventId: "e1" } }, { files });
  assert.deepEqual(order, [["snapshot", 0]]);
  const [, of, request, about, expect] = sent("begin");
  assert.deepEqual([of, request.regenerate, expect], ["s", null, null]);
  assert.equal(request.runId, turn.runId);
  assert.equal(about.commitHash, "abc");
  assert.equal(about.name, null, "the engine counts the prompts");
  assert.equal(about.source, "message");
  assert.deepEqual(about.extra, [["createdByEventId", '"e1"']]);
  assert.deepEqual(request.prompt, { texts: ['{"raw":"hi","composed":"hi, with targets"}'], binaries: null });
  assert.deepEqual(about.ui, { keys: ["targets"], texts: ["[1]"], binaries: null });
  assert.deepEqual(turn.checkpoint.messageIds, []);
  assert.equal(turn.checkpoint.commitHash, "abc");
  assert.deepEqual([turn.id, turn.seq, turn.version, turn.sessionId, turn.ended], [turn.checkpoint.turn.id, 1, "v1", "s", false]);
  const found = await session.get();
  assert.deepEqual(found.ui, { targets: [1] });
  assert.deepEqual(found.prompt, { raw: "hi", composed: "hi, with targets", turnId: turn.id });
});

test("without ui that part stays as it is, and without raw there is no prompt", async () => {
  const { turn, session } = await openTurn({ raw: "a", ui: { targets: 1, __proto__: null } });
  await turn.end([user("a")]);
  await (await session.begin({ name: "mine", commitHash: null, runId: "r" })).end();
  const [, , request, about] = sent("begin");
  assert.deepEqual([request.runId, request.prompt, about.name, about.commitHash, "ui" in about], ["r", null, "mine", null, false]);
  const found = await session.get();
  assert.equal(found.prompt, null);
  assert.deepEqual(found.ui, { targets: 1 });
});

test("a data URL in the ui part goes to the engine as binary and comes back as it was; a prompt stays text", async () => {
  const url = `data:image/png;base64,${"iVBORw0K".repeat(64)}`;
  const { session } = await openTurn({ raw: url, ui: { shot: { dataUrl: url } } });
  const { ui } = sent("begin")[3];
  assert.ok(ui.texts[0].length < 200, "no base64 in the text");
  assert.equal(ui.binaries[0][0].byteLength, 384);
  const found = await session.get();
  assert.deepEqual([found.ui.shot.dataUrl, found.prompt.raw], [url, url]);
});

test("a host that cannot take a snapshot, or throws, keeps nobody from a prompt", async () => {
  let next = async () => null;
  const { turn, session } = await openTurn({}, { files: { snapshot: () => next(), restore: async () => true } });
  assert.equal(turn.checkpoint.commitHash, null);
  await turn.end();
  next = () => { throw new Error("no repository"); };
  await (await session.begin()).end();
  next = async () => 5;
  const third = await session.begin();
  assert.equal(third.checkpoint.commitHash, null);
  assert.deepEqual(reported.map(({ message }) => message).map((message) => /no repository|not to a value of type number/.test(message)), [true, true]);
});

test("a turn goes on from its own writes, not from what its owner reads meanwhile", async () => {
  const { turn, session, engine } = await openTurn();
  await turn.append([user("q")]);
  // Another tab has taken the turn away and written; the app reads it.
  engine.sessions_.get("s").epoch = 500;
  await session.get();
  const failure = await turn.end([answer("a", "done")]).catch((error) => error);
  assert.equal(failure.code, "Conflict");
  assert.equal(sent("append").at(-1), 102, "the epoch that the turn itself has seen");
  assert.equal(turn.ended, true);
  assert.equal(turn.signal.reason, failure);
  const branch = glue.opened[0].sessions_.get(failure.branch.sessionId);
  assert.deepEqual(branch.checkpoints.at(-1).state.messages.ids, ["q", "a"]);
  await assert.rejects(turn.append([user("x")]), { code: "Closed" });
});

test("after a turn's writes its owner can go on", async () => {
  const { turn, session } = await openTurn();
  await turn.end([user("q"), answer("a", "done")]);
  const after = await session.append([user("b")]);
  assert.deepEqual(after.messageIds, ["q", "a", "b"]);
});

test("each write sends only what is new or changed, and says how much of the list stays", async () => {
  const store = await openStore();
  const session = await store.session("s");
  await session.append([user("before")]);
  const turn = await session.begin();
  await turn.append([user("q")]);
  await turn.append([user("q"), answer("a", "one")]);
  assert.deepEqual(sent("append")[2].ids, ["a"]);
  assert.equal("keep" in sent("append")[5], false);
  await turn.append([answer("b", "two")], { channels: { plan: 1 }, metadata: { note: 1 } });
  const checkpoint = await turn.end([user("q"), answer("a", "one, changed"), answer("b", "two"), { role: "system" }], { usage: { total: { input_tokens: 3 }, delta: {} } });
  const [, , messages, , , about] = sent("append");
  assert.deepEqual(messages.ids, ["a", "b", null]);
  assert.deepEqual([about.keep, about.end, about.runId], [2, true, turn.runId]);
  assert.deepEqual(about.usage.total, { input_tokens: 3 });
  assert.deepEqual(checkpoint.messageIds, ["before", "q", "a", "b"]);
  assert.equal(checkpoint.messageCount, 5);
  assert.deepEqual((await session.messages())[2], answer("a", "one, changed"));
});

test("bytes in a message are compared too", async () => {
  const { turn } = await openTurn();
  const withBytes = (byte) => ({ id: "f", role: "user", bytes: Uint8Array.of(1, byte) });
  await turn.append([withBytes(2)]);
  await turn.append([withBytes(2)]);
  assert.deepEqual(sent("append")[2].ids, []);
  await turn.append([withBytes(3)]);
  assert.deepEqual([sent("append")[2].ids, sent("append")[5].keep], [["f"], 0]);
});

test("a message of an earlier turn is refused, before it is in the list twice", async () => {
  const { turn, session } = await openTurn();
  await turn.end([user("q"), answer("a", "one")]);
  const next = await session.begin();
  const before = calls("append").length;
  await assert.rejects(next.append([user("q"), user("q2")]), (error) => error.code === "InvalidArgument" && /"q"/.test(error.message));
  assert.equal(calls("append").length, before);
  assert.deepEqual((await next.end([user("q2")])).messageIds, ["q", "a", "q2"]);
});

test("answering a message once more keeps it in its place, sent again or not", async () => {
  for (const sendsAgain of [true, false]) {
    delete globalThis[REGISTRY];
    glue = fakeGlue();
    const { turn, session } = await openTurn();
    await turn.end([user("q"), answer("a", "one")]);
    const again = await session.begin({ regenerate: "q" });
    assert.deepEqual(again.checkpoint.messageIds, ["q"]);
    const done = await again.end([...(sendsAgain ? [user("q")] : []), answer("b", "two")]);
    assert.deepEqual(done.messageIds, ["q", "b"]);
    assert.deepEqual(await ids(session), ["q", "b"]);
  }
});

test("a growing message is saved by what is new in it, the newest call winning", async () => {
  const { turn, session } = await openTurn({}, { streamInterval: 16 });
  await turn.append([user("q")]);
  for (const content of ["x", "He", "Hel"]) turn.stream(answer("a", content));
  await turn.flush();
  assert.deepEqual(calls("stream").map(([, , , row]) => row.text), [text(answer("a", "Hel"))], "one save for all of them");
  turn.stream(answer("a", "Hello"));
  await turn.flush();
  const { text: added, ...row } = sent("stream")[3];
  assert.equal(added, "lo");
  assert.deepEqual(row, { n: 1, id: "a", role: "assistant", head: text(answer("a", "Hel")).length - 2, tail: 2 });
  const { streaming, state } = await session.get();
  assert.deepEqual(streaming, { message: answer("a", "Hello"), runId: turn.runId, turnId: turn.id, since: 5 });
  assert.equal(state.messages.length, 1, "it is in no list yet");
  const done = await turn.end();
  assert.deepEqual(done.messageIds, ["q", "a"]);
  assert.equal((await session.get()).streaming, null);
});

test("there is one save at a time, and one an interval", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 1000;
  t.mock.method(performance, "now", () => now);
  const settle = async () => { for (let i = 0; i < 50; i += 1) await null; };
  const { turn, engine } = await openTurn();
  const saves = () => calls("stream").length;
  turn.stream(answer("a", "1"));
  await settle();
  assert.equal(saves(), 1, "the first at once");
  turn.stream(answer("a", "12"));
  now += 249;
  t.mock.timers.tick(249);
  await settle();
  assert.equal(saves(), 1);
  now += 1;
  t.mock.timers.tick(1);
  await settle();
  assert.equal(saves(), 2);
  const held = gate();
  engine.gates.set("stream", held);
  now += 250;
  turn.stream(answer("a", "123"));
  await settle();
  assert.equal(saves(), 3);
  now += 1000;
  turn.stream(answer("a", "1234"));
  t.mock.timers.tick(1000);
  await settle();
  assert.equal(saves(), 3, "one is still under way");
  held.open();
  await settle();
  assert.equal(saves(), 4);
  t.mock.timers.reset();
});

test("when another message begins, the one before it is appended first", async () => {
  const { turn, session } = await openTurn();
  turn.stream(answer("a", "one"));
  turn.stream(answer("b", "two"));
  await turn.flush();
  assert.deepEqual(await ids(session), ["a"]);
  assert.deepEqual((await session.get()).streaming.message, answer("b", "two"));
  assert.equal(calls("append").length, 1);
  assert.deepEqual((await turn.end([answer("b", "two, done")])).messageIds, ["a", "b"]);
});

test("a write of the turn takes the growing message along, and the same one goes on growing in its place", async () => {
  const { turn, session } = await openTurn({}, { streamInterval: 16 });
  await turn.append([user("q")]);
  turn.stream(answer("a", "calling"));
  const touched = await turn.touch({ name: "before write", metadata: { tool: "write" } });
  assert.deepEqual([touched.kind, touched.name, touched.metadata.source, touched.messageIds], ["mutation-before", "before write", "tool_execution", ["q", "a"]]);
  turn.stream(answer("a", "calling, done"));
  await turn.flush();
  assert.equal(sent("stream")[3].n, 0, "what was stored of it is in the list now");
  await turn.end();
  assert.deepEqual(await session.messages(), [user("q"), answer("a", "calling, done")]);
});

test("an end that has the growing message in its final form needs no earlier one", async () => {
  const { turn, session } = await openTurn();
  turn.stream(answer("a", "half"));
  await turn.end([user("q"), answer("a", "whole")]);
  assert.deepEqual(await session.messages(), [user("q"), answer("a", "whole")]);
  turn.stream(answer("a", "late token"));
  await turn.flush();
  assert.equal(calls("stream").length <= 1, true);
});

test("an abort keeps what was streamed, or drops it when asked to, and a second one does nothing", async () => {
  const { turn, session } = await openTurn();
  await turn.append([user("q")]);
  turn.stream(answer("a", "half"));
  const kept = await turn.abort();
  assert.deepEqual([kept.messageIds, kept.metadata.aborted], [["q", "a"], true]);
  assert.equal(await turn.abort(), null);
  const next = await session.begin();
  next.stream(answer("b", "half"));
  const dropping = next.abort({ keep: false });
  await tick();
  await assert.rejects(next.append([user("x")]), { code: "Closed" });
  assert.deepEqual((await dropping).messageIds, ["q", "a"]);
  const last = await session.begin();
  const ending = last.end([answer("c", "whole")]);
  await assert.rejects(last.append([user("x")]), { code: "Closed" }, "it is being ended already");
  assert.equal(await last.abort(), null, "what is being ended is not aborted");
  assert.deepEqual((await ending).messageIds, ["q", "a", "c"]);
});

test("a save that fails is told once, by the event and by flush, and the next one starts anew", async () => {
  const { turn, store, session, engine } = await openTurn({}, { streamInterval: 400 });
  const told = [];
  store.on("stream.failed", (event) => told.push(event));
  turn.stream(answer("a", "one"));
  await turn.flush();
  for (const content of ["one two", "one two three"]) {
    engine.fail.set("stream", raw("QuotaExceeded", "full"));
    turn.stream(answer("a", content));
    await assert.rejects(turn.flush(), { code: "QuotaExceeded" });
  }
  assert.equal(told.length, 1);
  assert.deepEqual([told[0].sessionId, told[0].runId, told[0].error.code], ["s", turn.runId, "QuotaExceeded"]);
  await sleep(900);
  assert.equal(calls("stream").length, 3, "not tried again by itself");
  turn.stream(answer("a", "one two three four"));
  await turn.flush();
  assert.equal(sent("stream")[3].n, 0);
  assert.deepEqual((await session.get()).streaming.message, answer("a", "one two three four"));
});

test("a write that fails changes nothing: what it had is in the next one", async () => {
  const { turn, session, engine } = await openTurn();
  turn.stream(answer("a", "one"));
  await turn.flush();
  engine.fail.set("append", raw("QuotaExceeded"));
  turn.stream(answer("b", "two"));
  await tick();
  engine.fail.set("append", raw("QuotaExceeded"));
  await assert.rejects(turn.end(), { code: "QuotaExceeded" });
  assert.equal(turn.ended, false);
  turn.stream(answer("b", "two, going on"));
  engine.fail.set("append", raw("QuotaExceeded"));
  await assert.rejects(turn.flush(), { code: "QuotaExceeded" }, "what is owed comes first");
  await turn.flush();
  assert.equal(engine.sessions_.get("s").checkpoints.at(-1).state.messages.ids.includes("a"), true);
  turn.stream(answer("b", "two, going on and on"));
  await turn.flush();
  assert.equal(engine.sessions_.get("s").stream.text, text(answer("b", "two, going on and on")));
  await turn.end();
  assert.deepEqual(await session.messages(), [answer("a", "one"), answer("b", "two, going on and on")]);
});

test("binary data in a growing message is told by flush, and saved by the end", async () => {
  const { turn, session } = await openTurn();
  turn.stream({ id: "a", role: "assistant", bytes: Uint8Array.of(7) });
  await assert.rejects(turn.flush(), { code: "NotStorable" });
  assert.equal(calls("stream").length, 0);
  await turn.end();
  assert.deepEqual([...(await session.messages())[0].bytes], [7]);
});

test("closing the store stores what was streamed, and tells the host that writes on", async () => {
  const { turn, store, engine } = await openTurn();
  const held = gate();
  engine.gates.set("stream", held);
  turn.stream(answer("a", "one"));
  await tick();
  turn.stream(answer("a", "one two"));
  const closing = store.close();
  held.open();
  await closing;
  assert.equal(engine.sessions_.get("s").stream.text, text(answer("a", "one two")));
  assert.equal(engine.closed, 1);
  assert.equal(turn.signal.reason.code, "Closed");
  await assert.rejects(turn.end(), { code: "Closed" });
  assert.equal(engine.sessions_.get("s").run.runId, turn.runId, "interrupted, not ended");
});

test("a lost race at the beginning gives the turn on the branch, to go on there", async () => {
  const { turn, session, store } = await openTurn({ raw: "first" });
  await turn.append([user("q")]);
  await assert.rejects(session.begin(), { code: "ActiveRun" }, "one turn a page");
  glue.opened[0].sessions_.get("s").run.isRemote = true;
  const failure = await session.begin({ raw: "second" }).catch((error) => error);
  assert.equal(failure.code, "Conflict");
  assert.equal(failure.name, "TurnmarkError");
  const { turn: aside, branch } = failure;
  assert.equal(aside.sessionId, branch.sessionId);
  assert.equal(aside.checkpoint.id, branch.checkpointId);
  assert.notEqual(aside.runId, turn.runId);
  aside.stream(answer("a", "aside"));
  await aside.end([user("q2"), answer("a", "aside")]);
  assert.deepEqual(await ids(await store.session(branch.sessionId)), ["q", "q2", "a"]);
  await turn.end([answer("b", "main")]);
  assert.deepEqual(await ids(session), ["q", "b"]);
});

test("a request to stop reaches the host by the signal, and the turn can still be ended", async () => {
  const { turn, session } = await openTurn();
  turn.signal.addEventListener("abort", () => turn.abort());
  turn.stream(answer("a", "half"));
  assert.equal(await session.abortRun(), true);
  await tick();
  assert.equal(turn.ended, true);
  assert.deepEqual(await ids(session), ["a"]);
  assert.equal(await session.abortRun(), true, "there is none any more");
  assert.equal(calls("askAbort").length, 1);
});

test("a host that does not stop is ActiveRun for who asked", async (t) => {
  const { session, turn } = await openTurn();
  await turn.append([user("q")]);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const restoring = session.restore("q", { abortRun: true });
  const refused = assert.rejects(restoring, { code: "ActiveRun" });
  for (let i = 0; i < 50; i += 1) await null;
  assert.equal(turn.signal.aborted, true);
  t.mock.timers.tick(4999);
  for (let i = 0; i < 50; i += 1) await null;
  assert.equal(calls("restoreTo").length, 0, "it is waited for");
  t.mock.timers.tick(1);
  await refused;
  assert.equal(turn.ended, false);
  t.mock.timers.reset();
  await turn.end();
});

test("a restore that asks the run to stop goes on from its last words", async () => {
  const { session, turn } = await openTurn({ raw: "Q" });
  await turn.append([user("q")]);
  const other = await openStore();
  turn.signal.addEventListener("abort", () => turn.end([answer("a", "last words")]));
  const theirs = await other.session("s");
  await theirs.get();
  await assert.rejects(theirs.restore("q"), { code: "ActiveRun" });
  const restored = await theirs.restore("q", { abortRun: true });
  assert.deepEqual(restored.removedMessageIds, ["q", "a"]);
  assert.deepEqual(await ids(session), []);
});

test("whoever owns the run restores in its name, with all that it had stored first", async () => {
  const { session, turn } = await openTurn();
  await turn.append([user("q")]);
  turn.stream(answer("a", "half"));
  const restored = await session.restore("q", { turn });
  assert.deepEqual(restored.removedMessageIds, ["q", "a"]);
  assert.equal(sent("restoreTo")[3], turn.runId);
  assert.deepEqual([turn.ended, turn.signal.aborted], [true, true]);
  await assert.rejects(turn.end(), { code: "Closed" });
  assert.equal(await turn.abort(), null);
});

test("a turn that was taken away by others stops streaming, and what it still writes is kept as a branch", async () => {
  const { turn, engine } = await openTurn();
  await turn.append([user("q")]);
  engine.emit({ type: "restored", sessionId: "other", origin: "remote" });
  assert.equal(turn.ended, false);
  engine.sessions_.get("s").epoch += 2;
  engine.sessions_.get("s").run = null;
  engine.emit({ type: "restored", sessionId: "s", checkpointId: "c", origin: "remote" });
  assert.deepEqual([turn.ended, turn.signal.aborted], [true, true]);
  turn.stream(answer("a", "late"));
  await tick();
  assert.equal(calls("stream").length, 0);
  const failure = await turn.end([answer("a", "whole")]).catch((error) => error);
  assert.equal(failure.code, "Conflict");
  assert.deepEqual(engine.sessions_.get(failure.branch.sessionId).checkpoints.at(-1).state.messages.ids, ["q", "a"]);
});

test("a session that is deleted under a turn ends it", async () => {
  const { turn, session } = await openTurn();
  await session.delete();
  assert.deepEqual([turn.ended, turn.signal.aborted], [true, true]);
  assert.equal(await turn.abort(), null);
});

/** A conversation of two turns whose prompts have host snapshots "one" and "two". */
async function twoTurns(files) {
  const store = await openStore({ files });
  const session = await store.session("s");
  await (await session.begin({ raw: "first", commitHash: "one", ui: { n: 1 } })).end([user("q1"), answer("a1", "x")]);
  await (await session.begin({ raw: "second", composed: "SECOND", commitHash: "two", ui: { n: 2 } })).end([user("q2"), answer("a2", "y")]);
  return { store, session };
}

/** A host whose files are one reference. */
function host(start) {
  const log = [];
  const self = {
    log,
    now: start,
    async snapshot() { log.push(["snapshot", self.now]); return self.now; },
    async restore(reference) { log.push(["restore", reference]); self.now = reference; return true; },
  };
  return self;
}

test("a restore brings back the host's files first and then the chat, and says what it did", async () => {
  const files = host("now");
  const { session, store } = await twoTurns(files);
  const heard = [];
  store.on("restored", ({ reloadKey }) => heard.push(reloadKey));
  const restored = await session.restore("q2");
  assert.deepEqual(files.log, [["snapshot", "now"], ["restore", "two"]]);
  assert.equal(sent("restoreTo").at(-1), "now", "for the restore point");
  assert.deepEqual([restored.files, restored.filesReason, restored.commitHash], ["restored", null, "two"]);
  assert.deepEqual(restored.removedMessageIds, ["q2", "a2"]);
  assert.deepEqual(restored.prompt, { raw: "second", composed: "SECOND", turnId: "turn_2" });
  assert.deepEqual(restored.ui, { n: 2 });
  assert.deepEqual(restored.state.messages, [user("q1"), answer("a1", "x")]);
  assert.equal(restored.matchedCheckpointId, restored.targetCheckpointId);
  assert.deepEqual(heard, [3], "two turns have ended before");
  assert.equal(restored.reloadKey, 3);
});

test("what cannot bring back files says why", async () => {
  const { session } = await twoTurns(undefined);
  const restored = await session.restore("q2", { load: false });
  assert.deepEqual([restored.files, restored.filesReason, restored.ui, "state" in restored], ["not-restored", "no-host", { n: 2 }, false]);
  assert.deepEqual(calls("aim"), []);
  await session.append([user("q3"), answer("a3", "z"), user("q4")]);
  assert.equal((await session.restore("q4")).filesReason, "no-match", "there was no turn for it");

  delete globalThis[REGISTRY];
  glue = fakeGlue();
  const refusing = { snapshot: async () => "now", restore: async () => { throw new Error("dirty"); } };
  const second = await twoTurns(refusing);
  assert.deepEqual(await second.session.restore("q2").then(({ files, filesReason }) => [files, filesReason]), ["not-restored", "host-refused"]);
  assert.equal(reported.at(-1).message, "dirty");
  await (await second.session.begin({ commitHash: null })).end([user("q5")]);
  assert.equal((await second.session.restore("q5")).filesReason, "no-snapshot");
});

test("when the chat's restore fails, the host's files are put back, and if they cannot be that is told", async () => {
  const files = host("now");
  const { session } = await twoTurns(files);
  glue.opened[0].fail.set("restoreTo", raw("QuotaExceeded", "full"));
  await assert.rejects(session.restore("q2"), { code: "QuotaExceeded", message: "full" });
  assert.deepEqual([files.now, files.log.at(-1)], ["now", ["restore", "now"]]);
  files.restore = async (reference) => reference === "two";
  glue.opened[0].fail.set("restoreTo", raw("QuotaExceeded", "full"));
  await assert.rejects(session.restore("q2"), (error) => error.code === "QuotaExceeded" && /files were brought back to "two"/.test(error.message));
  files.log.length = 0;
  await assert.rejects(session.restore("nobody"), { code: "InvalidArgument" });
  assert.deepEqual(files.log, [], "nothing of the host is touched for a message that is not there");
});

test("edit gives back what the user typed, or what the message says where nobody knows", async () => {
  const { session } = await twoTurns();
  const first = await session.edit("q2");
  assert.deepEqual([first.rawPrompt, first.rawPromptFrom], ["second", "prompt"]);
  assert.equal("clicked" in first, false);
  await session.append([user("q3"), { id: "a3", role: "assistant" }, { id: "q4", role: "user", parts: [{ type: "text", text: "Hello " }, { type: "file" }, { type: "text", text: "world" }] }]);
  const second = await session.edit("q4");
  assert.deepEqual([second.prompt, second.rawPrompt, second.rawPromptFrom], [null, "Hello world", "message"]);
  await session.append([{ id: "q5", role: "user", data: 1 }]);
  const third = await session.edit("q5");
  assert.deepEqual([third.rawPrompt, third.rawPromptFrom], [null, null]);
});

test("a version of a turn is shown by a rollback to it", async () => {
  const { session } = await twoTurns();
  const [version] = await session.versions("q2");
  assert.equal(version.live, true);
  const shown = await session.show(version, { load: false });
  assert.equal(shown.targetCheckpointId, version.checkpointId);
  await session.show(version.checkpointId);
  assert.deepEqual(calls("rollback").map((call) => call[2]), [version.checkpointId, version.checkpointId]);
  assert.deepEqual(sent("rollback").slice(3), [["messages", "state", "ui"], sent("rollback")[4], null]);
});

test("a new session seals the active one, with the host's snapshot, and can be written at once", async () => {
  const store = await openStore({ files: host("now") });
  assert.equal(await store.activeSession(), null);
  const first = await store.newSession({ id: "one", title: "First" });
  assert.deepEqual([first.sessionId, first.number, first.sealed, first.session.id], ["one", 1, null, "one"]);
  assert.deepEqual(sent("newSession")[1].about, { kind: "session-boundary", source: "manual", extra: [], commitHash: "now" });
  await first.session.append([user("q")]);
  const second = await store.newSession({ commitHash: "mine" });
  assert.deepEqual(second.sealed, { sessionId: "one", checkpointId: "one-boundary" });
  assert.equal(sent("newSession")[1].about.commitHash, "mine");
  assert.equal(sent("newSession")[1].from, null, "the active one is left");
  await assert.rejects(store.newSession({ from: 7 }), { code: /^Invalid/ });
  assert.equal((await store.activeSession()).id, second.sessionId);
  assert.equal(await second.session.remoteSession(), null, "a reserved id is none (A-10)");
  await second.session.setRemoteSession("hermes-1");
  assert.equal(await second.session.remoteSession(), "hermes-1");
});

test("a new session waits for no run: it is refused, asks it to stop, or is the owner's", async () => {
  const store = await openStore();
  const { session } = await store.newSession({ id: "one" });
  await session.get();
  const turn = await session.begin();
  await assert.rejects(store.newSession(), { code: "ActiveRun" });
  turn.signal.addEventListener("abort", () => turn.abort());
  turn.stream(answer("a", "half"));
  await store.newSession({ id: "two", abortRun: true });
  assert.deepEqual(await ids(session), ["a"]);

  const own = await (await store.activeSession()).begin();
  own.stream(answer("b", "half"));
  await store.newSession({ id: "three", turn: own });
  assert.equal(sent("newSession")[1].runId, own.runId);
  assert.deepEqual(await ids(await store.session("two")), ["b"]);
  assert.equal(own.ended, true);
});

test("opening a session brings back its boundary's files and shows it; the one that is open already keeps its own", async () => {
  const files = host("now");
  const store = await openStore({ files });
  const { session } = await store.newSession({ id: "one" });
  await (await session.begin({ ui: { n: 1 } })).end([user("q")]);
  await store.newSession({ id: "two" });
  glue.opened[0].sessions_.get("one").commit = "sealed";
  files.log.length = 0;
  const opened = await store.openSession("one");
  assert.deepEqual(files.log, [["snapshot", "now"], ["restore", "sealed"]]);
  assert.deepEqual(sent("openSession"), ["openSession", "one", "now"]);
  assert.deepEqual([opened.previousSessionId, opened.files, opened.commitHash, opened.ui], ["two", "restored", "sealed", { n: 1 }]);
  assert.deepEqual(opened.state.messages, [user("q")]);
  await opened.session.append([user("next")]);
  const again = await store.openSession("one");
  assert.deepEqual([again.filesReason, files.log.length], ["already-open", 2]);
  await assert.rejects(store.openSession("nobody"), { code: "UnknownSession" });
});

test("the history is paged, newest first, eight a page, and names what has no title", async () => {
  const store = await openStore();
  for (let i = 1; i <= 10; i += 1) {
    await store.newSession({ id: `s${i}`, ...(i === 10 && { title: "Ten" }) });
    glue.opened[0].sessions_.get(`s${i}`).updated = i;
  }
  const first = await store.history();
  assert.deepEqual([first.page, first.pages, first.total, first.entries.length], [1, 2, 10, 8]);
  assert.deepEqual(first.entries.slice(0, 2).map(({ name, sealed, active }) => [name, sealed, active]), [["Ten", false, true], ["Session 9", true, false]]);
  const last = await store.history({ page: 9 });
  assert.deepEqual([last.page, last.entries.map(({ sessionId }) => sessionId)], [2, ["s2", "s1"]]);
  assert.equal((await store.history({ pageSize: 3 })).pages, 4);
  const fifth = await store.session("s5");
  await fifth.get();
  const turn = await fifth.begin();
  glue.opened[0].dead.add(turn.runId);
  const { entries } = await store.history({ pageSize: 20 });
  assert.deepEqual(entries.filter(({ interrupted }) => interrupted).map(({ sessionId }) => sessionId), [turn.sessionId]);
});

test("recovering one session leaves the others, and an answer that was added must be looked at", async () => {
  const { session, turn, store } = await openTurn();
  await turn.append([user("q")]);
  await (await store.session("other")).append([user("x")]);
  glue.opened[0].dead.add(turn.runId);
  assert.deepEqual(await session.recover(), { sessionId: "s", checkpointId: "cp_s_1", action: "finalized" });
  assert.deepEqual(sent("recover"), ["recover", false, "s"]);
  await assert.rejects(session.append([user("b")]), { code: "Conflict" });
  assert.equal(await (await store.session("nobody")).recover({ drop: true }), null);
});

test("every restore and every end of a turn has a larger reload key, whoever did it", async () => {
  const { store, turn, engine } = await openTurn();
  const keys = [];
  store.on("turn.ended", (event) => keys.push([event.turnId, event.reloadKey]));
  store.on("restored", ({ reloadKey }) => keys.push(["restored", reloadKey]));
  const started = [];
  for (const event of ["run.started", "run.ended", "stream"]) store.on(event, ({ sessionId }) => started.push([event, sessionId]));
  await turn.end([user("q")]);
  engine.emit({ type: "restored", sessionId: "x", checkpointId: "c", targetCheckpointId: null, restorePointId: "r", origin: "remote" });
  assert.deepEqual(keys, [[turn.id, 1], ["restored", 2]]);
  assert.deepEqual(started, [["run.ended", "s"]]);
  assert.throws(() => store.on("run.abort", () => {}), { code: "InvalidArgument" });
});

test("every mistaken argument is refused in words before anything is touched", async () => {
  const { store, session, turn } = await openTurn();
  const before = glue.opened[0].calls.length;
  const api = createApi(glue, () => new Uint8Array());
  const cases = [
    ["InvalidArgument", () => session.begin("hi")],
    ["InvalidArgument", () => session.begin({ raw: 1 })],
    ["InvalidArgument", () => session.begin({ composed: "x" })],
    ["InvalidArgument", () => session.begin({ ui: [] })],
    ["NotStorable", () => session.begin({ ui: { f() {} } })],
    ["InvalidArgument", () => session.begin({ commitHash: 5 })],
    ["InvalidArgument", () => session.begin({ name: 5 })],
    ["InvalidArgument", () => session.begin({ metadata: { source: "nobody" } })],
    ["InvalidId", () => session.begin({ runId: 5 })],
    ["InvalidId", () => session.begin({ regenerate: 5 })],
    ["InvalidArgument", () => turn.append("x")],
    ["InvalidArgument", () => turn.append([], { channels: [] })],
    ["InvalidArgument", () => turn.end([], { usage: { inputTokens: 1 } })],
    ["NotStorable", () => turn.end([{ id: "a", f() {} }])],
    ["InvalidArgument", () => turn.touch({ name: 5 })],
    ["InvalidArgument", () => turn.touch({ commitHash: {} })],
    ["InvalidArgument", () => turn.abort({ keep: "yes" })],
    ["InvalidId", () => session.restore(5)],
    ["InvalidArgument", () => session.restore("m", { load: 1 })],
    ["InvalidArgument", () => session.restore("m", { abortRun: 1 })],
    ["InvalidArgument", () => session.restore("m", { turn: {} })],
    ["InvalidId", () => session.edit(null)],
    ["InvalidId", () => session.versions(5)],
    ["InvalidId", () => session.show({})],
    ["InvalidArgument", () => session.recover({ drop: 1 })],
    ["InvalidId", () => session.setRemoteSession(5)],
    ["InvalidId", () => store.newSession({ id: 5 })],
    ["InvalidArgument", () => store.newSession({ title: 5 })],
    ["InvalidArgument", () => store.newSession({ commitHash: 5 })],
    ["InvalidId", () => store.openSession(undefined)],
    ["InvalidArgument", () => store.history({ page: 0 })],
    ["InvalidArgument", () => store.history({ pageSize: 0 })],
    ["InvalidArgument", async () => (await store.session("other")).restore("m", { turn })],
    ["InvalidArgument", () => api.open({ backend: "memory", files: {} })],
    ["InvalidArgument", () => api.open({ backend: "memory", retention: "some" })],
    ["InvalidArgument", () => api.open({ backend: "memory", streamInterval: 15 })],
  ];
  for (const [code, attempt] of cases) await assert.rejects(attempt, (error) => error.name === "TurnmarkError" && error.code === code && error.message.length > 15, `${attempt}`);
  assert.throws(() => turn.stream("token"), { code: "InvalidArgument" });
  assert.throws(() => turn.stream({ role: "assistant" }), { code: "InvalidArgument" });
  assert.throws(() => turn.stream({ id: 5 }), { code: "InvalidId" });
  assert.equal(glue.opened[0].calls.length, before);
});

test("the methods of a turn may be called unbound, and nothing can be hung on it", async () => {
  const { turn } = await openTurn();
  const { append, stream, flush, end } = turn;
  await append([user("q")]);
  stream(answer("a", "x"));
  await flush();
  assert.deepEqual((await end()).messageIds, ["q", "a"]);
  assert.ok(Object.isFrozen(turn));
});

test("the retention is the engine's, and is one for all owners of a store on a page", async () => {
  await openStore({ retention: "apploop" });
  assert.equal(glue.opened[0].options.retention, "apploop");
  await assert.rejects(openStore(), { code: "InvalidArgument" });
});

const apply = (before, { head, tail, text: added }) => before.slice(0, head) + added + before.slice(before.length - tail);
const chunk = fc.string({ unit: fc.constantFrom("a", "b", "😀", "😁", "🨀", "é", "\n"), maxLength: 12 });
/** Long equal stretches around a difference, so that whole blocks are compared too. */
const around = fc.tuple(fc.nat(9000), chunk, chunk, fc.nat(9000)).map(([m, a, b, n]) => ["x😀".repeat(m) + a + "😁".repeat(n), "x😀".repeat(m) + b + "😁".repeat(n)]);

test("one text becomes another by its delta, which splits no surrogate pair and is no longer than the difference", () => {
  fc.assert(fc.property(fc.oneof(fc.tuple(chunk, chunk), around), ([before, after]) => {
    const change = delta(before, after);
    assert.equal(apply(before, change), after);
    assert.ok(change.text.isWellFormed?.() ?? true);
    assert.ok(before.slice(0, change.head).isWellFormed() && before.slice(before.length - change.tail).isWellFormed());
    assert.ok(change.head + change.tail <= Math.min(before.length, after.length));
    assert.ok(change.text.length <= 48, `${change.text.length} units for a small change`);
  }), { numRuns: 300 });
});

test("whether a state holds an id is told of every state of every line, whatever was asked of others before", () => {
  const added = fc.array(fc.option(fc.constantFrom("a", "b", "c", "d", "e")), { maxLength: 4 });
  const steps = fc.array(fc.record({ from: fc.nat(), added, asks: fc.boolean() }), { maxLength: 12 });
  fc.assert(fc.property(steps, (list) => {
    const states = [{ ids: new MessageIds([]), has: [] }];
    const check = ({ ids: known, has }) => assert.deepEqual([..."abcde"].filter((id) => known.has(id)), [..."abcde"].filter((id) => has.includes(id)));
    for (const step of list) {
      const before = states[step.from % states.length];
      const next = { ids: new MessageIds(step.added, before.ids), has: [...before.has, ...step.added] };
      states.push(next);
      if (step.asks) check(next);
    }
    states.forEach(check);
    states.reverse().forEach(check);
  }), { numRuns: 500 });
  const unreadable = new MessageIds(["x"], MessageIds.stored(new Error("cannot be read"), 3));
  assert.throws(() => unreadable.has("x"), { message: "cannot be read" });
});
