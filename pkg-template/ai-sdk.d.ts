// turnmark/ai-sdk: one hook beside the AI SDK's `useChat`, which makes its history durable.
import type { UseChatHelpers } from "@ai-sdk/react";
import type { ChatRequestOptions, FileUIPart, UIMessage } from "ai";
import type { Checkpoint, NewSession, Restored, RestoredTo, RestoreOptions, Session, StreamingMessage, Turnmark, TurnmarkError, TurnVersion } from "./index.js";

/** What belongs to a prompt beside the message that is sent. */
export interface DurablePrompt<M extends UIMessage = UIMessage> {
  /** What the user typed, where that is not the text of the message: given back by `edit()`. */
  raw?: string | ((message: SentMessage<M>) => string | undefined);
  /** The whole `ui` part at this instant (targets, screenshots, ...); it comes back with `restore()` and `edit()`. */
  ui?: Record<string, unknown> | ((message: SentMessage<M>) => Record<string, unknown> | undefined);
}

export interface DurableChatOptions<M extends UIMessage = UIMessage> extends DurablePrompt<M> {
  /** The session that holds this chat; the first write creates it. Another one may be given at any time, in mid-stream too. */
  sessionId: string;
  /** An open store; by default that of the `TurnmarkProvider` above. */
  store?: Turnmark;
  /** The `Chat` given to `useChat({ chat })`, where one is: it goes on when its component is gone, and so does what is written of it. */
  instance?: object;
  /** Hears of every failure, once. Default: the provider's `onError`. */
  onError?: (error: TurnmarkError) => void;
  /**
   * Another writer was first: this chat goes on in a branch, which holds all that was refused. `sessionId` says so at once; this is called
   * when the answer is over and stored, so that opening the branch here cuts nothing off.
   */
  onConflict?: (conflict: { branch: { sessionId: string; checkpointId: string }; error: TurnmarkError }) => void;
}

/** What `sendMessage` of the AI SDK takes. */
export type SentMessage<M extends UIMessage = UIMessage> =
  | (Omit<M, "id" | "role"> & { id?: string; role?: M["role"]; messageId?: string })
  | { text: string; files?: FileList | FileUIPart[]; metadata?: M["metadata"]; messageId?: string }
  | { files: FileList | FileUIPart[]; metadata?: M["metadata"]; messageId?: string };

export interface DurableChat<M extends UIMessage = UIMessage> {
  /** Whether the session has been read. Operations wait for it; nothing is written before. */
  readonly ready: boolean;
  /** The session that is written to: the one asked for, or the branch this chat went on in. */
  readonly sessionId: string;
  /** The messages to show: what `useChat` holds, once the session is in it. */
  readonly messages: M[];
  /** An answer whose page died while it was written. It is the last of `messages`, as far as it was saved, and never finished by itself. */
  readonly interrupted: StreamingMessage | null;
  readonly error: TurnmarkError | null;
  /** Whether something is being written. */
  readonly saving: boolean;
  readonly lastCheckpoint: Checkpoint | null;
  /** Takes the prompt checkpoint, then sends. With `messageId` the message of that id is sent in other words. */
  sendMessage(message?: SentMessage<M>, options?: ChatRequestOptions, prompt?: DurablePrompt<M>): Promise<void>;
  /** Answers once more; the old answer stays one of `versions()`. */
  regenerate(options?: { messageId?: string } & ChatRequestOptions): Promise<void>;
  /** Stops the answer that is being written, and stores what had arrived. */
  stop(): Promise<void>;
  /** `resumeStream` of the chat; the message that is gone on with stays one message. */
  resume(options?: ChatRequestOptions): Promise<void>;
  /** Goes back to before a message of the user's. An answer that is being written is stopped and stored first. */
  restore(messageId: string, options?: RestoreOptions): Promise<RestoredTo>;
  /** The same, with what the user had typed, for the input. */
  edit(messageId: string, options?: RestoreOptions): Promise<RestoredTo & { readonly rawPrompt: string | null }>;
  undo(options?: RestoreOptions): Promise<Restored>;
  redo(options?: RestoreOptions): Promise<Restored>;
  /** The answers that were given to a user's message, oldest first ("2 / 3"). */
  versions(messageId: string): Promise<TurnVersion[]>;
  /** Shows one of them, with all that followed it. */
  show(version: TurnVersion | string, options?: RestoreOptions): Promise<Restored>;
  /** Makes an interrupted answer a message, or drops it. */
  recover(options?: { drop?: boolean }): ReturnType<Session["recover"]>;
  /** Seals this session and goes on in a new one. */
  newSession(options?: Parameters<Turnmark["newSession"]>[0]): Promise<NewSession>;
  /** {@link safeToSend} of the messages. */
  safeMessages(): M[];
}

/**
 * Makes the history of a chat durable. `chat` is what `useChat` returned in the same component. Loads the session into it, writes down every
 * prompt before it is sent and every answer as it grows, and offers what only a history can do.
 *
 * @throws {TurnmarkError} `InvalidArgument` outside of a provider and without a `store`
 */
export function useDurableChat<M extends UIMessage = UIMessage>(chat: UseChatHelpers<M>, options: DurableChatOptions<M>): DurableChat<M>;

/**
 * The messages as a model accepts them: a tool call that was cut off is completed with an error, or left out when not even its input is
 * whole. Changes nothing of what is stored; what needs no change is the same object, the list included.
 */
export function safeToSend<M extends UIMessage>(messages: M[]): M[];
