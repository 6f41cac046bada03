/** Everything that makes an earlier state live again, and what a run that is under way has to say to that. */
import { checkBoolean, checkEach, checkId, checkOneOf, checkOptions, ifGiven } from "./check.js";
import { MessageIds } from "./checkpoint.js";
import { decode } from "./decode.js";
import { TurnmarkError, fromRaw, invalid } from "./errors.js";
import { restoringFiles } from "./files.js";
import { decodePrompt, decodeState, decodeUi } from "./state.js";
import { Turn } from "./turn.js";

const PARTS = ["messages", "state", "ui"];
/** Milliseconds that whoever writes has to stop in. */
const PATIENCE = 5000;

/** Restores the state of a checkpoint. */
export async function rollback(store, session, checkpointId, options) {
  checkId(session, "session id");
  checkId(checkpointId, "checkpoint id");
  const parts = checkEach(checkOptions(options).parts ?? PARTS, "parts", (part, what) => checkOneOf(part, PARTS, what));
  return restoring(store, session, options, (engine, ...last) => engine.rollback(session, checkpointId, parts, ...last));
}

/** @param {"undo" | "redo"} direction */
export async function step(store, direction, session, options) {
  checkId(session, "session id");
  return restoring(store, session, options, (engine, ...last) => engine[direction](session, ...last));
}

async function restoring(store, session, options, restore) {
  const guard = checkGuard(session, options);
  return guarded(store, session, guard, async (engine, hub, runId) => {
    const written = await restore(engine, store.epochOf(session), runId);
    await hub.settled();
    return { ...(await restored(store, engine, session, written, guard.load)), files: "not-restored" };
  });
}

/** Restores what came before a message, with the host's files. */
export async function restoreTo(store, session, messageId, options) {
  return (await backTo(store, session, messageId, options)).answer;
}

/** The same, with what the user had typed, to be typed anew. */
export async function edit(store, session, messageId, options) {
  const { answer, clicked } = await backTo(store, session, messageId, options, true);
  if (answer.prompt) return { ...answer, rawPrompt: answer.prompt.raw, rawPromptFrom: "prompt" };
  return { ...answer, rawPrompt: clicked, rawPromptFrom: clicked === null ? null : "message" };
}

async function backTo(store, session, messageId, options, wantsText = false) {
  checkId(messageId, "message id");
  const guard = checkGuard(session, options);
  return guarded(store, session, guard, async (engine, hub, runId) => {
    // Without a host there is nothing to look up before.
    const match = store.files && (await engine.aim(session, messageId, runId));
    const commit = (before) => engine.restoreTo(session, messageId, runId, store.epochOf(session), before);
    const { answer: written, files, filesReason } = await restoringFiles(store.files, match?.commitHash ?? null, commit);
    await hub.settled();
    const { ui, ...done } = await restored(store, engine, session, written, guard.load);
    const matched = written.targetCheckpointId;
    const { clicked, ...around } = await afterwards(store, session, async () => {
      const prompt = decodePrompt(written.prompt);
      return {
        ui: ui ?? decodeUi(await engine.ui(session, written.checkpoint.id)),
        prompt,
        clicked: wantsText && prompt === null ? await textOf(engine, session, written.restorePointId, messageId) : null,
      };
    });
    return {
      answer: {
        ...done,
        ...around,
        matchedCheckpointId: matched,
        removedMessageIds: written.removed,
        commitHash: written.commitHash,
        files,
        filesReason: matched === null ? "no-match" : filesReason,
        reloadKey: hub.reloadKey,
      },
      clicked,
    };
  });
}

/** What every restore answers, its files left out. */
async function restored(store, engine, session, written, load) {
  const read = async () => {
    const raw = await engine.load(session, written.checkpoint.id);
    return { state: decodeState(raw), ui: decodeUi(raw.ui) };
  };
  const live = load ? await afterwards(store, session, read) : null;
  return {
    sessionId: session,
    checkpoint: live ? await store.saw(engine, written, MessageIds.of(live.state.messages)) : store.note(written),
    restorePointId: written.restorePointId,
    targetCheckpointId: written.targetCheckpointId,
    ...live,
    parts: written.parts,
  };
}

/** Reads what a restore that is committed has led to. */
async function afterwards(store, session, read) {
  try {
    return await read();
  } catch (error) {
    // What was there before is no longer live, and what is live was not seen.
    store.forget(session);
    const known = fromRaw(error);
    throw new TurnmarkError(known.code, `the restore is committed, and undo() takes it back; but what it led to cannot be read: ${known.message}`, { cause: known });
  }
}

/** What a message of a checkpoint says: its content, or its text parts. */
async function textOf(engine, session, checkpointId, messageId) {
  const { messages } = await engine.load(session, checkpointId);
  const at = messages.ids.indexOf(messageId);
  if (at < 0) return null;
  const { content, parts } = decode(messages.texts[at], messages.binaries?.[at], () => `message ${at}`);
  if (typeof content === "string") return content;
  const list = [content, parts].find(Array.isArray) ?? [];
  const texts = list.filter((part) => part?.type === "text" && typeof part.text === "string").map((part) => part.text);
  return texts.length > 0 ? texts.join("") : null;
}

/** The options about a run that may be under way. */
export function checkGuard(session, options) {
  const { load, abortRun, turn } = checkOptions(options);
  if (turn !== undefined && !(turn instanceof Turn)) throw invalid("turn must be what begin() has given");
  if (turn && session !== null && turn.sessionId !== session) {
    throw invalid(`turn belongs to session ${JSON.stringify(turn.sessionId)}, not to ${JSON.stringify(session)}`);
  }
  return { load: ifGiven(load, checkBoolean, "load") ?? true, abortRun: ifGiven(abortRun, checkBoolean, "abortRun") ?? false, turn };
}

/** Runs a change that a live run would forbid: after the run was asked to stop, or in the name of the caller's own turn. */
async function guarded(store, session, { abortRun, turn }, change) {
  // A restore point holds what is stored: all of it.
  if (turn) await turn.settle();
  const stopped = !turn && abortRun && (await stopRun(store, session)) === "ended";
  return store.onSessions([session], async (engine, hub) => {
    // The last words of the run that was stopped for this are behind the caller, not ahead of it.
    if (stopped) await store.load(engine, session, null);
    const answer = await change(engine, hub, turn?.ended === false ? turn.runId : null);
    turn?.release();
    return answer;
  });
}

/**
 * Asks whoever writes a session to stop, and waits for it. Not in the session's queue, where the end of the run has to pass.
 *
 * @returns {Promise<"idle" | "ended" | "running">}
 */
export function stopRun(store, session) {
  return store.atOnce(async (engine, hub) => {
    const live = async () => (await engine.runs()).some(({ sessionId }) => sessionId === session);
    let unwatch;
    let timer;
    const heard = new Promise((resolve) => {
      unwatch = hub.watch(({ type, sessionId }) => type === "run.ended" && sessionId === session && resolve(true));
    });
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, PATIENCE, false);
    });
    try {
      if (!(await live())) return "idle";
      await engine.askAbort(session);
      // A page that died says nothing, but its run is not live any more.
      return (await Promise.race([heard, late])) || !(await live()) ? "ended" : "running";
    } finally {
      unwatch();
      clearTimeout(timer);
    }
  });
}
