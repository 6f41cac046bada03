import { checkBoolean, checkCount, checkId, checkObject, checkOneOf, checkOptions, checkString, ifGiven } from "./check.js";
import { decodeDiff, diff } from "./diff.js";
import { TurnmarkError } from "./errors.js";
import { headOf } from "./store.js";

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
  return Object.freeze({
    id,
    state,
    messages: async () => (await state()).messages ?? [],
    append: (messages, options) => store.append(id, messages, options),
    put: (value, metadata) => store.put(id, value, metadata, "message"),
    get: (checkpointId) => store.get(id, checkpointId),
    checkpoints: (options) => store.list(id, options),
    rollback: (checkpointId, options) => store.rollback(id, checkpointId, options),
    fork: async (checkpointId, newSessionId) => createSession(store, await store.branch(id, checkpointId, newSessionId)),
    undo: (options) => store.step("undo", id, options),
    redo: (options) => store.step("redo", id, options),
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
    summary: async () => {
      const summary = await store.onSessions([id], (engine) => engine.summary(id));
      if (summary !== undefined) return summary;
      throw new TurnmarkError("UnknownSession", `there is no session ${JSON.stringify(id)} yet; the first write creates it`);
    },
    delete: () => store.deleteSession(id),
  });
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
