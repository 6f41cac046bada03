import type { ReactElement, ReactNode } from "react";
import type {
  AppendOptions, Checkpoint, CheckpointMetadata, CheckpointSummary, Edited, HistoryEntry, Message, NewSession, OpenedSession, OpenOptions, Restored,
  RestoredTo, RestoreOptions, RollbackOptions, Session, SessionState, SessionSummary, Turn, Turnmark, TurnmarkError, TurnOptions, TurnVersion,
} from "./index.js";
import type { DevToolsOptions } from "./devtools.js";

/** The provider's store: there as soon as it is open. */
export type TurnmarkConnection =
  | { readonly store: null; readonly status: "opening"; readonly error: null }
  | { readonly store: Turnmark; readonly status: "ready"; readonly error: null }
  | { readonly store: null; readonly status: "error"; readonly error: TurnmarkError };

export interface TurnmarkProviderProps {
  /** A store that is open already. The provider never closes it. */
  store?: Turnmark;
  /** What to open when no `store` is given. Compared by value: a new object with every render is fine. */
  options?: OpenOptions;
  /** What opens it. Default: `open` of `turnmark`; pass that of `turnmark/inline` to use the inlined module. */
  open?: (options?: OpenOptions) => Promise<Turnmark>;
  /** Hears once of every error that the hooks below show: opening, loading, and operations that were refused. */
  onError?: (error: TurnmarkError) => void;
  /**
   * Shown instead of the children while the store is opening. A function is also asked when opening has failed;
   * otherwise the children are shown then, with `status: "error"`.
   */
  fallback?: ReactNode | ((connection: TurnmarkConnection) => ReactNode);
  children?: ReactNode;
}

/**
 * Opens a store for the components below it. Providers with equal options share one store; it is closed a second after
 * the last of them has gone, so that StrictMode and hot reload never close it. Nothing is opened on a server.
 */
export function TurnmarkProvider(props: TurnmarkProviderProps): ReactElement;

/** The store of the nearest provider, and whether it is open yet. */
export function useTurnmark(): TurnmarkConnection;

interface Loaded {
  /** `true` until the first read. Later reads happen behind what is shown. */
  readonly loading: boolean;
  /** Why the newest read or operation failed. What was read before stays. */
  readonly error: TurnmarkError | null;
}

export interface SessionsView extends Loaded {
  readonly sessions: readonly SessionSummary[];
}

/** Every session of the store, newest first. */
export function useSessions(options?: { limit?: number }): SessionsView;

export interface MessagesView extends Loaded {
  readonly messages: readonly Message[];
}

/** The messages of a session. Renders when they change, not when a channel does. */
export function useMessages(sessionId: string | null | undefined): MessagesView;

export interface CheckpointsView extends Loaded {
  readonly checkpoints: readonly CheckpointSummary[];
}

/** The newest checkpoints of a session (50 unless told), newest first. */
export function useCheckpoints(sessionId: string | null | undefined, options?: { limit?: number }): CheckpointsView;

export interface SessionView extends Loaded {
  /** The live messages. A message that did not change is the same object as before. */
  readonly messages: readonly Message[];
  /** The live state, messages included. */
  readonly state: SessionState;
  /** The newest checkpoint, or `null` before the first. */
  readonly head: Checkpoint | null;
  readonly canUndo: boolean;
  readonly canRedo: boolean;
  /**
   * The session's operations, usable from the first render on: each waits for the store to open, for the session to load
   * and for the operations called before it. They never change while the id does not. A rejection reaches whoever awaits
   * it, is shown in `error`, and is never "unhandled".
   */
  append(messages: Message[], options?: AppendOptions): Promise<Checkpoint>;
  put(state: SessionState, metadata?: Partial<CheckpointMetadata>): Promise<Checkpoint>;
  rollback(checkpointId: string, options?: RollbackOptions): Promise<Restored>;
  fork(checkpointId?: string, newSessionId?: string): Promise<Session>;
  undo(options?: { load?: boolean }): Promise<Restored>;
  redo(options?: { load?: boolean }): Promise<Restored>;
}

/** A session: what it holds now, and what can be done with it. Without an id there is nothing to show and nothing to do. */
export function useSession(sessionId: string | null | undefined): SessionView;

/**
 * What can be done with chats. Each waits for the store to open and for what it concerns to be read, so that nothing is written before it is
 * loaded. Where no `sessionId` was given it concerns the chat that is shown when it is called. May be called unbound, from the first
 * render on, and is the same function in every render of one provider's store. A rejection reaches whoever awaits it and `onError` of the
 * provider, is shown in `error` of {@link useChatHistory} where it concerns the chat, and is never "unhandled".
 */
export interface ChatActions {
  /**
   * Begins a turn, on every submit; before the first session it makes one. What is given to the turn's `append`, `stream` and
   * `end` is shown without being read back; the turn and its store outlive the component. Where another page was first or is answering:
   * `Conflict`, with the branch that keeps the prompt, and its `turn`: see {@link openBranch}.
   */
  begin(options?: TurnOptions): Promise<Turn>;
  /** Answers a user's message once more: `begin({ ...options, regenerate: messageId })`. */
  regenerate(messageId: string, options?: Omit<TurnOptions, "regenerate">): Promise<Turn>;
  /** Seals the chat and begins the next one, which is shown. `ActiveRun` while it is being written. */
  newSession(options?: Parameters<Turnmark["newSession"]>[0]): Promise<NewSession>;
  /** Makes a chat the active one and shows it. A stream of the one before goes on there. */
  open(sessionId: string): Promise<OpenedSession>;
  /**
   * Goes on where a refused writer's work was kept: `await begin(options).catch(openBranch)`. Opens the branch of a `Conflict`, and resolves to
   * the turn there, `null` when it has ended. Any other error is thrown again.
   */
  openBranch(error: unknown): Promise<Turn | null>;
  /** Back to before a message. Here and below `load` is `false` unless told: the hook shows the state. */
  restore(messageId: string, options?: RestoreOptions): Promise<RestoredTo>;
  /** The same, with the raw prompt for the input. */
  edit(messageId: string, options?: RestoreOptions): Promise<Edited>;
  undo(options?: RestoreOptions): Promise<Restored>;
  redo(options?: RestoreOptions): Promise<Restored>;
  /** The versions of the turn that a user's message opened, oldest first ("2 / 3"). */
  versions(messageId: string): Promise<TurnVersion[]>;
  show(version: TurnVersion | string, options?: RollbackOptions): Promise<Restored>;
  /** Makes an end of what a dead page left: kept (default) or dropped. `null` when nothing is interrupted. */
  recover(options?: { drop?: boolean }): ReturnType<Session["recover"]>;
  /** Asks whoever writes the chat to stop. `true`: no run is live any more. */
  abortRun(): Promise<boolean>;
  setTitle(sessionId: string, title: string | null): Promise<void>;
  /** Deletes a session. The one that is shown gives way to the active one. */
  deleteSession(sessionId: string): Promise<void>;
}

export interface ChatOptions {
  /** The chat to show and to act on. Without one: the active session of the scope, then whichever is opened on this page. */
  sessionId?: string | null;
}

/** The actions alone. Never a reason to render. */
export function useChatActions(options?: ChatOptions): ChatActions;

export interface ChatSessionsView extends Loaded {
  /** Those changed last first. While another page is read, the one before stays. */
  readonly entries: readonly HistoryEntry[];
  /** From 1. One after the last is the last. */
  readonly page: number;
  readonly pages: number;
  readonly total: number;
  setPage(page: number): void;
}

/** A page of the session history, of 8 unless told. Does not render for a streamed token. */
export function useChatSessions(options?: { pageSize?: number }): ChatSessionsView;

export interface ChatHistory extends ChatActions {
  readonly sessions: ChatSessionsView;
  setPage(page: number): void;
  /** The chat that is shown; `null` before the first. What another page opens does not change it. */
  readonly sessionId: string | null;
  /**
   * The live messages, with what grows or was cut off in them. A message that did not change is the same object as before: a streamed token
   * gives a new list of which one message is another.
   */
  readonly messages: readonly Message[];
  /** What surrounds the chat (targets, screenshots, ...; A-05). */
  readonly ui: Record<string, unknown>;
  /** The newest checkpoint, or `null` before the first. */
  readonly head: Checkpoint | null;
  /** Who is writing the chat, and which of `messages` grows (`null` before its first token). `mine`: this page. */
  readonly streaming: { readonly runId: string; readonly messageId: string | null; readonly mine: boolean } | null;
  /** A turn whose page died; never ended silently: see {@link ChatActions.recover}. `runId` is `null` for a provisional `put`. */
  readonly interrupted: { readonly runId: string | null; readonly messageId: string | null; readonly since: number } | null;
  readonly status: "loading" | "ready" | "streaming" | "error";
  /** Why the newest read or operation failed, until the next succeeds. What was read before stays. */
  readonly error: TurnmarkError | null;
  readonly canUndo: boolean;
  readonly canRedo: boolean;
  /** Another number after whatever may have changed the host's files: append it to a preview's address, `?_t=N`. */
  readonly reloadKey: number;
}

/** A chat and its history, following every page: all there is to show, and all that can be done. */
export function useChatHistory(options?: ChatOptions & { pageSize?: number }): ChatHistory;

export interface HarnessDevToolsOptions extends DevToolsOptions {
  /** `false` installs and imports nothing. Default `true`: call the hook behind `process.env.NODE_ENV !== "production"`. */
  enabled?: boolean;
  /** Default: the store of the provider above or, called outside of one, of the newest provider on the page. */
  store?: Turnmark | null;
}

/** Puts the store on the console as `window.__HARNESS_DEVTOOLS__` while the component is mounted. */
export function useHarnessDevTools(options?: HarnessDevToolsOptions): void;
