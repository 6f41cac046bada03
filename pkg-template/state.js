/** The shapes of the public contract, to and from the shapes of the engine (states, messages, channels). */
import { decode, decodeMany, setOwn } from "./decode.js";
import { TurnmarkError, describe, invalid, isOurs } from "./errors.js";
import { isPlainArray, isPlainObject, pathStep } from "./encode.js";
import { checkArray, checkEach, checkId, checkObject, checkString, isWellFormed } from "./check.js";
import { Pack } from "./pack.js";

/** Reads of an argument may run a hostile proxy. */
function reading(path, read) {
  try {
    return read();
  } catch (cause) {
    if (isOurs(cause)) throw cause;
    throw new TurnmarkError("NotStorable", `${path} could not be read (${describe(cause)}); nothing was written`, { path, cause });
  }
}

function refuse(what, why) {
  throw new TurnmarkError("NotStorable", `${what} ${why}, so it cannot be kept exactly; nothing was written`, { path: what });
}

/** Encodes a message list; the id and the role of each go beside its text. */
export function encodeMessages(messages, path = "messages") {
  const pack = new Pack();
  const ids = [];
  const roles = [];
  reading(path, () => {
    checkArray(messages, path);
    for (let i = 0; i < messages.length; i += 1) {
      const where = `${path}[${i}]`;
      const message = checkObject(messages[i], where);
      pack.add(message, where);
      const { id, role } = message;
      ids.push(id === undefined ? null : checkId(id, `id of ${where}`));
      roles.push(typeof role === "string" && isWellFormed(role) ? role : null);
    }
    if (!isPlainArray(messages)) refuse(path, "is not a plain array");
  });
  return { ids, ready: () => pack.ready(), raw: () => ({ ids, roles, ...pack.raw() }) };
}

/**
 * Encoded messages one by one, as a turn keeps them to find out what is new. Call after `ready()`.
 *
 * @typedef {{ id: string | null, role: string | null, text: string | null, binaries: Uint8Array[] | undefined }} Entry
 * @returns {Entry[]}
 */
export function toEntries(encoded) {
  const { ids, roles, texts, binaries } = encoded.raw();
  return texts.map((text, i) => ({ id: ids[i], role: roles[i], text, binaries: binaries?.[i] }));
}

/** What the engine takes, of entries. */
export function fromEntries(entries) {
  const list = (key) => entries.map((entry) => entry[key]);
  return { ids: list("id"), roles: list("role"), texts: list("text"), binaries: entries.some((entry) => entry.binaries) ? list("binaries") : null };
}

/** Encodes the channels of a state, or some of them. */
export function encodeChannels(channels, path, isState) {
  return encodeKeyed(channels, path, "channel", new Pack(), (key) => {
    if (key !== "messages") return key;
    if (isState) return null;
    throw invalid(`${path}.messages: the message list is no channel; pass messages as such`);
  });
}

/** Screenshots beside a prompt, as the seed has it. */
const MAX_SCREENSHOTS = 5;

/** Encodes what surrounds the chat. Data URLs in it are kept as binaries. */
export function encodeUi(ui) {
  const encoded = encodeKeyed(ui, "ui", "key", new Pack({ dataUrls: true }), (key) => key);
  if (Array.isArray(ui.screenshots) && ui.screenshots.length > MAX_SCREENSHOTS) {
    throw new TurnmarkError("TooLarge", `ui.screenshots holds ${ui.screenshots.length} screenshots and may hold ${MAX_SCREENSHOTS}; nothing was written`, { path: "ui.screenshots" });
  }
  return encoded;
}

/** Encodes what the user typed: `null`, or texts, however long. */
export function encodePrompt(prompt) {
  if (prompt === null) return null;
  const pack = new Pack();
  pack.add(prompt, "prompt");
  return pack.raw();
}

/**
 * Encodes the values of an object by their names.
 *
 * @param {(key: string) => string | null} rename the name to store under; `null` passes over it
 */
function encodeKeyed(object, path, noun, pack, rename) {
  const keys = [];
  const what = path || "state";
  reading(what, () => {
    if (!isPlainObject(checkObject(object, what))) refuse(what, "is not a plain object");
    for (const key of Reflect.ownKeys(object)) {
      if (typeof key === "symbol") throw invalid(`${what} has a ${noun} named by a symbol, ${String(key)}; ${noun}s have names`);
      const name = rename(key);
      if (name === null) continue;
      const step = pathStep(key);
      const where = path ? path + step : step.replace(/^\./, "");
      const property = Reflect.getOwnPropertyDescriptor(object, key);
      if (!property.enumerable || property.get || property.set) refuse(where, "is hidden or an accessor");
      pack.add(property.value, where);
      keys.push(checkString(name, `the name of ${noun} ${where}`));
    }
  });
  return { keys, ready: () => pack.ready(), raw: () => ({ keys, ...pack.raw() }) };
}

/** Encodes a whole state as it is now. */
export function encodeState(state) {
  const channels = encodeChannels(state, "", true);
  const list = reading("messages", () => state.messages);
  const messages = encodeMessages(list === undefined ? [] : list);
  return {
    ids: messages.ids,
    async ready() {
      await messages.ready();
      await channels.ready();
    },
    raw: () => ({ listed: list !== undefined, messages: messages.raw(), channels: channels.raw() }),
  };
}

/** Pending writes, in either of the two spellings. */
export function encodeWrites(writes) {
  const pack = new Pack();
  const channels = reading("writes", () => checkEach(writes, "writes", (write, where) => {
    const [channel, value] = Array.isArray(write) ? write : [checkObject(write, where).channel, write.value];
    pack.add(value, `${where}.value`);
    return checkString(channel, `${where}.channel`);
  }));
  return { channels, ready: () => pack.ready(), raw: () => pack.raw() };
}

/** The state a checkpoint was loaded with. */
export function decodeState({ listed, messages, channels }) {
  const state = {};
  if (listed) state.messages = decodeMany(messages.texts, messages.binaries, (i) => `message ${i}`);
  const values = decodeMany(channels.texts, channels.binaries, (i) => `channel ${JSON.stringify(channels.keys[i])}`);
  channels.keys.forEach((key, i) => setOwn(state, key, values[i]));
  return state;
}

/** The `ui` part of a checkpoint. */
export function decodeUi({ keys, texts, binaries }) {
  const values = decodeMany(texts, binaries, (i) => `ui value ${JSON.stringify(keys[i])}`);
  const ui = {};
  keys.forEach((key, i) => setOwn(ui, key, values[i]));
  return ui;
}

/** What the user typed for a turn; `null` where nobody said. */
export const decodePrompt = (prompt) => prompt && { ...decode(prompt.text, null, () => "prompt"), turnId: prompt.turnId };

/** A message that is being written, as the engine tells it. */
export function decodeStreaming(streaming) {
  if (!streaming) return null;
  const { text, runId, turnId, since } = streaming;
  return { message: decode(text, null, () => "message that was being written"), runId, turnId, since };
}

export function decodeWrites(writes) {
  return writes.map(([taskId, channel, text, binaries]) =>
    [taskId, channel, decode(text, binaries, () => `pending write of task ${JSON.stringify(taskId)} to ${JSON.stringify(channel)}`)]);
}
