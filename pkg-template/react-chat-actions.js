// What the hooks let an application do with chats. Each action waits for the store, and for what it concerns to be read.

import { TurnmarkError } from "./errors.js";
import { CURRENT } from "./react-chat-history.js";
import { CHAT } from "./react-chat-session.js";
import { sourceOf } from "./react-sources.js";

/** Sessions that are being made because there was none, by their stores: two submits at once are two turns of one. */
const firsts = new WeakMap();

function firstSession(store) {
  if (!firsts.has(store)) firsts.set(store, store.newSession().finally(() => firsts.delete(store)));
  return firsts.get(store);
}

/** Runs `task(current)` when it is known which chat is shown. */
function onCurrent(store, task) {
  const current = sourceOf(store, CURRENT);
  return current.write(() => task(current));
}

/**
 * @param {string | null} fixed the session they concern; else the one that is shown when they are called
 * @param {<T>(task: (store: object) => Promise<T>) => Promise<T>} use keeps the store open meanwhile
 * @param {(error: Error) => void} report
 * @returns {import("./react.js").ChatActions}
 */
export function chatActions(fixed, use, report) {
  // The caller may await it or leave it: the error is in `error` and with `onError` either way.
  const run = (task) => {
    const result = use(task);
    result.catch(report);
    return result;
  };
  const onStore = (task) => run((store) => onCurrent(store, (current) => task(store, current)));
  const switching = (task) =>
    onStore(async (store, current) => {
      const switched = await task(store, current);
      // Also when it was the active one already: another page may have opened it.
      current.choose(switched.sessionId);
      return switched;
    });
  const onChat = (name, task) =>
    run(async (store) => {
      const id = fixed ?? (await onCurrent(store, (current) => current.get().sessionId));
      if (id === null) throw new TurnmarkError("InvalidArgument", `${name}() needs a session, and there is none yet: begin() or newSession() makes one`);
      const chat = sourceOf(store, CHAT, id);
      return chat.write((session) => task(session, chat));
    });
  // What another page has left, or has just said, must be seen before anything is written on top of it.
  const thenRead = (task) => async (session, chat) => {
    const answer = await task(session);
    await chat.refresh();
    return answer;
  };
  // A turn goes on when the component has gone, and so must the store.
  const hold = (over) => void use(() => over).catch(() => {});

  const first = async (store, current) => {
    const { sessionId } = await firstSession(store);
    current.choose(sessionId);
    return sessionId;
  };
  const begin = (options) =>
    run(async (store) => {
      const id = fixed ?? (await onCurrent(store, (current) => current.get().sessionId ?? first(store, current)));
      return sourceOf(store, CHAT, id).begin(options, hold);
    });
  const open = (sessionId) => switching((store) => store.openSession(sessionId));
  // What was restored is read anyway, to be shown.
  const quick = (options) => ({ load: false, ...options });

  return Object.freeze({
    begin,
    open,
    regenerate: (messageId, options) => begin({ ...options, regenerate: messageId }),
    // It follows the chat that is shown here, which need not be the one that another page made the active one.
    newSession: (options) => switching((store, current) => store.newSession({ from: fixed ?? current.get().sessionId ?? undefined, ...options })),
    restore: (messageId, options) => onChat("restore", (session) => session.restore(messageId, quick(options))),
    edit: (messageId, options) => onChat("edit", (session) => session.edit(messageId, quick(options))),
    undo: (options) => onChat("undo", (session) => session.undo(quick(options))),
    redo: (options) => onChat("redo", (session) => session.redo(quick(options))),
    versions: (messageId) => onChat("versions", (session) => session.versions(messageId)),
    show: (version, options) => onChat("show", (session) => session.show(version, quick(options))),
    recover: (options) => onChat("recover", thenRead((session) => session.recover(options))),
    abortRun: () => onChat("abortRun", thenRead((session) => session.abortRun())),
    setTitle: (sessionId, title) => onStore(async (store) => (await store.session(sessionId)).setTitle(title)),
    deleteSession: (sessionId) => onStore(async (store) => (await store.session(sessionId)).delete()),
    async openBranch(error) {
      if (!error?.branch) throw error;
      await open(error.branch.sessionId);
      return error.turn ?? null;
    },
  });
}
