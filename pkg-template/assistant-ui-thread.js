// One thread in one session: what this page knows of it, and how a change becomes one write.
import { Tree } from "./assistant-ui-tree.js";
import { TurnmarkError } from "./errors.js";
import { report } from "./events.js";
import { Queue } from "./queue.js";

/** What is known is not what is there any more. */
const STALE = new Set(["Conflict", "NotLoaded", "UnknownCheckpoint", "UnknownParent"]);
/** Faults of the message itself: it would be refused again. */
const REFUSED = new Set(["InvalidArgument", "InvalidId", "NotStorable", "TooLarge"]);
const ATTEMPTS = 3;

/** @typedef {{ id: string, parentId: string | null, read: () => Promise<object> }} Item a message, kept as it was when it was passed */

/** Applies calls one after the other, in the order they were made. */
class Thread {
  #store;
  #sessionId;
  /** The checkpoint that the next write continues from: `null` before the first, `undefined` when it has to be read. */
  #base;
  /** Where a new message can simply be appended. */
  #tip;
  #ids = new Set();
  /** Messages whose write failed for a reason that passes (a full disk, a lost connection). Their children bring them along. */
  #failed = new Map();

  constructor(store, sessionId) {
    this.#store = store;
    this.#sessionId = sessionId;
  }

  async #session() {
    return (await this.#store).session(this.#sessionId);
  }

  /** The tree as it is now. */
  async load() {
    this.#base = undefined;
    return this.#read(await this.#session());
  }

  async #read(session) {
    const tuple = await session.get(this.#base ?? undefined);
    const tree = new Tree(tuple?.state ?? {});
    this.#note(tuple?.checkpoint.id ?? null, tree);
    return tree;
  }

  #note(base, { tip, nodes }) {
    this.#base = base;
    this.#tip = tip;
    this.#ids = new Set(nodes.keys());
  }

  /** @param {Item} item */
  async add(item) {
    try {
      await this.#write((session) => (this.#isNext(item) ? this.#append(session, item) : this.#change(session, async (tree) => {
        await this.#bringBack(tree, item.parentId);
        tree.add({ id: item.id, parentId: item.parentId, value: await item.read() });
        return true;
      })));
      this.#failed.delete(item.id);
    } catch (error) {
      if (!REFUSED.has(error?.code)) this.#failed.set(item.id, item);
      throw error;
    }
  }

  /** What is gone already is no failure. */
  async remove(ids) {
    for (const id of ids) this.#failed.delete(id);
    await this.#write((session) => this.#change(session, (tree) => ids.map((id) => tree.remove(id)).includes(true)));
  }

  /** A new message below the head costs itself only; everything else is a change of the whole state. */
  #isNext({ id, parentId }) {
    return this.#base !== undefined && parentId === this.#tip && !this.#ids.has(id);
  }

  async #append(session, { id, read }) {
    const { id: base } = await session.append([await read()], { metadata: this.#metadata() });
    this.#base = base;
    this.#tip = id;
    this.#ids.add(id);
  }

  async #change(session, change) {
    const tree = await this.#read(session);
    if (!(await change(tree))) return;
    const { id } = await session.put(tree.toState(), { ...this.#metadata(), allowEmpty: tree.path.length === 0 });
    this.#note(id, tree);
    for (const failed of this.#failed.keys()) if (tree.nodes.has(failed)) this.#failed.delete(failed);
  }

  /** Whoever else writes to the session, from this page or another, must not be continued unseen. */
  #metadata() {
    return { source: "message", ...(this.#base && { parentCheckpointId: this.#base }) };
  }

  async #bringBack(tree, id) {
    const item = this.#failed.get(id);
    if (item === undefined || tree.nodes.has(id)) return;
    await this.#bringBack(tree, item.parentId);
    tree.add({ id, parentId: item.parentId, value: await item.read() });
  }

  /**
   * Writes on what is known; where another writer was first, on what is there now: a tree has room for both. Each lost
   * race has left a branch with the same work, which goes once that is in the thread, and is named if it cannot get there.
   */
  async #write(write) {
    const session = await this.#session();
    const branches = [];
    let conflict;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await write(session);
        break;
      } catch (error) {
        this.#base = undefined;
        if (error?.branch) {
          conflict = error;
          branches.push(error.branch);
        }
        if (STALE.has(error?.code) && attempt < ATTEMPTS) continue;
        throw conflict === undefined || conflict === error ? error : unjoined(conflict, error);
      }
    }
    for (const { sessionId } of branches) await (await this.#store).session(sessionId).then((branch) => branch.delete()).catch(report);
  }
}

function unjoined(conflict, cause) {
  return new TurnmarkError("Conflict", `another writer was first, and the message could not be added to what is there now (${cause.message}); it is kept in session ${JSON.stringify(conflict.branch.sessionId)}`,
    { branch: conflict.branch, cause });
}

/** For each store, its threads: an adapter may be made anew with every render. */
const known = new WeakMap();

/**
 * Runs a call on a thread in its turn.
 *
 * @param {import("./index.js").Turnmark | Promise<import("./index.js").Turnmark>} store
 */
export function onThread(store, sessionId, call) {
  if (!known.has(store)) known.set(store, { queue: new Queue(), threads: new Map() });
  const { queue, threads } = known.get(store);
  if (!threads.has(sessionId)) threads.set(sessionId, new Thread(store, sessionId));
  return queue.run([sessionId], () => call(threads.get(sessionId)));
}
