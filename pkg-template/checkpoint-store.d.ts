// turnmark/checkpoint-store: the checkpoint store of a chat builder, by the names of seed 000, on Turnmark.
import type { OpenOptions, Turnmark } from "turnmark";

/** One message of a snapshot; `content` is its text parts, joined. */
export type MessageSnapshot = {
  id: string;
  role: "user" | "assistant";
  content: string;
};

/** What the user picked in the preview. Kept as it is, never looked into. */
export type VisualSelection = object;

/** A picture beside the prompt. Its `dataUrl` is stored as bytes, once, however many checkpoints show it. */
export type ScreenshotAttachment = {
  id: string;
  dataUrl: string;
  serverPath: string;
  source: "inspector" | "clipboard";
  selector?: string;
  filename?: string;
};

/** Frozen, with everything in it. */
export type ChatCheckpoint = {
  id: string;
  name: string;
  /** Epoch milliseconds. */
  createdAt: number;
  targets: VisualSelection[];
  screenshots: ScreenshotAttachment[];
  messageIds: string[];
  commitHash: string | null;
  isSessionBoundary: boolean;
  messages: MessageSnapshot[];
};

export interface CheckpointStoreOptions {
  /** Database name. Default `"turnmark"`. */
  name?: string;
  /** The project to begin with. Default `"default"`. */
  projectId?: string;
  /**
   * Hears of every failure that no caller waits for: loading (also told by `ready` and `error`), following other tabs, tidying
   * up. Default: reported as the platform reports any uncaught error.
   */
  onError?: (error: Error) => void;
  /** How to open a store: that of `turnmark/inline`, or one that adds options. Default: `open` of `turnmark`. */
  open?: (options: OpenOptions) => Promise<Turnmark>;
}

/** What a component renders. Another object only when something in it changed. */
export interface CheckpointStoreSnapshot {
  readonly projectId: string;
  /** In the order they were saved or set. */
  readonly checkpoints: readonly ChatCheckpoint[];
  readonly targets: readonly VisualSelection[];
  readonly screenshots: readonly ScreenshotAttachment[];
  readonly loaded: boolean;
  /** Why the checkpoints could not be loaded; any call tries again. */
  readonly error: Error | null;
}

/**
 * Chat checkpoints of one project at a time. Methods may be called unbound. Nothing is touched before the first call,
 * subscription or look at `ready`, so that a server may create one.
 *
 * Every write is one transaction, resolves when it is durable, and waits until what is stored has been loaded. Its arguments are
 * taken as they are at the call. It belongs to the project that is open at the call, even when another one is
 * switched to before it is done. The list follows other tabs, and two tabs that write at once both succeed.
 */
export interface CheckpointStore extends CheckpointStoreSnapshot {
  /** Resolves when the project's checkpoints are loaded. After a failure, reading it again tries again. */
  readonly ready: Promise<void>;
  /** Saves a new checkpoint with the present `targets` and `screenshots`. Its id is `cp-<ms>-<n>`, distinct across tabs. */
  saveCheckpoint(
    name: string,
    messageIds: string[],
    commitHash?: string | null,
    isSessionBoundary?: boolean,
    messages?: MessageSnapshot[],
  ): Promise<ChatCheckpoint>;
  /** The checkpoint, after its targets and screenshots have become the present ones. `NotLoaded` before `loaded`. */
  loadCheckpoint(id: string): ChatCheckpoint | undefined;
  /** Removes it for good. One that is not there is no error. */
  removeCheckpoint(id: string): Promise<void>;
  /**
   * Replaces the whole list, also in the storage: what is not in it is deleted, whoever saved it. Ids of any form are
   * accepted, and `createdAt` is made a number. To show another project, call {@link switchProject} instead.
   */
  setCheckpoints(checkpoints: readonly ChatCheckpoint[]): Promise<void>;
  /**
   * Sets the messages of a checkpoint, and its `messageIds` to theirs. Any checkpoint can be overwritten so, a finished session's
   * too, as in the seed: the caller has to know which one is current. The sessions of `turnmark` know it themselves,
   * and seal a session's boundary when the next one begins. `UnknownCheckpoint` when it was removed.
   */
  updateCheckpointMessages(id: string, messages: readonly MessageSnapshot[]): Promise<ChatCheckpoint>;
  /** What the next checkpoint will hold. */
  setTargets(targets: readonly VisualSelection[]): void;
  /** What the next checkpoint will hold: at most 5, else `TooLarge`. */
  setScreenshots(screenshots: readonly ScreenshotAttachment[]): void;
  /** Clears the list, targets and screenshots at once, then loads the other project's list. Earlier calls end in the project they began in. */
  switchProject(projectId: string): Promise<void>;
  /** Deletes every checkpoint of a project. */
  deleteProject(projectId: string): Promise<void>;
  /** Calls `listener` after every change, until the returned function is called. With {@link getSnapshot} for `useSyncExternalStore`. */
  subscribe(listener: () => void): () => void;
  getSnapshot(): CheckpointStoreSnapshot;
  /** Closes the store when everything that was asked for is done. */
  close(): Promise<void>;
  /** For `await using`, where the platform has it: closes. */
  [Symbol.asyncDispose](): Promise<void>;
  /** For `using`: closes, and nobody waits for it. */
  [Symbol.dispose](): void;
}

export function createCheckpointStore(options?: CheckpointStoreOptions): CheckpointStore;
