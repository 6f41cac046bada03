// What the panes can do to the store, each with its notice and, where there is one, its way back.
import { useMemo } from "react";
import { focusComposer } from "./focus.js";
import { excerpt, plural, shortId } from "./format.js";
import { download } from "./importFile.js";

const nameOf = ({ id, name }) => (name ? `“${excerpt(name, 40)}”` : shortId(id));

/** Brings back what a restore has left, whatever was done since then. */
export async function takeBack(store, sessionId, { checkpoint, restorePointId }, options) {
  const { headCheckpointId } = await (await store.session(sessionId)).summary();
  if (headCheckpointId === checkpoint.id) await store.undo(sessionId, { load: false, ...options });
  else await store.checkpoints.rollback(sessionId, restorePointId, { load: false, ...options });
}

export function useActions({ store, sessionId, select, notices, ask, show }) {
  return useMemo(() => {
    /** Runs an action; what fails is told. Resolves to whether it worked. */
    const attempt = async (action) => {
      try {
        await action();
        return true;
      } catch (error) {
        if (error?.code === "ActiveRun") {
          notices.fail(error, [{ label: "Stop it and go on", run: () => attempt(() => action({ abortRun: true })) }]);
          return false;
        }
        const branch = error?.branch;
        notices.fail(error, branch ? [{ label: "Open the branch", run: () => select(branch.sessionId) }] : []);
        return false;
      }
    };
    const step = (name) => () => attempt(async (options) => {
      const { targetCheckpointId } = await store[name](sessionId, { load: false, ...options });
      notices.announce(name === "undo" ? `Undone. Now at checkpoint ${shortId(targetCheckpointId)}.` : "Redone.");
    });
    return {
      undo: step("undo"),
      redo: step("redo"),
      open: select,
      openImport: () => show({ name: "import", file: null }),
      openStorage: () => show({ name: "storage" }),
      compare: (from, to) => show({ name: "compare", from, to }),
      rollback: (checkpoint) => attempt(async (options) => {
        const done = await store.checkpoints.rollback(sessionId, checkpoint.id, { load: false, ...options });
        notices.say(`Rolled back to ${nameOf(checkpoint)}.`, [{ label: "Undo", run: () => attempt((again) => takeBack(store, sessionId, done, again)) }]);
      }),
      fork: (checkpoint) => attempt(async () => {
        const fork = await store.fork(sessionId, checkpoint.id);
        await fork.setTitle(`Fork at ${nameOf(checkpoint)}`);
        select(fork.id);
        notices.say("A new chat begins at this checkpoint. The old one is untouched.", [{ label: "Back to it", run: () => select(sessionId) }]);
      }),
      pin: (checkpoint) => attempt(() => store.checkpoints.pin(sessionId, checkpoint.id, !checkpoint.pinned)),
      remove: (session) => ask({
        title: "Delete this chat?",
        text: `“${session.title ?? "Untitled chat"}” and its ${session.checkpointCount} checkpoints are deleted from this browser. Forks keep what they share. This cannot be undone.`,
        confirm: "Delete",
        run: () => attempt(async () => {
          await (await store.session(session.id)).delete();
          if (session.id === sessionId) select(null);
          focusComposer();
        }),
      }),
      exportAll: () => attempt(async () => {
        download(`turnmark-${new Date().toISOString().slice(0, 10)}.json`, await store.export());
        notices.say("Exported every chat with its whole history into one file.");
      }),
      bringBack: () => attempt(async () => {
        const done = await store.recover();
        const back = done.filter(({ action }) => action === "restored");
        const missing = back.filter(({ restoredSeq, lastSeq }) => restoredSeq < lastSeq).length;
        for (const { action, reason } of done) if (action === "failed") notices.fail({ code: "Recoverable", message: `One chat could not be brought back: ${reason}` });
        notices.say(`${plural(back.length, "chat")} brought back${missing > 0 ? `; of ${missing} the newest part is missing` : ", whole"}.`);
        if (sessionId === null && back.length > 0) select(back.at(-1).sessionId);
      }),
    };
  }, [store, sessionId, select, notices, ask, show]);
}
