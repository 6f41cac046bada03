// What the hooks of `turnmark/react` look at: one source per store, session and listing, shared by every component that
// asks for the same. No React in here; not an entry of the package.

import { fromRaw } from "./errors.js";
import { collect, createRefresher, createSource, keepSame, onChange, reuse, reuseReport, until } from "./live.js";

const NO_ITEMS = Object.freeze([]);
const NO_STATE = Object.freeze({});

export const OPENING = Object.freeze({ store: null, status: "opening", error: null });

/**
 * A kind of source: what it shows before its first read, and what makes one.
 *
 * @param {(store: import("./index.js").Turnmark, retire: () => void, id: unknown, limit: unknown) => object} make
 */
export function sourceKind(name, content, make) {
  return Object.freeze({ name, blank: Object.freeze({ ...content, loading: true, error: null }), make });
}

export const SESSION = sourceKind("session", { messages: NO_ITEMS, state: NO_STATE, head: null, canUndo: false, canRedo: false }, sessionSource);
export const MESSAGES = sourceKind("messages", { messages: NO_ITEMS }, messagesSource);
export const CHECKPOINTS = sourceKind("checkpoints", { checkpoints: NO_ITEMS }, checkpointsSource);
export const SESSIONS = sourceKind("sessions", { sessions: NO_ITEMS }, sessionsSource);

/** Whatever was thrown, as the one error class that applications have to know. By name: it may be another copy's. */
export const asTurnmarkError = (thrown) => (thrown?.name === "TurnmarkError" ? thrown : fromRaw(thrown));

// --- stores -------------------------------------------------------------------------------------------------------

const openStores = new Map();
const openers = new WeakMap();
let openerCount = 0;

/** Equal options are one store, whatever the identity of the object that a render makes of them. */
export function storeKey(open, options) {
  if (!openers.has(open)) openers.set(open, (openerCount += 1));
  const entries = Object.entries(options ?? {}).filter(([, value]) => value !== undefined);
  return JSON.stringify([openers.get(open), entries.sort(([a], [b]) => (a < b ? -1 : 1))]);
}

/** The shared source of an opened store. Its subscribers are the reference count: the last one closes it, a moment later. */
export function storeSource(key, open, options) {
  let source = openStores.get(key);
  if (!source) {
    const start = ({ set }) => {
      const opening = Promise.resolve().then(() => open(options));
      opening.then(
        (store) => set(Object.freeze({ store, status: "ready", error: null })),
        (error) => set(Object.freeze({ store: null, status: "error", error: asTurnmarkError(error) })),
      );
      // One that is still opening is closed as soon as it is open. Nobody is left to be told that closing failed.
      return () => opening.then((store) => store.close()).catch(() => {});
    };
    source = createSource(OPENING, start, () => openStores.delete(key));
    openStores.set(key, source);
  }
  return source;
}

export const peekStore = (key) => openStores.get(key)?.get() ?? OPENING;

/** The stores of the providers on the page, newest last, for devtools that are wired outside of any provider. */
const mounted = new Set();
const mountListeners = new Set();

export const mountedStores = {
  newest: () => [...mounted].at(-1)?.store ?? null,
  subscribe(listener) {
    mountListeners.add(listener);
    return () => mountListeners.delete(listener);
  },
  add(store) {
    const entry = { store };
    const changed = () => mountListeners.forEach((listener) => listener());
    mounted.add(entry);
    changed();
    return () => {
      mounted.delete(entry);
      changed();
    };
  },
};

// --- what is read from a store ------------------------------------------------------------------------------------

const shelves = new WeakMap();

function shelfOf(store) {
  if (!shelves.has(store)) shelves.set(store, new Map());
  return shelves.get(store);
}

const shelfKey = (kind, id, limit) => JSON.stringify([kind.name, id, limit]);

export const peek = (store, kind, id, limit) => shelves.get(store)?.get(shelfKey(kind, id, limit))?.get() ?? kind.blank;

/** The shared source of one session or listing of a store. */
export function sourceOf(store, kind, id, limit) {
  const shelf = shelfOf(store);
  const key = shelfKey(kind, id, limit);
  if (!shelf.has(key)) shelf.set(key, kind.make(store, () => shelf.delete(key), id, limit));
  return shelf.get(key);
}

/**
 * A source that `read(known)` fills now and after every change of the session (or, without an id, of any). `lasting()`
 * is an error that a successful read does not clear.
 */
export function readSource(store, kind, retire, sessionId, read, lasting = () => null) {
  let refresher = null;
  const start = ({ get, set }) => {
    refresher = createRefresher(
      () => read(get()),
      (content) => set(keepSame(get(), { ...content, loading: false, error: lasting() })),
      // What was read before stays visible beside the error.
      (error) => set({ ...get(), loading: false, error: asTurnmarkError(error) }),
    );
    const unlisten = onChange(store, sessionId, refresher.refresh);
    refresher.refresh();
    return () => {
      unlisten();
      refresher.stop();
    };
  };
  return { ...createSource(kind.blank, start, retire), refresh: () => refresher.refresh() };
}

function checkpointsSource(store, retire, id, limit) {
  return readSource(store, CHECKPOINTS, retire, id, async (known) => {
    const checkpoints = await collect(store.checkpoints.list(id, { limit }), limit);
    return { checkpoints: reuseReport(known.checkpoints, checkpoints) };
  });
}

function sessionsSource(store, retire, _id, limit) {
  return readSource(store, SESSIONS, retire, undefined, async (known) => {
    const sessions = await collect(store.sessions(), limit);
    return { sessions: reuseReport(known.sessions, sessions) };
  });
}

/** A narrower look at a session: silent while only its channels change. */
function messagesSource(store, retire, id) {
  const start = ({ get, set }) => {
    const session = sourceOf(store, SESSION, id);
    const look = () => {
      const { messages, loading, error } = session.get();
      set(keepSame(get(), { messages, loading, error }));
    };
    const leave = session.subscribe(look);
    look();
    return leave;
  };
  return createSource(MESSAGES.blank, start, retire);
}

/** How far back the log is read to find out whether there is something to undo; nearly always the first page tells. */
const LOG_PAGES = [8, 64, 512];

/** Whether there is something to undo, and to redo. */
export async function undoable(session) {
  for (const limit of LOG_PAGES) {
    const log = await session.log({ limit });
    const steps = log.filter(({ type }) => type !== "restore-point");
    const other = steps.findIndex(({ type }) => type !== "undo" && type !== "redo");
    const canUndo = steps.some((operation) => operation.undoable);
    if (log.length < limit || (canUndo && other >= 0)) {
      const since = other < 0 ? steps : steps.slice(0, other);
      const undone = since.reduce((sum, { type }) => sum + (type === "undo" ? 1 : -1), 0);
      return { canUndo, canRedo: undone > 0 };
    }
  }
  // Further back than anybody looks: offer both, and let the store refuse.
  return { canUndo: true, canRedo: true };
}

function sessionSource(store, retire, id) {
  let session = null;
  let hasRead = false;
  let refused = null;

  async function read(known) {
    session ??= await store.session(id);
    const tuple = await session.get();
    const able = tuple ? await undoable(session) : { canUndo: false, canRedo: false };
    const state = reuse(known.state, tuple?.state ?? NO_STATE);
    hasRead = true;
    return { messages: state.messages ?? NO_ITEMS, state, head: reuseReport(known.head, tuple?.checkpoint ?? null), ...able };
  }

  const source = readSource(store, SESSION, retire, id, read, () => refused);

  const refuse = (error) => {
    refused = error;
    source.set(keepSame(source.get(), { ...source.get(), error }));
  };

  const write = createWriter(source, () => hasRead, refuse);
  return { ...source, write: (operate) => write(() => operate(session)) };
}

/**
 * Runs operations on what a source shows, never before that has been read. The store keeps the order of the calls.
 *
 * @param {(error: Error | null) => void} refuse is told how the newest one ended
 */
export function createWriter(source, hasRead, refuse) {
  return async (operate) => {
    const leave = source.subscribe(() => {});
    try {
      await until(source, ({ loading }) => !loading);
      if (!hasRead()) await source.refresh();
      if (!hasRead()) throw source.get().error;
      const result = await operate();
      refuse(null);
      return result;
    } catch (thrown) {
      const error = asTurnmarkError(thrown);
      refuse(error);
      throw error;
    } finally {
      leave();
    }
  };
}

/** Runs `task(store)` and keeps the store open meanwhile, even when the component that asked has gone. */
export async function withStore(source, task) {
  const leave = source.subscribe(() => {});
  try {
    const { store, error } = await until(source, ({ status }) => status !== "opening");
    if (error) throw error;
    return await task(store);
  } finally {
    leave();
  }
}
