// How the devtools show things to a person: short ids, ages, sizes, and the rows of their tables. Pure text.

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
];

/** "2 min ago". A clock that runs ahead is no reason to show a time to come. */
export function age(then, now = Date.now()) {
  const passed = now - then;
  const unit = UNITS.find(([, length]) => passed >= length);
  return unit ? `${Math.floor(passed / unit[1])} ${unit[0]} ago` : "just now";
}

/** "1.2 KB" */
export function size(bytes) {
  if (!Number.isFinite(bytes)) return "";
  let value = bytes;
  const units = ["B", "KB", "MB", "GB"];
  while (value >= 1024 && units.length > 1) {
    value /= 1024;
    units.shift();
  }
  return `${units[0] === "B" ? value : value.toFixed(1)} ${units[0]}`;
}

export const count = (number, one, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;

/** Text of any origin as one short line without control or direction characters. */
export function line(text, length = 60) {
  const flat = String(text ?? "").replace(/[\p{Cc}\p{Zl}\p{Zp}\s\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu, " ").trim();
  const letters = [...flat];
  return letters.length > length ? `${letters.slice(0, length - 1).join("")}…` : flat;
}

const SHORTEST_ID = "cp_".length + 8;

function commonLength(a, b) {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}

/** Returns the function that shortens each of these ids to a beginning that only it has, all to the same length. */
export function shortener(ids) {
  const sorted = [...ids].sort();
  const length = sorted.reduce((longest, id, index) => Math.max(longest, index ? commonLength(sorted[index - 1], id) + 1 : 0), SHORTEST_ID);
  return (id) => id.slice(0, length);
}

/**
 * The only way the devtools print. Never with a format string made of content: "%s" comes first, whatever follows is
 * text, and always one line.
 */
export function createVoice(out) {
  const sentence = (text) => line(`turnmark: ${text}`, 1000);
  const voice = {
    say: (text) => out.log("%s", sentence(text)),
    warn: (text) => out.warn("%s", sentence(text)),
    complain: (error) => out.error("%s", sentence(`${error?.code ?? error?.name ?? "Error"}: ${error?.message ?? String(error)}`)),
    /** A line, and a table under it when there are rows. */
    show(text, rows) {
      voice.say(text);
      if (Object.keys(rows).length > 0) out.table(rows);
    },
    page: (lines) => out.log("%s", lines.join("\n")),
  };
  return voice;
}

/** Rows under the numbers that one types: -1 is the newest. */
function numbered(items, row) {
  return Object.fromEntries(items.map((item, index) => [String(-1 - index), row(item)]));
}

export function checkpointRows(checkpoints, now) {
  const short = shortener(checkpoints.map(({ id }) => id));
  return numbered(checkpoints, (checkpoint) => ({
    id: short(checkpoint.id),
    age: age(checkpoint.createdAt, now),
    source: line(checkpoint.source),
    kind: line(checkpoint.kind),
    stamp: checkpoint._durability?.level ?? "",
    size: size(checkpoint.size),
    messages: checkpoint.messageCount,
    pinned: checkpoint.pinned ? "pinned" : "",
    name: line(checkpoint.name, 40),
  }));
}

export function sessionRows(sessions, selected, now) {
  return numbered(sessions, (session) => ({
    id: line(session.id, 80),
    title: line(session.title, 40),
    changed: age(session.updatedAt, now),
    messages: session.messageCount,
    checkpoints: session.checkpointCount,
    "forked from": line(session.forkedFrom?.sessionId, 40),
    selected: session.id === selected ? "selected" : "",
  }));
}

export function operationRows(operations, now) {
  const short = shortener(operations.map(({ checkpointId }) => checkpointId));
  return operations.map((operation) => ({
    operation: operation.type,
    checkpoint: short(operation.checkpointId),
    age: age(operation.createdAt, now),
    summary: line(operation.summary, 120),
    "undo()": operation.undoable ? "undoes this" : "",
  }));
}

export function changeRows({ messages, channels, ui }) {
  const position = (index) => (index === null ? "" : index);
  return [
    ...messages.map(({ change, id, fromIndex, toIndex, before, after }) => ({
      change,
      what: `${line((after ?? before)?.role) || "message"} ${line(id, 40)}`.trim(),
      before: position(fromIndex),
      after: position(toIndex),
    })),
    ...channels.map(({ change, channel }) => ({ change, what: `channel ${line(channel, 40)}`, before: "", after: "" })),
    ...ui.map(({ change, key }) => ({ change, what: `ui ${line(key, 40)}`, before: "", after: "" })),
  ];
}

/** What a message says, as text. */
function textOf({ content, parts }) {
  if (typeof content === "string") return content;
  const list = [content, parts].find(Array.isArray) ?? [];
  return list.filter((part) => typeof part?.text === "string").map(({ text }) => text).join(" ");
}

/** What the user asked in a state, newest first: `{ id, index, asked, answers }`. Messages without an id cannot be named. */
export function turnsOf(state) {
  const turns = [];
  for (const [index, message] of (state?.messages ?? []).entries()) {
    if (message?.role === "user" && typeof message.id === "string") turns.push({ id: message.id, index, asked: textOf(message), answers: 0 });
    else if (turns.length > 0) turns.at(-1).answers += 1;
  }
  return turns.reverse();
}

export function turnRows(turns) {
  return numbered(turns, ({ id, index, asked, answers }) => ({ message: line(id, 40), asked: line(asked), "messages before": index, "messages after it": answers }));
}

export function toolRows(tools) {
  return tools.map((tool) => ({ name: line(tool?.name ?? tool?.id ?? tool, 40), description: line(tool?.description, 80) }));
}
