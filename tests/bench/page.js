// The measurements. Every figure is a ratio of two medians taken in turns on this page, both sides strict, because the
// machines that run this are shared: what disturbs one side disturbs the other.
import Dexie from "dexie";
import { deleteDatabase, open } from "turnmark";

const text = (n, seed) => {
  let out = "";
  for (let x = seed * 2654435761 + 1; out.length < n; x = (x * 1103515245 + 12345) % 2147483648) out += `${x.toString(36)} `;
  return out.slice(0, n);
};
let made = 0;
const message = (bytes = 1000) => {
  made += 1;
  return { id: `message-${made}`, role: made % 2 ? "user" : "assistant", content: text(bytes, made) };
};
const messages = (count) => Array.from({ length: count }, () => message());
const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];

/** Medians of several actions taken in turns. An action may return what is to be done, unmeasured, before its next turn. */
async function race(rounds, actions) {
  const times = actions.map(() => []);
  for (let round = -5; round < rounds; round += 1) {
    for (const [i, { prepare, act }] of actions.entries()) {
      const input = await prepare?.();
      const start = performance.now();
      await act(input);
      if (round >= 0) times[i].push(performance.now() - start);
    }
  }
  return times.map(median);
}

async function bare() {
  await deleteDatabase("bare");
  const db = await new Promise((resolve, reject) => {
    const request = indexedDB.open("bare");
    request.onupgradeneeded = () => ["messages", "checkpoints", "sessions", "objects", "states"].forEach((name) => request.result.createObjectStore(name));
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const run = (stores, mode, work) => new Promise((resolve, reject) => {
    const tx = db.transaction(stores, mode, { durability: "strict" });
    const request = work(tx);
    tx.oncomplete = () => resolve(request?.result);
    tx.onabort = () => reject(tx.error);
  });
  let seq = 0;
  const header = (id) => ({
    id, seq, session: "s", scope: "default", kind: "turn-after", source: "message", at: Date.now(), epoch: Date.now(), parent: id,
    vector: { d01a22e3cd76a7007b33976fb205f2f17: seq }, spans: [["l0123456789abcdef01", 0, seq]], listed: true, size: seq * 2000, history: "0".repeat(64), operation: { action: "append", before: seq, undo: seq },
  });
  const channel = new BroadcastChannel("bare");
  const write = (store, key, row, isSafe) => run([store, "checkpoints", "sessions"], "readwrite", (tx) => {
    seq += 1;
    if (isSafe) tx.objectStore("sessions").get("s");
    tx.objectStore(store).put(row, key(seq));
    tx.objectStore("checkpoints").put(header(`cp_${seq}`), ["s", seq]);
    tx.objectStore("sessions").put(header(`cp_${seq}`), "s");
  });
  // What a tab that is not alone cannot do without: it reads the head it writes on, and tells the others.
  const tell = () => channel.postMessage([{ type: "checkpoint.created", checkpoint: header("cp") }, { type: "session.changed" }]);
  return {
    turn: (pair) => write("messages", (at) => ["s", at], pair, false),
    safeTurn: (pair) => write("messages", (at) => ["s", at], pair, true).then(tell),
    safePrompt: (text) => write("objects", (at) => ["0".repeat(60) + at, 0], { text }, true).then(tell),
    keep: (array) => run(["states"], "readwrite", (tx) => void tx.objectStore("states").put(array, "s")),
    read: () => run(["states"], "readonly", (tx) => tx.objectStore("states").get("s")),
  };
}

async function session(store, id, count) {
  const session = await store.session(id);
  for (let left = count; left > 0; left -= 500) await session.append(messages(Math.min(left, 500)));
  return session;
}

const turnOn = (session) => ({ prepare: () => [message(), message()], act: (pair) => session.append(pair) });

async function dexie() {
  await Dexie.delete("dexie");
  const db = new Dexie("dexie", { chromeTransactionDurability: "strict" });
  db.version(1).stores({ states: "id" });
  await db.open();
  return db;
}

/** Bytes of the rows as the browser serializes them: close to V8's format, field names included. */
function bytesOf(value) {
  if (typeof value === "string") return 3 + (/^[\u0000-\u00ff]*$/.test(value) ? value.length : value.length * 2);
  if (typeof value === "number") return Number.isInteger(value) && Math.abs(value) < 2 ** 30 ? 4 : 9;
  if (value === null || typeof value !== "object") return 1;
  if (ArrayBuffer.isView(value)) return value.byteLength + 8;
  if (Array.isArray(value)) return value.reduce((sum, item) => sum + bytesOf(item), 5);
  return Object.entries(value).reduce((sum, [key, item]) => sum + 2 + key.length + bytesOf(item), 3);
}

async function storedBytes(name) {
  const db = await new Promise((resolve) => (indexedDB.open(name).onsuccess = (event) => resolve(event.target.result)));
  let total = 0;
  for (const store of db.objectStoreNames) {
    await new Promise((resolve) => {
      db.transaction(store).objectStore(store).openCursor().onsuccess = ({ target: { result: cursor } }) => {
        if (!cursor) return resolve();
        total += bytesOf(cursor.key) + bytesOf(cursor.value);
        cursor.continue();
      };
    });
  }
  db.close();
  return total;
}

const results = [];
const report = (name, value, bar, ok, detail) => {
  results.push({ name, value: Math.round(value * 1000) / 1000, bar, ok, detail });
  globalThis.progress?.(`${name}: ${value.toFixed(2)} (${detail})`);
};
const atMost = (name, value, bar, detail) => report(name, value, `<= ${bar}`, value <= bar, detail);
const atLeast = (name, value, bar, detail) => report(name, value, `>= ${bar}`, value >= bar, detail);
/** What the requests that a second tab makes necessary cost in plain JavaScript, with nothing around them. */
const floor = (time) => `; its requests alone ${time.toFixed(2)} ms`;
const ms = (list) => list.map((time) => `${time.toFixed(2)} ms`).join(" against ");

async function turns(store, plain, db) {
  const [thousand, long, short] = [await session(store, "thousand", 1000), await session(store, "long", 10000), await session(store, "short", 100)];
  const pair = () => [message(), message()];
  const [ours, theirs, safe] = await race(200, [turnOn(thousand), { prepare: pair, act: plain.turn }, { prepare: pair, act: plain.safeTurn }]);
  atMost("turn on 1,000 messages / bare transaction", ours / theirs, 1.5, `${ms([ours, theirs])}${floor(safe)}`);
  let whole = { id: "s", messages: messages(1000) };
  const [dexies, again] = await race(60, [
    { prepare: () => (whole = { ...whole, messages: [...whole.messages, message(), message()] }), act: (state) => db.states.put(state) },
    turnOn(thousand),
  ]);
  atLeast("Dexie whole state / turn", dexies / again, 5, ms([dexies, again]));
  const [far, near] = await race(150, [turnOn(long), turnOn(short)]);
  atMost("turn on 10,000 messages / on 100", far / near, 1.25, ms([far, near]));
  return { thousand, long, short };
}

async function states(store, plain, db) {
  const saver = store.saver();
  let ours = { messages: messages(1000) };
  let theirs = { id: "whole", messages: [...ours.messages] };
  await saver.put("whole", ours, { source: "message" });
  await db.states.put(theirs);
  const grow = (state) => ({ ...state, messages: [...state.messages, message(), message()] });
  const [put, dexiePut] = await race(60, [
    { prepare: () => (ours = grow(ours)), act: (state) => saver.put("whole", state, { source: "message" }) },
    { prepare: () => (theirs = grow(theirs)), act: (state) => db.states.put(state) },
  ]);
  atMost("put of a 1,000-message state / Dexie put", put / dexiePut, 0.7, ms([put, dexiePut]));

  const read = await store.session("restore");
  const kept = messages(1000);
  for (let i = 0; i < kept.length; i += 2) await read.append(kept.slice(i, i + 2));
  await plain.keep(kept);
  const [load, get] = await race(60, [{ act: () => read.get() }, { act: () => plain.read() }]);
  atMost("restore of 1,000 messages / get of one value", load / get, 2.5, ms([load, get]));
}

async function operations(store, { long, short }) {
  const ids = async (session) => {
    const list = [];
    for await (const { id } of session.checkpoints({ limit: 40 })) list.push(id);
    return list;
  };
  const both = async (name, action) => {
    const [far, near] = await race(60, [await action(long), await action(short)]);
    atMost(`${name} on 10,000 messages / on 100`, far / near, 1.25, ms([far, near]));
  };
  await both("diff", async (session) => {
    const [a, , , b] = await ids(session);
    const ref = (checkpointId) => ({ sessionId: session.id, checkpointId });
    return { act: () => store.checkpoints.diff(ref(b), ref(a), { load: false }) };
  });
  await both("fork", async (session) => {
    const [a] = await ids(session);
    return { act: () => store.fork(session.id, a) };
  });
  await both("rollback", async (session) => {
    const [, , a] = await ids(session);
    return { act: () => session.rollback(a, { load: false }) };
  });
}

async function listing(store) {
  const fill = async (id, count) => {
    const session = await store.session(id);
    for (let i = 0; i < count; i += 1) await session.append([{ id: `m${i}`, role: "user", content: "x" }]);
    return session;
  };
  const [many, few] = [await fill("many", 10000), await fill("few", 100)];
  const newest = (session) => ({
    act: async () => {
      let seen = 0;
      for await (const _ of session.checkpoints({ limit: 50 })) seen += 1;
      if (seen !== 50) throw new Error(`listed ${seen}`);
    },
  });
  const [far, near] = await race(100, [newest(many), newest(few)]);
  atMost("list newest 50 of 10,000 checkpoints / of 100", far / near, 1.25, ms([far, near]));
}

/** Chats by turns: the checkpoint before a prompt, the look-up of a message's prompt, and an answer that is saved as it grows. */
async function chats(store, plain) {
  const turn = async (session, bytes) => {
    const begun = await session.begin({ raw: "what is asked" });
    await begun.append([{ id: `asked-${(made += 1)}`, role: "user", content: text(bytes, made) }]);
    await begun.end([{ id: `answer-${made}`, role: "assistant", content: text(bytes, made + 1) }]);
    return `asked-${made}`;
  };
  const fill = async (id, turns) => {
    const session = await store.session(id);
    for (let i = 0; i < turns; i += 1) await turn(session, 20);
    return session;
  };
  const submitted = await fill("submitted", 20);
  let begun = null;
  const [submit, bare, safe] = await race(100, [
    { prepare: () => begun?.end(), act: async () => (begun = await submitted.begin({ raw: text(1000, made) })) },
    { prepare: () => [message(), message()], act: plain.turn },
    { prepare: () => text(1000, made), act: plain.safePrompt },
  ]);
  await begun.end();
  atMost("checkpoint on submit / bare transaction", submit / bare, 1.5, `${ms([submit, bare])}${floor(safe)}`);

  const [many, few] = [await fill("many turns", 3334), await fill("few turns", 34)];
  const lookup = async (session) => {
    const asked = await turn(session, 20);
    return { act: () => session.versions(asked) };
  };
  const [far, near] = await race(60, [await lookup(many), await lookup(few)]);
  atMost("exact-history look-up in 10,000 checkpoints / in 100", far / near, 1.5, ms([far, near]));

  const grow = async (id, bytes) => {
    const session = await store.session(id);
    const writing = await session.begin({ raw: "x" });
    let content = text(bytes, 7);
    return {
      writing,
      prepare: () => {
        content += "one more token ";
        writing.stream({ id: "answer", role: "assistant", content });
      },
      act: () => writing.flush(),
    };
  };
  const [long, short] = [await grow("long answer", 100_000), await grow("short answer", 1_000)];
  const [big, small] = await race(60, [long, short]);
  for (const { writing } of [long, short]) await writing.end();
  atMost("save while an answer of 100 KB grows / of 1 KB", big / small, 1.5, ms([big, small]));
}

/** Turns one after the other, for whoever looks at what they cost the page. */
globalThis.work = async (count) => {
  globalThis.worked ??= await session(await open({ name: "bench" }), "worked", 1000);
  for (let i = 0; i < count; i += 1) {
    const turn = await worked.begin({ raw: "what is asked" });
    await turn.append([message()]);
    await turn.end([message()]);
  }
};

/** What the witness and the mirror cost: turns in a row, as many as a second brings, with both and with neither. */
async function copies() {
  for (const name of ["watched", "alone"]) await deleteDatabase(name);
  const watched = await session(await open({ name: "watched" }), "s", 1000);
  const kept = [navigator.storage.getDirectory, Storage.prototype.getItem];
  navigator.storage.getDirectory = () => Promise.reject(new Error("no files"));
  Storage.prototype.getItem = () => { throw new Error("no storage"); };
  const alone = await session(await open({ name: "alone", mirror: false }), "s", 1000);
  [navigator.storage.getDirectory, Storage.prototype.getItem] = kept;
  const times = new Map([[watched, []], [alone, []]]);
  for (let round = -1; round < 5; round += 1) {
    for (const [of, list] of times) {
      let turns = 0;
      const start = performance.now();
      for (; performance.now() - start < 2000; turns += 1) await of.append([message(), message()]);
      if (round >= 0) list.push((performance.now() - start) / turns);
    }
  }
  const [both, neither] = [median(times.get(watched)), median(times.get(alone))];
  atMost("a turn with witness and mirror / without", both / neither, 1.15, ms([both, neither]));
}

async function growth() {
  await deleteDatabase("growth");
  const store = await open({ name: "growth" });
  const session = await store.session("s");
  let unique = 0;
  for (let turn = 0; turn < 500; turn += 1) {
    const pair = [message(), message()];
    unique += pair.reduce((sum, item) => sum + JSON.stringify(item).length, 0);
    await session.append(pair);
  }
  await store.close();
  const stored = await storedBytes("growth");
  atMost("bytes stored after 500 turns / unique message bytes", stored / unique, 1.5, `${(stored / 1024).toFixed(0)} KB against ${(unique / 1024).toFixed(0)} KB`);
}

globalThis.bench = async () => {
  for (const name of ["bench"]) await deleteDatabase(name);
  const [store, plain, db] = [await open({ name: "bench" }), await bare(), await dexie()];
  const sessions = await turns(store, plain, db);
  await states(store, plain, db);
  await operations(store, sessions);
  await chats(store, plain);
  await listing(store);
  await growth();
  await store.close();
  await copies();
  return results;
};
