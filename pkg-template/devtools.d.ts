import type {
  Checkpoint, CheckpointSummary, Diff, ExportOptions, Operation, Recovered, RepairReport, Restored, RestoredTo, RestoreOptions, RollbackOptions, Session, SessionState, SessionSummary, Status, Turnmark,
  VerifyReport,
} from "./index.js";

/**
 * What names a checkpoint in the console: its id, any beginning of the id that only it has (with or without `cp_`), a
 * number counted from the newest (`-1`, `-2`, ...), or an object that has its id.
 */
export type CheckpointReference = string | number | { id: string; sessionId?: string };

/** What names a session in the console, likewise. */
export type SessionReference = string | number | { id: string };

/** A user's message and what followed it, as the console counts them. */
export interface ConsoleTurn {
  /** Id of the user's message. */
  readonly id: string;
  /** How many messages stand before it. */
  readonly index: number;
  /** What it says. */
  readonly asked: string;
  /** How many messages follow it, up to the next of the user's. */
  readonly answers: number;
}

/** What names a turn in the console: the id of its user's message, a beginning of it, a number counted from the newest, or the object. */
export type TurnReference = string | number | { id: string };

/** What is known about synchronisation: nothing is sent anywhere in this release. */
export interface SyncStatus {
  readonly enabled: false;
  /** Version vector of the shown session: device id to counter. */
  readonly vector: Record<string, number>;
  readonly reason: string;
}

/**
 * `window.__HARNESS_DEVTOOLS__`. Listings answer at once and print themselves as a table. Actions return a promise, say
 * in one line what they did and how to undo it, and print their error once; it also rejects for whoever awaits it.
 */
export interface HarnessDevToolsAPI {
  /** Name of the store among several; see {@link use}. */
  readonly name: string;
  /** The global this is meant for. */
  readonly globalName: string;
  readonly store: Turnmark;
  /** Resolves when the first listing can be answered. Never rejects. */
  readonly ready: Promise<void>;

  /** The state of the shown session, or `null` while there is none. A copy: changing it changes nothing. */
  readonly session: SessionState | null;
  /** The newest 200 sessions, newest first. */
  sessions(): SessionSummary[];
  /** The newest 200 checkpoints of the shown session, newest first. */
  checkpoints(): CheckpointSummary[];

  /** What was asked in the shown session, newest first. */
  turns(): ConsoleTurn[];
  /**
   * The state before a turn (the newest without one): the checkpoint that was taken before its message existed, with everything
   * in it. Where none was taken, `checkpoint` is `null` and the state holds the messages before it.
   */
  before(turn?: TurnReference): Promise<{ checkpoint: Checkpoint | null; state: SessionState }>;
  /** Goes back to before a turn. Can be undone. */
  restore(turn?: TurnReference, options?: RestoreOptions): Promise<RestoredTo>;

  /** Shows this session from now on, or, without an argument, the one the page writes to. Resolves to its id. */
  select(session?: SessionReference | null): Promise<string | null>;
  rollback(checkpoint: CheckpointReference, options?: RollbackOptions): Promise<Restored>;
  /** Undoes the newest operation of the shown session, or of the one given. */
  undo(sessionId?: string): Promise<Restored>;
  redo(sessionId?: string): Promise<Restored>;
  /** Starts a new session at a checkpoint; at the newest without one. */
  fork(checkpoint?: CheckpointReference, newSessionId?: string): Promise<Session>;
  /** What changes from `a` to `b`; to the newest without `b`. */
  diff(a: CheckpointReference, b?: CheckpointReference): Promise<Diff>;
  pin(checkpoint: CheckpointReference, pinned?: boolean): Promise<void>;
  /** The newest operations of the shown session, or of the one given. */
  log(sessionId?: string): Promise<Operation[]>;
  verify(): Promise<VerifyReport>;
  /** See {@link Turnmark.recover}. */
  recover(options?: { drop?: boolean }): Promise<Recovered[]>;
  /** Sets right what can be; see {@link Turnmark.repair}. `dryRun` only tells what that would do. */
  repair(options?: { dryRun?: boolean }): Promise<RepairReport>;
  status(): Promise<Status>;
  export(options?: ExportOptions): Promise<string>;

  /** The tools that the application registered with the devtools. */
  tools(): unknown[];
  syncStatus(): SyncStatus;
  /** Sends nothing, and says so. */
  forceSync(): Promise<SyncStatus>;

  /** Names of the installed stores; the current one is last. */
  stores(): string[];
  /** Puts another installed store on the global. `undefined` when there is none of that name. */
  use(name: string): HarnessDevToolsAPI | undefined;
  help(): void;
}

export interface DevToolsOptions {
  /** Default `"__HARNESS_DEVTOOLS__"`. A global of that name that is not ours is left alone. */
  globalName?: string;
  /** The session to show. Default: the one the page writes to. */
  sessionId?: string;
  /** Where to print. Default: the global console. */
  console?: Pick<Console, "log" | "warn" | "error" | "table"> & Partial<Pick<Console, "timeStamp">>;
  /** What {@link HarnessDevToolsAPI.tools} answers. */
  tools?: readonly unknown[] | (() => readonly unknown[]);
  /** Name of the store among several. Default: its database name and scope. */
  name?: string;
  /** The object that gets the global. Default: `globalThis`, where there is a console to open; elsewhere nothing is installed. */
  target?: object;
}

/** Takes the devtools off again. May be called twice. */
export interface UninstallDevTools {
  (): void;
  /** `false` where there is no window and no `target` was given. */
  readonly installed: boolean;
  readonly api: HarnessDevToolsAPI | null;
  /** Why nothing was installed. */
  readonly reason: string | null;
}

/**
 * Puts a store on the console. Several may be installed: the global shows the newest or the one last chosen, and goes
 * with the last. All of them are in the list under `Symbol.for("turnmark.devtools")`.
 */
export function installDevTools(store: Turnmark, options?: DevToolsOptions): UninstallDevTools;

/** `Symbol.for("turnmark.devtools")`: where tools find the list of installed devtools. */
export const DEVTOOLS: unique symbol;
/** `"__HARNESS_DEVTOOLS__"` */
export const DEFAULT_GLOBAL_NAME: "__HARNESS_DEVTOOLS__";

declare global {
  interface Window {
    __HARNESS_DEVTOOLS__?: HarnessDevToolsAPI;
  }
}
