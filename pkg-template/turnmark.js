import { readBundle, writeBundle } from "./bundle.js";
import { checkId, checkOneOf, checkOptions, checkString, checkStrings, guardedMethods, ifGiven } from "./check.js";
import { disposable } from "./dispose.js";
import { activeSession, history, newSession, openSession } from "./history.js";
import { freshId } from "./ids.js";
import { persisted, quota } from "./persistence.js";
import { rollback, step } from "./restore.js";
import { saverOf } from "./savers.js";
import { createSession, diffBetween, log, preview } from "./session.js";
import { VERSION } from "./version.js";

const POLICIES = ["error", "skip", "rename"];

/**
 * The face of an open store. Its methods may be called unbound.
 *
 * @param {import("./store.js").Store} store
 * @param {{ name: string, scope: string, backend: "indexeddb" | "memory" }} settings
 * @returns {import("./index.js").Turnmark}
 */
export function createTurnmark(store, { name, scope, backend }) {
  const fork = async (source, checkpointId, target) => {
    checkId(checkpointId, "checkpoint id");
    return createSession(store, await store.branch(source, checkpointId, target));
  };
  const list = (session, options) => store.list(session, typeof options === "number" ? { limit: options } : options);

  const turnmark = guardedMethods({
    name,
    scope,
    checkpoints: Object.freeze(guardedMethods({
      list,
      rollback: (session, checkpointId, options) => rollback(store, session, checkpointId, options),
      get: (session, checkpointId) => store.get(session, checkpointId),
      diff: (a, b, options) => diffBetween(store, a, b, options),
      pin: (session, checkpointId, pinned) => store.pin(session, checkpointId, pinned),
      delete: (session, checkpointId) => store.delete(session, checkpointId),
      prune: (session, keepLast) => store.prune(session, keepLast),
    })),
    session: async (id = freshId()) => createSession(store, checkId(id, "session id")),
    sessions: () => summaries(store),
    newSession: (options) => newSession(store, options),
    openSession: (id) => openSession(store, id),
    activeSession: () => activeSession(store),
    history: (options) => history(store, options),
    fork,
    undo: (session, options) => step(store, "undo", session, options),
    redo: (session, options) => step(store, "redo", session, options),
    log: (session, options) => log(store, session, options),
    preview: (session, request) => preview(store, session, request),
    status: () => status(store, { name, scope, backend }),
    verify: () => store.onAll((engine) => engine.verify()),
    repair: (options) => store.repair(options),
    recover: (options) => store.recover(options, null),
    export: async (options) => {
      const sessions = ifGiven(checkOptions(options).sessions, checkStrings, "sessions") ?? null;
      return writeBundle(await store.onAll((engine) => engine.export(sessions)));
    },
    import: async (bundle, options) => {
      const raw = readBundle(checkString(bundle, "bundle"));
      const onExisting = ifGiven(checkOptions(options).onExisting, checkOneOf, POLICIES, "onExisting") ?? "error";
      return store.alone((engine) => engine.import(raw, onExisting));
    },
    persist: () => store.persist(),
    saver: () => saverOf(store),
    on: (event, listener) => store.on(event, listener),
    close: () => store.close(),
    rollbackToCheckpoint: (session, checkpointId) => rollback(store, session, checkpointId),
    listCheckpoints: (session, limit) => list(session, limit),
  });
  disposable(turnmark);
  return Object.freeze(turnmark);
}

async function* summaries(store) {
  yield* await store.onAll((engine) => engine.sessions());
}

async function status(store, { name, scope, backend }) {
  const raw = await store.atOnce(async (engine, hub) => ({
    lost: hub.lost?.sessions ?? [], mirror: (await hub.mirror?.status()) ?? null, ...(await engine.status()),
  }));
  const kept = backend === "indexeddb";
  return { ...raw, dataLost: raw.dataLost || raw.lost.length > 0, name, scope, persisted: kept ? await persisted() : null, quota: kept ? await quota() : null, version: VERSION };
}
