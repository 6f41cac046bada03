// Which chat is shown, and the list of chats. No React in here.

import { createRefresher, createSource, keepSame, reuse } from "./live.js";
import { asTurnmarkError, createWriter, readSource, sourceKind } from "./react-sources.js";

/** A page of the chats, those changed last first: `id` is its number, `limit` its size. */
export const HISTORY = sourceKind("history", { entries: Object.freeze([]), page: 1, pages: 1, total: 0 }, (store, retire, page, pageSize) =>
  readSource(store, HISTORY, retire, undefined, async ({ entries }) => {
    const found = await store.history({ page, pageSize });
    const known = new Map(entries.map((entry) => [entry.sessionId, entry]));
    return { ...found, entries: reuse(entries, found.entries.map((entry) => reuse(known.get(entry.sessionId), entry))) };
  }));

/**
 * The chat that this page shows: the scope's active one when the page looked first, and then whichever was opened here. Another page
 * may open another chat; nobody is taken from the one they are typing in.
 */
export const CURRENT = sourceKind("current", { sessionId: null, reloadKey: 0 }, currentSource);

function currentSource(store, retire) {
  let hasRead = false;
  let refused = null;
  let refresher = null;

  const put = (more) => source.set(keepSame(source.get(), { ...source.get(), error: refused, ...more }));
  // Whatever may have changed the host's files is a reason for a preview to load them anew, and each has its own number.
  const reload = ({ reloadKey = 0 } = {}) => put({ reloadKey: Math.max(source.get().reloadKey + 1, reloadKey) });
  const choose = (sessionId) => {
    hasRead = true;
    if (source.get().sessionId !== sessionId) reload();
    put({ sessionId, loading: false });
  };

  const start = ({ get }) => {
    refresher = createRefresher(
      async () => (await store.activeSession())?.id ?? null,
      (sessionId) => {
        hasRead = true;
        put({ sessionId, loading: false });
      },
      (error) => put({ loading: false, error: asTurnmarkError(error) }),
    );
    const stops = [
      store.on("turn.ended", reload),
      store.on("restored", reload),
      store.on("session.changed", ({ sessionId, reason, origin }) => {
        if (reason !== "open") return;
        if (origin === "local") choose(sessionId);
        else if (get().sessionId === null) refresher.refresh();
      }),
      store.on("session.deleted", ({ sessionId }) => sessionId === get().sessionId && refresher.refresh()),
    ];
    refresher.refresh();
    return () => {
      stops.forEach((stop) => stop());
      refresher.stop();
    };
  };

  const source = { ...createSource(CURRENT.blank, start, retire), refresh: () => refresher.refresh() };
  const refuse = (error) => {
    refused = error;
    put();
  };
  return { ...source, choose, write: createWriter(source, () => hasRead, refuse) };
}
