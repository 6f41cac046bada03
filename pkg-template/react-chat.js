"use client";
// The hooks over turns and sessions: everything that an application needs to show a chat and its history.

import { useEffect, useMemo, useRef, useState } from "react";
import { chatActions } from "./react-chat-actions.js";
import { CURRENT, HISTORY } from "./react-chat-history.js";
import { CHAT } from "./react-chat-session.js";
import { useAccess, useConnection } from "./react-context.js";
import { useSource } from "./react-use.js";

/** Entries of a page of the history. */
const PAGE_SIZE = 8;

/** Everything that can be done with chats. Never a reason to render. */
export function useChatActions({ sessionId } = {}) {
  const { use, report } = useAccess("useChatActions");
  return useMemo(() => chatActions(sessionId ?? null, use, report), [sessionId, use, report]);
}

/** A page of the session history. */
export function useChatSessions({ pageSize = PAGE_SIZE } = {}) {
  const { store } = useConnection("useChatSessions").snapshot;
  const [page, setPage] = useState(1);
  const found = useSource("useChatSessions", HISTORY, page, pageSize);
  const last = useRef(null);
  useEffect(() => {
    if (!found.loading) last.current = { store, found };
  }, [store, found]);
  // While another page is read, the one before stays; that of another store never does.
  const { entries, page: shown, pages, total } = found.loading && last.current?.store === store ? last.current.found : found;
  const { loading, error } = found;
  return useMemo(() => ({ entries, page: shown, pages, total, loading, error, setPage }), [entries, shown, pages, total, loading, error]);
}

function statusOf(loading, streaming, error) {
  if (loading) return "loading";
  if (streaming) return "streaming";
  return error ? "error" : "ready";
}

/** A chat and its history: what there is to show, and everything that can be done. */
export function useChatHistory({ sessionId: given, pageSize } = {}) {
  const actions = useChatActions({ sessionId: given });
  const sessions = useChatSessions({ pageSize });
  const current = useSource("useChatHistory", CURRENT);
  const sessionId = given ?? current.sessionId;
  const { loading: isReading, error: failure, ...chat } = useSource("useChatHistory", CHAT, sessionId);
  const loading = isReading || (sessionId === null && current.loading);
  const error = failure ?? current.error;
  const status = statusOf(loading, chat.streaming, error);
  const { setPage } = sessions;
  const { reloadKey } = current;
  const parts = [...Object.values(chat), sessions, sessionId, status, error, reloadKey, actions];
  return useMemo(() => ({ ...chat, sessions, setPage, sessionId, status, error, reloadKey, ...actions }), parts);
}
