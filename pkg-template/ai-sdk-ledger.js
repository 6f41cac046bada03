// The store's side of a durable chat: which session it is written to, what of it is stored, and the one way to write more.
// No React and no chat in here; not an entry of the package.

import { fromRaw } from "./errors.js";
import { reuse } from "./live.js";

export const NONE = Object.freeze([]);

/** What the hook shows before there is anything to show. `shown` stands for the chat's messages while a render still has `behind`. */
export const BLANK = Object.freeze({
  ready: false, sessionId: null, interrupted: null, error: null, saving: false, lastCheckpoint: null, behind: NONE, shown: NONE,
});

export const asTurnmarkError = (thrown) => (thrown?.name === "TurnmarkError" ? thrown : fromRaw(thrown));

/** `options()` are the hook's newest; `moved()` is called when another session has become the one to write to. */
export function createLedger({ store, sessionId, options, moved }) {
  const listeners = new Set();
  let snapshot = Object.freeze({ ...BLANK, sessionId });
  let writes = 0;
  /** The newest race that was lost and not told of yet. */
  let lost = null;

  const ledger = {
    store,
    session: null,
    /** What the chat holds when there is nothing to write: the stored messages, as the chat's own objects. */
    saved: NONE,
    /** Id of the newest checkpoint that this chat has seen. */
    head: null,
    /** A list that was refused; the same one is not offered again by itself. */
    refused: null,

    snapshot: () => snapshot,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    publish(change) {
      if (Object.keys(change).every((name) => Object.is(change[name], snapshot[name]))) return;
      snapshot = Object.freeze({ ...snapshot, ...change });
      for (const listener of [...listeners]) listener();
    },
    /** Tells of a failure; it stays visible until a write succeeds. */
    fail(thrown) {
      const error = asTurnmarkError(thrown);
      ledger.publish({ error });
      options().report(error);
      return error;
    },

    async write(task) {
      ledger.publish({ saving: (writes += 1) > 0 });
      try {
        const result = await task(ledger.session);
        ledger.refused = null;
        ledger.publish({ error: null });
        return result;
      } finally {
        ledger.publish({ saving: (writes -= 1) > 0 });
      }
    },
    note(checkpoint) {
      if (!checkpoint) return;
      ledger.head = checkpoint.id;
      ledger.publish({ lastCheckpoint: checkpoint });
    },

    /** Makes another session the one that is written to. */
    async open(id) {
      ledger.session = await store.session(id);
      ledger.publish({ sessionId: ledger.session.id });
      moved();
    },
    /** Reads the session: what is stored, and an answer whose page died. */
    async read() {
      const tuple = await ledger.session.get();
      const stored = reuse(ledger.saved, tuple?.state.messages ?? NONE);
      const streaming = tuple?.streaming ?? null;
      // One that is still being written somewhere is shown when it is done.
      const live = streaming !== null && (await store.status()).runs.some(({ runId }) => runId === streaming.runId);
      const interrupted = live ? null : streaming;
      const messages = interrupted ? [...stored.filter(({ id }) => id !== interrupted.message.id), interrupted.message] : stored;
      return { checkpoint: tuple?.checkpoint ?? null, messages, interrupted };
    },
    /** Takes what was {@link read} as what the chat has seen. */
    adopt({ checkpoint, messages, interrupted }) {
      ledger.saved = messages;
      ledger.head = checkpoint?.id ?? null;
      ledger.publish({ interrupted, lastCheckpoint: checkpoint });
    },

    /** Another writer was first. The refused work is on a branch, and so is this chat from now on. */
    async branchOff(error) {
      await ledger.open(error.branch.sessionId);
      lost = { branch: error.branch, error };
    },
    /** Tells of a lost race once the chat is at rest: whoever opens the branch then cuts off no answer. */
    tellConflict() {
      const conflict = lost;
      lost = null;
      if (conflict) options().onConflict?.(conflict);
    },
    /** {@link branchOff} after a write that the branch holds whole: `list`. Rethrows what is no lost race. */
    async lostTo(error, list) {
      if (error?.code !== "Conflict" || !error.branch) throw error;
      await ledger.branchOff(error);
      ledger.head = (await ledger.session.get())?.checkpoint.id ?? null;
      ledger.saved = list;
    },

    /** Begins a turn on top of `base`; where another writer was first, on the branch. */
    async begin(about, base) {
      let turn;
      try {
        turn = await ledger.write((session) => session.begin(about));
      } catch (error) {
        if (error?.code !== "Conflict" || !error.turn) throw error;
        await ledger.branchOff(error);
        ledger.publish({ error: null });
        turn = error.turn;
      }
      ledger.note(turn.checkpoint);
      ledger.saved = base;
      ledger.publish({ interrupted: null });
      return turn;
    },

    /** Saves the whole list, for everything that is no turn. Channels stay as they are. */
    async put(list, metadata) {
      const about = { source: "message", ...metadata, ...(ledger.head ? { parentCheckpointId: ledger.head } : {}) };
      try {
        ledger.note(await ledger.write(async (session) => session.put({ ...(await session.state()), messages: list }, about)));
        ledger.saved = list;
      } catch (error) {
        await ledger.lostTo(error, list);
      }
    },
  };
  return ledger;
}
