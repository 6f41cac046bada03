// Reads ChatGPT's `conversations.json`.
//
// A conversation is a tree ("mapping"): each node names its parent and its children, `current_node` names the end of
// the line that is shown. Files are made by others and may be damaged or hostile: every walk here is a loop with a
// limit, every table is a Map, and whatever is repaired or left out is said in a sentence.

import { TurnmarkError } from "./errors.js";

export const CHATGPT_LIMITS = Object.freeze({
  characters: 400_000_000,
  conversations: 50_000,
  totalNodes: 2_000_000,
  nodes: 100_000,
  branches: 1_000,
  lineMessages: 500_000,
  messageCharacters: 4_000_000,
  depth: 50,
  values: 20_000,
});
const LIMITS = CHATGPT_LIMITS;
const PROTOTYPE_KEYS = new Set(["__proto__", "constructor", "prototype"]);
const PLAIN_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;

export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value) => typeof value === "string";
const count = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;

/** The first `length` characters, never half of a pair. */
export function shorten(text, length) {
  const line = text.replace(/\s+/g, " ").trim();
  if (line.length <= length) return line;
  return `${Array.from(line.slice(0, length + 1)).slice(0, length - 1).join("").trimEnd()}…`;
}

/** A short stable name for a text (two 32-bit FNV-1a sums). For ids only; nothing depends on it being hard to forge. */
function fingerprint(text) {
  let a = 0x811c9dc5;
  let b = 0x1b873593;
  for (let i = 0; i < text.length; i += 1) {
    a = Math.imul(a ^ text.charCodeAt(i), 0x01000193);
    b = Math.imul(b ^ text.charCodeAt(i), 0x85ebca6b);
  }
  return [a, b].map((sum) => (sum >>> 0).toString(16).padStart(8, "0")).join("");
}

/** Epoch milliseconds of a time in seconds (or an ISO date), or `null`. */
function readTime(value) {
  const time = isText(value) ? Date.parse(value) : typeof value === "number" ? Math.round(value * 1000) : NaN;
  return Number.isFinite(time) && time > 0 && time < 8.64e15 ? time : null;
}

/** Counts what was repaired by kind, with a few examples, and tells it in sentences. */
class Notes {
  #kinds = new Map();
  add(kind, example) {
    const seen = this.#kinds.get(kind) ?? { number: 0, examples: [] };
    seen.number += 1;
    if (seen.examples.length < 3 && isText(example)) seen.examples.push(shorten(example, 40));
    this.#kinds.set(kind, seen);
  }
  sentences() {
    return [...this.#kinds].map(([kind, { number, examples }]) => SENTENCES[kind](number, examples.join(", ")));
  }
}

const SENTENCES = {
  wrongNode: (n, ids) => `${count(n, "entry", "entries")} of the tree could not be read and ${n === 1 ? "was" : "were"} left out (${ids}).`,
  nodeId: (n, ids) => `${count(n, "node")} carried another id than the one the tree knows; the tree's was used (${ids}).`,
  danglingParent: (n, ids) => `${count(n, "node")} named a parent that is not in the file and became the start of a line (${ids}).`,
  danglingChild: (n, ids) => `${count(n, "link")} to a child that is not in the file ${n === 1 ? "was" : "were"} dropped (${ids}).`,
  adopted: (n, ids) => `${count(n, "node")} had lost the link to the parent; it was found again through the parent's list of children (${ids}).`,
  disagree: (n, ids) => `${count(n, "node")} ${n === 1 ? "is" : "are"} listed as a child of another node than the parent named; the parent was believed (${ids}).`,
  cycle: (n, ids) => `${count(n, "circle")} of nodes that are each other's parents ${n === 1 ? "was" : "were"} cut open (${ids}).`,
  roots: (n) => `The tree has ${n + 1} starts; each is kept as a line of its own.`,
  noCurrent: (n, ids) => `The file does not say which line is shown; the newest one was taken (it ends with ${ids}).`,
  danglingCurrent: (n, ids) => `The line to be shown is not in the file, or there is nothing to show in it; the newest one was taken instead (it ends with ${ids}).`,
  empty: (n, ids) => `${count(n, "empty message")} ${n === 1 ? "was" : "were"} left out (${ids}).`,
  duplicateId: (n, ids) => `${count(n, "message")} repeated the id of another message and got the id of ${n === 1 ? "its node" : "their nodes"} (${ids}).`,
  renamedId: (n, ids) => `${count(n, "message id")} could not be kept and ${n === 1 ? "was" : "were"} replaced (${ids}).`,
  parts: (n) => `${count(n, "part")} that ${n === 1 ? "is" : "are"} not text (images, files, tool results) ${n === 1 ? "was" : "were"} kept as ${n === 1 ? "a part" : "parts"} of the message; the pictures themselves are not in this file.`,
  cut: (n, ids) => `${count(n, "value")} nested too deeply or too large ${n === 1 ? "was" : "were"} cut (${ids}).`,
  prototypeKey: (n, ids) => `${count(n, "key")} with a reserved name ${n === 1 ? "was" : "were"} dropped (${ids}).`,
  noTime: (n, ids) => `${count(n, "message")} had no time; the time of the message before was taken (${ids}).`,
  role: (n, ids) => `${count(n, "message")} had an unknown author and ${n === 1 ? "was" : "were"} kept with the role "tool" (${ids}).`,
  interrupted: (n, ids) => `${count(n, "answer")} ${n === 1 ? "was" : "were"} never finished and ${n === 1 ? "is" : "are"} marked as interrupted (${ids}).`,
  noConversationId: () => "The conversation has no id; one was derived from its content.",
  sameConversationId: () => "Another conversation of the file has the same id; this one got a suffix.",
  longText: (n, ids) => `${count(n, "message")} longer than ${LIMITS.messageCharacters.toLocaleString("en")} characters ${n === 1 ? "was" : "were"} cut (${ids}).`,
};

/** A copy of parsed JSON without reserved keys, cut where it is deeper or larger than the limits. */
function copyValue(source, notes, where) {
  const holder = { value: undefined };
  const todo = [{ from: source, into: holder, key: "value", depth: 0 }];
  let values = 0;
  while (todo.length > 0) {
    const { from, into, key, depth } = todo.pop();
    values += 1;
    if (typeof from !== "object" || from === null) {
      into[key] = ["string", "boolean"].includes(typeof from) || Number.isFinite(from) ? from : null;
      continue;
    }
    if (depth >= LIMITS.depth || values > LIMITS.values) {
      notes.add("cut", where);
      into[key] = null;
      continue;
    }
    const copy = Array.isArray(from) ? [] : {};
    into[key] = copy;
    const keys = Object.keys(from);
    if (keys.length + todo.length > LIMITS.values) notes.add("cut", where);
    for (const name of keys.slice(0, Math.max(0, LIMITS.values - todo.length)).reverse()) {
      if (PROTOTYPE_KEYS.has(name)) notes.add("prototypeKey", name);
      else todo.push({ from: from[name], into: copy, key: name, depth: depth + 1 });
    }
  }
  return holder.value;
}

/** The parts of a message's content, in order: texts and everything else. */
function readParts(content, notes, id) {
  if (isText(content)) return [{ type: "text", text: content }];
  if (!isObject(content)) return [];
  const type = isText(content.content_type) ? content.content_type : "unknown";
  if (Array.isArray(content.parts)) {
    if (content.parts.length > LIMITS.values) notes.add("cut", id);
    return content.parts.slice(0, LIMITS.values).flatMap((part) => {
      if (isText(part)) return part === "" ? [] : [{ type: "text", text: part }];
      if (part === null || part === undefined) return [];
      if (isObject(part) && part.content_type === "text" && isText(part.text)) return [{ type: "text", text: part.text }];
      const name = isObject(part) && isText(part.content_type) ? shorten(part.content_type, 60) : type;
      return [{ type: name, value: copyValue(part, notes, id) }];
    });
  }
  if (Array.isArray(content.thoughts)) {
    const thoughts = content.thoughts.slice(0, LIMITS.values).filter(isObject);
    return thoughts.map((thought) => ({ type: "thought", value: copyValue(thought, notes, id) }));
  }
  const text = [content.text, content.result, content.content].find(isText);
  if (text === undefined) {
    const value = copyValue(content, notes, id);
    return Object.keys(value).length > (isText(content.content_type) ? 1 : 0) ? [{ type: shorten(type, 60), value }] : [];
  }
  if (text === "") return [];
  return [{ type: "text", text: type === "code" ? `\`\`\`${isText(content.language) && /^[a-z+#-]{1,20}$/.test(content.language) && content.language !== "unknown" ? content.language : ""}\n${text}\n\`\`\`` : text }];
}

/** The message of a node as it will be stored, or `null` when there is nothing to show. */
function readMessage(id, raw, state) {
  const { notes, hidden, ids } = state;
  if (raw === null || raw === undefined) return null;
  if (!isObject(raw)) return notes.add("empty", id), null;
  const author = isObject(raw.author) ? raw.author : {};
  const metadata = isObject(raw.metadata) ? raw.metadata : {};
  let role = isText(author.role) ? author.role : "";
  if (metadata.is_visually_hidden_from_conversation === true || role === "system") {
    hidden.push({ id, role: shorten(role, 40) || "unknown", reason: role === "system" ? "a system message" : "hidden by ChatGPT" });
    return null;
  }
  if (!["user", "assistant", "tool"].includes(role)) {
    notes.add("role", role || id);
    role = "tool";
  }
  let parts = readParts(raw.content, notes, id);
  if (parts.length === 0) return notes.add("empty", id), null;
  let content = parts.filter((part) => part.type === "text" && "text" in part).map((part) => part.text).join("\n\n");
  if (content.length > LIMITS.messageCharacters) {
    notes.add("longText", id);
    content = `${content.slice(0, LIMITS.messageCharacters).replace(/[\ud800-\udbff]$/, "")}…`;
    parts = [{ type: "text", text: content }];
  }
  const others = parts.filter((part) => !("text" in part));
  for (const part of others) notes.add("parts", part.type);
  if (others.length === 0 && content.trim() === "") return notes.add("empty", id), null;

  let name = isText(raw.id) && raw.id !== "" ? raw.id : id;
  if (!PLAIN_ID.test(name)) {
    notes.add("renamedId", name);
    name = `m-${fingerprint(`${id}\n${name}`)}`;
  } else if (name !== id && (ids.has(name) || state.nodes.has(name))) {
    notes.add("duplicateId", name);
    name = PLAIN_ID.test(id) ? id : `m-${fingerprint(id)}`;
  }
  for (let i = 2; ids.has(name); i += 1) name = `${name.slice(0, 90)}-${i}`;
  ids.add(name);

  const message = { id: name, role, content, createdAt: readTime(raw.create_time), metadata: { importedFrom: "chatgpt" } };
  if (others.length > 0) message.parts = parts;
  const model = isText(metadata.model_slug) ? metadata.model_slug : metadata.default_model_slug;
  if (isText(model) && role === "assistant") message.metadata.model = shorten(model, 100);
  if (isText(raw.content?.content_type) && raw.content.content_type !== "text") message.metadata.contentType = shorten(raw.content.content_type, 60);
  if (isText(author.name)) message.metadata.author = shorten(author.name, 100);
  if (isText(raw.recipient) && raw.recipient !== "all") message.metadata.recipient = shorten(raw.recipient, 100);
  if (isText(raw.status) && raw.status !== "finished_successfully") {
    message.metadata.status = shorten(raw.status, 60);
    if (role === "assistant") {
      message.metadata.interrupted = true;
      notes.add("interrupted", name);
    }
  }
  return message;
}

/** All nodes by id, each with one parent, agreed children and no circle. */
function readTree(mapping, notes) {
  const nodes = new Map();
  for (const [id, raw] of Object.entries(mapping)) {
    if (PROTOTYPE_KEYS.has(id) || !isObject(raw)) notes.add("wrongNode", id);
    else nodes.set(id, { id, raw, parent: null, children: [], order: nodes.size });
  }
  const listedBy = new Map();
  for (const node of nodes.values()) {
    const { id, raw } = node;
    if (isText(raw.id) && raw.id !== id) notes.add("nodeId", raw.id);
    for (const child of Array.isArray(raw.children) ? raw.children : []) {
      if (!nodes.has(child)) notes.add("danglingChild", isText(child) ? child : typeof child);
      else if (!listedBy.has(child)) listedBy.set(child, id);
    }
  }
  for (const node of nodes.values()) {
    const named = node.raw.parent;
    const listed = listedBy.get(node.id) ?? null;
    if (nodes.has(named)) {
      node.parent = named;
      if (listed !== null && listed !== named) notes.add("disagree", node.id);
    } else {
      if (named !== null && named !== undefined && listed === null) notes.add("danglingParent", node.id);
      if (listed !== null) notes.add("adopted", node.id);
      node.parent = listed;
    }
  }
  cutCircles(nodes, notes);
  for (const node of nodes.values()) if (node.parent !== null) nodes.get(node.parent).children.push(node.id);
  return nodes;
}

/** Makes the earliest node of every circle of parents a start. Each node is walked once. */
function cutCircles(nodes, notes) {
  const walked = new Map();
  for (const start of nodes.values()) {
    let node = start;
    while (node !== undefined && !walked.has(node.id)) {
      walked.set(node.id, start.order);
      node = nodes.get(node.parent);
    }
    if (node === undefined || walked.get(node.id) !== start.order) continue;
    let first = node;
    for (let other = nodes.get(node.parent); other !== node; other = nodes.get(other.parent)) {
      if (other.order < first.order) first = other;
    }
    first.parent = null;
    notes.add("cycle", first.id);
  }
}

/** Of the leaves with something to show, the one whose line is newest; of equals the last in the file. */
function newestLeaf(nodes) {
  let newest = null;
  for (const node of nodes.values()) {
    if (node.children.length > 0 || node.shown === 0) continue;
    if (newest === null || (node.time ?? 0) >= (newest.time ?? 0)) newest = node;
  }
  return newest.id;
}

/** The lines of a tree: the one ending with `end` first, then one for each leaf not yet on a line, in file order. */
function readLines(nodes, end, messages) {
  const owner = new Map();
  const lines = [];
  let total = 0;
  const ends = [end, ...[...nodes.values()].filter((node) => node.children.length === 0).map((node) => node.id)];
  for (const leaf of ends) {
    const own = [];
    let id = leaf;
    while (id !== null && !owner.has(id)) {
      own.push(id);
      id = nodes.get(id).parent;
    }
    if (own.length === 0) continue;
    own.reverse();
    const from = id === null ? null : owner.get(id);
    const shared = from === null ? [] : lines[from.line].messages.slice(0, from.length);
    const fresh = own.filter((node) => messages.has(node));
    const index = lines.length;
    if (fresh.length === 0 && index > 0) {
      // Nothing to show beyond the line it leaves: its nodes belong to that line.
      for (const node of own) owner.set(node, from ?? { line: 0, length: 0 });
      continue;
    }
    total += shared.length + fresh.length;
    if (lines.length > LIMITS.branches) return { excess: `it has more than ${LIMITS.branches.toLocaleString("en")} branches` };
    if (total > LIMITS.lineMessages) return { excess: `its branches together have more than ${LIMITS.lineMessages.toLocaleString("en")} messages` };
    let length = shared.length;
    for (const node of own) {
      if (messages.has(node)) length += 1;
      owner.set(node, { line: index, length });
    }
    // A line that shares nothing with the one it leaves stands beside the live one.
    const left = shared.length === 0 ? 0 : from.line;
    lines.push({ leaf, messages: shared.concat(fresh.map((node) => messages.get(node))), forkIndex: shared.length, from: left, root: from === null });
  }
  return { lines };
}

/** Why a line leaves another: what stands at the fork in both. */
function branchReason(line, left) {
  const [here, there] = [line.messages[line.forkIndex], left.messages[line.forkIndex]];
  if (there === undefined || here.role !== there.role) return "continuation";
  return here.role === "user" ? "edit" : "regeneration";
}

function readConversation(raw, takenIds) {
  if (!isObject(raw)) return { reason: "it is not an object" };
  if (!isObject(raw.mapping)) return { reason: "it has no message tree (\"mapping\")" };
  const size = Object.keys(raw.mapping).length;
  if (size > LIMITS.nodes) return { reason: `it has ${size.toLocaleString("en")} messages, more than the limit of ${LIMITS.nodes.toLocaleString("en")}` };
  const notes = new Notes();
  const nodes = readTree(raw.mapping, notes);
  if (nodes.size === 0) return { reason: "its message tree is empty" };

  const createdAt = readTime(raw.create_time);
  const hidden = [];
  const messages = readMessages(nodes, { notes, nodes, hidden, ids: new Set() }, createdAt);
  if (messages.size === 0) return { reason: "it has no message to show" };

  let end = raw.current_node;
  if (!nodes.has(end) || nodes.get(end).shown === 0) {
    end = newestLeaf(nodes);
    notes.add(isText(raw.current_node) ? "danglingCurrent" : "noCurrent", end);
  }
  const { lines, excess } = readLines(nodes, end, messages);
  if (excess !== undefined) return { reason: excess };
  for (const line of lines.slice(1)) if (line.root) notes.add("roots");

  const [live, ...branches] = lines;
  const id = conversationId(raw, live, takenIds, notes);
  if (id === null) return { reason: "it is in the file twice" };
  return {
    conversation: {
      id,
      title: isText(raw.title) && raw.title.trim() !== "" ? shorten(raw.title, 300) : null,
      createdAt,
      updatedAt: readTime(raw.update_time),
      messages: live.messages,
      branches: branches.map((line) => ({
        leaf: line.leaf,
        messages: line.messages,
        forkIndex: line.forkIndex,
        parentBranch: line.from === 0 ? null : line.from - 1,
        reason: branchReason(line, lines[line.from]),
      })),
      hidden,
      repairs: notes.sentences(),
    },
  };
}

/** The messages to show by node id. Tells each node its time and how many messages its line shows. */
function readMessages(nodes, state, createdAt) {
  const messages = new Map();
  // Every node after its parent.
  const todo = [...nodes.values()].filter((node) => node.parent === null).reverse();
  while (todo.length > 0) {
    const node = todo.pop();
    for (let i = node.children.length - 1; i >= 0; i -= 1) todo.push(nodes.get(node.children[i]));
    const message = readMessage(node.id, node.raw.message, state);
    const parent = nodes.get(node.parent) ?? { time: createdAt, shown: 0 };
    node.time = message?.createdAt ?? parent.time;
    node.shown = parent.shown + (message === null ? 0 : 1);
    if (message === null) continue;
    if (message.createdAt === null) {
      state.notes.add("noTime", node.id);
      message.createdAt = node.time;
    }
    messages.set(node.id, message);
  }
  return messages;
}

/** A free id for a conversation, or `null` when the very same one has been read before. */
function conversationId(raw, live, takenIds, notes) {
  let id = [raw.conversation_id, raw.id].find((value) => isText(value) && value !== "");
  if (id === undefined) {
    notes.add("noConversationId");
    id = `content-${fingerprint(live.messages.slice(0, 2).map((message) => `${message.id}\n${message.content}`).join("\n"))}`;
  } else if (!PLAIN_ID.test(id)) id = `id-${fingerprint(id)}`;
  const content = fingerprint(JSON.stringify([readTime(raw.update_time), Object.keys(raw.mapping), live.messages.map((message) => message.content)]));
  if (takenIds.get(id) === content) return null;
  if (takenIds.has(id)) notes.add("sameConversationId");
  let free = id;
  for (let i = 2; takenIds.has(free); i += 1) free = `${id.slice(0, 90)}-${i}`;
  takenIds.set(free, content);
  return free;
}

/** What `JSON.parse` makes of the text of an export, or `BadBundle` with what to choose instead. */
function readText(text) {
  if (text.length > LIMITS.characters) throw new TurnmarkError("BadBundle", `This file has ${text.length.toLocaleString("en")} characters, more than the limit of ${LIMITS.characters.toLocaleString("en")}. Split it into smaller arrays of conversations.`);
  const start = text.slice(0, 200).replace(/^\ufeff/, "").trimStart();
  if (start.startsWith("PK")) throw new TurnmarkError("BadBundle", "This is a ZIP archive. Unpack it and choose the conversations.json inside.");
  if (start.startsWith("<")) throw new TurnmarkError("BadBundle", "This is a web page, not an export. Choose conversations.json, not chat.html.");
  try {
    return JSON.parse(text.startsWith("\ufeff") ? text.slice(1) : text);
  } catch (cause) {
    throw new TurnmarkError("BadBundle", "This is not a ChatGPT export: it is not JSON, or it ends too early. Choose conversations.json from the export.", { cause });
  }
}

export function parseChatGPTExport(input) {
  try {
    return readExport(isText(input) ? readText(input) : input);
  } catch (cause) {
    if (cause instanceof TurnmarkError) throw cause;
    throw new TurnmarkError("BadBundle", "This is not a ChatGPT export: reading it failed. Choose conversations.json from the export.", { cause });
  }
}

function readExport(data) {
  const list = Array.isArray(data) ? data : isObject(data) && Array.isArray(data.conversations) ? data.conversations : isObject(data) && isObject(data.mapping) ? [data] : null;
  if (list === null) throw new TurnmarkError("BadBundle", "This is not a ChatGPT export: it should hold a list of conversations, each with a \"mapping\". Choose conversations.json from the export.");
  if (list.length > LIMITS.conversations) throw new TurnmarkError("BadBundle", `This file has ${list.length.toLocaleString("en")} conversations, more than the limit of ${LIMITS.conversations.toLocaleString("en")}. Split it.`);
  const parsed = { conversations: [], skipped: [] };
  const takenIds = new Map();
  let total = 0;
  for (const [index, raw] of list.entries()) {
    total += isObject(raw?.mapping) ? Object.keys(raw.mapping).length : 0;
    if (total > LIMITS.totalNodes) throw new TurnmarkError("BadBundle", `This file has more than ${LIMITS.totalNodes.toLocaleString("en")} messages. Split it into smaller arrays of conversations.`);
    const { conversation, reason } = readConversation(raw, takenIds);
    if (conversation !== undefined) parsed.conversations.push(conversation);
    else parsed.skipped.push({ index, title: isText(raw?.title) ? shorten(raw.title, 300) : null, reason });
  }
  if (list.length > 0 && parsed.conversations.length === 0 && !list.some((raw) => isObject(raw?.mapping))) {
    throw new TurnmarkError("BadBundle", "This is not a ChatGPT export: none of its entries is a conversation. Choose conversations.json from the export.");
  }
  return parsed;
}
