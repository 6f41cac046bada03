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
  /** The turn it belongs to: `seq` is its slot in the session, from 1; `version` tells its answers apart (see {@link Session.versions}). */
  readonly turn: { id: string; seq: number; version: string } | null;
  /** Version vector at this instant: device id to counter. */
  readonly vector: Record<string, number>;
  readonly pinned: boolean;
  readonly provisional: boolean;
  /** A session boundary that `newSession()` has sealed: immutable from then on. */
  readonly sealed: boolean;
  /** The host's reference of its own files at this instant; Turnmark keeps it and never looks into it. */
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
  /**
   * Only checkpoints whose metadata equals every given key. `kind`, `source`, `name`, `commitHash`, `parentCheckpointId` and `turnId` are keys too, and in a turn
   * `runId` and, once it is known, `remoteSessionId`.
   */
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
  /** What surrounded the chat (targets, screenshots, ...), as `begin()` was given it last; `{}` when there is none. */
  readonly ui: Record<string, unknown>;
  /** What the user typed, on the checkpoint that `begin()` wrote; `null` on any other, or when `begin()` was not told. */
  readonly prompt: Prompt | null;
  /** Of the newest checkpoint: a message that is being written right now, or was when its page died. Else `null`. */
  readonly streaming: StreamingMessage | null;
}

/** What the user typed, and what was sent to the model. Kept apart, so that `edit()` gives back the raw one. */
export interface Prompt { readonly raw: string; readonly composed: string | null; readonly turnId: string }

/** A message that is still being written (or whose page died), as far as it was saved. `since`: when its turn began, in epoch milliseconds. */
export interface StreamingMessage { readonly message: Message; readonly runId: string; readonly turnId: string; readonly since: number }

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
  /** The host's own files, brought back together with the chat. Without it a restore reports `filesReason: "no-host"`. */
  files?: HostFiles;
  /**
   * `"keep-all"` (the default), or `"apploop"`: `newSession()` deletes the prompt checkpoints of the session that it seals. One for all
   * who share a store on a page, as `durability` is.
   */
  retention?: "keep-all" | "apploop";
  /** Shortest time between two saves of a growing message, in milliseconds, at least 16. Default 250. */
  streamInterval?: number;
  /**
   * A second copy of the newest 20 checkpoints of each session, in files outside of IndexedDB (of a storage bucket where the browser has them), written in
   * the background at most once a second: what a browser leaves that throws its databases away. Default `true`, with a budget of 64 MB; sessions that
   * were changed last stay in it. The first to open a store on a page decides.
   */
  mirror?: boolean | { /** Bytes. */ budget?: number };
}

/**
 * The host's own files, of which Turnmark keeps references only. Both methods run while calls on the session wait: they
 * must not wait for one. A method that throws is reported with `reportError`; it counts as one that could not.
 */
export interface HostFiles {
  /** Takes a snapshot; `null` where that is impossible. */
  snapshot(): Promise<string | null>;
  /** Brings a snapshot back; `true` only when that was done. */
  restore(reference: string): Promise<boolean>;
}

/**
 * Opens a store, loading the WebAssembly module by itself. Opening the same `name` and `scope` twice is fine and cheap, with
 * the same `durability`, `maxCheckpoints` and `retention` (else `InvalidArgument`): both share one connection, which closes with the last.
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
  /** N of `Session N`; `null` for one that `newSession()` did not make. */
  readonly number: number | null;
  /** Whether its boundary is sealed: another session has followed. */
  readonly sealed: boolean;
  /** Its session boundary, or `null` before its first turn. */
  readonly boundaryId: string | null;
  /** The host's reference of its files at the boundary. */
  readonly boundaryCommitHash: string | null;
  /** The session that was active when this one was made. */
  readonly parentSessionId: string | null;
  /** Id of the agent's own session, as it is stored: `reserved:<id>` until the agent has made one. */
  readonly remoteSessionId: string | null;
  /** The turn that is being answered, or whose page died (see {@link Status.interrupted}). `since` in epoch milliseconds. */
  readonly run: { readonly runId: string; readonly turnId: string; readonly since: number } | null;
  /** Whether it is the scope's active session. */
  readonly active: boolean;
}

/** Parts of a session that a restore can bring back. `ui` is what surrounds the chat: targets, screenshots, the prompt. */
export type Part = "messages" | "state" | "ui";

/** What a restore does about a run that is under way. Without either it is refused with `ActiveRun`. */
export interface RestoreOptions {
  /**
   * `false` skips loading the state into JavaScript, so that the call costs the same at any length of the chat: the answer has
   * no `state`, and its `checkpoint` no `messageIds`. Default `true`.
   */
  load?: boolean;
  /**
   * Asks whoever writes to stop ({@link Turn.signal}) and waits up to five seconds for it, then for `ActiveRun`. What it wrote last is
   * stored before the restore, which can be undone.
   */
  abortRun?: boolean;
  /** The caller's own turn: it is ended by the restore. All that it had is stored first. */
  turn?: Turn;
}

export interface RollbackOptions extends RestoreOptions {
  /** What comes back; the rest stays as it is. Default: every part. */
  parts?: Part[];
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
  /** The restored `ui` part, unless `load: false`. */
  readonly ui?: Record<string, unknown>;
  readonly parts: Part[];
  /** A host's files are brought back by {@link Session.restore}, {@link Session.edit} and {@link Turnmark.openSession} only. */
  readonly files: "not-restored";
}

/** What a restore to a message did. */
export interface RestoredTo extends Omit<Restored, "files" | "ui"> {
  /**
   * The newest prompt checkpoint whose user and assistant messages are exactly those before the message, by ids and order, never by
   * inclusion; session boundaries are no candidates. `null` when there is none: then the chat was only cut.
   */
  readonly matchedCheckpointId: string | null;
  /** The message and all after it, in order: they are gone from the chat, and stay so after a reload. */
  readonly removedMessageIds: string[];
  /** What the user typed when the message was sent; `null` when nobody told `begin()`. */
  readonly prompt: Prompt | null;
  /** The live `ui` part now, also with `load: false`. */
  readonly ui: Record<string, unknown>;
  /** The host's reference in the matched checkpoint. */
  readonly commitHash: string | null;
  readonly files: "restored" | "not-restored";
  /**
   * Why the files were not restored; `null` when they were. `no-match`: no prompt checkpoint fits; `no-host`: `open()` was given no `files`;
   * `no-snapshot`: the checkpoint has no reference; `host-refused`: `files.restore()` did not resolve to `true`.
   */
  readonly filesReason: "no-match" | "no-host" | "no-snapshot" | "host-refused" | null;
  /** Counts up with every restore and every end of a turn while the page lives: append it to a preview's address, `?_t=N`. */
  readonly reloadKey: number;
}

/** What an edit did: a restore, and the text for the input. */
export interface Edited extends RestoredTo {
  /** What the user had typed, else what the message says (its `content`, or its text parts joined); `null` when it says nothing. */
  readonly rawPrompt: string | null;
  /** Where that is from. A message's text may be the composed one. */
  readonly rawPromptFrom: "prompt" | "message" | null;
}

/** One version of a turn's answer ("2 / 3"). */
export interface TurnVersion {
  readonly version: string;
  /** The newest checkpoint that holds it. */
  readonly checkpointId: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly messageCount: number;
  /** Whether it is the one in the live chat. */
  readonly live: boolean;
}

export interface TurnOptions {
  /** What the user typed. */
  raw?: string;
  /** What is sent to the model, where it differs. Only with `raw`. */
  composed?: string;
  /** The whole `ui` part at this instant (targets, screenshots, ...). Left out: it stays as it is. Data URLs are stored as binary, once. */
  ui?: Record<string, unknown>;
  /** Reference of the host's own files. Default: what `files.snapshot()` of `open()` gives, else `null`. */
  commitHash?: string | null;
  /** Id of the run. Default: a fresh one. */
  runId?: string;
  /** Name of the prompt checkpoint. Default `Prompt N`, counted per session. */
  name?: string;
  /** Further metadata (`createdByEventId`, `remoteMessageCursor`, ...). Default source: `message`. */
  metadata?: Partial<CheckpointMetadata>;
  /**
   * Id of a user's message that is answered once more: all after it is left behind a restore point and stays one of
   * {@link Session.versions}. Another role's message, or one that is not live, is `InvalidArgument`.
   */
  regenerate?: string;
}

/**
 * One user message and all that follows from it. Holds a Web Lock until it ends, so others are refused with `ActiveRun`, and a page that
 * dies leaves it *interrupted*. While it is open, write the session through it only. Every method may be called unbound.
 *
 * Each write stores all there is to see: what was streamed belongs to it. A turn whose session was changed by others is refused with
 * `Conflict`, what it had being kept in the branch that the error names; then it has ended. Any other failure changes nothing: call again.
 */
export interface Turn {
  readonly id: string;
  /** Slot in the session, from 1. */
  readonly seq: number;
  readonly version: string;
  readonly runId: string;
  readonly sessionId: string;
  /** The prompt checkpoint, taken before the user's message exists. */
  readonly checkpoint: Checkpoint;
  /**
   * Aborted when somebody asked to stop this run (then call `end()` or `abort()`), when the turn was taken away by a restore or a deletion, when
   * it was refused with `Conflict`, or when the store was closed. The reason is a {@link TurnmarkError}.
   */
  readonly signal: AbortSignal;
  /** Whether it has ended, or was taken away. What is still written to one that was taken away is kept as a branch. */
  readonly ended: boolean;
  /**
   * Adds messages of this turn, the user's first. Those whose ids it wrote already are replaced in place, and only sent when they
   * changed. A message of an earlier turn is `InvalidArgument`; of an ended turn every write is `Closed`.
   */
  append(messages: Message[], options?: { metadata?: Partial<CheckpointMetadata>; channels?: Record<string, unknown> }): Promise<Checkpoint>;
  /**
   * Saves a message that is still growing, by what is new in it, at most once every `streamInterval`. Returns at once; the newest call
   * wins. When a message with another id begins, the one before it is appended. A failed save is told by `stream.failed` and `flush()`,
   * and made good by the next. After the end it does nothing. A message without an id is `InvalidArgument`.
   */
  stream(message: Message & { id: string }): void;
  /** Saves at once, and resolves when the newest streamed message is stored. Binary data in it is `NotStorable`: only other writes store that. */
  flush(): Promise<void>;
  /** A `mutation-before` checkpoint, before a tool changes something. By default with a snapshot of the host's files. */
  touch(options?: { name?: string; metadata?: Partial<CheckpointMetadata>; commitHash?: string | null }): Promise<Checkpoint>;
  /**
   * Ends the turn with its last messages (all of the turn's, or some: as in `append`), and updates the session's boundary. Without
   * messages what was streamed becomes the answer.
   */
  end(messages?: Message[], options?: {
    metadata?: Partial<CheckpointMetadata>;
    usage?: { total: TokenUsage; delta: TokenUsage };
    channels?: Record<string, unknown>;
  }): Promise<Checkpoint>;
  /** Ends it early, with `aborted: true` in the metadata: what was streamed is kept (default) or dropped. `null` when it had ended already. */
  abort(options?: { keep?: boolean }): Promise<Checkpoint | null>;
}

/** What {@link Turnmark.newSession} did. */
export interface NewSession {
  readonly session: Session;
  readonly sessionId: string;
  /** N of `Session N`. */
  readonly number: number;
  /** The boundary that was sealed; `null` when no session was active. */
  readonly sealed: { readonly sessionId: string; readonly checkpointId: string } | null;
  /** How many prompt checkpoints the retention `apploop` has deleted. */
  readonly pruned: number;
  /** The host's reference in the sealed boundary. */
  readonly commitHash: string | null;
  readonly reloadKey: number;
}

/** What {@link Turnmark.openSession} did: all that a host shows. */
export interface OpenedSession {
  readonly session: Session;
  readonly sessionId: string;
  /** The session that was active before. */
  readonly previousSessionId: string | null;
  /** Its newest checkpoint; `null` when nothing was written yet, as then `state` and `ui` are `{}`. */
  readonly checkpoint: Checkpoint | null;
  readonly state: SessionState;
  readonly ui: Record<string, unknown>;
  readonly streaming: StreamingMessage | null;
  /** The host's reference at its boundary. */
  readonly commitHash: string | null;
  readonly files: "restored" | "not-restored";
  /** As in {@link RestoredTo}; `already-open`: it was the active session, whose files are newer than its boundary. */
  readonly filesReason: "no-host" | "no-snapshot" | "host-refused" | "already-open" | null;
  readonly reloadKey: number;
}

/** One line of the session history. */
export interface HistoryEntry {
  readonly sessionId: string;
  readonly boundaryId: string | null;
  /** The title, else `Session N`, else the id. */
  readonly name: string;
  readonly title: string | null;
  readonly number: number | null;
  /** The host's reference at its boundary. */
  readonly commitHash: string | null;
  readonly sealed: boolean;
  readonly active: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly messageCount: number;
  readonly checkpointCount: number;
  readonly run: SessionSummary["run"];
  /** Whether its writer died; see {@link Session.recover}. */
  readonly interrupted: boolean;
  readonly parentSessionId: string | null;
  readonly conflictOf: string | null;
  readonly forkedFrom: { sessionId: string; checkpointId: string } | null;
}

export interface HistoryPage {
  readonly entries: HistoryEntry[];
  /** From 1. One after the last is the last. */
  readonly page: number;
  /** At least 1. */
  readonly pages: number;
  /** How many sessions there are. */
  readonly total: number;
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
  /** Values of the `ui` part. */
  readonly ui: UiChange[];
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

export interface UiChange {
  readonly key: string;
  readonly change: "added" | "removed" | "changed";
  readonly before?: unknown;
  readonly after?: unknown;
}

/** One entry of a session's operation log, newest first. */
export interface Operation {
  /** Position within the session; the `seq` of the checkpoint it wrote. */
  readonly seq: number;
  readonly type: "put" | "append" | "begin" | "rollback" | "fork" | "undo" | "redo" | "import" | "recover" | "seal" | "restore-point";
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
  /**
   * Begins a turn: the host's file snapshot, then the prompt checkpoint, and then the user's message may exist. Call it
   * on every submit, before anything is sent. While this page answers another turn of the session: `ActiveRun`. A writer who is behind, or
   * beside a run of another page, is refused with `Conflict`: the error has the `branch` that keeps the prompt, and the `turn` there, to go
   * on with or to end.
   */
  begin(options?: TurnOptions): Promise<Turn>;
  /**
   * Back to before a message: it and all after it leave the chat, with the `ui` part and the host's files as they were when it was
   * typed. Files first; when the chat's part fails they are put back. Can be undone. An id that is not
   * live is `InvalidArgument`.
   */
  restore(messageId: string, options?: RestoreOptions): Promise<RestoredTo>;
  /** The same, with the raw prompt to type anew. */
  edit(messageId: string, options?: RestoreOptions): Promise<Edited>;
  /** The versions of the turn that a user's message opened, oldest first; `[]` for a message of no turn. */
  versions(messageId: string): Promise<TurnVersion[]>;
  /**
   * Id of the checkpoint taken before a user's message: the one whose ordered user and assistant ids are exactly those before
   * it, which is where `restore(messageId)` leads. `null` without such a match. Changes nothing, also while an answer is
   * being written. A message that is not live or not the user's is `InvalidArgument`.
   */
  checkpointBefore(messageId: string): Promise<string | null>;
  /** Makes a version live again: a rollback to its checkpoint, which can be undone. */
  show(version: TurnVersion | string, options?: RollbackOptions): Promise<Restored>;
  /**
   * Makes an end of what a dead page left in this session: what had arrived becomes a message (default), or the session goes
   * back to before it. `null` when nothing is interrupted. Read the session afterwards.
   */
  recover(options?: { drop?: boolean }): Promise<{ sessionId: string; checkpointId: string; action: "finalized" | "dropped" } | null>;
  /** Asks whoever writes the session to stop, and waits up to five seconds. `true`: no run is live any more. */
  abortRun(): Promise<boolean>;
  /** Keeps the id of the agent's own session, as its `session` event tells it. */
  setRemoteSession(id: string | null): Promise<void>;
  /** That id; `null` while it is reserved only. `UnknownSession` before the first write. */
  remoteSession(): Promise<string | null>;
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
  /** What {@link CheckpointTuple.streaming} says of the newest checkpoint, read alone: it costs the same at any length of the chat. */
  streaming(): Promise<StreamingMessage | null>;
  checkpoints(options?: CheckpointListOptions): AsyncIterable<CheckpointSummary>;
  rollback(checkpointId: string, options?: RollbackOptions): Promise<Restored>;
  fork(checkpointId?: string, newSessionId?: string): Promise<Session>;
  undo(options?: RestoreOptions): Promise<Restored>;
  redo(options?: RestoreOptions): Promise<Restored>;
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

/** A session that holds less than it did. */
export interface LostSession {
  readonly sessionId: string;
  /** `seq` of the newest checkpoint that is known to have been there. */
  readonly lastSeq: number;
  /** `seq` of the newest one now; `null` when the session is not there. */
  readonly foundSeq: number | null;
}

/** A session that the mirror has, and the database not, or not as far. */
export interface RecoverableSession extends LostSession {
  /** `seq` of the newest checkpoint in the mirror: what {@link Turnmark.recover} brings back. Where it is less than `lastSeq`, what is between is gone. */
  readonly mirroredSeq: number;
  /** When that was mirrored, in epoch milliseconds. */
  readonly mirroredAt: number;
}

/** How the mirror stands. It is one for each scope, kept by one tab. */
export interface MirrorStatus {
  readonly sessions: number;
  readonly bytes: number;
  readonly budget: number;
  /** Whether something could not be mirrored for lack of room in the budget, or on the disk. */
  readonly full: boolean;
  /** What only the mirror has. It stays there until {@link Turnmark.recover} brings it back, or the session is deleted. */
  readonly recoverable: RecoverableSession[];
}

/** What {@link Turnmark.recover} did. */
export type Recovered =
  | { sessionId: string; checkpointId: string; action: "finalized" | "dropped" }
  | {
      /** The session: the same id, or a new one where there is another session of that id. */
      sessionId: string;
      /** Its newest checkpoint. */
      checkpointId: string;
      action: "restored";
      /** Its id before. */
      restoredFrom: string;
      checkpoints: number;
      messages: number;
      /** `seq` of its newest checkpoint, and of the newest that is known to have been there: what is between is gone. */
      restoredSeq: number;
      lastSeq: number;
    }
  /** The mirror's copy could not be read or written; it stays in the mirror. */
  | { sessionId: string; action: "failed"; reason: string };

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
  readonly counts: { sessions: number; checkpoints: number; messageRows: number; objects: number; pendingWrites: number; quarantined: number };
  /**
   * Sessions of the scope whose record cannot be read or is lost, as `sessions ["default", "s1"]`. `sessions()` leaves them out, as
   * the lists of checkpoints leave out what cannot be read; {@link Turnmark.verify} names every record, {@link Turnmark.repair} sets right what can be.
   */
  readonly unreadable: string[];
  /** Sessions whose newest checkpoint is provisional, or whose turn has not ended, while no open page is writing it. */
  readonly interrupted: { sessionId: string; checkpointId: string; since: number; runId: string | null }[];
  /** Turns that are being answered now. `mine`: by this page. */
  readonly runs: { sessionId: string; runId: string; turnId: string; since: number; mine: boolean }[];
  /** Whether the browser had lost data of this store when it was opened: it said so, or less is there than a witness outside of IndexedDB remembers. */
  readonly dataLost: boolean;
  /** The sessions that held more, as far as is known. */
  readonly lost: LostSession[];
  /** The second copy in files outside of IndexedDB; `null` where there is none (`mirror: false`, memory, or a page cannot keep files). */
  readonly mirror: MirrorStatus | null;
  /** Why the database is not trusted just now, or `null`. Until it is healed, stamps say `os`. */
  readonly suspect: string | null;
  /** The newest healing by this page: `at` is epoch milliseconds, `milliseconds` what it took. */
  readonly healed: { reason: string; at: number; milliseconds: number } | null;
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
  /** Records that {@link Turnmark.repair} has put aside. */
  readonly quarantined: number;
  readonly faults: Fault[];
}

/** One thing that {@link Turnmark.repair} did, or would do. */
export interface RepairAction {
  /**
   * `quarantine`: what cannot be used was moved aside as it is stored. `rebuild`: a lost record was written again from what there is.
   * `correct`: counts, ranges or the live state. `bridge`: a checkpoint whose parent is gone continues from its nearest ancestor. `reference`: one that was lost.
   */
  readonly action: "quarantine" | "rebuild" | "correct" | "bridge" | "reference";
  /** Store and key of the record. */
  readonly record: string;
  readonly message: string;
  /** Checkpoints it concerns. */
  readonly affects: string[];
}

export interface RepairReport {
  readonly dryRun: boolean;
  readonly actions: RepairAction[];
  /** What stays lost, with the checkpoints that reach it: what `verify()` finds afterwards. */
  readonly lost: Fault[];
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
  /** A rollback, restore, edit, undo or redo was committed. `reloadKey` as in {@link RestoredTo}. */
  "restored": {
    sessionId: string; checkpointId: string; targetCheckpointId: string | null; restorePointId: string; reloadKey: number; origin: "local" | "remote";
  };
  /** A turn has begun: its session is being written. */
  "run.started": { sessionId: string; runId: string; origin: "local" | "remote" };
  /** It is written no more. */
  "run.ended": { sessionId: string; runId: string; origin: "local" | "remote" };
  /** A turn has ended with this checkpoint; the session's boundary holds it. */
  "turn.ended": { sessionId: string; turnId: string; checkpointId: string; reloadKey: number; origin: "local" | "remote" };
  /** A growing message was saved; read it as `streaming` of {@link Session.get}. */
  "stream": { sessionId: string; runId: string; origin: "local" | "remote" };
  /** A growing message was not saved; told once for failures of one kind in a row, on the page that writes it. */
  "stream.failed": { sessionId: string; runId: string; error: TurnmarkError };
  /** The connection was opened, closed by the browser, or given up for an upgrade in another tab. */
  "connection": { state: "open" | "closed" | "lost"; reason: string };
  /**
   * The database may have been damaged: an I/O error, a connection that the browser closed, or (in Chromium) a page that ended
   * without closing the store, as when the browser was killed. Until `healed`, stamps say `os`.
   */
  "suspect": { reason: string };
  /** It was healed, in the background; stamps say `disk` again. `milliseconds` is what that took. */
  "healed": { reason: string; milliseconds: number };
  /**
   * The browser threw data of the store away before it was opened, or while it was open. `sessions` are those that held more, as far
   * as a witness outside of IndexedDB remembers (the newest 200 sessions, up to about a second before).
   */
  "data.lost": { message: string; sessions: LostSession[] };
  /** Sessions that are only in the mirror. Tell the user, and call {@link Turnmark.recover}. Comes a moment after the store is open. */
  "data.recoverable": { sessions: RecoverableSession[] };
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
  /**
   * Seals the active session's boundary, with the host's file snapshot, and makes a new, empty session the active one: its
   * parent is the session before, its remote id `reserved:<id>`. Refused with `ActiveRun` while the active session is being written
   * (see {@link RestoreOptions}), and with `AlreadyExists` for an id that is taken.
   */
  newSession(options?: {
    id?: string; title?: string | null; commitHash?: string | null; abortRun?: boolean; turn?: Turn;
    /** The session that is left and sealed. Default: the active one. */
    from?: string;
  }): Promise<NewSession>;
  /**
   * Makes a session the active one, with the host's files as its boundary has them; the session left behind keeps its messages
   * and a reference of its files in its own boundary. `UnknownSession` when there is none.
   */
  openSession(id: string): Promise<OpenedSession>;
  /** The active session, or `null` before the first `newSession()`. */
  activeSession(): Promise<Session | null>;
  /** A page of the sessions, those changed last first. Default: the first, of 8. */
  history(options?: { page?: number; pageSize?: number }): Promise<HistoryPage>;
  fork(sourceSessionId: string, checkpointId: string, newSessionId?: string): Promise<Session>;
  /** Undoes the session's newest operation that is not undone yet. `NothingToUndo` when there is none. */
  undo(sessionId: string, options?: RestoreOptions): Promise<Restored>;
  redo(sessionId: string, options?: RestoreOptions): Promise<Restored>;
  log(sessionId: string, options?: { limit?: number }): Promise<Operation[]>;
  preview(sessionId: string, request: PreviewRequest): Promise<Preview>;
  status(): Promise<Status>;
  /** Reads and checks every record. One bad record never hides the others. */
  verify(): Promise<VerifyReport>;
  /**
   * Moves what cannot be read into quarantine, where it is kept as it is stored, and sets the rest right: lost sessions go on from
   * their newest checkpoint, counts, references and parents are those there are. One transaction over the whole database, every scope
   * included; `dryRun` only tells what it would do. Nothing is deleted by it; deleting a session deletes what was put aside of it.
   */
  repair(options?: { dryRun?: boolean }): Promise<RepairReport>;
  /**
   * Finalizes what is interrupted (or drops it), in every session (see {@link Session.recover}), then brings back the sessions that only the
   * mirror has (`status().mirror.recoverable`), and says what it did. A session that is there is not written over. Never done silently.
   */
  recover(options?: { drop?: boolean }): Promise<Recovered[]>;
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
  /** `Conflict` of {@link Session.begin}: the turn on that branch. Go on with it, or end it: it holds its lock until then. */
  readonly turn?: Turn;
}
