// turnmark/chatgpt: an export is read whole, repaired in words, and written once. `node --test tests/unit`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { CHATGPT_LIMITS, importChatGPT, parseChatGPTExport } from "../../pkg-template/chatgpt.js";

const fixture = readFileSync(new URL("../fixtures/chatgpt-tree.json", import.meta.url), "utf8");

/** A tree from rows `[id, parent, role, text, more]`; `parent` is the id of another row or null. */
function tree(rows, more = {}) {
  const mapping = {};
  for (const [id, parent, role, text, extra = {}] of rows) {
    const { node, ...message } = extra;
    mapping[id] = {
      id,
      parent,
      children: rows.filter((row) => row[1] === id).map((row) => row[0]),
      message: role === null ? null : { id, author: { role }, create_time: 1000 + Object.keys(mapping).length, content: { content_type: "text", parts: [text] }, status: "finished_successfully", metadata: {}, ...message },
      ...node,
    };
  }
  return { title: "T", create_time: 1000, id: "conv", current_node: rows.at(-1)[0], mapping, ...more };
}
const chat = [["root", null, null], ["u1", "root", "user", "one"], ["a1", "u1", "assistant", "ONE"], ["u2", "a1", "user", "two"], ["a2", "u2", "assistant", "TWO"]];
const only = (input) => {
  const { conversations, skipped } = parseChatGPTExport(input);
  assert.deepEqual(skipped, []);
  assert.equal(conversations.length, 1);
  return conversations[0];
};
const texts = (messages) => messages.map((message) => message.content);
const repaired = (conversation, pattern) => assert.ok(conversation.repairs.some((sentence) => pattern.test(sentence)), `${pattern} in ${JSON.stringify(conversation.repairs)}`);
const refused = (input, pattern) => assert.throws(() => parseChatGPTExport(input), (error) => error.code === "BadBundle" && error.name === "TurnmarkError" && pattern.test(error.message));

test("a real export gives the shown line, its branches, and says what it hid", () => {
  const conversation = only(fixture);
  assert.equal(conversation.title, "Assist user with summary");
  assert.equal(conversation.createdAt, 1714585031149);
  assert.deepEqual(texts(conversation.messages).map((text) => text.slice(0, 16)), ["hi there", "Hello! How can I", "hi again", "Hey! Welcome bac", "tell me a joke", "Sure, here's one"]);
  assert.equal(conversation.messages[5].id, "f63b8e17-aa5c-4ca6-a1bf-d4d285e269b8");
  assert.deepEqual(conversation.branches.map(({ forkIndex, parentBranch, reason, messages }) => [forkIndex, parentBranch, reason, messages.length]), [[2, null, "edit", 6], [5, null, "regeneration", 6]]);
  assert.equal(conversation.branches[0].messages[1], conversation.messages[1]);
  assert.equal(conversation.branches[0].messages[5].metadata.interrupted, true);
  assert.equal(conversation.branches[0].messages[5].metadata.status, "in_progress");
  assert.deepEqual(conversation.hidden, [{ id: "d38605d2-7b2c-43de-b044-22ce472c749b", role: "system", reason: "a system message" }]);
  repaired(conversation, /1 answer was never finished/);
});

test("one conversation object, a byte order mark and parsed JSON are read like the file", () => {
  const [raw] = JSON.parse(fixture);
  const expected = parseChatGPTExport(fixture);
  for (const input of [raw, [raw], JSON.stringify(raw), `\ufeff${fixture}`, { conversations: [raw] }]) assert.deepEqual(parseChatGPTExport(input), expected);
});

test("a branch of a branch names the branch it leaves", () => {
  const rows = [...chat, ["b1", "u1", "assistant", "ONE b"], ["v2", "b1", "user", "two b"], ["c2", "v2", "assistant", "TWO b"], ["d2", "v2", "assistant", "TWO c"]];
  const conversation = only(tree(rows, { current_node: "a2" }));
  assert.deepEqual(conversation.branches.map(({ leaf, forkIndex, parentBranch, reason }) => [leaf, forkIndex, parentBranch, reason]), [["c2", 1, null, "regeneration"], ["d2", 3, 0, "regeneration"]]);
  assert.deepEqual(texts(conversation.branches[1].messages), ["one", "ONE b", "two b", "TWO c"]);
});

test("a shown line that ends inside the tree keeps what comes after it as a branch", () => {
  const conversation = only(tree(chat, { current_node: "a1" }));
  assert.deepEqual(texts(conversation.messages), ["one", "ONE"]);
  assert.deepEqual(conversation.branches.map(({ forkIndex, reason }) => [forkIndex, reason]), [[2, "continuation"]]);
});

test("without a usable current node the newest line is shown", () => {
  const rows = [...chat, ["x2", "a1", "user", "newest", { create_time: 9000 }]];
  const missing = only(tree(rows, { current_node: undefined }));
  assert.equal(missing.messages.at(-1).content, "newest");
  repaired(missing, /does not say which line is shown/);
  const dangling = only(tree(rows, { current_node: "nowhere" }));
  assert.equal(dangling.messages.at(-1).content, "newest");
  repaired(dangling, /line to be shown is not in the file/);
});

test("a lost parent is found through the parent's children, and else starts a line", () => {
  const adopted = only(tree(chat.map((row) => (row[0] === "u2" ? [...row, { node: { parent: "gone" } }] : row))));
  assert.deepEqual(texts(adopted.messages), ["one", "ONE", "two", "TWO"]);
  repaired(adopted, /found again through the parent's list/);
  const cut = only(tree(chat.map((row) => (row[0] === "u2" ? ["u2", "gone", "user", "two"] : row))));
  assert.deepEqual(texts(cut.messages), ["two", "TWO"]);
  assert.deepEqual(texts(cut.branches[0].messages), ["one", "ONE"]);
  assert.equal(cut.branches[0].forkIndex, 0);
  repaired(cut, /named a parent that is not in the file/);
  repaired(cut, /has 2 starts/);
});

test("links to children that are not there are dropped, and a disagreement goes to the parent named", () => {
  const raw = tree(chat);
  raw.mapping.a2.children = ["ghost", 7, null, "u1"];
  const conversation = only(raw);
  assert.deepEqual(texts(conversation.messages), ["one", "ONE", "two", "TWO"]);
  repaired(conversation, /3 links to a child that is not in the file/);
});

test("circles are cut open", () => {
  const raw = tree(chat);
  raw.mapping.u1.parent = "a2";
  raw.mapping.root.children = [];
  const conversation = only(raw);
  assert.deepEqual(texts(conversation.messages), ["one", "ONE", "two", "TWO"]);
  repaired(conversation, /1 circle of nodes/);
  const self = tree([["u1", "u1", "user", "alone"]]);
  assert.deepEqual(texts(only(self).messages), ["alone"]);
});

test("empty messages, repeated ids, unknown roles and missing times are repaired in words", () => {
  const conversation = only(tree([
    ["root", null, null], ["u1", "root", "user", "one", { id: "same", create_time: "yesterday" }], ["e1", "u1", "assistant", ""],
    ["a1", "e1", "assistant", "ONE", { id: "same", create_time: -5 }], ["k1", "a1", "critic", "hm", { id: "white space" }],
  ]));
  assert.deepEqual(texts(conversation.messages), ["one", "ONE", "hm"]);
  assert.deepEqual(conversation.messages.map((message) => message.createdAt), [1000_000, 1000_000, 1004_000]);
  assert.deepEqual(conversation.messages.map((message) => message.role), ["user", "assistant", "tool"]);
  assert.equal(new Set(conversation.messages.map((message) => message.id)).size, 3);
  for (const pattern of [/1 empty message was left out/, /repeated the id/, /could not be kept and was replaced/, /2 messages had no time/, /unknown author/]) repaired(conversation, pattern);
});

test("what is not text stays as parts", () => {
  const image = { content_type: "image_asset_pointer", asset_pointer: "file-service://x", width: 10 };
  const conversation = only(tree([
    ["u1", null, "user", "", { content: { content_type: "multimodal_text", parts: [image, "what is this?"] } }],
    ["a1", "u1", "assistant", "", { content: { content_type: "code", language: "python", text: "print(1)" } }],
    ["t1", "a1", "tool", "", { author: { role: "tool", name: "python" }, content: { content_type: "execution_output", text: "1" } }],
    ["a2", "t1", "assistant", "", { content: { content_type: "thoughts", thoughts: [{ summary: "s", content: "c" }] } }],
  ]));
  assert.deepEqual(texts(conversation.messages), ["what is this?", "```python\nprint(1)\n```", "1", ""]);
  assert.deepEqual(conversation.messages[0].parts, [{ type: "image_asset_pointer", value: image }, { type: "text", text: "what is this?" }]);
  assert.equal(conversation.messages[2].metadata.author, "python");
  assert.deepEqual(conversation.messages[3].parts, [{ type: "thought", value: { summary: "s", content: "c" } }]);
  repaired(conversation, /2 parts that are not text/);
});

test("reserved keys and endless nesting never arrive", () => {
  const raw = JSON.parse(JSON.stringify(tree(chat)));
  const bomb = `{"content_type":"x","v":${"[".repeat(5000)}${"]".repeat(5000)},"__proto__":{"polluted":1},"constructor":1}`;
  raw.mapping.a2.message.content = { content_type: "multimodal_text", parts: ["BOMB"] };
  const text = JSON.stringify(raw).replace('"BOMB"', bomb).replace('"mapping":{', '"mapping":{"__proto__":{"id":"__proto__","children":[],"message":null},');
  const conversation = only(text);
  assert.equal({}.polluted, undefined);
  const { value } = conversation.messages.at(-1).parts[0];
  assert.deepEqual(Object.keys(value), ["content_type", "v"]);
  let depth = 0;
  for (let at = value.v; Array.isArray(at); at = at[0]) depth += 1;
  assert.ok(depth < CHATGPT_LIMITS.depth);
  repaired(conversation, /reserved name/);
  repaired(conversation, /nested too deeply/);
  repaired(conversation, /could not be read and was left out \(__proto__\)/);
});

test("a line of 100,000 messages is read without recursion, and one more is beyond the limit", () => {
  const mapping = {};
  for (let i = 0; i < CHATGPT_LIMITS.nodes; i += 1) mapping[`n${i}`] = { parent: i > 0 ? `n${i - 1}` : null, message: { author: { role: i % 2 ? "assistant" : "user" }, create_time: 5, content: { parts: [`${i}`] } } };
  assert.equal(only({ title: "long", id: "x", mapping }).messages.length, CHATGPT_LIMITS.nodes);
  mapping.more = { parent: null };
  const { conversations, skipped } = parseChatGPTExport([{ title: "long", mapping }]);
  assert.deepEqual([conversations.length, skipped.length], [0, 1]);
  assert.match(skipped[0].reason, /100,001 messages, more than the limit/);
});

test("a tree with too many branches is skipped, the rest of the file is read", () => {
  const rows = [["u1", null, "user", "q"]];
  for (let i = 0; i < CHATGPT_LIMITS.branches + 2; i += 1) rows.push([`a${i}`, "u1", "assistant", `${i}`]);
  const parsed = parseChatGPTExport([tree(rows, { title: "wide" }), null, 5, { title: "no tree" }, tree([["root", null, null]]), tree(chat), tree(chat)]);
  assert.equal(parsed.conversations.length, 1);
  assert.deepEqual(parsed.skipped.map(({ index }) => index), [0, 1, 2, 3, 4, 6]);
  assert.match(parsed.skipped[0].reason, /more than 1,000 branches/);
  assert.match(parsed.skipped[4].reason, /no message to show/);
  assert.match(parsed.skipped[5].reason, /twice/);
});

test("other conversations with the same id and without one get ids of their own", () => {
  const { conversations } = parseChatGPTExport([tree(chat), tree(chat.slice(0, 3)), tree(chat, { id: "../../etc" }), tree(chat, { id: undefined }), tree(chat, { id: "__proto__" })]);
  assert.equal(new Set(conversations.map(({ id }) => id)).size, 5);
  assert.equal(conversations[1].id, "conv-2");
  for (const { id } of conversations) assert.match(id, /^[A-Za-z0-9_-]+$/);
  repaired(conversations[1], /same id/);
  repaired(conversations[3], /has no id/);
});

test("garbage is BadBundle with what to choose instead, never a raw error", () => {
  refused("PK\x03\x04....", /ZIP.*conversations\.json/);
  refused("<!doctype html>", /web page/);
  refused("[{", /not JSON/);
  refused('"text"', /list of conversations/);
  refused("[".repeat(200_000), /not JSON/);
  for (const input of [undefined, null, 7, true, Symbol("s"), () => {}, {}, [1, 2], "null", [{ mapping: [] }], new Map()]) refused(input, /not a ChatGPT export/);
  refused(Object.defineProperty([], 0, { enumerable: true, get: () => { throw new RangeError("mine"); } }), /reading it failed/);
  refused({ mapping: new Proxy({}, { ownKeys: () => { throw new Error("mine"); } }) }, /reading it failed/);
  refused({ length: 1 }, /not a ChatGPT export/);
  refused(Array.from({ length: CHATGPT_LIMITS.conversations + 1 }, () => null), /more than the limit of 50,000/);
  assert.deepEqual(parseChatGPTExport([]), { conversations: [], skipped: [] });
});

test("no value in the place of another makes the reader throw", () => {
  const values = [undefined, null, 0, -1, NaN, 1e308, "", "x", [], {}, [null], { id: {} }, true, ["__proto__"]];
  const places = ["title", "create_time", "current_node", "id", "conversation_id", "update_time"];
  const nodePlaces = ["id", "parent", "children", "message"];
  const messagePlaces = ["id", "author", "create_time", "content", "status", "metadata", "recipient"];
  for (const value of values) {
    for (const place of places) parseChatGPTExport(tree(chat, { [place]: value }));
    for (const place of nodePlaces) parseChatGPTExport(tree(chat.map((row) => (row[0] === "a1" ? [...row, { node: { [place]: value } }] : row))));
    for (const place of messagePlaces) parseChatGPTExport(tree(chat.map((row) => (row[0] === "a1" ? [...row, { [place]: value }] : row))));
  }
});

/** As much of a store as an import needs. */
function fakeStore() {
  const sessions = new Map();
  const make = (id) => sessions.get(id) ?? sessions.set(id, { id, title: null, forkedFrom: null, checkpoints: [] }).get(id);
  let fail = () => false;
  const write = (id, messages, metadata) => {
    if (fail(id, messages)) throw Object.assign(new Error("the disk is full"), { code: "QuotaExceeded" });
    const row = make(id);
    const checkpoint = { id: `cp_${id}_${row.checkpoints.length}`, messages, metadata, source: metadata.source, messageCount: messages.length };
    row.checkpoints.push(checkpoint);
    return checkpoint;
  };
  const handle = (id) => ({
    id,
    messages: async () => sessions.get(id)?.checkpoints.at(-1)?.messages ?? [],
    append: async (messages, { metadata }) => write(id, [...(sessions.get(id)?.checkpoints.at(-1)?.messages ?? []), ...messages], metadata),
    put: async ({ messages }, metadata) => write(id, messages, metadata),
    setTitle: async (title) => { sessions.get(id).title = title; },
    summary: async () => sessions.get(id),
    async* checkpoints({ limit = Infinity } = {}) { yield* (sessions.get(id)?.checkpoints ?? []).toReversed().slice(0, limit); },
  });
  return {
    rows: sessions,
    failWhen: (test) => { fail = test; },
    async* sessions() { yield* [...sessions.values()]; },
    session: async (id) => handle(id),
    fork: async (source, checkpointId, target) => {
      const base = sessions.get(source).checkpoints.find(({ id }) => id === checkpointId);
      assert.ok(base, "fork of a checkpoint that is not there");
      assert.ok(!sessions.has(target), "fork over a session that exists");
      make(target).forkedFrom = { sessionId: source, checkpointId };
      write(target, base.messages, { source: "fork" });
      return handle(target);
    },
    checkpoints: { get: async (id, checkpointId) => ({ checkpoint: { messageIds: sessions.get(id).checkpoints.find((row) => row.id === checkpointId).messages.map((message) => message.id) } }) },
  };
}
const stored = (store) => Object.fromEntries([...store.rows].map(([id, row]) => [id, texts(row.checkpoints.at(-1).messages)]));

test("an import writes one checkpoint per turn and forks each branch where it leaves", async () => {
  const store = fakeStore();
  const progress = [];
  const report = await importChatGPT(store, parseChatGPTExport(fixture), { onProgress: (step) => progress.push({ ...step }) });
  const main = store.rows.get("chatgpt-d5dc5307-6807-41a0-8b04-4acee626eeb7");
  assert.equal(main.title, "Assist user with summary");
  // Turns end at 2, 4 and 6; one branch leaves at 2 (the end of a turn), the other at 5 (inside one).
  assert.deepEqual(main.checkpoints.map(({ messageCount }) => messageCount), [2, 4, 5, 6]);
  const [edit, again] = report.sessions[0].branches.map(({ sessionId }) => store.rows.get(sessionId));
  assert.deepEqual(edit.forkedFrom, { sessionId: main.id, checkpointId: main.checkpoints[0].id });
  assert.deepEqual(edit.checkpoints.map(({ messageCount }) => messageCount), [2, 4, 6]);
  assert.deepEqual(again.forkedFrom, { sessionId: main.id, checkpointId: main.checkpoints[2].id });
  assert.match(edit.title, /^Edited question at message 3/);
  assert.equal(report.sessions[0].messages, 6);
  assert.equal(report.sessions[0].hidden, 1);
  assert.deepEqual(progress.at(-1), { title: "Assist user with summary", conversation: 1, conversations: 1, messages: 11, totalMessages: 11 });
  assert.ok(progress.length >= 6);
});

test("importing the same file again writes nothing and says so", async () => {
  const store = fakeStore();
  const parsed = parseChatGPTExport(fixture);
  await importChatGPT(store, parsed);
  const before = structuredClone([...store.rows]);
  const report = await importChatGPT(store, parsed);
  assert.deepEqual([...store.rows], before);
  assert.deepEqual([report.sessions[0], ...report.sessions[0].branches].map(({ action, messages }) => [action, messages]), Array(3).fill(["existing", 0]));
});

test("branches from before the first message and of branches are forks too", async () => {
  const rows = [...chat, ["w1", "root", "user", "other"], ["x1", "w1", "assistant", "OTHER"], ["y1", "w1", "assistant", "OTHER b"]];
  const store = fakeStore();
  const report = await importChatGPT(store, parseChatGPTExport(tree(rows, { current_node: "a2" })));
  assert.deepEqual(store.rows.get("chatgpt-conv").checkpoints.map(({ messageCount }) => messageCount), [0, 2, 4]);
  const [first, second] = report.sessions[0].branches.map(({ sessionId }) => store.rows.get(sessionId));
  assert.equal(first.forkedFrom.sessionId, "chatgpt-conv");
  assert.equal(second.forkedFrom.sessionId, first.id);
  assert.deepEqual(stored(store)[second.id], ["other", "OTHER b"]);
});

test("an import stopped by its signal or by a full disk goes on where it stopped", async () => {
  const store = fakeStore();
  const parsed = parseChatGPTExport(fixture);
  const control = new AbortController();
  await assert.rejects(importChatGPT(store, parsed, { signal: control.signal, onProgress: () => control.abort() }), (error) => error.code === "Aborted" && Array.isArray(error.report.sessions));
  assert.deepEqual([...store.rows.values()].map(({ checkpoints }) => checkpoints.length), [1]);
  assert.equal([...store.rows.values()][0].title, "Assist user with summary");
  store.failWhen((id, messages) => id.endsWith("aaa24023-b02f-4d49-b568-5856b41750c0") && messages.length === 6);
  await assert.rejects(importChatGPT(store, parsed), { code: "QuotaExceeded" });
  store.failWhen(() => false);
  const report = await importChatGPT(store, parsed);
  assert.deepEqual([report.sessions[0], ...report.sessions[0].branches].map(({ action }) => action), ["existing", "continued", "imported"]);
  const clean = fakeStore();
  await importChatGPT(clean, parsed);
  assert.deepEqual(stored(store), stored(clean));
});

test("a session somebody worked in since is left alone; a conversation that grew goes on", async () => {
  const store = fakeStore();
  await importChatGPT(store, parseChatGPTExport(tree(chat.slice(0, 3))));
  await importChatGPT(store, parseChatGPTExport(tree(chat)));
  assert.deepEqual(stored(store), { "chatgpt-conv": ["one", "ONE", "two", "TWO"] });
  const session = await store.session("chatgpt-conv");
  await session.append([{ id: "mine", role: "user", content: "mine" }], { metadata: { source: "message" } });
  const grown = [...chat, ["u3", "a2", "user", "three"]];
  const report = await importChatGPT(store, parseChatGPTExport(tree(grown)));
  assert.equal(report.sessions[0].action, "existing");
  assert.deepEqual(stored(store), { "chatgpt-conv": ["one", "ONE", "two", "TWO", "mine"] });
});

test("one conversation that cannot be written does not stop the others", async () => {
  const store = fakeStore();
  const append = store.session;
  store.session = async (id) => (id === "chatgpt-bad" ? Promise.reject(Object.assign(new Error("id refused"), { code: "InvalidId" })) : append(id));
  const report = await importChatGPT(store, parseChatGPTExport([tree(chat, { id: "bad" }), tree(chat), "nothing"]));
  assert.deepEqual(report.skipped.map(({ reason }) => reason), ["it is not an object", "id refused"]);
  assert.deepEqual(Object.keys(stored(store)), ["chatgpt-conv"]);
  await assert.rejects(importChatGPT(store, { no: "list" }), { code: "InvalidArgument" });
});
