/**
 * What a database is known to have held, kept outside of IndexedDB: by it a store that is empty because its browser has thrown the
 * data away is told from one that is new. For each session the sequence number of its newest checkpoint, a second old at most.
 */
import { within } from "./within.js";

const FOLDER = "turnmark-witness";
/** Sessions that are remembered; of more, those that were written last. */
const MOST = 200;
/** Milliseconds between two writes. */
const PAUSE_MS = 1000;
/** What a witness may keep others waiting. */
const PATIENCE_MS = 1000;

/** A name of any length and form as the name of a file. */
async function fileName(text) {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A file of the origin private file system: what a browser that is killed leaves of it is the newest that was closed. */
async function fileStore(name, scope) {
  const root = await navigator.storage.getDirectory();
  const folder = await root.getDirectoryHandle(FOLDER, { create: true });
  const own = await folder.getDirectoryHandle(await fileName(name), { create: true });
  const file = await own.getFileHandle(await fileName(scope), { create: true });
  if (!file.createWritable) throw new Error("a page cannot write files here");
  return {
    read: async () => (await file.getFile()).text(),
    async write(text) {
      const writable = await file.createWritable();
      await writable.write(text);
      await writable.close();
    },
  };
}

/** Where a page cannot write files, Safari for one. It may lag, but is better than nothing. */
function localStore(name, scope) {
  const key = `${FOLDER}:${JSON.stringify([name, scope])}`;
  localStorage.getItem(key);
  return { read: async () => localStorage.getItem(key) ?? "", write: async (text) => localStorage.setItem(key, text) };
}

/** The sessions in a text that is trusted with nothing: `[id, seq][]`, oldest first. */
function parse(text) {
  try {
    const list = JSON.parse(text);
    return list.filter(([id, seq]) => typeof id === "string" && id !== "" && Number.isInteger(seq) && seq >= 0 && seq < 2 ** 32);
  } catch {
    return [];
  }
}

export class Witness {
  #opening;
  #name;
  /** What this page has to add: session to `{ seq, anew }`. `anew`: what is remembered of it does not hold any more; without `seq` it is deleted. */
  #changes = new Map();
  #timer = null;
  /** When it may be written again. */
  #next = 0;
  #writing = null;

  constructor(name, scope) {
    this.#name = `${FOLDER}:${JSON.stringify([name, scope])}`;
    // Where there is neither, nobody is a witness.
    this.#opening = fileStore(name, scope).catch(() => localStore(name, scope)).catch(() => null);
  }

  /** What is remembered: `{ ids, seqs }`. Never rejects, and is not waited for long. */
  async read() {
    const list = await within(PATIENCE_MS, "reading the witness", this.#opening.then(async (file) => (file ? parse(await file.read()) : []))).catch(() => []);
    return { ids: list.map(([id]) => id), seqs: list.map(([, seq]) => seq) };
  }

  /** Remembers a checkpoint: at once, but where much is written once a second. */
  note(session, seq) {
    const { seq: known = -1, anew = false } = this.#changes.get(session) ?? {};
    this.#changes.delete(session);
    this.#changes.set(session, { seq: Math.max(known, seq), anew });
    this.#timer ??= setTimeout(() => this.flush(), Math.min(PAUSE_MS, Math.max(0, this.#next - Date.now())));
    this.#timer.unref?.();
  }

  /** Forgets sessions; resolves when that is kept. Never rejects. */
  async forget(sessions) {
    for (const session of sessions) this.#changes.set(session, { anew: true });
    await this.leave();
  }

  /** Keeps what is to be remembered, and is not waited for long. Never rejects. */
  async leave() {
    await within(PATIENCE_MS, "writing the witness", this.flush()).catch(() => {});
  }

  /** Keeps what is to be remembered. Never rejects: what could not be kept is tried again with the next. */
  flush() {
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#next = Date.now() + PAUSE_MS;
    // What comes while it is written is written afterwards.
    const before = this.#writing ?? Promise.resolve();
    const writing = before.then(() => this.#write()).catch(() => {}).then(() => {
      if (this.#writing === writing) this.#writing = null;
    });
    this.#writing = writing;
    return writing;
  }

  async #write() {
    const file = await this.#opening;
    if (!file || this.#changes.size === 0) return;
    const changes = this.#changes;
    this.#changes = new Map();
    const merge = async () => {
      const merged = new Map(parse(await file.read()));
      for (const [session, { seq, anew }] of changes) {
        const known = anew ? -1 : (merged.get(session) ?? -1);
        merged.delete(session);
        if (seq !== undefined) merged.set(session, Math.max(known, seq));
      }
      await file.write(JSON.stringify([...merged].slice(-MOST)));
    };
    try {
      // Every tab keeps the same file.
      await (globalThis.navigator?.locks ? navigator.locks.request(this.#name, merge) : merge());
    } catch (error) {
      this.#changes = new Map([...changes, ...this.#changes]);
      throw error;
    }
  }
}

/** Removes every witness of a database. Never rejects. */
export async function dismiss(name) {
  try {
    const root = await navigator.storage.getDirectory();
    const folder = await root.getDirectoryHandle(FOLDER);
    await folder.removeEntry(await fileName(name), { recursive: true });
  } catch {
    // There is none.
  }
  try {
    const prefix = `${FOLDER}:[${JSON.stringify(name)},`;
    for (const key of Object.keys(localStorage)) if (key.startsWith(prefix)) localStorage.removeItem(key);
  } catch {
    // There is no such storage.
  }
}
