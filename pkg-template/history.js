/** The conversations of a scope: which one is active, how one follows another, and the list a user picks from. */
import { checkCount, checkId, checkOptions, checkString, ifGiven } from "./check.js";
import { MessageIds } from "./checkpoint.js";
import { checkReference, restoringFiles, snapshot } from "./files.js";
import { freshId } from "./ids.js";
import { encodeMetadata } from "./metadata.js";
import { TurnmarkError } from "./errors.js";
import { checkGuard, stopRun } from "./restore.js";
import { createSession } from "./session.js";

/** Entries of a page of the history, as the seed has it. */
const PAGE_SIZE = 8;

/** Seals the active conversation and begins the next one. */
export async function newSession(store, options) {
  const { id = freshId(), title = null, commitHash, from } = checkOptions(options);
  checkId(id, "session id");
  ifGiven(from, checkId, "session id in `from`");
  if (title !== null) checkString(title, "title");
  const own = ifGiven(commitHash, checkReference, "commitHash");
  const guard = checkGuard(null, options);
  const { turn } = guard;
  if (turn) await turn.settle();
  else if (guard.abortRun) await stopLeft(store, from);
  return store.alone(async (engine, hub) => {
    const about = { ...encodeMetadata({ kind: "session-boundary" }, "manual"), commitHash: own === undefined ? await snapshot(store.files) : own };
    const runId = turn?.ended === false ? turn.runId : null;
    const { sessionId, number, sealed, pruned, epoch } = await engine.newSession({ id, title, about, runId, from: from ?? null });
    await hub.settled();
    turn?.release();
    if (sealed) store.forget(sealed.sessionId);
    store.know(sessionId, epoch, new MessageIds([]));
    return { session: createSession(store, sessionId), sessionId, number, sealed, pruned, commitHash: about.commitHash, reloadKey: hub.reloadKey };
  });
}

async function stopLeft(store, from) {
  const left = from ?? (await store.onAll((engine) => engine.active()));
  if (left !== null) await stopRun(store, left);
}

/** Makes a conversation the active one, with the host's files as its boundary has them. */
export async function openSession(store, id) {
  checkId(id, "session id");
  return store.alone(async (engine, hub) => {
    const summary = await engine.summary(id);
    if (summary === undefined) throw new TurnmarkError("UnknownSession", `there is no session ${JSON.stringify(id)}; newSession() makes one`);
    // The files of the one that is open already are newer than its boundary.
    const isOpen = (await engine.active()) === id;
    const open = (before) => engine.openSession(id, before);
    const done = isOpen
      ? { answer: await open(null), files: "not-restored", filesReason: "already-open" }
      : await restoringFiles(store.files, summary.boundaryCommitHash, open);
    await hub.settled();
    const found = await store.load(engine, id, null);
    return {
      session: createSession(store, id),
      sessionId: id,
      previousSessionId: done.answer.previous,
      checkpoint: found?.checkpoint ?? null,
      state: found?.state ?? {},
      ui: found?.ui ?? {},
      streaming: found?.streaming ?? null,
      commitHash: summary.boundaryCommitHash,
      files: done.files,
      filesReason: done.filesReason,
      reloadKey: hub.reloadKey,
    };
  });
}

/** The conversation that is active, or `null`. */
export async function activeSession(store) {
  const id = await store.onAll((engine) => engine.active());
  return id === null ? null : createSession(store, id);
}

/** A page of the conversations, newest first. Pages are numbered from 1; one after the last is the last. */
export async function history(store, options) {
  const given = checkOptions(options);
  const pageSize = ifGiven(given.pageSize, checkCount, "pageSize", 1) ?? PAGE_SIZE;
  const wanted = ifGiven(given.page, checkCount, "page", 1) ?? 1;
  const { rows, interrupted } = await store.onAll(async (engine) => ({
    rows: await engine.sessions(),
    interrupted: new Set((await engine.status()).interrupted.map(({ sessionId }) => sessionId)),
  }));
  const pages = Math.max(1, Math.ceil(rows.length / pageSize));
  const page = Math.min(wanted, pages);
  const newest = [...rows].sort((a, b) => b.updatedAt - a.updatedAt).slice((page - 1) * pageSize, page * pageSize);
  return { entries: newest.map((row) => toEntry(row, interrupted.has(row.id))), page, pages, total: rows.length };
}

function toEntry({ id, title, number, ...row }, interrupted) {
  return Object.freeze({
    sessionId: id,
    name: title ?? (number === null ? id : `Session ${number}`),
    title,
    number,
    boundaryId: row.boundaryId,
    commitHash: row.boundaryCommitHash,
    sealed: row.sealed,
    active: row.active,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    messageCount: row.messageCount,
    checkpointCount: row.checkpointCount,
    run: row.run,
    interrupted,
    parentSessionId: row.parentSessionId,
    conflictOf: row.conflictOf,
    forkedFrom: row.forkedFrom,
  });
}
