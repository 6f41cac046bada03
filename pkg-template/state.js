/** The shapes of the public contract, to and from the shapes of the engine (states, messages, channels). */
import { decode, decodeMany, setOwn } from "./decode.js";
import { TurnmarkError, describe, invalid } from "./errors.js";
import { isPlainArray, isPlainObject, pathStep } from "./encode.js";
import { checkArray, checkId, checkObject, checkString, isWellFormed } from "./check.js";
import { Pack } from "./pack.js";

/** Reads of an argument may run a hostile proxy. */
function reading(path, read) {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof TurnmarkError) throw cause;
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

/** Encodes the channels of a state, or some of them. */
export function encodeChannels(channels, path, isState) {
  const pack = new Pack();
  const keys = [];
  const what = path || "state";
  reading(what, () => {
    if (!isPlainObject(checkObject(channels, what))) refuse(what, "is not a plain object");
    for (const key of Reflect.ownKeys(channels)) {
      if (key === "messages" && isState) continue;
      if (key === "messages") throw invalid(`${path}.messages: the message list is no channel; pass messages as such`);
      if (typeof key === "symbol") throw invalid(`${what} has a channel named by a symbol, ${String(key)}; channels have names`);
      const step = pathStep(key);
      const where = path ? path + step : step.replace(/^\./, "");
      const property = Reflect.getOwnPropertyDescriptor(channels, key);
      if (!property.enumerable || property.get || property.set) refuse(where, "is hidden or an accessor");
      pack.add(property.value, where);
      keys.push(checkString(key, `the name of channel ${where}`));
    }
  });
  return { ready: () => pack.ready(), raw: () => ({ keys, ...pack.raw() }) };
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
  const channels = reading("writes", () => checkArray(writes, "writes").map((write, i) => {
    const where = `writes[${i}]`;
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

export function decodeWrites(writes) {
  return writes.map(([taskId, channel, text, binaries]) =>
    [taskId, channel, decode(text, binaries, () => `pending write of task ${JSON.stringify(taskId)} to ${JSON.stringify(channel)}`)]);
}
