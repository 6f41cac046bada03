// Writes a parsed ChatGPT export into a store: a session for each line, a checkpoint for each turn.
//
// Session ids are derived from the file, so that a second import finds what the first one wrote. Every checkpoint of an
// import carries `imported: "chatgpt"`: only a session whose newest checkpoint still does is continued, so that work
// done since then is never touched.

import { isObject, shorten } from "./chatgpt-parse.js";
import { TurnmarkError } from "./errors.js";

/** Errors of the whole store: going on with the next conversation would fail the same way. */
const FATAL = new Set(["Aborted", "Closed", "ConnectionLost", "QuotaExceeded", "Unavailable", "Blocked", "TimedOut", "WasmFailed", "SchemaTooNew"]);

/** Where a line is cut into checkpoints: after each turn (before the next user message), at its end, and where a branch leaves it. */
function cutPoints(messages, done, forks) {
  const points = new Set(forks);
  for (let i = done + 1; i < messages.length; i += 1) if (messages[i].role === "user") points.add(i);
  points.add(messages.length);
  return [...points].filter((point) => point > done).sort((a, b) => a - b);
}

/** What a batch of messages is called in the timeline. */
function batchName(batch) {
  const asked = batch.find((message) => message.role === "user") ?? batch[0];
  return shorten(asked.content, 80) || null;
}

/** How many messages of the line a session of an earlier import already holds; `null` when it is not ours to go on with. */
async function readExisting(session, messages, marks) {
  let head;
  for await (const checkpoint of session.checkpoints()) {
    head ??= checkpoint;
    const ours = checkpoint.metadata.imported === "chatgpt" || checkpoint.source === "fork";
    if (ours && !marks.has(checkpoint.messageCount)) marks.set(checkpoint.messageCount, checkpoint.id);
  }
  const stored = await session.messages();
  const untouched = head !== undefined && (head.metadata.imported === "chatgpt" || head.source === "fork");
  const isStart = stored.length < messages.length && stored.every((message, i) => message.id === messages[i].id);
  return untouched && isStart ? stored.length : null;
}

/** Writes what a session lacks of a line, from message `done` on, and notes in `marks` which checkpoint has how many messages. */
async function writeLine(session, { title, messages, forks, marks }, done, signal, progress) {
  const start = done;
  let checkpoints = 0;
  const metadata = { source: "sync", kind: "turn-after", writes: ["import"], imported: "chatgpt" };
  if (done === 0 && forks.includes(0)) {
    const { id } = await session.put({ messages: [] }, { ...metadata, kind: "manual", name: "Before the first message" });
    marks.set(0, id);
  }
  for (const point of cutPoints(messages, done, forks)) {
    if (signal?.aborted) throw new TurnmarkError("Aborted", "The import was stopped. What has been written stays; importing the same file again goes on from there.", { cause: signal.reason });
    const batch = messages.slice(done, point);
    const { id } = await session.append(batch, { metadata: { ...metadata, name: batchName(batch) } });
    marks.set(point, id);
    checkpoints += 1;
    done = point;
    if (checkpoints === 1) await session.setTitle(title);
    progress(batch.length);
  }
  return { messages: done - start, checkpoints };
}

/** The checkpoint of the parent line at which a branch leaves it, if it really holds the messages they share. */
async function forkBase(store, line, parent) {
  const id = parent?.marks.get(line.forkIndex);
  if (id === undefined) return undefined;
  if (parent.report.action === "imported") return id;
  const { messageIds } = (await store.checkpoints.get(parent.id, id)).checkpoint;
  const shared = line.messages.slice(0, line.forkIndex);
  return messageIds.length === shared.length && shared.every((message, i) => message.id === messageIds[i]) ? id : undefined;
}

async function importLine(store, line, parent, existing, signal, progress) {
  const { id, title, messages } = line;
  if (existing.has(id)) {
    const session = await store.session(id);
    const done = await readExisting(session, messages, line.marks);
    if (done === null) return { sessionId: id, action: "existing", title, messages: 0, checkpoints: 0 };
    progress(Math.max(0, done - line.forkIndex));
    const kept = (await session.summary()).title ?? title;
    return { sessionId: id, action: "continued", title: kept, ...(await writeLine(session, { ...line, title: kept }, done, signal, progress)) };
  }
  const base = await forkBase(store, line, parent);
  const session = base === undefined ? await store.session(id) : await store.fork(parent.id, base, id);
  if (base !== undefined) for await (const { id: start } of session.checkpoints({ limit: 1 })) line.marks.set(line.forkIndex, start);
  existing.add(id);
  // A branch whose place on the other line is gone becomes a session of its own, whole.
  const written = await writeLine(session, line, base === undefined ? 0 : line.forkIndex, signal, progress);
  return { sessionId: id, action: "imported", title, ...written };
}

/** A name for a branch of a conversation: what makes it one comes first, lists are narrow. */
function branchTitle(title, branch) {
  const what = { regeneration: "Another answer", edit: "Edited question" }[branch.reason] ?? "Another line";
  return `${what} at message ${branch.forkIndex + 1} · ${shorten(title, 200)}`;
}

async function importConversation(store, conversation, existing, signal, progress) {
  const title = conversation.title ?? (shorten(conversation.messages[0].content, 80) || "Untitled conversation");
  const id = `chatgpt-${conversation.id}`;
  const lines = [{ id, title, messages: conversation.messages, forkIndex: 0, parent: null, marks: new Map() }];
  for (const branch of conversation.branches) {
    const { messages, forkIndex } = branch;
    const own = `${id}-${messages[forkIndex].id}`.slice(0, 200);
    lines.push({ id: own, title: branchTitle(title, branch), messages, forkIndex, parent: (branch.parentBranch ?? -1) + 1, marks: new Map() });
  }
  for (const [index, line] of lines.entries()) {
    line.forks = lines.filter((other) => other.parent === index).map((other) => other.forkIndex);
    line.report = await importLine(store, line, lines[line.parent], existing, signal, progress);
  }
  const [main, ...branches] = lines.map((line) => line.report);
  return { ...main, conversationId: conversation.id, branches, hidden: conversation.hidden.length, repairs: conversation.repairs };
}

export async function importChatGPT(store, parsed, options = {}) {
  if (!isObject(parsed) || !Array.isArray(parsed.conversations)) throw new TurnmarkError("InvalidArgument", "importChatGPT needs what parseChatGPTExport returned.");
  const { onProgress, signal } = options;
  const report = { sessions: [], skipped: (parsed.skipped ?? []).map(({ title, reason }) => ({ title, reason })) };
  const existing = new Set();
  for await (const session of store.sessions()) existing.add(session.id);
  const own = (conversation) => conversation.branches.reduce((sum, branch) => sum + branch.messages.length - branch.forkIndex, conversation.messages.length);
  const totalMessages = parsed.conversations.reduce((sum, conversation) => sum + own(conversation), 0);
  let messages = 0;
  for (const [index, conversation] of parsed.conversations.entries()) {
    const tell = (finished) => onProgress?.({ title: conversation.title, conversation: index + finished, conversations: parsed.conversations.length, messages, totalMessages });
    const start = messages;
    try {
      report.sessions.push(await importConversation(store, conversation, existing, signal, (written) => {
        messages += written;
        tell(0);
      }));
    } catch (error) {
      if (!FATAL.has(error?.code)) report.skipped.push({ title: conversation.title, reason: error?.message ?? String(error) });
      else throw Object.assign(error, { report });
    }
    messages = start + own(conversation);
    tell(1);
  }
  return report;
}
