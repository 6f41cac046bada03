// turnmark/assistant-ui: durable history for @assistant-ui/react, with every branch.
import type { GenericThreadHistoryAdapter, MessageFormatAdapter, MessageFormatItem, ThreadHistoryAdapter } from "@assistant-ui/react";
import type { Turnmark, TurnmarkError } from "./index.js";

/** What failed. The runtimes only write a failed write to the console, so this is where an application hears of it. */
export interface HistoryFailure {
  readonly operation: "load" | "append" | "update" | "delete";
  /** `null` when `sessionId` gave none. */
  readonly sessionId: string | null;
  /** The messages that were not written; `null` for one whose id could not be read. */
  readonly messageIds: readonly (string | null)[];
}

export interface HistoryAdapterOptions {
  /** An open store, or the promise of one. Keep one for the page: threads of one store share what they know. */
  store: Turnmark | Promise<Turnmark>;
  /**
   * The session that holds the thread. A function is asked at every call, for example for the thread that is open; where it
   * gives none, there is nothing to load, and a write is refused.
   */
  sessionId: string | (() => string | null | undefined);
  /** Identity of what is read, for LocalRuntime, which starts anew when it changes. Default: the session's id. */
  scopeId?: string;
  /**
   * Hears of every failure; the promise of the method rejects as well. With code `Conflict`, `error.branch` names the
   * session that holds the refused message.
   */
  onError?: (error: TurnmarkError, failure: HistoryFailure) => void;
}

/** A message and its parent, as the runtimes pass them. */
export type HistoryItem = Parameters<ThreadHistoryAdapter["append"]>[0];

/** What `withFormat` gives. */
export interface FormattedHistoryAdapter<TMessage> extends GenericThreadHistoryAdapter<TMessage> {
  /** Writes go to the session of this moment until the next pin or load, whichever is open then. */
  pin(): void;
  update(item: MessageFormatItem<TMessage>, localMessageId: string): Promise<void>;
  delete(items: MessageFormatItem<TMessage>[]): Promise<void>;
}

/** The adapter with its optional methods. They may be called unbound, and without waiting for one another. */
export interface HistoryAdapter extends ThreadHistoryAdapter {
  update(item: HistoryItem): Promise<void>;
  /** Takes messages out; their children go to their parents. One that is gone already is no failure. */
  delete(items: HistoryItem[]): Promise<void>;
  /** For the AI SDK's runtimes. A message is stored as `{ id, role, format, content }`; `content` is what `encode` made. */
  withFormat<TMessage, TStorageFormat extends Record<string, unknown>>(
    formatAdapter: MessageFormatAdapter<TMessage, TStorageFormat>,
  ): FormattedHistoryAdapter<TMessage>;
}

/**
 * Keeps a thread of assistant-ui in a session: `useLocalRuntime(model, { adapters: { history } })`.
 *
 * The line that is shown is the session's `messages`, so that rollback, fork, diff and export work on it as on any chat. The
 * other branches are channels (`assistant-ui/…`) and travel with every checkpoint. One call is one write:
 *
 * - `append` under the head costs the message only. Under another parent it makes a branch, and the line ends with it.
 * - A message whose id exists is replaced in place, by `append` as by `update`. An unknown parent is `InvalidArgument`.
 * - Where another tab was first, the message is added to what that tab has made of the thread, as a branch of its own.
 * - A message whose write failed for a reason that passes (a full disk) is written with the next one that follows it.
 *
 * assistant-ui does not tell its history when the user merely switches branches: the head that is loaded is the end of the
 * line that was written to last. After a rollback, load the thread again (mount it anew, or change `scopeId`).
 */
export function createHistoryAdapter(options: HistoryAdapterOptions): HistoryAdapter;
