// turnmark/chatgpt: reads ChatGPT's `conversations.json` and writes it into a store. Neither function touches the DOM.
import type { Message, Turnmark } from "turnmark";

/** A message of an export, as it is stored. */
export interface ParsedMessage extends Message {
  id: string;
  /** `user`, `assistant` or `tool`. */
  role: string;
  /** All its text. Empty when the message has only other parts. */
  content: string;
  /** Epoch milliseconds. A missing time is taken from the message before (and reported), or `null`. */
  createdAt: number | null;
  /** Only when the message holds more than text: every part in order. */
  parts?: ({ type: "text"; text: string } | { type: string; value: unknown })[];
  metadata: {
    importedFrom: "chatgpt";
    /** The answer was never finished (its status is not `finished_successfully`). */
    interrupted?: true;
    status?: string;
    model?: string;
    contentType?: string;
    /** Who wrote or receives it, where it is not simply the user and the assistant (tools). */
    author?: string;
    recipient?: string;
  };
}

/** A line of the conversation that is not the one ChatGPT shows. */
export interface ParsedBranch {
  /** The node it ends with. */
  leaf: string;
  /** The whole line, from the first message on. */
  messages: ParsedMessage[];
  /** How many messages it shares with the line it leaves. */
  forkIndex: number;
  /** The line it leaves: an index into `branches` (always a smaller one), or `null` for the live line. */
  parentBranch: number | null;
  /** What made it: another answer to the same question, an edited question, or a continuation of a line that was left. */
  reason: "regeneration" | "edit" | "continuation";
}

export interface ParsedConversation {
  id: string;
  title: string | null;
  /** Epoch milliseconds, or `null` when the file does not say. */
  createdAt: number | null;
  updatedAt: number | null;
  /** The live line: what ChatGPT shows. */
  messages: ParsedMessage[];
  branches: ParsedBranch[];
  /** Messages ChatGPT hides (system prompts, custom instructions); they are not imported. */
  hidden: { id: string; role: string; reason: string }[];
  /** A sentence for each kind of thing that had to be repaired or is worth knowing. */
  repairs: string[];
}

export interface ParsedExport {
  conversations: ParsedConversation[];
  /** What is not a conversation, or is beyond a limit. The rest of the file is read all the same. */
  skipped: { index: number; title: string | null; reason: string }[];
}

/** Hard limits. The first three are about the file (`BadBundle`), the others about one conversation (`skipped`). */
export const CHATGPT_LIMITS: {
  readonly characters: number;
  readonly conversations: number;
  readonly totalNodes: number;
  readonly nodes: number;
  readonly branches: number;
  /** Messages of all branches together, counted with what they share. */
  readonly lineMessages: number;
  /** Characters of one message. */
  readonly messageCharacters: number;
  /** Depth and number of the values of a part that is not text. */
  readonly depth: number;
  readonly values: number;
};

/**
 * Reads an export: the text of `conversations.json`, or what `JSON.parse` made of it.
 * Anything that is not an export at all is a `TurnmarkError` with code `BadBundle` that says what to choose instead.
 */
export function parseChatGPTExport(input: string | unknown): ParsedExport;

export interface ChatGPTProgress {
  /** Title of the conversation being written. */
  title: string | null;
  /** Conversations finished, and all of them. */
  conversation: number;
  conversations: number;
  /** Messages written or found written, and all of them (shared ones counted once). */
  messages: number;
  totalMessages: number;
}

export interface ChatGPTImportOptions {
  /** Called after every batch of messages. */
  onProgress?: (progress: ChatGPTProgress) => void;
  /** Stops between two batches with code `Aborted`. What is written stays; importing again goes on from there. */
  signal?: AbortSignal;
}

export interface ChatGPTImportedLine {
  sessionId: string;
  /** `imported`, `continued` (part of it was there), or `existing` (nothing was written). */
  action: "imported" | "continued" | "existing";
  title: string;
  /** Messages and checkpoints this import wrote. */
  messages: number;
  checkpoints: number;
}

export interface ChatGPTImportReport {
  sessions: (ChatGPTImportedLine & { conversationId: string; branches: ChatGPTImportedLine[]; hidden: number; repairs: string[] })[];
  /** Conversations not imported, from reading the file and from writing, with the reason. */
  skipped: { title: string | null; reason: string }[];
}

/**
 * Writes a parsed export: one session for each conversation, with one checkpoint for each turn, and one forked session
 * for each branch. Session ids are derived from the conversation's id, so a second import finds the first.
 */
export function importChatGPT(store: Turnmark, parsed: ParsedExport, options?: ChatGPTImportOptions): Promise<ChatGPTImportReport>;
