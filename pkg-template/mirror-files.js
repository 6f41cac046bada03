/**
 * The files of a mirror. Each session has a folder of its own, a *chain*: a file with everything, then files with what was new,
 * oldest first (`<generation>-<index>`). A file is written once and whole, says what it is in its first line, and holds a bundle.
 */
import { readBundle } from "./bundle.js";
import { TurnmarkError } from "./errors.js";

/** The folder, and where the browser has storage buckets the bucket, which does not share the fate of the origin's databases. */
const ROOT = "turnmark-mirror";
const FORMAT = "turnmark-mirror";
const VERSION = 1;
/** Bytes that the first line surely fits into. */
const HEADER = 4096;
/** The note that a chain is all there is of a session. */
const HELD = "held";

const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
const digest = async (bytes) => hex(await crypto.subtle.digest("SHA-256", bytes));
const nameOf = (text) => digest(new TextEncoder().encode(text));

/** Where mirrors are. Fails where a page cannot keep files. */
async function root() {
  let directory = null;
  try {
    directory = await (await navigator.storageBuckets.open(ROOT)).getDirectory();
  } catch {
    directory = await navigator.storage.getDirectory();
  }
  return directory.getDirectoryHandle(ROOT, { create: true });
}

async function write(folder, name, parts) {
  const file = await folder.getFileHandle(name, { create: true });
  const writable = await file.createWritable();
  for (const part of parts) await writable.write(part);
  await writable.close();
}

const exists = (folder, name) => folder.getFileHandle(name).then(() => true, () => false);

/** What is in a folder, as `[name, handle][]`. */
async function entries(folder) {
  const list = [];
  for await (const entry of folder.entries()) list.push(entry);
  return list;
}

/** The first line of a file, or `null` when it is none of ours, or cut off. */
async function header(file) {
  try {
    const [line] = (await file.slice(0, HEADER).text()).split("\n", 1);
    const { format, version, session, created, seq, epoch, oldest, at, bytes, sum } = JSON.parse(line);
    const numbers = [created, seq, epoch, oldest, at, bytes].every((number) => Number.isSafeInteger(number) && number >= 0);
    const whole = numbers && file.size === new TextEncoder().encode(line).length + 1 + bytes;
    if (format !== FORMAT || version !== VERSION || !whole || typeof session !== "string" || typeof sum !== "string") return null;
    return { session, created, seq, epoch, oldest, at, sum };
  } catch {
    return null;
  }
}

/** The files of the newest generation that begins with everything, in order: as far as none is missing or cut off. */
async function sound(folder) {
  const generations = new Map();
  let held = null;
  for (const [name, handle] of await entries(folder)) {
    if (name === HELD) held = await handle.getFile().then((file) => file.text()).then(JSON.parse).catch(() => ({}));
    const [, generation, index] = /^(\d{1,9})-(\d{1,4})$/.exec(name) ?? [];
    if (generation === undefined) continue;
    const files = generations.get(Number(generation)) ?? [];
    files[Number(index)] = handle;
    generations.set(Number(generation), files);
  }
  for (const generation of [...generations.keys()].sort((a, b) => b - a)) {
    const files = [];
    let newest = null;
    for (const handle of generations.get(generation)) {
      const file = await handle?.getFile().catch(() => null);
      const said = file ? await header(file) : null;
      if (said === null || (newest && newest.session !== said.session)) break;
      newest = said;
      files.push(file);
    }
    if (newest) return { generation, files, newest, held };
  }
  return null;
}

export class MirrorFiles {
  #folder;

  constructor(folder) {
    this.#folder = folder;
  }

  /** The mirror of a scope. Fails where a page cannot keep files, or has no locks to share them by. */
  static async open(name, scope) {
    const own = await (await root()).getDirectoryHandle(await nameOf(name), { create: true });
    const folder = await own.getDirectoryHandle(await nameOf(scope), { create: true });
    if (typeof FileSystemFileHandle.prototype.createWritable !== "function" || !navigator.locks) {
      throw new TurnmarkError("Unavailable", "a page cannot keep files here");
    }
    return new MirrorFiles(folder);
  }

  /**
   * Every chain, or those of one session.
   *
   * @returns {Promise<object[]>} `key`, `session`, `created`, `seq`, `epoch`, `oldest`, `at`: of the newest file; `bytes`: of all;
   *   `first`: of the one with everything; `index`: of the newest; `held`: what was noted, or `null`
   */
  async chains(session) {
    const prefix = session === undefined ? "" : `${await nameOf(session)}-`;
    const chains = [];
    for (const [key, handle] of await entries(this.#folder)) {
      if (handle.kind !== "directory" || !key.startsWith(prefix)) continue;
      const found = await sound(handle);
      if (found === null) continue;
      const { generation, files, newest, held } = found;
      const bytes = files.reduce((sum, file) => sum + file.size, 0);
      chains.push({ key, ...newest, generation, index: files.length - 1, first: files[0].size, bytes, held });
    }
    return chains;
  }

  /**
   * Writes the text of a bundle as the next file of a chain; with `whole`, or without a chain, as a new beginning. Returns the chain
   * as it then is.
   */
  async add(chain, { session, created, seq, epoch, oldest }, bundle, whole) {
    const key = chain?.key ?? `${await nameOf(session)}-${crypto.randomUUID()}`;
    const folder = await this.#folder.getDirectoryHandle(key, { create: chain === null });
    const begins = whole || chain === null;
    const generation = begins ? (chain?.generation ?? 0) + 1 : chain.generation;
    const index = begins ? 0 : chain.index + 1;
    const body = new TextEncoder().encode(bundle);
    const said = { format: FORMAT, version: VERSION, session, created, seq, epoch, oldest, at: Date.now(), bytes: body.length, sum: await digest(body) };
    const line = new TextEncoder().encode(`${JSON.stringify(said)}\n`);
    const name = `${generation}-${index}`;
    // Somebody else has gone on with it: what stands there is not for us to change.
    if (await exists(folder, name)) throw new TurnmarkError("Conflict", `there is a file ${name} in the mirror already`);
    await write(folder, name, [line, body]);
    if (begins && chain !== null) {
      for (const [older] of await entries(folder)) if (older !== name) await folder.removeEntry(older).catch(() => {});
    }
    const size = line.length + body.length;
    return {
      key, session, created, seq, epoch, oldest, at: said.at, generation, index, held: null,
      first: begins ? size : chain.first, bytes: begins ? size : chain.bytes + size,
    };
  }

  /** The bundles of a chain, oldest first, up to the first file that is not what was written; with what the last of them is of. */
  async read({ key }) {
    const found = await sound(await this.#folder.getDirectoryHandle(key));
    const bundles = [];
    let newest = null;
    for (const file of found?.files ?? []) {
      const said = await header(file);
      const bytes = new Uint8Array(await file.arrayBuffer());
      const body = bytes.subarray(bytes.indexOf(10) + 1);
      if (said === null || (await digest(body)) !== said.sum) break;
      bundles.push(readBundle(new TextDecoder().decode(body)));
      newest = said;
    }
    return { bundles, newest };
  }

  /** Notes that a chain is all there is of a session, so that nothing is written over it. */
  async hold({ key }, note) {
    await write(await this.#folder.getDirectoryHandle(key), HELD, [JSON.stringify(note)]);
  }

  async remove({ key }) {
    await this.#folder.removeEntry(key, { recursive: true });
  }
}

/** Removes the mirrors of a database, of every scope. Never rejects. */
export async function removeMirrors(name) {
  try {
    await (await root()).removeEntry(await nameOf(name), { recursive: true });
  } catch {
    // There is none.
  }
}
