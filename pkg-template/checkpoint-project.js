// The checkpoints of one project, as `turnmark/checkpoint-store` keeps them: one session, one channel for each checkpoint.
import { channelOf, entriesOf, inOrder, toRecord } from "./checkpoint-records.js";
import { createRefresher, onChange } from "./live.js";
import { Queue } from "./queue.js";

const SESSION = "checkpoints";
/** States of the whole list that are kept below the newest one, for undo at the console. */
const KEPT_STATES = 20;
/** Each lost race is another tab's success, so that more of them in a row mean a fault. */
const MAX_RACES = 50;

/**
 * @typedef {object} Change
 * @property {[string, import("./checkpoint-records.js").Entry][]} [set]
 * @property {string[]} [remove]
 * @property {unknown} [result]
 */

/**
 * One project's list. Reads and writes take turns; the list is what is stored, so it changes after the commit only.
 *
 * @param {object} settings
 * @param {typeof import("./index.js").open} settings.open
 * @param {string} [settings.name]
 * @param {string} settings.projectId
 * @param {(change: { checkpoints?: readonly object[], loaded?: boolean, error?: Error | null }) => void} settings.changed
 * @param {(error: Error) => void} settings.onError for what no caller waits for
 */
export function createProject({ open, name, projectId, changed, onError }) {
  const queue = new Queue();
  const inTurn = (task) => queue.run([SESSION], task);
  const pending = new Set();
  let entries = new Map();
  let head = null;
  let connecting = null;
  let loading = null;

  const refresher = createRefresher(() => inTurn(catchUp), () => {}, onError);

  /** Waited for by close(). */
  function tracked(promise) {
    pending.add(promise);
    const done = () => pending.delete(promise);
    promise.then(done, done);
    return promise;
  }

  function connect() {
    connecting ??= openSession().catch((error) => {
      connecting = null;
      throw error;
    });
    return connecting;
  }

  async function openSession() {
    const store = await open({ name, scope: `project:${projectId}/checkpoint-store`, maxCheckpoints: KEPT_STATES });
    const stop = onChange(store, SESSION, () => void refresher.refresh());
    return { store, session: await store.session(SESSION), stop };
  }

  function show(next) {
    const before = [...entries.values()];
    entries = next;
    const after = [...entries.values()];
    if (before.length === after.length && after.every((entry, i) => entry.checkpoint === before[i].checkpoint)) return;
    changed({ checkpoints: Object.freeze(after.map(({ checkpoint }) => checkpoint)) });
  }

  async function reload() {
    const { session } = await connect();
    const stored = await session.get();
    show(entriesOf(stored?.state ?? {}, entries));
    head = stored?.checkpoint.id ?? null;
  }

  /** After an event, which may as well be of our own write. */
  async function catchUp() {
    const { session } = await connect();
    const newest = await session.summary().then(({ headCheckpointId }) => headCheckpointId, noneWhenUnknown);
    if (newest !== head) await reload();
  }

  /**
   * Reads the list, once; a failure is forgotten, so that a later call can try again. It takes no turn: the writes that have
   * theirs wait for it, so that they keep the order in which they were asked for.
   */
  function load() {
    if (loading === null) {
      loading = tracked(reload().then(() => changed({ loaded: true, error: null })));
      loading.then(() => tracked(clearStrays()), (error) => {
        loading = null;
        changed({ error });
        onError(error);
      });
    }
    return loading;
  }

  /** A tab that died between losing a race and writing again left a branch that nobody was promised. */
  async function clearStrays() {
    try {
      const { store } = await connect();
      for await (const { id, conflictOf } of store.sessions()) if (conflictOf === SESSION) await drop(store, id);
    } catch (error) {
      onError(error);
    }
  }

  /**
   * Plans a change on what is stored and writes it, as one transaction. Where another tab was first, plans it again on what
   * that tab left: checkpoints are independent of each other, so nothing of either is lost.
   *
   * @param {(entries: Map<string, import("./checkpoint-records.js").Entry>) => Change} plan
   */
  function write(plan) {
    return tracked(inTurn(async () => {
      const strays = [];
      await load();
      try {
        for (let races = 0; ; races += 1) {
          try {
            return await attempt(plan(entries));
          } catch (error) {
            if ((error?.code !== "Conflict" && error?.code !== "NotLoaded") || races === MAX_RACES) throw error;
            if (error.branch) strays.push(error.branch.sessionId);
            await reload();
          }
        }
      } finally {
        for (const id of strays) await drop((await connect()).store, id).catch(onError);
      }
    }));
  }

  async function attempt({ set = [], remove = [], result }) {
    if (set.length === 0 && remove.length === 0) return result;
    const { session } = await connect();
    const channels = Object.fromEntries(set.map(([id, entry]) => [channelOf(id), toRecord(entry)]));
    const written = await session.append([], { channels, remove: remove.map(channelOf), metadata: { source: "manual" } });
    head = written.id;
    const next = new Map(entries);
    for (const id of remove) next.delete(id);
    for (const [id, entry] of set) next.set(id, entry);
    show(inOrder(next));
    return result;
  }

  return {
    load,
    write,
    find: (id) => entries.get(id)?.checkpoint,

    /** Deletes everything of the project. */
    clear: () => tracked(inTurn(async () => {
      const { store } = await connect();
      for await (const { id } of store.sessions()) await drop(store, id);
      head = null;
      show(new Map());
    })),

    /** Ends it when everything that was asked for is done. */
    async close() {
      refresher.stop();
      while (pending.size > 0) await Promise.allSettled(pending);
      if (connecting === null) return;
      const { store, stop } = await connecting;
      stop();
      await store.close();
    },
  };
}

/** Deletes a session that another tab may have deleted first. */
const drop = async (store, id) => (await store.session(id)).delete().catch(noneWhenUnknown);

function noneWhenUnknown(error) {
  if (error?.code === "UnknownSession") return null;
  throw error;
}
