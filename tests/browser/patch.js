// Faults for tests: every way a browser can misbehave that can be acted out from a page.

const undo = [];

function replace(object, name, make) {
  const own = Object.getOwnPropertyDescriptor(object, name);
  const original = object[name];
  Object.defineProperty(object, name, { configurable: true, writable: true, value: make(original) });
  undo.push(() => (own ? Object.defineProperty(object, name, own) : delete object[name]));
}

const owner = (type) => globalThis[type].prototype;
const exception = (name, message) => {
  const error = new Error(message);
  Object.defineProperty(error, "name", { value: name });
  return error;
};

/** Takes every fault back. */
export function mend() {
  while (undo.length) undo.pop()();
}

/** Makes the n-th call of a method (from 1) throw; with `always`, every call from the n-th. */
export function throwAt(type, method, n, name, message, always) {
  let calls = 0;
  replace(owner(type), method, (original) => function (...args) {
    calls += 1;
    if (calls === n || (always && calls > n)) throw exception(name, message);
    return original.apply(this, args);
  });
}

/** Aborts the transaction right after the n-th call of a store's method. */
export function abortAt(method, n) {
  let calls = 0;
  replace(owner("IDBObjectStore"), method, (original) => function (...args) {
    const request = original.apply(this, args);
    calls += 1;
    if (calls === n) this.transaction.abort();
    return request;
  });
}

/** Makes `transaction.error` say this at the next aborts: null where `name` is missing. */
export function abortReason(name, message) {
  const own = Object.getOwnPropertyDescriptor(IDBTransaction.prototype, "error");
  const value = name === undefined ? null : new DOMException(message, name);
  Object.defineProperty(IDBTransaction.prototype, "error", { configurable: true, get: () => value });
  undo.push(() => Object.defineProperty(IDBTransaction.prototype, "error", own));
}

/** Lets requests of a store's method fail as requests do, when `bad` names the key's first component ("" for all). */
export function failRequests(method, bad) {
  replace(owner("IDBObjectStore"), method, (original) => function (...args) {
    const query = args[0];
    const hit = bad === "" || (Array.isArray(query) && query[0] === bad);
    if (!hit) return original.apply(this, args);
    // A second `add` of the same key is the simplest request that fails without ending its transaction. The first is
    // taken back before anybody can see it.
    const key = ["a record that never stays"];
    this.add({}, key);
    const failing = this.add({}, key);
    this.delete(key);
    Object.defineProperty(failing, "error", { value: exception("NotReadableError", "Data lost due to missing file.") });
    return failing;
  });
}

/** Hides what engines report of durability, or makes them report something else. */
export function reportDurability(word) {
  const own = Object.getOwnPropertyDescriptor(IDBTransaction.prototype, "durability");
  Object.defineProperty(IDBTransaction.prototype, "durability", { configurable: true, get: () => word });
  undo.push(() => Object.defineProperty(IDBTransaction.prototype, "durability", own));
}

/** Replaces a global by a value. */
export function replaceGlobal(name, value) {
  replace(globalThis, name, () => value);
}

/** Makes reading a global throw. */
export function throwingGlobal(name, error) {
  const own = Object.getOwnPropertyDescriptor(globalThis, name);
  Object.defineProperty(globalThis, name, { configurable: true, get() { throw exception(error, "refused"); } });
  undo.push(() => (own ? Object.defineProperty(globalThis, name, own) : delete globalThis[name]));
}

/** Makes requests of a factory method that never settle. */
export function neverSettles(method) {
  replace(owner("IDBFactory"), method, (original) => function (...args) {
    const request = original.apply(this, args);
    const stop = (event) => { event.stopImmediatePropagation(); };
    request.addEventListener("success", stop);
    request.addEventListener("upgradeneeded", stop);
    return request;
  });
}

/** Makes the first `n` opens fail with an error event, as an engine in trouble does. */
export function failOpens(n, name) {
  let calls = 0;
  replace(owner("IDBFactory"), "open", (original) => function (...args) {
    calls += 1;
    if (calls > n) return original.apply(this, args);
    // A request of another database, whose answer is turned into a failure.
    const request = original.call(this, "turnmark-test-decoy");
    request.addEventListener("success", (event) => {
      event.stopImmediatePropagation();
      request.result.close();
      Object.defineProperty(request, "error", { value: exception(name, "Internal error opening backing store") });
      request.dispatchEvent(new Event("error"));
    });
    return request;
  });
  return () => calls;
}

/** Marks every upgrade as one that follows lost data, as Chromium does. */
export function reportDataLoss(words) {
  const take = IDBFactory.prototype.open;
  replace(owner("IDBFactory"), "open", () => function (...args) {
    const request = take.apply(this, args);
    request.addEventListener("upgradeneeded", (event) => {
      Object.defineProperty(event, "dataLoss", { value: "total" });
      Object.defineProperty(event, "dataLossMessage", { value: words });
    });
    return request;
  });
}

/** Remembers every connection that is opened, so that tests can act as the browser. */
export function watchConnections() {
  const seen = [];
  replace(owner("IDBDatabase"), "addEventListener", (original) => function (...args) {
    if (!seen.includes(this)) seen.push(this);
    return original.apply(this, args);
  });
  return seen;
}

/** What a browser does when it ends a connection: the transactions end, or not, and `close` fires. */
export function forceClose(connection) {
  connection.close();
  connection.dispatchEvent(new Event("close"));
}

/** Keeps every event of a kind from reaching listeners, as an engine that has lost its back end does. */
export function swallow(type, event) {
  replace(owner(type), "addEventListener", (original) => function (kind, ...rest) {
    if (kind !== event) original.call(this, kind, ...rest);
  });
}

const settled = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = (event) => { event.preventDefault?.(); reject(request.error); };
});

/** A connection of another tab, which does not give way. */
export async function rawOpen(name, version, stores) {
  const request = indexedDB.open(name, version);
  request.onupgradeneeded = () => {
    for (const store of stores ?? []) {
      if (!request.result.objectStoreNames.contains(store)) request.result.createObjectStore(store);
    }
  };
  return settled(request);
}

/** Closes a connection after some time. */
export function closeLater(connection, milliseconds) {
  setTimeout(() => connection.close(), milliseconds);
}

/** Changes the shape of a database: upgrades it to `version` with a function of its connection and transaction. */
export async function rawUpgrade(name, version, source) {
  const request = indexedDB.open(name, version);
  const change = new Function("database", "transaction", source);
  request.onupgradeneeded = () => change(request.result, request.transaction);
  (await settled(request)).close();
}

/** Writes a value behind the library's back. */
export async function rawPut(name, store, key, value) {
  const database = await settled(indexedDB.open(name));
  const transaction = database.transaction(store, "readwrite");
  transaction.objectStore(store).put(value, key);
  await new Promise((resolve, reject) => {
    transaction.oncomplete = resolve;
    transaction.onabort = () => reject(transaction.error);
  });
  database.close();
}

/** Reads a value behind the library's back. */
export async function rawGet(name, store, key) {
  const database = await settled(indexedDB.open(name));
  try {
    return await settled(database.transaction(store).objectStore(store).get(key));
  } finally {
    database.close();
  }
}

/** How many records a store has; -1 when there is no such store. */
export async function rawCount(name, store) {
  const database = await settled(indexedDB.open(name));
  try {
    if (!database.objectStoreNames.contains(store)) return -1;
    return await settled(database.transaction(store).objectStore(store).count());
  } finally {
    database.close();
  }
}

/** The version of a database; 0 when there is none. */
export async function rawVersion(name) {
  const found = (await indexedDB.databases()).find((database) => database.name === name);
  return found?.version ?? 0;
}

/** Lets the page be shown again; false where there is no page, in a worker. */
export function showAgain() {
  if (typeof document === "undefined") return false;
  return document.dispatchEvent(new Event("visibilitychange"));
}

/** Every error that reaches the page because nobody handled it. */
export function watchUnhandled() {
  const seen = [];
  const note = (event) => { seen.push(String(event.reason ?? event.message)); };
  for (const kind of ["error", "unhandledrejection"]) {
    globalThis.addEventListener(kind, note);
    undo.push(() => globalThis.removeEventListener(kind, note));
  }
  return seen;
}

/** A fine clock. */
export function clock() {
  return performance.now();
}

/** Aborts the next `n` upgrades right after they ran, as a browser in trouble does. */
export function abortUpgrades(n) {
  let left = n;
  const take = IDBFactory.prototype.open;
  replace(owner("IDBFactory"), "open", () => function (...args) {
    const request = take.apply(this, args);
    // Later, so that it comes after the library's own listener.
    queueMicrotask(() => request.addEventListener("upgradeneeded", () => {
      if (left > 0) request.transaction.abort();
      left -= 1;
    }));
    return request;
  });
}

/** Deletes a database as another tab would. */
export function rawDelete(name) {
  return settled(indexedDB.deleteDatabase(name));
}

/** The best time, of ten, in which the bare platform reads all values of a store. */
export async function rawReadTime(name, store) {
  const database = await settled(indexedDB.open(name));
  let best = Infinity;
  for (let i = 0; i < 10; i++) {
    const start = performance.now();
    await settled(database.transaction(store).objectStore(store).getAll());
    best = Math.min(best, performance.now() - start);
  }
  database.close();
  return best;
}

/** The median time in which the bare platform commits one read and three small puts. */
export async function rawWriteTime(name, store, key, value) {
  const database = await settled(indexedDB.open(name));
  const times = [];
  for (let i = 0; i < 50; i++) {
    const start = performance.now();
    const transaction = database.transaction(store, "readwrite", { durability: "strict" });
    const objects = transaction.objectStore(store);
    objects.get(key).onsuccess = () => {
      for (let n = 0; n < 3; n++) objects.put(value, [key[0], n + 1]);
    };
    await new Promise((resolve) => { transaction.oncomplete = resolve; });
    times.push(performance.now() - start);
  }
  database.close();
  return times.sort((a, b) => a - b)[25];
}

/** Keeps a transaction over a store running, as a busy tab does, until the function it returns is called. */
export function hold(connection, store) {
  let go = true;
  const objects = connection.transaction(store, "readwrite").objectStore(store);
  const again = () => { if (go) objects.count().onsuccess = again; };
  again();
  return () => { go = false; };
}
