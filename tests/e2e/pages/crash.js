// A page that is going to be killed. First it tells the test's server everything it finds stored, then it writes turns and
// tells of each acknowledged checkpoint the moment it is acknowledged. Every content is a function of its message's id, so
// that whoever finds a message can say whether it is whole.
import { open } from "/pkg/index.js";

/** Small, seeded, and good enough for choosing. */
function random(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const seedOf = (text) => [...text].reduce((hash, letter) => Math.imul(hash, 31) + letter.charCodeAt(0), 7);

/** The message of an id: "<session>/<number>/<text or bytes>/<size>". A streamed one holds its first `words` words. */
function messageOf(id, words = Infinity) {
  const next = random(seedOf(id));
  const [, number, kind, size] = id.split("/");
  const all = Array.from({ length: Math.ceil((kind === "text" ? size : 300) / 6) }, () => next(0x7fffffff).toString(36));
  const message = { id, role: number % 2 ? "assistant" : "user", content: all.slice(0, words).join(" "), at: new Date(1e12 + next(1e9)), words: Math.min(words, all.length) };
  if (kind === "bytes") message.bytes = Uint8Array.from({ length: size }, (_, i) => (i * 7 + message.words) & 255);
  return message;
}

/** A hash (two of FNV-1a) of a text, or of bytes. */
function fnv(sequence, at, seed = 0) {
  let [a, b] = [0x811c9dc5 ^ seed, 0x9e3779b9 ^ seed];
  for (let i = 0; i < sequence.length; i += 1) {
    const unit = at(i);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit, 0x85ebca6b) ^ (b >>> 13);
  }
  return `${(a >>> 0).toString(16)}${(b >>> 0).toString(16)}`;
}

const textHash = (text) => fnv(text, (i) => text.charCodeAt(i));
const bytesHash = (bytes) => fnv(bytes, (i) => bytes[i], bytes.length);

const hashes = new WeakMap();

/** The hash of everything in a message. */
function messageHash(message) {
  if (!hashes.has(message)) {
    const { content, bytes, at, ...rest } = message;
    hashes.set(message, textHash(`${JSON.stringify(rest)} ${at instanceof Date ? at.getTime() : at} ${content.length} ${textHash(content)} ${bytes instanceof Uint8Array ? bytesHash(bytes) : typeof bytes}`));
  }
  return hashes.get(message);
}

const expected = new Map();

/** Whether a stored message is what its id says. */
function isWhole(message) {
  const key = `${message.id} ${message.words}`;
  if (!expected.has(key)) expected.set(key, messageHash(messageOf(message.id, message.words)));
  return messageHash(message) === expected.get(key);
}

const hashOf = ({ messages = [], count = null }) => textHash(`${count} ${messages.map(messageHash).join(" ")}`);

// With what tells the server which life of the browser it comes from.
const post = (path, body) => fetch(`${path}${location.search}`, { method: "POST", body: JSON.stringify(body) });

async function collect(items) {
  const list = [];
  for await (const item of items) list.push(item);
  return list;
}

/** What the browser itself says about losing data, whatever the library makes of it. */
const dataLoss = [];
const { open: openDatabase } = IDBFactory.prototype;
IDBFactory.prototype.open = function (...args) {
  const request = openDatabase.apply(this, args);
  request.addEventListener("upgradeneeded", ({ oldVersion, dataLoss: loss, dataLossMessage }) => dataLoss.push({ oldVersion, loss: loss ?? "none", message: dataLossMessage ?? "" }));
  return request;
};

/** Everything stored, with the hash of every checkpoint's state. */
async function found(store, told) {
  const sessions = [];
  for (const { id, headCheckpointId, messageCount } of await collect(store.sessions())) {
    const session = await store.session(id);
    const checkpoints = [];
    let broken = null;
    for (const { id: checkpoint, provisional, head } of await collect(session.checkpoints())) {
      const { state } = await session.get(checkpoint);
      broken ??= state.messages?.find((message) => !isWhole(message))?.id ?? null;
      checkpoints.push({ id: checkpoint, hash: hashOf(state), provisional, head, odd: (state.messages?.length ?? 0) % 2 === 1 });
    }
    const live = await session.state();
    sessions.push({ id, head: headCheckpointId, live: hashOf(live), counted: messageCount === live.messages.length, checkpoints, broken });
  }
  const status = await store.status();
  return { sessions, verified: await store.verify(), deviceId: status.deviceId, dataLost: status.dataLost, lost: status.lost, suspect: status.suspect, interrupted: status.interrupted, level: status.level, told, dataLoss };
}

/** What writes may be refused with while the disk is full, and when the browser has thrown the database away because of that. */
const REFUSALS = ["Aborted", "Conflict", "ConnectionLost", "NotLoaded", "QuotaExceeded", "TimedOut", "Unavailable", "UnknownCheckpoint"];

/** Writes to one session until it is told to stop. With `onRefusal` a write that is refused is not the end: it reads again and goes on. */
async function write(store, id, seed, { acknowledged, isOver, onRefusal }) {
  const next = random(seed);
  const session = await store.session(id);
  let { messages = [], count = 0 } = await session.state();
  // What a rollback of this page must bring back.
  const known = new Map();
  const streamed = new Set();
  const note = (checkpoint, state) => {
    known.set(checkpoint.id, state);
    acknowledged({ session: id, id: checkpoint.id, hash: hashOf(state), provisional: checkpoint.provisional, level: checkpoint._durability.level });
  };
  const step = async () => {
    const choice = next(100);
    // Some are larger than the 64 KB above which Chromium would keep a value in a file of its own.
    const kind = ["bytes/90000", "text/70000"][choice] ?? `text/${20 + next(2_000)}`;
    const ids = [0, 1].map((part) => `${id}/${messages.length + part}/${part === 0 ? kind : "text/300"}`);
    const finished = [...known].filter(([checkpoint]) => !streamed.has(checkpoint));
    if (choice < 75 || finished.length === 0) {
      const pair = ids.map((one) => messageOf(one));
      count += 1;
      const checkpoint = await session.append(pair, { channels: { count } });
      messages = [...messages, ...pair];
      note(checkpoint, { messages, count });
    } else if (choice < 90) {
      // An answer as it streams: provisional, and each stage replaces the one before.
      for (const words of [1, 3, Infinity]) {
        const state = { messages: [...messages, messageOf(ids[0]), messageOf(ids[1], words)], count };
        const checkpoint = await session.put(state, { source: "message", ...(words < Infinity && { provisional: true }) });
        if (words < Infinity) streamed.add(checkpoint.id);
        note(checkpoint, state);
        if (words === Infinity) messages = state.messages;
      }
    } else {
      const [target, state] = finished[next(finished.length)];
      const { checkpoint } = await session.rollback(target);
      ({ messages, count } = state);
      note(checkpoint, state);
    }
  };
  let isCurrent = true;
  while (!isOver()) {
    try {
      if (!isCurrent) ({ messages = [], count = 0 } = await session.state());
      isCurrent = true;
      await step();
    } catch (error) {
      if (!onRefusal || !REFUSALS.includes(error.code)) throw error;
      isCurrent = false;
      // Some may be lost.
      known.clear();
      await onRefusal(error);
    }
  }
}

try {
  const told = [];
  const how = new URLSearchParams(location.search);
  // For showing what becomes of a database that nobody heals.
  if (how.has("unhealed")) delete IDBVersionChangeEvent.prototype.dataLoss;
  const store = await open({ name: "crash", ...(how.has("relaxed") && { durability: "relaxed" }) });
  store.on("healed", (event) => post("/healed", event));
  const telling = [];
  store.on("data.lost", (event) => {
    told.push(event.message);
    telling.push(post("/lost", event));
  });
  // A loss that was noticed while opening is told in a task of its own.
  await new Promise((resolve) => { setTimeout(resolve); });
  const report = await found(store, told);
  // The two would go by connections of their own, and the latter may be faster.
  await Promise.all(telling);
  const answer = await post("/report", report);
  const { seed, go, until, stubborn } = await answer.json();
  const { mirror } = await store.status();
  if (go || mirror?.recoverable.length > 0) await store.recover();
  // What the browser had lost, and the mirror had.
  if (mirror?.recoverable.length > 0) await post("/back", await found(store, told));
  if (go) {
    let written = 0;
    const acknowledged = (checkpoint) => {
      written += 1;
      return post("/acknowledged", checkpoint).catch(() => {});
    };
    const isOver = () => until !== null && written >= until;
    const onRefusal = async ({ code, message, cause }) => {
      await post("/refused", { code, message, cause: String(cause) });
      await new Promise((resolve) => { setTimeout(resolve, 50); });
    };
    await Promise.all(["one", "two", "three"].map((id, i) => write(store, id, seed + i, { acknowledged, isOver, ...(stubborn && { onRefusal }) })));
  }
  await store.close();
  await post("/closed", {});
} catch (error) {
  await post("/failed", { error: `${error.code ?? error.name}: ${error.message}\n${error.stack}` });
}
