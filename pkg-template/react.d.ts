import type { ReactElement, ReactNode } from "react";
import type {
  AppendOptions, Checkpoint, CheckpointMetadata, CheckpointSummary, Message, OpenOptions, Restored, RollbackOptions, Session, SessionState,
  SessionSummary, Turnmark, TurnmarkError,
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

export interface HarnessDevToolsOptions extends DevToolsOptions {
  /** `false` installs and imports nothing. Default `true`: call the hook behind `process.env.NODE_ENV !== "production"`. */
  enabled?: boolean;
  /** Default: the store of the provider above or, called outside of one, of the newest provider on the page. */
  store?: Turnmark | null;
}

/** Puts the store on the console as `window.__HARNESS_DEVTOOLS__` while the component is mounted. */
export function useHarnessDevTools(options?: HarnessDevToolsOptions): void;
