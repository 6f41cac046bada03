import { checkBoolean, checkCount, checkId, checkObject, checkOneOf, checkOptions, checkString, guardedMethods, ifGiven } from "./check.js";
import { decodeDiff, diff } from "./diff.js";
import { TurnmarkError } from "./errors.js";
import { edit, restoreTo, rollback, step, stopRun } from "./restore.js";
import { headOf } from "./store.js";
import { beginTurn } from "./turn.js";

/** Before the id of a remote session that the agent has not made yet. */
const RESERVED = "reserved:";
const OPERATIONS = ["rollback", "undo", "redo", "prune", "delete"];

/**
 * A handle for a session. Its methods may be called unbound.
 *
 * @param {import("./store.js").Store} store
 * @param {string} id
 * @returns {import("./index.js").Session}
 */
export function createSession(store, id) {
  const state = async () => (await store.get(id))?.state ?? {};
  const summary = async () => {
    const found = await store.onSessions([id], (engine) => engine.summary(id));
    if (found !== undefined) return found;
    throw new TurnmarkError("UnknownSession", `there is no session ${JSON.stringify(id)} yet; the first write creates it`);
  };
  return Object.freeze(guardedMethods({
    id,
    begin: (options) => beginTurn(store, id, options),
    restore: (messageId, options) => restoreTo(store, id, messageId, options),
    edit: (messageId, options) => edit(store, id, messageId, options),
    versions: async (messageId) => {
      checkId(messageId, "message id");
      return store.onSessions([id], (engine) => engine.versions(id, messageId));
    },
    checkpointBefore: async (messageId) => {
      checkId(messageId, "message id");
      return (await store.onSessions([id], (engine) => engine.findPrompt(id, messageId))).matchedCheckpointId;
    },
    show: async (version, options) => rollback(store, id, version?.checkpointId ?? version, options),
    recover: async (options) => (await store.recover(options, id))[0] ?? null,
    abortRun: async () => (await stopRun(store, id)) !== "running",
    setRemoteSession: async (remote) => {
      if (remote !== null) checkId(remote, "remote session id");
      return store.onSessions([id], (engine) => engine.setRemote(id, remote));
    },
    remoteSession: async () => {
      const { remoteSessionId } = await summary();
      return remoteSessionId?.startsWith(RESERVED) ? null : remoteSessionId;
    },
    state,
    messages: async () => (await state()).messages ?? [],
    append: (messages, options) => store.append(id, messages, options),
    put: (value, metadata) => store.put(id, value, metadata, "message"),
    get: (checkpointId) => store.get(id, checkpointId),
    streaming: () => store.streaming(id),
    checkpoints: (options) => store.list(id, options),
    rollback: (checkpointId, options) => rollback(store, id, checkpointId, options),
    fork: async (checkpointId, newSessionId) => createSession(store, await store.branch(id, checkpointId, newSessionId)),
    undo: (options) => step(store, "undo", id, options),
    redo: (options) => step(store, "redo", id, options),
    diff: async (a, b) => {
      checkId(a, "checkpoint id");
      ifGiven(b, checkId, "checkpoint id");
      const ref = (checkpointId) => ({ sessionId: id, checkpointId });
      return store.onSessions([id], async (engine) => diff(engine, ref(a), ref(b ?? (await headOf(engine, id))), true));
    },
    log: (options) => log(store, id, options),
    preview: (request) => preview(store, id, request),
    setTitle: async (title) => {
      if (title !== null) checkString(title, "title");
      return store.onSessions([id], (engine) => engine.setTitle(id, title));
    },
    summary,
    delete: () => store.deleteSession(id),
  }));
}

/** The difference between two checkpoints of any sessions. */
export async function diffBetween(store, a, b, options) {
  const [from, to] = [checkRef(a, "a"), checkRef(b, "b")];
  const load = ifGiven(checkOptions(options).load, checkBoolean, "load") ?? true;
  return store.onSessions([from.sessionId, to.sessionId], (engine) => diff(engine, from, to, load));
}

function checkRef(ref, what) {
  const { sessionId, checkpointId } = checkObject(ref, what);
  return { sessionId: checkId(sessionId, `${what}.sessionId`), checkpointId: checkId(checkpointId, `${what}.checkpointId`) };
}

/** A session's operations, newest first. */
export async function log(store, session, options) {
  checkId(session, "session id");
  const limit = ifGiven(checkOptions(options).limit, checkCount, "limit");
  return store.onSessions([session], (engine) => engine.log(session, limit ?? Number.MAX_SAFE_INTEGER));
}

/** What an operation would do. */
export async function preview(store, session, request) {
  checkId(session, "session id");
  const { operation, checkpointId, parts, keepLast } = checkObject(request, "request");
  checkOneOf(operation, OPERATIONS, "request.operation");
  if (operation === "rollback" || operation === "delete") checkId(checkpointId, "request.checkpointId");
  if (operation === "prune") checkCount(keepLast, "request.keepLast");
  return store.onSessions([session], async (engine) => {
    const raw = await engine.preview(session, { operation, checkpointId, parts, keepLast });
    if (!raw.diff) return raw;
    const ref = (id) => ({ sessionId: session, checkpointId: id });
    return { ...raw, diff: decodeDiff(raw.diff, ref(await headOf(engine, session)), ref(raw.targetCheckpointId)) };
  });
}
