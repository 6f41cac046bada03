"use client";
// `turnmark/react`: a store in a provider, and hooks that read it. Written without JSX, so that nothing has to be built.

import { createElement, useCallback, useContext, useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { TurnmarkError } from "./errors.js";
import { open as openStore } from "./index.js";
import { Connection } from "./react-context.js";
import { BLANK, OPENING, mountedStores, peek, peekStore, sourceOf, storeKey, storeSource, withStore } from "./react-sources.js";

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
  const value = useMemo(() => ({ snapshot, report, use }), [snapshot, report, use]);
  return createElement(Connection.Provider, { value }, childrenFor(snapshot, fallback, children));
}

function childrenFor(snapshot, fallback, children) {
  if (fallback === undefined || snapshot.status === "ready") return children;
  if (typeof fallback === "function") return fallback(snapshot);
  return snapshot.status === "opening" ? fallback : children;
}

function useConnection(hook) {
  const connection = useContext(Connection);
  if (!connection) throw new TurnmarkError("InvalidArgument", `${hook} was called outside of a <TurnmarkProvider>. Put one above the component that calls it.`);
  return connection;
}

/** The store of the nearest provider, and whether it is open yet. */
export function useTurnmark() {
  return useConnection("useTurnmark").snapshot;
}

/** What a source of the provider's store shows. `id` is `null` where there is nothing to look at (yet). */
function useSource(hook, kind, id, limit) {
  const { snapshot, report } = useConnection(hook);
  const { store, error } = snapshot;
  const blank = useMemo(() => {
    if (error) return { ...BLANK[kind], loading: false, error };
    return id === null ? { ...BLANK[kind], loading: false } : BLANK[kind];
  }, [kind, id === null, error]);
  const watched = store && id !== null;

  const subscribe = useCallback((listener) => (watched ? sourceOf(store, kind, id, limit).subscribe(listener) : nothing), [store, watched, kind, id, limit]);
  const get = () => (watched ? peek(store, kind, id, limit) : blank);
  const content = useSyncExternalStore(subscribe, get, () => (id === null ? blank : BLANK[kind]));

  useEffect(() => {
    if (content.error) report(content.error);
  }, [content.error, report]);
  return content;
}

/** Every session of the store, newest first. */
export function useSessions({ limit } = {}) {
  return useSource("useSessions", "sessions", undefined, limit);
}

/** The messages of a session. Renders only when they change, not when a channel does. */
export function useMessages(sessionId) {
  return useSource("useMessages", "messages", sessionId ?? null);
}

/** The newest checkpoints of a session, newest first. */
export function useCheckpoints(sessionId, { limit = 50 } = {}) {
  return useSource("useCheckpoints", "checkpoints", sessionId ?? null, limit);
}

const OPERATIONS = ["append", "put", "rollback", "fork", "undo", "redo"];

/** The operations of a session, each waiting for the store to open and the session to load. */
function sessionOperations(id, use, report) {
  const operation = (name) => (...args) => {
    const result = use((store) => {
      if (id === null) throw new TurnmarkError("InvalidArgument", `${name}() needs a session: useSession was called without an id.`);
      return sourceOf(store, "session", id).write((session) => session[name](...args));
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
  const { use, report } = useConnection("useSession");
  const content = useSource("useSession", "session", id);
  const operations = useMemo(() => sessionOperations(id, use, report), [id, use, report]);
  return useMemo(() => ({ ...content, ...operations }), [content, operations]);
}

// A module of its own, so that bundlers can leave it, and with it the devtools, out of applications that do not call it.
export { useHarnessDevTools } from "./react-devtools.js";
