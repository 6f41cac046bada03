// What the tests' functions find on the page: the package as `turnmark`, and helpers as `kit`.
import * as turnmark from "/pkg/index.js";
import { difference, richValues } from "/values.js";

/** What an error looks like from outside of the page. */
function described(error) {
  if (!(error instanceof Error)) return { name: "not an Error", message: String(error) };
  const { name, message, code, path, branch, cause } = error;
  return { name, message, code, path, branch, cause: cause === undefined ? undefined : String(cause), typed: error instanceof turnmark.TurnmarkError };
}

/** Why a promise was rejected. Fails when it was not, or hangs. */
async function failure(promise, milliseconds = 20_000) {
  let timer;
  const late = new Promise((resolve) => { timer = setTimeout(resolve, milliseconds, { code: "(never settled)" }); });
  const settled = promise.then((value) => ({ code: `(no error: ${JSON.stringify(value)})` }), described);
  return Promise.race([settled, late]).finally(() => clearTimeout(timer));
}

async function collect(items) {
  const list = [];
  for await (const item of items) list.push(item);
  return list;
}

/** Resolves to the first event of a kind that passes `test`, or fails. */
function heard(store, event, test = () => true, milliseconds = 10_000) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no ${event} event was heard`)), milliseconds);
    const stop = store.on(event, (payload) => {
      if (!test(payload)) return;
      clearTimeout(timer);
      stop();
      resolve(payload);
    });
  });
}

/** A promise of an IDBRequest. */
const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

/** Every row of a database, read around the library. */
async function rawRows(name) {
  const database = await done(indexedDB.open(name));
  try {
    const rows = {};
    for (const store of database.objectStoreNames) {
      const objects = database.transaction(store).objectStore(store);
      rows[store] = [await done(objects.getAllKeys()), await done(objects.getAll())];
    }
    return { version: database.version, rows };
  } finally {
    database.close();
  }
}

/** Incompressible text. */
function noise(length, seed = 1) {
  let state = seed >>> 0 || 1;
  let text = "";
  while (text.length < length) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    text += (state >>> 0).toString(36);
  }
  return text.slice(0, length);
}

const user = (id, content = `question ${id}`) => ({ id, role: "user", content });
const assistant = (id, content = `answer ${id}`) => ({ id, role: "assistant", content });

globalThis.turnmark = turnmark;
globalThis.kit = { assistant, collect, described, difference, done, failure, heard, noise, rawRows, richValues, user, stores: {} };
