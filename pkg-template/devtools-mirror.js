// A copy of what the console shows, kept current by the store's events, so that listings answer at once: a console
// prints `Promise {<pending>}` for anything that has to be waited for.

import { collect, createRefresher, onChange } from "./live.js";

/** Most sessions, and most checkpoints of the selected one, that are kept. */
export const MIRRORED = 200;

const EMPTY = Object.freeze({ loaded: false, sessions: [], sessionId: null, checkpoints: [], complete: true, state: null, vector: {} });

/**
 * Mirrors the store's newest sessions and the newest checkpoints and the state of one of them: the selected one, or
 * else the one this page wrote to last, or else the newest. `onTrouble(error)` hears of what cannot be read; the rest is
 * shown all the same, because what is broken is looked at first of all.
 */
export function createMirror(store, selectedId, onTrouble) {
  let view = EMPTY;
  let selected = selectedId ?? null;
  let active = null;
  let troubles = new Set();

  async function read() {
    const found = new Set();
    const attempt = async (work, otherwise) => {
      try {
        return await work();
      } catch (error) {
        // What stays broken is reported once, not with every event.
        if (!troubles.has(error.message)) onTrouble(error);
        found.add(error.message);
        return otherwise;
      }
    };
    const sessions = await attempt(() => collect(store.sessions(), MIRRORED), view.sessions);
    const sessionId = selected ?? active ?? sessions[0]?.id ?? null;
    const next = { ...EMPTY, loaded: true, sessions, sessionId };
    if (sessionId !== null) {
      // One more than is kept tells whether there are more.
      const checkpoints = await attempt(() => collect(store.checkpoints.list(sessionId, { limit: MIRRORED + 1 }), MIRRORED + 1), []);
      // By its id: reading "the newest" would count as the application's having seen it, and what passes with the
      // devtools installed would be refused without them.
      const head = checkpoints[0] && (await attempt(() => store.checkpoints.get(sessionId, checkpoints[0].id), undefined));
      next.checkpoints = checkpoints.slice(0, MIRRORED);
      next.complete = checkpoints.length <= MIRRORED;
      next.state = head?.state ?? null;
      next.vector = head?.checkpoint.vector ?? {};
    }
    troubles = found;
    return next;
  }

  const publish = (next) => {
    view = next;
  };
  const refresher = createRefresher(read, publish, onTrouble);

  const follow = ({ sessionId, origin }) => {
    if (origin === "local") active = sessionId;
  };
  const stops = [
    store.on("session.changed", follow),
    store.on("session.deleted", ({ sessionId }) => {
      if (sessionId === active) active = null;
      if (sessionId === selected) selected = null;
    }),
    onChange(store, undefined, refresher.refresh),
  ];

  return {
    view: () => view,
    refresh: refresher.refresh,
    settled: refresher.settled,
    /** `null` goes back to following what the page does. */
    select(sessionId) {
      selected = sessionId;
      return refresher.refresh();
    },
    /** Stays with a session although an action of the devtools has just written to another. */
    stay(sessionId) {
      active = sessionId;
      return refresher.refresh();
    },
    stop() {
      stops.forEach((stop) => stop());
      refresher.stop();
    },
  };
}
