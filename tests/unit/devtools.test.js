// turnmark/devtools on the built package, over the memory backend. `node --test tests/unit` after scripts/build.sh.
import assert from "node:assert/strict";
import { beforeEach, afterEach, test } from "node:test";

const PKG = new URL(process.env.TURNMARK_PKG ?? "../../pkg/", import.meta.url);
const { open, TurnmarkError } = await import(new URL("index.js", PKG));
const { installDevTools } = await import(new URL("devtools.js", PKG));

const GLOBAL = "__HARNESS_DEVTOOLS__";
const LIST = Symbol.for("turnmark.devtools");

/** A console that remembers. Without `timeStamp`, like the consoles of browsers that have no tracks. */
function recorder() {
  const calls = [];
  const note = (method) => (...args) => void calls.push({ method, args });
  const out = { calls, log: note("log"), warn: note("warn"), error: note("error"), table: note("table") };
  out.lines = (method = "log") => calls.filter((call) => call.method === method).map(({ args }) => args[1]);
  out.tables = () => calls.filter((call) => call.method === "table").map(({ args }) => args[0]);
  return out;
}

let store;
let out;
let target;
const undone = [];

/** Opens a store of its own, closed after the test. */
async function opened(name) {
  const other = await open({ backend: "memory", name, scope: "default" });
  undone.push(() => other.close());
  return other;
}

/** Installs on a window of the test's own. */
async function installed(options = {}, on = store) {
  const uninstall = installDevTools(on, { target, console: out, ...options });
  undone.push(uninstall);
  await uninstall.api.ready;
  return uninstall;
}

beforeEach(async () => {
  out = recorder();
  target = {};
  store = await opened("devtools");
});

afterEach(async () => {
  for (const undo of undone.splice(0).reverse()) await undo();
});

const user = (id, content = `message ${id}`) => ({ id, role: "user", content });

/** A session whose checkpoints hold 1, 2, ... `length` messages; resolves to their ids, oldest first. */
async function chat(sessionId, length, on = store) {
  const session = await on.session(sessionId);
  await session.state();
  const ids = [];
  for (let i = 1; i <= length; i += 1) ids.push((await session.append([user(`m${i}`)])).id);
  return ids;
}

async function eventually(check) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return check();
    } catch (error) {
      if (attempt === 200) throw error;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

const messageIds = (state) => state.messages.map(({ id }) => id);

test("P-18 the global has the surface of the seed", async () => {
  await chat("s", 1);
  await installed();
  const api = target[GLOBAL];
  assert.deepEqual(messageIds(api.session), ["m1"]);
  for (const method of ["checkpoints", "rollback", "tools", "syncStatus", "forceSync"]) assert.equal(typeof api[method], "function", method);
});

test("P-18 `session` is the current state at every moment, without waiting", async () => {
  await chat("s", 1);
  const { api } = await installed();
  const session = await store.session("s");
  await session.state();
  await session.append([user("m2")], { channels: { plan: { step: 2 } } });
  await eventually(() => assert.deepEqual(messageIds(api.session), ["m1", "m2"]));
  assert.deepEqual(api.session.plan, { step: 2 });
});

test("P-18 `session` is null while there is no session, and the first one that is written is shown", async () => {
  const { api } = await installed();
  assert.equal(api.session, null);
  assert.deepEqual(api.checkpoints(), []);
  await chat("first", 1);
  await eventually(() => assert.deepEqual(messageIds(api.session), ["m1"]));
});

test("P-19 checkpoints() answers at once with plain objects, newest first, each with id, source and createdAt", async () => {
  const ids = await chat("s", 3);
  const { api } = await installed();
  const list = api.checkpoints();
  assert.ok(Array.isArray(list));
  assert.deepEqual(list.map(({ id }) => id), [...ids].reverse());
  assert.match(list[0].id, /^cp_/);
  assert.equal(list[0].source, "message");
  assert.equal(typeof list[0].createdAt, "number");
  list[0].id = "changed by hand";
  assert.equal(api.checkpoints()[0].id, ids.at(-1), "the caller's copy is its own");
});

test("P-19 checkpoints() prints a table a person can read", async () => {
  const ids = await chat("s", 2);
  const { api } = await installed();
  await api.pin(-2);
  api.checkpoints();
  const table = out.tables().at(-1);
  assert.deepEqual(Object.keys(table), ["-1", "-2"], "rows stand under what rollback() takes");
  const { id, age, source, kind, stamp, size, messages, pinned } = table["-2"];
  assert.ok(ids[0].startsWith(id) && !ids[1].startsWith(id), "a short id that only one checkpoint has");
  assert.match(age, /^just now$|^\d+ (s|min|h|d) ago$/);
  assert.deepEqual([source, kind, stamp, messages, pinned], ["message", "turn-after", "memory", 1, "pinned"]);
  assert.match(size, /^\d+ B$|^\d+\.\d [KMG]B$/);
});

test("P-19 rollback(id) reverts the state, says so in a line, and undo() takes it back", async () => {
  const ids = await chat("s", 3);
  const { api } = await installed();
  await api.rollback(ids[0]);
  assert.deepEqual(messageIds(await (await store.session("s")).state()), ["m1"]);
  assert.deepEqual(messageIds(api.session), ["m1"], "the mirror has it when the promise resolves");
  const said = out.lines().at(-1);
  assert.ok(said.includes("3 -> 1 message"), said);
  assert.ok(said.endsWith(`Undo: ${GLOBAL}.undo()`), said);

  await api.undo();
  assert.deepEqual(messageIds(api.session), ["m1", "m2", "m3"]);
  assert.ok(out.lines().at(-1).endsWith(`Redo: ${GLOBAL}.redo()`));
  await api.redo();
  assert.deepEqual(messageIds(api.session), ["m1"]);
});

test("P-19 the first operation can be undone too, to the empty beginning", async () => {
  await chat("s", 1);
  const { api } = await installed();
  await api.undo();
  assert.deepEqual(api.session.messages ?? [], []);
  assert.ok(out.lines().at(-1).includes("1 -> 0 messages"), out.lines().at(-1));
});

test("P-19 a checkpoint may be named by a beginning of its id, a number or the object itself", async () => {
  const ids = await chat("s", 3);
  const { api } = await installed();
  const newest = ids[2];
  const [summary] = api.checkpoints();
  const shown = out.tables().at(-1)["-1"].id;
  for (const reference of [newest, shown, `${shown}...`, `${shown}…`, shown.slice("cp_".length), ` ${newest} `, -1, summary]) {
    const diff = await api.diff(reference, -3);
    assert.equal(diff.from.checkpointId, newest, String(reference));
    assert.equal(diff.to.checkpointId, ids[0]);
  }
});

test("P-19 an action sees what was written just before it was called", async () => {
  await chat("s", 1);
  const { api } = await installed();
  const [id] = await chat("s", 1);
  assert.equal((await api.diff(-1, id)).from.checkpointId, id);
});

test("P-19 an ambiguous beginning is refused and lists what it may mean", async () => {
  const ids = await chat("s", 2);
  const { api } = await installed();
  await assert.rejects(api.rollback("cp_"), (error) => error.code === "InvalidArgument" && ids.every((id) => error.message.includes(id)));
  await assert.rejects(api.rollback(""), { code: "UnknownCheckpoint" });
  assert.equal((await store.session("s").then((session) => session.messages())).length, 2, "nothing was rolled back");
});

test("P-19 a wrong id is refused and lists the nearest", async () => {
  const [id] = await chat("s", 1);
  const { api } = await installed();
  const typo = `${id.slice(0, -1)}${id.endsWith("0") ? "1" : "0"}`;
  await assert.rejects(api.rollback(typo), (error) => error.code === "UnknownCheckpoint" && error.message.includes(id));
  await assert.rejects(api.rollback(-2), { code: "UnknownCheckpoint" });
  await assert.rejects(api.rollback(0), { code: "InvalidArgument" });
  await assert.rejects(api.rollback(undefined), { code: "InvalidArgument" });
  await assert.rejects(api.rollback({}), { code: "InvalidArgument" });
});

test("P-19 checkpoints older than the mirrored ones are found too, and a beginning must be unique among all", async () => {
  const ids = await chat("s", 205);
  const { api } = await installed();
  assert.equal(api.checkpoints().length, 200);
  assert.ok(out.lines().at(-1).includes("newest 200 checkpoints"));
  assert.equal((await api.diff(ids[0], -205)).from.checkpointId, ids[0]);
  assert.equal((await api.diff(ids[0], -205)).to.checkpointId, ids[0]);
  await assert.rejects(api.diff(-206), { code: "UnknownCheckpoint" });
});

test("P-18 a rejected action is printed once with its code and is never unhandled", async () => {
  await chat("s", 1);
  const { api } = await installed();
  const unhandled = [];
  const note = (reason) => unhandled.push(reason);
  process.on("unhandledRejection", note);
  api.rollback("cp_nothing-like-it");
  await eventually(() => assert.equal(out.lines("error").length, 1));
  await new Promise((resolve) => setTimeout(resolve, 20));
  process.off("unhandledRejection", note);
  assert.deepEqual(unhandled, []);
  assert.match(out.lines("error")[0], /^turnmark: UnknownCheckpoint: No checkpoint "cp_nothing-like-it"\. Nearest: cp_/);
});

test("P-18 text of a chat can never style or format the console", async () => {
  const session = await store.session("%c%s");
  await session.put({ messages: [user("%d")] }, { name: "%cBIG\u001b[31m\n\u202eRTL" });
  await session.setTitle("%o");
  const { api } = await installed({ name: "%c", tools: [{ name: "%s", description: "%c\nline" }] });
  api.checkpoints();
  api.sessions();
  api.tools();
  api.stores();
  api.syncStatus();
  api.help();
  api.use("%s");
  await api.select("%c%s");
  await api.diff(-1);
  await api.fork(-1, "%i");
  await api.rollback("%c").catch(() => {});
  await api.log();
  for (const { method, args } of out.calls) {
    if (method === "table") continue;
    assert.equal(args[0], "%s");
    assert.equal(args.length, 2);
    assert.equal(typeof args[1], "string");
  }
  const cells = out.tables().flatMap((table) => Object.values(table)).flatMap((row) => Object.values(row));
  for (const cell of cells) assert.doesNotMatch(String(cell), /[\n\u001b\u202e]/);
});

test("P-18 each further action does what it says and prints it", async () => {
  const ids = await chat("s", 3);
  const { api } = await installed();
  const said = () => out.lines().at(-1);

  const fork = await api.fork(-2, "what-if");
  assert.equal(fork.id, "what-if");
  assert.equal((await fork.messages()).length, 2);
  assert.ok(said().includes('into "what-if"') && said().includes(`${GLOBAL}.select("what-if")`), said());
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.equal(api.session.messages.length, 3, "the forked session stays the shown one");

  await api.select("s");
  assert.match(said(), /^turnmark: selected session "s": 3 checkpoints\. Back: /);

  const diff = await api.diff(ids[0]);
  assert.equal(diff.added, 2);
  assert.ok(said().includes("2 added, 0 removed, 0 changed after 1 common message"), said());

  await api.pin(-1);
  assert.equal(api.checkpoints()[0].pinned, true);
  await api.pin(-1, false);
  assert.ok(said().endsWith(`Undo: ${GLOBAL}.pin("${ids[2]}", true)`));

  assert.equal((await api.log())[0].type, "append");
  assert.equal(out.tables().at(-1)[0].operation, "append");
  assert.equal((await api.verify()).ok, true);
  assert.match(said(), /^turnmark: all is well: /);
  assert.deepEqual(await api.recover(), []);
  assert.match(said(), /nothing is interrupted, and nothing is in the mirror alone/);
  assert.deepEqual(await api.repair({ dryRun: true }), { dryRun: true, actions: [], lost: [] });
  assert.match(said(), /^turnmark: 0 repairs would be made; nothing stays lost/);
  assert.equal((await api.status()).backend, "memory");
  assert.match(said(), /^turnmark: memory "devtools"/);
  assert.equal(typeof (await api.export()), "string");
  assert.match(said(), /^turnmark: exported \d/);
});

test("P-18 sync is reported honestly: off, with the version vector, and forceSync sends nothing", async () => {
  await chat("s", 2);
  const { api } = await installed();
  const status = api.syncStatus();
  assert.equal(status.enabled, false);
  assert.equal(status.reason, "no replica is configured");
  assert.deepEqual(status.vector, (await store.checkpoints.get("s")).checkpoint.vector);
  assert.ok(Object.values(status.vector).every(Number.isInteger));
  assert.deepEqual(await api.forceSync(), status);
  assert.equal(out.lines().at(-1), "turnmark: nothing was sent: no replica is configured");
});

test("P-18 tools() lists what the application registered, from a list or a function", async () => {
  const search = { name: "search", description: "finds" };
  const tools = [search];
  const { api } = await installed({ tools: () => tools });
  assert.deepEqual(api.tools(), [search]);
  assert.deepEqual(out.tables().at(-1), [{ name: "search", description: "finds" }]);
  tools.push("plain");
  assert.equal(api.tools().length, 2);
  const { api: without } = await installed();
  assert.deepEqual(without.tools(), []);
  const { api: broken } = await installed({ tools: () => { throw new Error("no tools today"); } });
  assert.deepEqual(broken.tools(), []);
  assert.equal(out.lines("error").at(-1), "turnmark: Error: no tools today");
});

test("P-18 the session the page writes to is shown until one is selected", async () => {
  await chat("a", 1);
  const { api } = await installed();
  await chat("b", 2);
  await eventually(() => assert.equal(api.session.messages.length, 2));
  await api.select("a");
  await chat("c", 3);
  assert.equal(api.session.messages.length, 1);
  await eventually(() => assert.deepEqual(api.sessions().map(({ id }) => id), ["c", "b", "a"]));
  await api.select(-1);
  assert.equal(api.session.messages.length, 3);
  await assert.rejects(api.select("nope"), { code: "UnknownSession" });
  await api.select("a");
  await (await store.session("a")).delete();
  await eventually(() => assert.equal(api.session.messages.length, 3, "a deleted session is not shown any more"));
});

test("P-18 what other pages write does not take the shown session away", async () => {
  await chat("mine", 2);
  await chat("theirs", 1);
  const theirsFirst = new Proxy({}, {
    get: (_, key) => (key !== "sessions" ? store[key] : async function* sessions() {
      for (const id of ["theirs", "mine"]) yield (await store.session(id)).summary();
    }),
  });
  const { api } = await installed({}, theirsFirst);
  assert.equal(api.session.messages.length, 1);
  await chat("mine", 1);
  await eventually(() => assert.equal(api.session.messages.length, 3));
});

test("P-18 the option sessionId selects a session from the start", async () => {
  await chat("a", 1);
  await chat("b", 2);
  const { api } = await installed({ sessionId: "a" });
  assert.deepEqual(messageIds(api.session), ["m1"]);
});

test("P-20 a global that belongs to somebody else is left alone, with one warning that says what to do", async () => {
  const foreign = { harness: "not ours" };
  target[GLOBAL] = foreign;
  const first = await installed();
  await first();
  const second = await installed();
  assert.equal(target[GLOBAL], foreign);
  assert.deepEqual(target[LIST], [second.api], "tools find it all the same");
  assert.equal(out.lines("warn").length, 1);
  assert.match(out.lines("warn")[0], /globalName/);
  second();
  assert.equal(target[GLOBAL], foreign);

  await installed({ globalName: "__MINE__" });
  assert.equal(target.__MINE__.name, "devtools");
  assert.equal(target[GLOBAL], foreign);
});

test("P-20 the global shows the newest of several stores, or the one chosen, and goes with the last", async () => {
  const other = await opened("other");
  const first = await installed();
  const second = await installed({}, other);
  const third = await installed();
  assert.equal(target[GLOBAL], third.api);
  assert.equal(third.api.name, "devtools 2");
  assert.deepEqual(target[GLOBAL].stores(), ["devtools", "other", "devtools 2"]);
  assert.equal(target[GLOBAL].use("other"), second.api);
  assert.equal(target[GLOBAL], second.api);
  assert.equal(target[GLOBAL].use("nope"), undefined);
  second();
  assert.equal(target[GLOBAL], third.api, "the previous one is back");
  first();
  assert.equal(target[GLOBAL], third.api);
  third();
  third();
  assert.equal(GLOBAL in target, false);
  assert.equal(LIST in target, false);
});

test("P-20 after uninstalling nothing is listened to and nothing is printed", async () => {
  const uninstall = await installed();
  uninstall();
  const before = out.calls.length;
  await chat("s", 2);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(out.calls.length, before);
  assert.equal(uninstall.api.session, null);
});

test("P-20 where there is no window nothing is installed, and the answer says so", () => {
  const uninstall = installDevTools(store, { console: out });
  assert.equal(uninstall.installed, false);
  assert.equal(uninstall.api, null);
  assert.match(uninstall.reason, /target: globalThis/);
  assert.equal(uninstall(), undefined);
  assert.equal(GLOBAL in globalThis, false);
  assert.deepEqual(out.calls, []);
});

test("P-20 a checkpoint write is an entry of a Performance panel track, where the console can draw one", async () => {
  const entries = [];
  out.timeStamp = (...args) => entries.push(args);
  const uninstall = await installed();
  const [id] = await chat("s", 1);
  assert.equal(entries.length, 1);
  const [label, start, end, track, group, color] = entries[0];
  assert.equal(label, `message ${id}`);
  assert.ok(start >= 0 && start <= end && end <= performance.now());
  assert.deepEqual([track, group, color], ["checkpoints", "turnmark", "primary"]);
  uninstall();
  await chat("t", 1);
  assert.equal(entries.length, 1, "only while installed");
});

test("P-20 without that console the entry is a measure, which does not stay in the page's buffer", async (t) => {
  const measured = t.mock.method(performance, "measure");
  await installed();
  const [id] = await chat("s", 1);
  assert.equal(measured.mock.callCount(), 1);
  const [label, { detail }] = measured.mock.calls[0].arguments;
  assert.equal(label, `message ${id}`);
  assert.deepEqual(detail.devtools, { dataType: "track-entry", track: "checkpoints", trackGroup: "turnmark", color: "primary" });
  assert.deepEqual(performance.getEntriesByType("measure"), []);
});

/** `store` with its checkpoints read by `get`. */
const readBy = (get) => new Proxy({}, { get: (_, key) => (key === "checkpoints" ? { ...store.checkpoints, get } : store[key]) });

test("P-18 what the devtools read does not count as read by the application", async () => {
  await chat("s", 2);
  const asked = [];
  const { api } = await installed({}, readBy((sessionId, checkpointId) => (asked.push(checkpointId), store.checkpoints.get(sessionId, checkpointId))));
  assert.equal(api.session.messages.length, 2);
  assert.ok(asked.length > 0 && asked.every(Boolean), "reading the newest is what allows the next write");
});

test("P-18 what cannot be read is reported once, and the rest is shown all the same", async () => {
  await chat("s", 2);
  const { api } = await installed({}, readBy(() => Promise.reject(new TurnmarkError("RecordUnreadable", "a body is gone"))));
  await chat("s", 1);
  await eventually(() => assert.equal(api.checkpoints().length, 3));
  assert.equal(api.session, null);
  assert.deepEqual(out.lines("error"), ["turnmark: RecordUnreadable: a body is gone"]);
});

test("P-18 help() is a short list of examples", async () => {
  const { api } = await installed();
  api.help();
  const [text] = out.lines();
  assert.match(text, /rollback\(-2\)/);
  assert.ok(text.split("\n").length <= 20);
  for (const name of text.matchAll(/^ {2}\.(\w+)/gm)) assert.ok(name[1] in api, name[1]);
});

test("P-18 the state before a turn is told and gone back to from the console, also where no checkpoint was taken then", async () => {
  const session = await store.session("s");
  await session.state();
  await session.append([user("imported", "from elsewhere"), { id: "reply", role: "assistant", content: "yes" }]);
  for (const [id, plan] of [["q1", "first"], ["q2", "second"]]) {
    const turn = await session.begin({ raw: `asked ${id}` });
    await turn.append([{ id, role: "user", parts: [{ type: "text", text: `asked ${id}` }] }], { channels: { plan } });
    await turn.end([{ id: `${id}-a`, role: "assistant", content: "done" }]);
  }
  const { api } = await installed();
  const said = () => out.lines().at(-1);

  assert.deepEqual(api.turns().map(({ id, index, asked, answers }) => [id, index, asked, answers]), [
    ["q2", 4, "asked q2", 1], ["q1", 2, "asked q1", 1], ["imported", 0, "from elsewhere", 1],
  ]);
  assert.deepEqual(out.tables().at(-1)["-1"], { message: "q2", asked: "asked q2", "messages before": 4, "messages after it": 1 });
  assert.match(said(), /^turnmark: 3 turns of session "s"\./);

  const then = await api.before(-1);
  assert.deepEqual([messageIds(then.state), then.state.plan, then.checkpoint.kind], [["imported", "reply", "q1", "q1-a"], "first", "prompt-before"]);
  assert.match(said(), /^turnmark: before "asked q2": 4 messages, cp_/);
  assert.ok(said().endsWith(`Go back there: ${GLOBAL}.restore("q2")`));
  const untaken = await api.before("imp");
  assert.deepEqual([untaken.checkpoint, untaken.state], [null, { messages: [] }]);
  assert.match(said(), /no checkpoint was taken then/);
  assert.equal((await session.log()).length, 7, "to look writes nothing");

  await api.restore(api.turns()[0]);
  assert.deepEqual([messageIds(api.session), api.session.plan], [["imported", "reply", "q1", "q1-a"], "first"]);
  assert.match(said(), /^turnmark: went back to before "asked q2" in session "s": 6 -> 4 messages\. Undo: /);
  await api.undo();
  assert.deepEqual([api.session.messages.length, api.session.plan], [6, "second"]);

  await api.restore("imported");
  assert.match(said(), /\(the messages only: no checkpoint was taken then\)/);
  assert.deepEqual(api.session.messages, []);
  for (const [wrong, code] of [[-9, "InvalidArgument"], ["nothing", "InvalidArgument"], [0, "InvalidArgument"]]) await assert.rejects(api.before(wrong), { code });
});
