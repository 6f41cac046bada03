/** Copies that users hold themselves: a file they save, or a folder they picked, into which a copy is written every so often. */
import { checkCount, checkFunction, checkOptions, checkString, checkStrings, ifGiven } from "./check.js";
import { TurnmarkError, describe } from "./errors.js";
import { report } from "./events.js";

const EVERY_MS = 10 * 60_000;
/** A longer timer fires at once. */
const MOST_MS = 2 ** 31 - 1;
const KEEP = 7;
const TYPES = [{ description: "Turnmark bundle", accept: { "application/json": [".json"] } }];
/** What changes a store. */
const CHANGES = ["checkpoint.created", "session.changed", "session.deleted"];

/** The beginning of a store's file names: letters that any file system takes. */
const stem = ({ name, scope }) => `turnmark-${[name, scope].map((word) => encodeURIComponent(word).replace(/[^\w-]/g, "_").slice(0, 60)).join("-")}`;

/** The name of a copy: names are in the order of their times. */
const nameAt = (store, time) => `${stem(store)}-${new Date(time).toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "-")}.json`;

const isOurs = (store, name) => name.startsWith(`${stem(store)}-`) && /^\d{8}-\d{6}\.json$/.test(name.slice(stem(store).length + 1));

async function write(handle, text) {
  const writable = await handle.createWritable();
  await writable.write(text);
  await writable.close();
}

/** Saves what is exported as a file that the user chooses; where a page cannot ask, as a download. */
export async function saveCopy(store, options) {
  const { sessions, fileName } = checkOptions(options);
  const asked = { sessions: ifGiven(sessions, checkStrings, "sessions") };
  const suggestedName = ifGiven(fileName, checkString, "fileName") ?? nameAt(store, Date.now());
  // First: a page may only ask as long as its user's click is fresh.
  let handle = null;
  if (typeof globalThis.showSaveFilePicker === "function") {
    try {
      handle = await globalThis.showSaveFilePicker({ suggestedName, types: TYPES });
    } catch (error) {
      if (error?.name === "AbortError") return null;
      if (error?.name !== "SecurityError") throw failed("no file could be chosen", error);
    }
  }
  const text = await store.export(asked);
  if (handle) await write(handle, text).catch((error) => { throw failed(`the file ${handle.name} could not be written`, error); });
  else download(suggestedName, text);
  return { fileName: handle?.name ?? suggestedName, characters: text.length };
}

function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  // Browsers read it after the click.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

const failed = (what, error) => new TurnmarkError("Unavailable", `${what} (${describe(error)})`, { cause: error });

/** The folders that were picked, in a database of their own: a handle is no value that a bundle could hold. */
function remembered(mode, act) {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("turnmark-backup", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("folders");
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const database = opening.result;
      const transaction = database.transaction("folders", mode);
      const request = act(transaction.objectStore("folders"));
      transaction.oncomplete = () => {
        database.close();
        resolve(request.result);
      };
      transaction.onabort = () => {
        database.close();
        reject(transaction.error);
      };
    };
  });
}

/**
 * Copies of a store in a folder of the user's.
 *
 * @returns {import("./backup.js").Backup}
 */
export function createBackup(store, options) {
  const { folder: given, every: everyGiven, keep: keepGiven, onSaved: heard, onError: fell } = checkOptions(options);
  const every = ifGiven(everyGiven, checkCount, "every", 1000, MOST_MS) ?? EVERY_MS;
  const keep = ifGiven(keepGiven, checkCount, "keep", 1) ?? KEEP;
  const onSaved = ifGiven(heard, checkFunction, "onSaved") ?? (() => {});
  const onError = ifGiven(fell, checkFunction, "onError") ?? report;
  const key = [store.name, store.scope];
  let folder = given ?? null;
  let changed = true;
  let saving = null;

  const stops = CHANGES.map((event) => store.on(event, () => { changed = true; }));
  const timer = setInterval(() => {
    if (changed && folder) saveNow({ ask: false }).catch(onError);
  }, every);
  timer.unref?.();

  const permission = async (ask) => {
    if (!folder) return "none";
    const may = { mode: "readwrite" };
    // Folders of the origin itself need none.
    const state = (await folder.queryPermission?.(may)) ?? "granted";
    return state === "prompt" && ask ? folder.requestPermission(may) : state;
  };

  function saveNow({ ask = true } = {}) {
    // Two at once would be two copies of the same.
    return (saving ??= save(ask).finally(() => { saving = null; }));
  }

  async function save(ask) {
    const may = await permission(ask);
    if (may !== "granted") {
      // Nobody is asked but on a click: until then the copies rest.
      if (!ask) return null;
      throw new TurnmarkError("Unavailable", may === "none" ? "no folder was picked yet; call pick()" : "the browser does not let this page write to the folder; pick it again");
    }
    const act = async (lock) => {
      // Another tab is at it.
      if (lock === null) return null;
      changed = false;
      try {
        const saved = await copyTo(folder, ask);
        if (saved) onSaved(saved);
        return saved;
      } catch (error) {
        changed = true;
        throw error instanceof TurnmarkError ? error : failed(`no copy could be written to the folder ${folder.name}`, error);
      }
    };
    const name = `turnmark-backup:${JSON.stringify(key)}`;
    return globalThis.navigator?.locks ? navigator.locks.request(name, { ifAvailable: true }, act) : act(true);
  }

  async function copyTo(directory, always) {
    const text = await store.export();
    const newest = (await copies(directory)).at(-1);
    // Another tab has written it.
    if (!always && newest !== undefined && (await textIn(directory, newest)) === text) return null;
    const at = Date.now();
    const handle = await directory.getFileHandle(nameAt(store, at), { create: true });
    await write(handle, text);
    if ((await textIn(directory, handle.name)) !== text) throw new Error("what was written is not what is read back");
    // Older copies may hold what this one lacks.
    const lacks = "omitted" in JSON.parse(text) || (await store.status()).dataLost;
    if (!lacks) await thin(directory);
    return { fileName: handle.name, at, characters: text.length };
  }

  const textIn = async (directory, name) => (await (await directory.getFileHandle(name)).getFile()).text();

  /** The names of the copies, oldest first. */
  async function copies(directory) {
    const names = [];
    for await (const name of directory.keys()) if (isOurs(store, name)) names.push(name);
    return names.sort();
  }

  async function thin(directory) {
    for (const name of (await copies(directory)).slice(0, -keep)) await directory.removeEntry(name);
  }

  return Object.freeze({
    async pick() {
      if (typeof globalThis.showDirectoryPicker !== "function") {
        throw new TurnmarkError("Unavailable", "this browser cannot let a page write into a folder; use saveCopy()");
      }
      try {
        folder = await globalThis.showDirectoryPicker({ id: "turnmark", mode: "readwrite" });
      } catch (error) {
        if (error?.name === "AbortError") return null;
        throw failed("no folder could be picked", error);
      }
      await remembered("readwrite", (folders) => folders.put(folder, key)).catch(onError);
      return saveNow();
    },
    async resume() {
      folder ??= (await remembered("readonly", (folders) => folders.get(key)).catch(() => null)) ?? null;
      return permission(false);
    },
    saveNow: () => saveNow(),
    async state() {
      return { folder: folder?.name ?? null, permission: await permission(false) };
    },
    async forget() {
      folder = null;
      await remembered("readwrite", (folders) => folders.delete(key));
    },
    stop() {
      clearInterval(timer);
      for (const stop of stops) stop();
    },
  });
}
