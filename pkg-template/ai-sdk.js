"use client";
// `turnmark/ai-sdk`: one hook beside the AI SDK's `useChat`, which makes its history durable. Written against the types of
// `@ai-sdk/react` only; nothing of it is imported.

import { useContext, useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { createSeat } from "./ai-sdk-attach.js";
import { hold } from "./ai-sdk-chat.js";
import { sameItems } from "./ai-sdk-judge.js";
import { BLANK, NONE } from "./ai-sdk-ledger.js";
import { chatOperations } from "./ai-sdk-operations.js";
import { safeToSend } from "./ai-sdk-safe.js";
import { invalid } from "./errors.js";
import { Connection } from "./react-context.js";

export { safeToSend };

/**
 * Makes the history of a chat durable: `chat` is what `useChat` returned, in the same component. Loads the session into it,
 * writes down all that happens in it, and offers what only a history can do.
 */
export function useDurableChat(chat, { sessionId, store: given, instance, raw, ui, onError, onConflict }) {
  const connection = useContext(Connection);
  if (!given && !connection) {
    throw invalid("useDurableChat was called outside of a <TurnmarkProvider>, and without a `store`. Put a provider above the component, or pass one.");
  }
  const store = given ?? connection.snapshot.store;
  const failure = given ? null : connection.snapshot.error;
  const seat = useMemo(createSeat, []);
  const report = onError ?? connection?.report ?? ignore;

  useEffect(() => {
    seat.options = { instance, raw, ui, onConflict, report, failure };
  });
  useEffect(() => {
    if (failure) seat.look();
  }, [seat, failure]);

  // The chat of `useChat` is known by its functions: they are the same as long as it is.
  const key = chat.stop;
  const newest = useRef(chat);
  newest.current = chat;
  hold(chat);
  useEffect(() => (store ? seat.attach(store, sessionId, newest.current) : seat.await(sessionId)), [seat, store, sessionId, key]);
  useEffect(() => seat.recorder()?.observe(chat));

  const snapshot = useSyncExternalStore(
    seat.subscribe,
    () => {
      const recorder = seat.recorder();
      // In the render after a switch it is still the one of before.
      return recorder?.key === key && recorder.isFor(store, sessionId) ? recorder.ledger.snapshot() : BLANK;
    },
    () => BLANK,
  );
  const operations = useMemo(() => chatOperations((task) => seat.use(sessionId, task)), [seat, sessionId]);
  const messages = messagesOf(snapshot, chat.messages);

  return useMemo(() => {
    const { behind: _, shown: __, ...visible } = snapshot;
    return {
      ...visible,
      sessionId: snapshot.sessionId ?? sessionId,
      error: snapshot.error ?? failure,
      messages,
      ...operations,
      safeMessages: () => safeToSend(messages),
    };
  }, [snapshot, sessionId, failure, messages, operations]);
}

function ignore() {}

/** What is shown: nothing before the session is read, and never what the chat held before a session was put into it. */
function messagesOf({ ready, behind, shown }, messages) {
  if (!ready) return NONE;
  return behind !== shown && sameItems(messages, behind) ? shown : messages;
}
