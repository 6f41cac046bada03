// Every operation of a store, with a fault at each of its requests: one that throws, a transaction that is aborted, a connection that the browser
// closes. Afterwards the state is the one before or the one after, and the next call works.
import { open } from "/pkg/index.js";

// What is kept in files is not the subject, and looking for room on the disk after each of a thousand faults takes its time.
navigator.storage.getDirectory = () => Promise.reject(new Error("this page has no files"));

const user = (id, content = id) => ({ id, role: "user", content });
const answer = (id, content = id) => ({ id, role: "assistant", content });
const PATIENCE_MS = 10_000;

const STORE = ["get", "getAll", "getAllKeys", "getKey", "count", "put", "delete", "openCursor", "openKeyCursor"];
const METHODS = [
  ...STORE.map((method) => [IDBObjectStore, method]), ...["get", "getAll", "getAllKeys", "getKey", "openCursor", "openKeyCursor"].map((method) => [IDBIndex, method]),
  [IDBDatabase, "transaction"],
];

/** Counts the requests, and does what `fault` says at one of them. */
const watch = { count: 0, fault: null };
for (const [type, method] of METHODS) {
  const original = type.prototype[method];
  if (!original) continue;
  type.prototype[method] = function (...args) {
    watch.count += 1;
    const now = watch.fault?.at === watch.count ? watch.fault.kind : null;
    if (now === "throw") throw new DOMException("a test says so", "UnknownError");
    const made = original.apply(this, args);
    const transaction = type === IDBDatabase ? made : this.transaction ?? this.objectStore.transaction;
    if (now === "abort") transaction.abort();
    if (now === "close") {
      transaction.abort();
      transaction.db.close();
      transaction.db.dispatchEvent(new Event("close"));
    }
    return made;
  };
}

async function collect(items) {
  const list = [];
  for await (const item of items) list.push(item);
  return list;
}

/** What can be seen of a store, without what is drawn at random. */
async function digest(store) {
  const sessions = [];
  for (const { id, title, messageCount, run, sealed } of await collect(store.sessions())) {
    const session = await store.session(id);
    const found = await session.get();
    const checkpoints = await collect(session.checkpoints());
    sessions.push({
      // A session that is made by an operation has a name of its own each time.
      id: id.length > 20 ? "(new)" : id, title, messageCount, running: run !== null, sealed: sealed !== null, state: found?.state, ui: found?.ui, streaming: found?.streaming?.message ?? null,
      checkpoints: checkpoints.map(({ kind, source, messageCount: count, pinned, provisional, name }) => [kind, source, count, pinned, provisional, name]),
      writes: found?.pendingWrites.map((write) => write.slice(1)), log: (await session.log()).map(({ type, undoable }) => [type, undoable]),
    });
  }
  return JSON.stringify(sessions.sort((a, b) => (a.id < b.id ? -1 : 1)));
}

/** Makes a database with something of everything in it, and gives its shape and rows. */
async function template() {
  const name = "template";
  const store = await open({ name });
  const chat = await store.session("chat");
  await chat.append([user("u0"), answer("a0")], { channels: { plan: 1 } });
  const first = await chat.put({ messages: [user("u0"), answer("a0"), user("u1"), answer("a1", "x".repeat(60_000))], plan: 2, bytes: new Uint8Array(100) }, { source: "message" });
  for (const id of ["q1", "q2"]) {
    const turn = await chat.begin({ raw: id, ui: { screenshots: ["data:image/png;base64,AAAA"] } });
    await turn.append([user(id)]);
    await turn.end([answer(`${id}-a`)]);
  }
  const other = await chat.fork(first.id, "fork");
  await other.append([user("f")]);
  await chat.rollback(first.id);
  await chat.undo();
  await store.close();
  const database = await done(indexedDB.open(name));
  const stores = [...database.objectStoreNames].map((storeName) => database.transaction(storeName).objectStore(storeName));
  const made = await Promise.all(stores.map(async (one) => ({
    name: one.name, indexes: [...one.indexNames].map((index) => one.index(index)).map(({ name: index, keyPath, unique, multiEntry }) => [index, keyPath, { unique, multiEntry }]),
    keys: await done(one.getAllKeys()), rows: await done(one.getAll()),
  })));
  database.close();
  return { version: database.version, stores: made, first };
}

const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

let furniture = null;

/** A store of its own with that in it. Copied as rows: it is needed a thousand times. */
async function furnish(name) {
  const { version, stores, first } = await (furniture ??= template());
  const request = indexedDB.open(name, version);
  request.onupgradeneeded = () => stores.forEach((one) => {
    const made = request.result.createObjectStore(one.name);
    for (const index of one.indexes) made.createIndex(...index);
    one.keys.forEach((key, i) => made.put(one.rows[i], key));
  });
  (await done(request)).close();
  const store = await open({ name, timeout: PATIENCE_MS });
  return { store, chat: await store.session("chat"), other: await store.session("fork"), first };
}

/** Each gets a furnished store, and may prepare something first: `[prepare, act]`. */
const nothing = async () => {};
const OPERATIONS = {
  append: [nothing, ({ chat }) => chat.append([user("new"), answer("more")])],
  "append with channels": [nothing, ({ chat }) => chat.append([user("new")], { channels: { plan: 3, blob: new Uint8Array(70_000) } })],
  put: [nothing, async ({ chat }) => chat.put({ messages: [user("u0", "changed"), answer("a0")], plan: 5 }, { source: "message" })],
  "provisional put": [nothing, ({ chat }) => chat.put({ messages: [user("u0")] }, { source: "message", provisional: true })],
  "stale put": [async ({ store }) => ({ stale: (await collect(store.checkpoints.list("chat"))).at(-1).id }), ({ chat, stale }) => chat.put({ messages: [user("other")] }, { source: "message", parentCheckpointId: stale }).catch((error) => {
    if (error.code !== "Conflict") throw error;
  })],
  "begin a turn": [nothing, ({ chat }) => chat.begin({ raw: "typed", composed: "sent", ui: { targets: [1] } })],
  "append in a turn": [async ({ chat }) => ({ turn: await chat.begin({ raw: "r" }) }), ({ turn }) => turn.append([user("t")])],
  "stream in a turn": [async ({ chat }) => ({ turn: await chat.begin({ raw: "r" }) }), ({ turn }) => {
    turn.stream(answer("growing", "half"));
    return turn.flush();
  }],
  "end a turn": [async ({ chat }) => {
    const turn = await chat.begin({ raw: "r" });
    await turn.append([user("t")]);
    turn.stream(answer("growing", "half"));
    await turn.flush();
    return { turn };
  }, ({ turn }) => turn.end([answer("growing", "whole")])],
  "begin again": [nothing, ({ chat }) => chat.begin({ regenerate: "q2" })],
  rollback: [nothing, ({ chat, first }) => chat.rollback(first.id)],
  "restore to a message": [nothing, ({ chat }) => chat.restore("q2")],
  undo: [nothing, ({ chat }) => chat.undo()],
  redo: [({ chat }) => chat.undo(), ({ chat }) => chat.redo()],
  fork: [nothing, ({ chat, first }) => chat.fork(first.id, "second fork")],
  "new session": [nothing, ({ store }) => store.newSession({ title: "fresh" })],
  pin: [nothing, ({ store, first }) => store.checkpoints.pin("chat", first.id)],
  "set the title": [nothing, ({ chat }) => chat.setTitle("a title")],
  prune: [nothing, ({ store }) => store.checkpoints.prune("chat", 2)],
  "delete a checkpoint": [nothing, async ({ store, other }) => store.checkpoints.delete("fork", (await collect(other.checkpoints()))[0].id)],
  "delete a session": [nothing, ({ other }) => other.delete()],
  "import": [async ({ store }) => ({ bundle: await store.export({ sessions: ["fork"] }) }), ({ store, bundle }) => store.import(bundle, { onExisting: "rename" })],
  "pending writes": [nothing, ({ store }) => store.saver().putWrites("chat", [["x", 1], ["y", 2]], "task")],
  // What only reads.
  get: [nothing, ({ chat, first }) => chat.get(first.id)],
  diff: [nothing, ({ chat, first }) => chat.diff(first.id)],
  versions: [nothing, ({ chat }) => chat.versions("q1")],
  verify: [nothing, ({ store }) => store.verify()],
  export: [nothing, ({ store }) => store.export()],
  history: [nothing, ({ store }) => store.history()],
};
export const NAMES = Object.keys(OPERATIONS);

/** Settles as it does, or says that it did not. */
function settled(promise) {
  let timer;
  const late = new Promise((resolve) => { timer = setTimeout(resolve, PATIENCE_MS, { end: "never" }); });
  const ends = promise.then(() => ({ end: "done" }), (error) => ({ end: "failed", code: error?.code ?? `untyped ${error}`, message: String(error?.message) }));
  return Promise.race([ends, late]).finally(() => clearTimeout(timer));
}

let databases = 0;

/** One furnished store, one operation, at most one fault. */
async function once(operation, fault) {
  const [prepare, act] = OPERATIONS[operation];
  const given = await furnish(`fault-${(databases += 1)}`);
  for (const session of [given.chat, given.other]) await session.state();
  Object.assign(given, await prepare(given));
  const before = fault === null ? await digest(given.store) : null;
  Object.assign(watch, { count: 0, fault });
  const outcome = await settled(Promise.resolve().then(() => act(given)));
  const requests = watch.count;
  watch.fault = null;
  const after = await digest(given.store);
  // The next call works, in the same session and in one of its own.
  const next = await settled((async () => {
    await (await given.store.session("next")).append([user("n")]);
    await given.chat.messages();
    await given.chat.append([user("further")]);
    const { ok, faults } = await given.store.verify();
    if (!ok) throw new Error(`verify() found ${JSON.stringify(faults)}`);
  })());
  await given.store.close();
  return { before, after, outcome, requests, next };
}

/** What is wrong with an operation, in words; how many faults were tried. */
export async function examine(operation) {
  const clean = await once(operation, null);
  const wrong = [];
  let tried = 0;
  if (clean.outcome.end !== "done" || clean.next.end !== "done") wrong.push(`without a fault: ${JSON.stringify([clean.outcome, clean.next])}`);
  for (const kind of ["throw", "abort", "close"]) {
    for (let at = 1; at <= clean.requests; at += 1) {
      tried += 1;
      const { after, outcome, next } = await once(operation, { at, kind });
      const { before } = clean;
      const say = (what) => wrong.push(`${kind} at request ${at} of ${clean.requests}: ${what} (${JSON.stringify(outcome)})`);
      if (outcome.end === "never") say("never settled");
      if (outcome.end === "failed" && !/^[A-Z][A-Za-z]+$/.test(outcome.code)) say("not a typed error");
      if (outcome.end === "done" && after !== clean.after) say(`it is said to be done, but the state is ${after === before ? "as before" : `another: ${after}`}`);
      // After a lost connection nobody can say what has become of a write that was sent; it is whole or not at all. And a restore can be committed
      // whose state cannot be read then: its error says so.
      if (outcome.end === "failed" && after !== before && after !== clean.after) say(`the state is neither the one before nor the one after: ${after}`);
      if (outcome.end === "failed" && after === clean.after && after !== before && outcome.code !== "ConnectionLost" && !/the restore is committed/.test(outcome.message)) say("it failed, and was done all the same");
      if (next.end !== "done") say(`the next call failed: ${JSON.stringify(next)}`);
    }
  }
  return { tried, wrong };
}
