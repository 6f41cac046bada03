"use client";
// `turnmark/react`: a store in a provider, and hooks that read it. Written without JSX, so that nothing has to be built.

import { createElement, useCallback, useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { TurnmarkError } from "./errors.js";
import { open as openStore } from "./index.js";
import { Access, Connection, useAccess, useConnection } from "./react-context.js";
import {
  CHECKPOINTS, MESSAGES, OPENING, SESSION, SESSIONS, mountedStores, peekStore, sourceOf, storeKey, storeSource, withStore,
} from "./react-sources.js";
import { useSource } from "./react-use.js";

const nothing = () => {};

/** A store that the application opened itself, and closes itself. */
function givenSource(store) {
  const snapshot = Object.freeze({ store, status: "ready", error: null });
  return { get: () => snapshot, subscribe: () => nothing };
}

/**
 * Opens a store for everything below it, or passes on one that is open. Subscribing is what opens, so rendering on a
 * server opens nothing; providers with equal options share one store, which is closed a moment after the last has gone.
 */
export function TurnmarkProvider({ store, options, open = openStore, onError, fallback, children }) {
  const key = store ? null : storeKey(open, options);
  const source = useMemo(
    () => (store ? givenSource(store) : { get: () => peekStore(key), subscribe: (listener) => storeSource(key, open, options).subscribe(listener) }),
    // The key stands for `open` and `options`, whose identity may change with every render.
    [store, key],
  );
  const snapshot = useSyncExternalStore(source.subscribe, source.get, store ? source.get : () => OPENING);

  const listener = useRef(onError);
  useEffect(() => {
    listener.current = onError;
  });
  // Several components may meet the same error; the application hears of it once.
  const report = useMemo(() => {
    const reported = new WeakSet();
    return (error) => {
      if (reported.has(error)) return;
      reported.add(error);
      listener.current?.(error);
    };
  }, []);

  useEffect(() => {
    if (snapshot.error) report(snapshot.error);
  }, [snapshot.error, report]);
  useEffect(() => (snapshot.store ? mountedStores.add(snapshot.store) : undefined), [snapshot.store]);

  const use = useCallback((task) => withStore(source, task), [source]);
  const connection = useMemo(() => ({ snapshot, report, use }), [snapshot, report, use]);
  const access = useMemo(() => ({ report, use }), [report, use]);
  const shown = childrenFor(snapshot, fallback, children);
  return createElement(Access.Provider, { value: access }, createElement(Connection.Provider, { value: connection }, shown));
}

function childrenFor(snapshot, fallback, children) {
  if (fallback === undefined || snapshot.status === "ready") return children;
  if (typeof fallback === "function") return fallback(snapshot);
  return snapshot.status === "opening" ? fallback : children;
}

/** The store of the nearest provider, and whether it is open yet. */
export function useTurnmark() {
  return useConnection("useTurnmark").snapshot;
}

/** Every session of the store, newest first. */
export function useSessions({ limit } = {}) {
  return useSource("useSessions", SESSIONS, undefined, limit);
}

/** The messages of a session. Renders only when they change, not when a channel does. */
export function useMessages(sessionId) {
  return useSource("useMessages", MESSAGES, sessionId ?? null);
}

/** The newest checkpoints of a session, newest first. */
export function useCheckpoints(sessionId, { limit = 50 } = {}) {
  return useSource("useCheckpoints", CHECKPOINTS, sessionId ?? null, limit);
}

const OPERATIONS = ["append", "put", "rollback", "fork", "undo", "redo"];

/** The operations of a session, each waiting for the store to open and the session to load. */
function sessionOperations(id, use, report) {
  const operation = (name) => (...args) => {
    const result = use((store) => {
      if (id === null) throw new TurnmarkError("InvalidArgument", `${name}() needs a session: useSession was called without an id.`);
      return sourceOf(store, SESSION, id).write((session) => session[name](...args));
    });
    // The caller may await it or leave it: the error is in `error` and with `onError` either way.
    result.catch(report);
    return result;
  };
  return Object.fromEntries(OPERATIONS.map((name) => [name, operation(name)]));
}

/** A session: what it holds now, and everything that can be done with it. */
export function useSession(sessionId) {
  const id = sessionId ?? null;
  const { use, report } = useAccess("useSession");
  const content = useSource("useSession", SESSION, id);
  const operations = useMemo(() => sessionOperations(id, use, report), [id, use, report]);
  return useMemo(() => ({ ...content, ...operations }), [content, operations]);
}

export { useChatActions, useChatHistory, useChatSessions } from "./react-chat.js";
// A module of its own, so that bundlers can leave it, and with it the devtools, out of applications that do not call it.
export { useHarnessDevTools } from "./react-devtools.js";
