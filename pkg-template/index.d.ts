// Turnmark: a chat history a browser application can trust.
// These declarations are the public contract of the package entry `turnmark`.

/// <reference lib="esnext.disposable" />

/** A JSON value, or one of the richer values Turnmark keeps exactly. */
export type Storable =
  | null | undefined | boolean | number | string | bigint
  | Date | ArrayBuffer | ArrayBufferView | Blob
  | Storable[] | Map<unknown, unknown> | Set<unknown>
  | { [key: string]: unknown };

/**
 * One message of a chat. Turnmark keeps it whole and gives it back equal; it reads only `id` and `role`.
 * A missing `id` is allowed; a present `id` must be a valid, non-empty string.
 */
export interface Message {
  id?: string;
  role?: string;
  [key: string]: unknown;
}

/** What a session holds at one instant: the message list and any number of named channels (in-flight tool calls, pending jobs, plans, settings). */
export interface SessionState {
  messages?: Message[];
  [channel: string]: unknown;
}

/** How durable a checkpoint really is. Written only after the storage has acknowledged it. */
export interface Durability {
  /**
   * `memory`: gone with the page. `os`: handed to the operating system, not known to be flushed (a relaxed write, or a
   * store under suspicion). `disk`: a strict IndexedDB transaction has completed. `replicated`: a later release.
   */
  level: "memory" | "os" | "disk" | "replicated";
  /** The durability IndexedDB was asked for and reported back. Absent for `memory`. */
  mode?: "strict" | "relaxed";
  /** Whether the browser has promised not to evict this origin (`navigator.storage.persisted()`), when known. */
  persisted?: boolean;
  /** When the acknowledgement arrived (or the committed row was read), in epoch milliseconds. */
  at: number;
}

export type CheckpointKind =
  | "prompt-before" | "prompt-after" | "turn-after" | "mutation-before" | "session-boundary"
  | "restore-point" | "branch-point" | "committed" | "manual";

export type CheckpointSource = "message" | "tool_execution" | "job_complete" | "subagent" | "sync" | "manual" | "fork";

export interface TokenUsage {
  input_tokens?: number;
  output_tokens?: number;
  [counter: string]: number | undefined;
}

/** What the writer says about a checkpoint. Every further key is kept and can be filtered on. */
export interface CheckpointMetadata {
  /** What triggered the checkpoint. */
  source: CheckpointSource;
  /** What wrote it, for example `["rollback"]`. */
  writes?: string[];
  /** Where a forked checkpoint comes from. Set by fork, never by hand. */
  forkedFrom?: { sessionId: string; checkpointId: string };
  /** The role of the checkpoint. Default: `turn-after` for `message` and `job_complete`, else `manual`. */
  kind?: CheckpointKind;
  /** A name for people, at most 200 characters. */
  name?: string | null;
  /**
   * The checkpoint this state continues from. When it is not the live head any more, the write is refused with
   * `Conflict` and kept as a branch named in the error. An id that does not exist is refused with `UnknownParent`.
   */
  parentCheckpointId?: string;
  /** `true` while the answer is still being written; replaced by the next put. See {@link Turnmark.recover}. */
  provisional?: boolean;
  /** Tokens used: since the session began, and since the checkpoint before. Becomes {@link Checkpoint.usage}. */
  usage?: { total: TokenUsage; delta: TokenUsage };
  /** Allows a state with no messages to replace one that has some. Without it: `EmptyOverNonEmpty`. */
  allowEmpty?: boolean;
  [key: string]: unknown;
}

/** An immutable record of a session at one instant. */
export interface Checkpoint {
  /** `cp_` and a UUIDv7 for ours; foreign ids are kept on import. */
  readonly id: string;
  readonly scopeId: string;
  readonly sessionId: string;
  readonly parentCheckpointId: string | null;
  readonly kind: CheckpointKind;
  readonly metadata: CheckpointMetadata;
  readonly name: string | null;
  /** Epoch milliseconds by the writer's clock. Order never depends on it. */
  readonly createdAt: number;
  readonly turn: { id: string; seq: number; version: string } | null;
  /** Version vector at this instant: device id to counter. */
  readonly vector: Record<string, number>;
  readonly pinned: boolean;
  readonly provisional: boolean;
  readonly sealed: boolean;
  readonly commitHash: string | null;
  readonly usage?: { total: TokenUsage; delta: TokenUsage };
  /** Number of messages in the state. */
  readonly messageCount: number;
  /** Ids of the messages in the state, in order (messages without an id are left out). Computed, never stored. */
  readonly messageIds: string[];
  readonly _durability: Durability;
}

/** One line of a checkpoint listing. */
export interface CheckpointSummary {
  readonly id: string;
  /** Position within its session, from 0; newer is larger. */
  readonly seq: number;
  readonly sessionId: string;
  readonly createdAt: number;
  readonly source: CheckpointSource;
  readonly kind: CheckpointKind;
  readonly writes: string[];
  readonly name: string | null;
  readonly parentCheckpointId: string | null;
  readonly forkedFrom: { sessionId: string; checkpointId: string } | null;
  readonly pinned: boolean;
  readonly provisional: boolean;
  readonly sealed: boolean;
  readonly messageCount: number;
  /** Bytes of the messages this state reaches, shared with every other checkpoint that reaches them. */
  readonly size: number;
  /** Whether this checkpoint is the newest of its session. */
  readonly head: boolean;
  readonly metadata: CheckpointMetadata;
  readonly _durability: Durability;
}

export interface CheckpointListOptions {
  /** At most this many, newest first; the rest is never read. */
  limit?: number;
  /** Only checkpoints older than this one (a checkpoint id). */
  before?: string;
  /** Only checkpoints whose metadata equals every given key. `kind` and `source` are keys too. */
  filter?: Record<string, unknown>;
}

/** A write that belongs to a checkpoint but not yet to a state. */
export type PendingWrite = { channel: string; value: unknown } | readonly [channel: string, value: unknown];

/** A stored pending write: which task wrote what to which channel. */
export type CheckpointPendingWrite = readonly [taskId: string, channel: string, value: unknown];

/** A checkpoint with everything it points at. */
export interface CheckpointTuple {
  readonly checkpoint: Checkpoint;
  readonly state: SessionState;
  readonly metadata: CheckpointMetadata;
  readonly parentCheckpointId: string | null;
  /** In the order of task id (by code point), then index. */
  readonly pendingWrites: CheckpointPendingWrite[];
}

/**
 * The saver contract (seed 003, P-02). `threadId` is the session id. Write your own by implementing it and hand it to
 * {@link TimeTravelAPI}; `turnmark/testing` holds a suite to run it through.
 */
export interface Checkpointer {
  /** Saves a whole state as a new checkpoint. Resolves, stamped, after the storage has acknowledged it. */
  put(threadId: string, state: SessionState, metadata: CheckpointMetadata): Promise<Checkpoint>;
  /** The newest checkpoint, or the one named. `undefined` when there is none. */
  get(threadId: string, checkpointId?: string): Promise<CheckpointTuple | undefined>;
  /** Newest first, read page by page. */
  list(threadId: string, options?: CheckpointListOptions): AsyncIterable<CheckpointSummary>;
  /** Deletes one checkpoint. Unknown ids are `UnknownCheckpoint`; a fork's base or a sealed one is `Protected`. */
  delete(threadId: string, checkpointId: string): Promise<void>;
  /** Deletes all but the newest `keepLast` (protected ones stay) and resolves to how many were deleted. */
  prune(threadId: string, keepLast: number): Promise<number>;
  /** Attaches writes to the newest checkpoint. Write-once by task and index; special channels overwrite. */
  putWrites?(threadId: string, writes: PendingWrite[], taskId: string): Promise<void>;
}

export interface SaverOptions {
  /** Database name. Default `"turnmark"`. */
  name?: string;
  /** Whose histories these are. Default `"default"`. */
  scope?: string;
  /** Most checkpoints kept per session, applied on every put. `0` (the default) keeps all. */
  maxCheckpoints?: number;
  /** Default `"strict"`. A relaxed write is stamped `os`, never `disk`. */
  durability?: "strict" | "relaxed";
}

/** Keeps checkpoints in memory; stamped `memory`; gone with the page. */
export class MemorySaver implements Checkpointer {
  constructor(options?: Pick<SaverOptions, "scope" | "maxCheckpoints">);
  put(threadId: string, state: SessionState, metadata: CheckpointMetadata): Promise<Checkpoint>;
  get(threadId: string, checkpointId?: string): Promise<CheckpointTuple | undefined>;
  list(threadId: string, options?: CheckpointListOptions): AsyncIterable<CheckpointSummary>;
  delete(threadId: string, checkpointId: string): Promise<void>;
  prune(threadId: string, keepLast: number): Promise<number>;
  putWrites(threadId: string, writes: PendingWrite[], taskId: string): Promise<void>;
  /** Hears of every checkpoint after it has been acknowledged. Returns the function that stops listening. */
  on<E extends keyof TurnmarkEvents>(event: E, listener: (payload: TurnmarkEvents[E]) => void): () => void;
  close(): Promise<void>;
  /** For `await using`, where the platform has it: closes. */
  [Symbol.asyncDispose](): Promise<void>;
  /** For `using`: closes, and nobody waits for it. */
  [Symbol.dispose](): void;
}

/** Keeps checkpoints in IndexedDB; stamped `disk` after a strict transaction's `complete`. */
export class IndexedDBSaver implements Checkpointer {
  constructor(options?: SaverOptions);
  put(threadId: string, state: SessionState, metadata: CheckpointMetadata): Promise<Checkpoint>;
  get(threadId: string, checkpointId?: string): Promise<CheckpointTuple | undefined>;
  list(threadId: string, options?: CheckpointListOptions): AsyncIterable<CheckpointSummary>;
  delete(threadId: string, checkpointId: string): Promise<void>;
  prune(threadId: string, keepLast: number): Promise<number>;
  putWrites(threadId: string, writes: PendingWrite[], taskId: string): Promise<void>;
  on<E extends keyof TurnmarkEvents>(event: E, listener: (payload: TurnmarkEvents[E]) => void): () => void;
  close(): Promise<void>;
  /** For `await using`, where the platform has it: closes. */
  [Symbol.asyncDispose](): Promise<void>;
  /** For `using`: closes, and nobody waits for it. */
  [Symbol.dispose](): void;
}

/** Fork over any {@link Checkpointer} (seed 003, P-15). */
export class TimeTravelAPI {
  constructor(saver: Checkpointer);
  /**
   * Starts session `target` (a fresh id without one) at the state of `checkpointId`, pending writes included. The
   * source is not touched. The new checkpoint has `source: "fork"` and `forkedFrom`. A target that exists is `AlreadyExists`.
   */
  fork(source: string, checkpointId: string, target?: string): Promise<Checkpoint>;
}

export interface OpenOptions extends SaverOptions {
  /** Default `"indexeddb"`. `"memory"` is only ever used when asked for. */
  backend?: "indexeddb" | "memory";
  /** Use memory when IndexedDB is unavailable instead of failing with `Unavailable`. Stamped `memory`. Default `false`. */
  fallbackToMemory?: boolean;
  /** Ask the browser not to evict this origin. Reported by {@link Turnmark.status}. Default `false`. */
  persist?: boolean;
  /** How long opening may take before it fails with `Blocked` or `TimedOut`, in milliseconds. Default 10,000. */
  timeout?: number;
}

/**
 * Opens a store, loading the WebAssembly module by itself. Opening the same `name` and `scope` twice is fine and cheap, with
 * the same `durability` and `maxCheckpoints` (else `InvalidArgument`): both share one connection, which closes with the last.
 */
export function open(options?: OpenOptions): Promise<Turnmark>;

/** Loads the module from a given place instead of the package's own (a URL, a response, bytes or a compiled module). */
export function init(source?: string | URL | Request | Response | BufferSource | WebAssembly.Module): Promise<void>;

export interface SessionSummary {
  readonly id: string;
  readonly title: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly messageCount: number;
  readonly checkpointCount: number;
  /** Newest checkpoint, or `null` before the first one. */
  readonly headCheckpointId: string | null;
  readonly forkedFrom: { sessionId: string; checkpointId: string } | null;
  /** Set when this session is the kept work of a writer that lost a race. */
  readonly conflictOf: string | null;
  /** Whether the newest checkpoint is provisional: its writer has not finished it. */
  readonly provisional: boolean;
}

/** Parts of a session that a restore can bring back. */
export type Part = "messages" | "state";

export interface RollbackOptions {
  /** What comes back; the rest stays as it is. Default: every part. */
  parts?: Part[];
  /**
   * `false` skips loading the state into JavaScript, so that the call costs the same at any length of the chat: the answer has
   * no `state`, and its `checkpoint` no `messageIds`. Default `true`.
   */
  load?: boolean;
}

/** What a restore did. */
export interface Restored {
  readonly sessionId: string;
  /** The new newest checkpoint. */
  readonly checkpoint: Checkpoint;
  /** The state before the restore; rolling back to it brings everything back. */
  readonly restorePointId: string;
  /** The checkpoint that was restored; `null` when an undo led back to before the first one. */
  readonly targetCheckpointId: string | null;
  /** The restored state, unless `load: false`. */
  readonly state?: SessionState;
  readonly parts: Part[];
  /** Turnmark keeps no files yet: a host's files are not brought back. */
  readonly files: "not-restored";
}

/** A difference between two states of one or two sessions, in the order of the second. */
export interface Diff {
  readonly from: { sessionId: string; checkpointId: string };
  /** In a preview the checkpoint is `null` where the operation leads to before the first one. */
  readonly to: { sessionId: string; checkpointId: string | null };
  /** Number of messages both begin with. */
  readonly commonPrefix: number;
  readonly messages: MessageChange[];
  readonly channels: ChannelChange[];
  /** Messages added; `removed` and `changed` count messages too. */
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
}

export interface MessageChange {
  readonly change: "added" | "removed" | "changed";
  readonly id: string | null;
  /** Position in the first state, or `null`. */
  readonly fromIndex: number | null;
  /** Position in the second state, or `null`. */
  readonly toIndex: number | null;
  readonly before?: Message;
  readonly after?: Message;
}

export interface ChannelChange {
  readonly channel: string;
  readonly change: "added" | "removed" | "changed";
  readonly before?: unknown;
  readonly after?: unknown;
}

/** One entry of a session's operation log, newest first. */
export interface Operation {
  /** Position within the session; the `seq` of the checkpoint it wrote. */
  readonly seq: number;
  readonly type: "put" | "append" | "rollback" | "fork" | "undo" | "redo" | "import" | "recover" | "restore-point";
  readonly checkpointId: string;
  readonly createdAt: number;
  readonly source: CheckpointSource;
  /** A sentence for people. */
  readonly summary: string;
  /** Whether `undo()` would undo this one next. */
  readonly undoable: boolean;
}

/** What an operation would change, without doing it. */
export interface Preview {
  readonly operation: "rollback" | "undo" | "redo" | "prune" | "delete";
  /** The checkpoint whose state would become live, where one would. */
  readonly targetCheckpointId: string | null;
  readonly diff: Diff | null;
  /** Checkpoints that would be deleted. */
  readonly deletes: string[];
  /** Checkpoints that would stay although they are old, with the reason. */
  readonly keeps: { id: string; reason: string }[];
}

export type PreviewRequest =
  | { operation: "rollback"; checkpointId: string; parts?: Part[] }
  | { operation: "undo" }
  | { operation: "redo" }
  | { operation: "prune"; keepLast: number }
  | { operation: "delete"; checkpointId: string };

export interface AppendOptions {
  /** Default: `{ source: "message" }`. */
  metadata?: Partial<CheckpointMetadata>;
  /** Channels to set with the new messages; `undefined` values are stored, a channel is removed by `remove`. */
  channels?: Record<string, unknown>;
  /** Channels to remove. */
  remove?: string[];
}

/** One conversation line with one live head. */
export interface Session {
  readonly id: string;
  /** Reads the live state. */
  state(): Promise<SessionState>;
  /** Reads the live messages. */
  messages(): Promise<Message[]>;
  /**
   * Adds messages (and channel changes) to the live head as one checkpoint. Costs what is new, at any length.
   * The session must have been read by this store first when it already holds something (`NotLoaded`).
   */
  append(messages: Message[], options?: AppendOptions): Promise<Checkpoint>;
  /** Saves a whole state; only what differs from the live head is written. Default metadata: `{ source: "message" }`. */
  put(state: SessionState, metadata?: Partial<CheckpointMetadata>): Promise<Checkpoint>;
  get(checkpointId?: string): Promise<CheckpointTuple | undefined>;
  checkpoints(options?: CheckpointListOptions): AsyncIterable<CheckpointSummary>;
  rollback(checkpointId: string, options?: RollbackOptions): Promise<Restored>;
  fork(checkpointId?: string, newSessionId?: string): Promise<Session>;
  undo(options?: { load?: boolean }): Promise<Restored>;
  redo(options?: { load?: boolean }): Promise<Restored>;
  diff(a: string, b?: string): Promise<Diff>;
  log(options?: { limit?: number }): Promise<Operation[]>;
  preview(request: PreviewRequest): Promise<Preview>;
  /** Sets the title, at most 500 characters; `null` removes it. */
  setTitle(title: string | null): Promise<void>;
  summary(): Promise<SessionSummary>;
  /** Deletes the session and everything only it reaches. Forks keep what they share. */
  delete(): Promise<void>;
}

export interface Checkpoints {
  list(sessionId: string, options?: CheckpointListOptions | number): AsyncIterable<CheckpointSummary>;
  get(sessionId: string, checkpointId?: string): Promise<CheckpointTuple | undefined>;
  /**
   * Makes the state of a checkpoint live again, in place (seed 003, P-13). First a restore point is written in the same
   * transaction, so it can be undone. Writes a new checkpoint with `source: "manual"`, `writes: ["rollback"]` and
   * `parentCheckpointId` set to the target, and bumps the version vector.
   */
  rollback(sessionId: string, checkpointId: string, options?: RollbackOptions): Promise<Restored>;
  /** What changes from `a` to `b`. Ids of one session, or `{ sessionId, checkpointId }` for two. */
  diff(a: CheckpointRef, b: CheckpointRef, options?: { load?: boolean }): Promise<Diff>;
  /** A pinned checkpoint is never pruned. */
  pin(sessionId: string, checkpointId: string, pinned?: boolean): Promise<void>;
  delete(sessionId: string, checkpointId: string): Promise<void>;
  prune(sessionId: string, keepLast: number): Promise<number>;
}

export interface CheckpointRef { sessionId: string; checkpointId: string }

export interface Status {
  readonly name: string;
  readonly scope: string;
  readonly backend: "indexeddb" | "memory";
  readonly durability: "strict" | "relaxed" | "none";
  /** What the next checkpoint's stamp would say. */
  readonly level: Durability["level"];
  /** `null` where the browser cannot say. */
  readonly persisted: boolean | null;
  readonly quota: { usage: number; quota: number } | null;
  readonly schemaVersion: number;
  readonly counts: { sessions: number; checkpoints: number; messageRows: number; objects: number; pendingWrites: number };
  /** Sessions whose newest checkpoint is provisional while no open page is writing it. */
  readonly interrupted: { sessionId: string; checkpointId: string; since: number }[];
  /** Whether the store reported, when it was opened, that the browser had lost its data. */
  readonly dataLost: boolean;
  readonly connection: "open" | "closed" | "lost";
  readonly deviceId: string;
  readonly version: string;
}

/** A fault found by {@link Turnmark.verify}. */
export interface Fault {
  /** `hash-mismatch`, `missing`, `unreadable`, `dangling`, `inconsistent`, `unreachable` (harmless). */
  readonly fault: "hash-mismatch" | "missing" | "unreadable" | "dangling" | "inconsistent" | "unreachable";
  /** Store and key of the record, for example `messages ["l3x…", 40]`. */
  readonly record: string;
  readonly message: string;
  /** Checkpoints that reach the record, as far as known. */
  readonly affects: string[];
}

export interface VerifyReport {
  /** No fault but `unreachable` ones. */
  readonly ok: boolean;
  readonly checked: { sessions: number; checkpoints: number; messages: number; objects: number; pendingWrites: number };
  readonly faults: Fault[];
}

export interface ImportReport {
  readonly sessions: { id: string; importedAs: string; checkpoints: number; messages: number }[];
  readonly skipped: { id: string; reason: string }[];
}

export interface ExportOptions {
  /** Only these sessions. Default: all of the scope. */
  sessions?: string[];
}

export interface ImportOptions {
  /** When a session id exists already. Default `"error"`: nothing is imported. */
  onExisting?: "error" | "skip" | "rename";
}

export interface TurnmarkEvents {
  /** A checkpoint was acknowledged, by this page or another (seed 003, P-10). */
  "checkpoint.created": { checkpoint: Checkpoint; origin: "local" | "remote" };
  /** The head, the title or the checkpoints of a session changed. */
  "session.changed": { sessionId: string; reason: string; origin: "local" | "remote" };
  "session.deleted": { sessionId: string; origin: "local" | "remote" };
  /** A rollback, undo or redo was committed. */
  "restored": { sessionId: string; checkpointId: string; targetCheckpointId: string | null; restorePointId: string; origin: "local" | "remote" };
  /** The connection was opened, closed by the browser, or given up for an upgrade in another tab. */
  "connection": { state: "open" | "closed" | "lost"; reason: string };
  /** The browser threw the store's data away before it was opened. */
  "data.lost": { message: string };
  /** Another tab's old version keeps this one from upgrading. */
  "blocked": { message: string };
}

/** An open store. Every method may be called unbound. */
export interface Turnmark {
  readonly name: string;
  readonly scope: string;
  readonly checkpoints: Checkpoints;
  /** A handle for a session; an id that does not exist yet is created by the first write. Without an id: a fresh one. */
  session(id?: string): Promise<Session>;
  /** Newest first. */
  sessions(): AsyncIterable<SessionSummary>;
  fork(sourceSessionId: string, checkpointId: string, newSessionId?: string): Promise<Session>;
  /** Undoes the session's newest operation that is not undone yet. `NothingToUndo` when there is none. */
  undo(sessionId: string, options?: { load?: boolean }): Promise<Restored>;
  redo(sessionId: string, options?: { load?: boolean }): Promise<Restored>;
  log(sessionId: string, options?: { limit?: number }): Promise<Operation[]>;
  preview(sessionId: string, request: PreviewRequest): Promise<Preview>;
  status(): Promise<Status>;
  /** Reads and checks every record. One bad record never hides the others. */
  verify(): Promise<VerifyReport>;
  /** Finalizes interrupted provisional checkpoints (or drops them) and says which. Never done silently. */
  recover(options?: { drop?: boolean }): Promise<{ sessionId: string; checkpointId: string; action: "finalized" | "dropped" }[]>;
  /** A self-contained bundle, as the text of a JSON file. */
  export(options?: ExportOptions): Promise<string>;
  /** Checks a bundle whole, then imports it in one transaction, or not at all. */
  import(bundle: string, options?: ImportOptions): Promise<ImportReport>;
  /** Asks the browser not to evict this origin; resolves to its answer. */
  persist(): Promise<boolean>;
  /** A saver on this very store. */
  saver(): Checkpointer & { putWrites(threadId: string, writes: PendingWrite[], taskId: string): Promise<void> };
  on<E extends keyof TurnmarkEvents>(event: E, listener: (payload: TurnmarkEvents[E]) => void): () => void;
  close(): Promise<void>;
  /** For `await using`, where the platform has it: closes. */
  [Symbol.asyncDispose](): Promise<void>;
  /** For `using`: closes, and nobody waits for it. */
  [Symbol.dispose](): void;
  /** @deprecated Use {@link Checkpoints.rollback}. */
  rollbackToCheckpoint(sessionId: string, checkpointId: string): Promise<Restored>;
  /** @deprecated Use {@link Checkpoints.list}. */
  listCheckpoints(sessionId: string, limit?: number): AsyncIterable<CheckpointSummary>;
}

/** Deletes a database whole. Works without opening it. Open pages of it are asked to close first. */
export function deleteDatabase(name?: string): Promise<void>;

/** Every code a {@link TurnmarkError} can carry. */
export type ErrorCode =
  | "InvalidId" | "InvalidArgument" | "NotStorable" | "TooLarge"
  | "UnknownSession" | "UnknownCheckpoint" | "UnknownParent" | "AlreadyExists"
  | "NotLoaded" | "EmptyOverNonEmpty" | "Conflict" | "Protected" | "NothingToUndo" | "NothingToRedo" | "ActiveRun"
  | "BadBundle" | "Unavailable" | "Blocked" | "TimedOut" | "SchemaTooNew" | "SchemaMismatch"
  | "QuotaExceeded" | "ConnectionLost" | "Aborted" | "RecordUnreadable" | "Closed" | "WasmFailed" | "Internal";

/** The same list, at run time. */
export const ERROR_CODES: readonly ErrorCode[];

/** The one error class. `message` says what failed, on what, and what to do. */
export class TurnmarkError extends Error {
  constructor(code: ErrorCode, message: string, details?: { cause?: unknown; path?: string; branch?: { sessionId: string; checkpointId: string } });
  readonly code: ErrorCode;
  /** The browser's own error, where one is behind it. */
  readonly cause?: unknown;
  /** `NotStorable`: where in the value, for example `messages[3].parts[0].file`. */
  readonly path?: string;
  /** `Conflict`: where the refused work was kept. */
  readonly branch?: { sessionId: string; checkpointId: string };
}
