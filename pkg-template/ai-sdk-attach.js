// Which recorder belongs to which chat and session, and who still looks at it. No React in here; not an entry of the package.

import { createRecorder } from "./ai-sdk-recorder.js";
import { TurnmarkError } from "./errors.js";

/** How long a chat that is mounted anew waits for what its predecessor still has to write. */
const PATIENCE_MS = 1000;

const recorders = new Set();

/** The recorder of a chat and a session: the one there is (StrictMode, a chat that outlives its component), or a new one. */
function recorderFor(store, sessionId, chat, options) {
  const others = [...recorders].filter((entry) => entry.store === store);
  const known = others.find(({ recorder }) => recorder.key === chat.stop && recorder.sessionId() === sessionId);
  if (known) return known.recorder;

  const waitFor = async () => {
    // One chat shows one session: what it was answering belongs to the other.
    const held = others.filter(({ recorder }) => recorder.key === chat.stop);
    await Promise.all(held.map(({ recorder }) => recorder.release()));
    const leaving = others.filter(({ recorder }) => recorder.sessionId() === sessionId && recorder.isAbandoned());
    if (leaving.length > 0) await Promise.race([Promise.all(leaving.map(({ gone }) => gone)), new Promise((resolve) => setTimeout(resolve, PATIENCE_MS))]);
    return held.length > 0;
  };
  const entry = { store };
  entry.gone = new Promise((resolve) => {
    const retire = () => {
      recorders.delete(entry);
      resolve();
    };
    entry.recorder = createRecorder({ store, sessionId, chat, options, waitFor, retire });
  });
  recorders.add(entry);
  return entry.recorder;
}

const switched = () =>
  new TurnmarkError("Aborted", "the chat was switched to another session, or left, before this could be done; nothing was written");

/**
 * A component's place at a recorder. Its operations can be called from the first render on: they wait until there is one, and are
 * refused when the component has meanwhile turned to another session.
 */
export function createSeat() {
  const listeners = new Set();
  const waiting = new Set();
  /** Where it is: `{ recorder, sessionId }`; and which sessions it has left. */
  let place = null;
  const left = new Set();
  const look = () => [...waiting].forEach((waiter) => waiter());
  const notify = () => [...listeners].forEach((listener) => listener());

  return {
    /** The hook's newest options. */
    options: null,
    recorder: () => place?.recorder ?? null,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    attach(store, sessionId, chat) {
      const recorder = recorderFor(store, sessionId, chat, () => this.options);
      place = { recorder, sessionId };
      const done = this.await(sessionId);
      const leave = recorder.watch();
      const unlisten = recorder.ledger.subscribe(notify);
      notify();
      look();
      return () => {
        unlisten();
        leave();
        place = null;
        done();
      };
    },
    /** Where there is no store yet: only says when the component has left. */
    await(sessionId) {
      left.delete(sessionId);
      return () => {
        left.add(sessionId);
        // Not at once: StrictMode comes back.
        setTimeout(look, 0);
      };
    },
    /** Runs `task(recorder)` on the recorder of `sessionId` as soon as this component has one. */
    use(sessionId, task) {
      return new Promise((resolve, reject) => {
        const waiter = () => {
          if (place?.sessionId === sessionId) resolve(task(place.recorder));
          else if (left.has(sessionId)) reject(switched());
          else if (this.options?.failure) reject(this.options.failure);
          else return false;
          return waiting.delete(waiter) || true;
        };
        if (!waiter()) waiting.add(waiter);
      });
    },
    /** Lets whoever waits look again. */
    look,
  };
}
