import { fromRaw } from "./errors.js";
import { decodeMetadata } from "./metadata.js";

/**
 * Ids of the messages of a state, as what an operation added to what was there before. A turn costs its own messages;
 * the whole list is put together only when somebody asks for it.
 */
export class MessageIds {
  /** Messages in the state, those without an id included: tells whether this list fits a stored checkpoint. */
  count;
  #before;
  #added;
  /** Ids in the list, those that are `null` included. */
  #length;
  /** Where each id is first, shared by all states of one line: `{ places, length }`. */
  #index = null;

  /**
   * @param {(string | null)[]} added
   * @param {MessageIds | null} before
   */
  constructor(added, before = null) {
    this.#before = before;
    this.#added = added;
    this.#length = added.length + (before?.#length ?? 0);
    this.count = added.length + (before?.count ?? 0);
  }

  /** Of decoded messages. */
  static of(messages = []) {
    return new MessageIds(messages.map((message) => (typeof message?.id === "string" ? message.id : null)));
  }

  /** Of a state whose ids were read without its messages, or could not be read: then `ids` is the error. */
  static stored(ids, count) {
    const stored = new MessageIds(ids);
    stored.count = count;
    return stored;
  }

  list() {
    const parts = [];
    for (let node = this; node; node = node.#before) {
      if (node.#added instanceof Error) throw node.#added;
      parts.push(node.#added);
    }
    return parts.reverse().flat().filter((id) => id !== null);
  }

  /** Whether a message has this id. To ask again after a turn costs that turn's messages. */
  has(id) {
    const at = this.#indexed().places.get(id);
    return at !== undefined && at < this.#length;
  }

  #indexed() {
    const unknown = [];
    let node = this;
    for (; node && !node.#index; node = node.#before) {
      if (node.#added instanceof Error) throw node.#added;
      unknown.push(node);
    }
    let index = node?.#index ?? { places: new Map(), length: 0 };
    // Another line has gone on from there.
    if (node && index.length > node.#length) index = { places: new Map([...index.places].filter(([, at]) => at < node.#length)), length: node.#length };
    for (const part of unknown.reverse()) {
      for (const id of part.#added) {
        if (id !== null && !index.places.has(id)) index.places.set(id, index.length);
        index.length += 1;
      }
      part.#index = index;
    }
    return index;
  }
}

/**
 * The public, immutable view of a checkpoint.
 *
 * @param {object} raw as the engine tells it
 * @param {MessageIds | null} messageIds `null` leaves them out
 */
export function toCheckpoint(raw, messageIds) {
  let list;
  const checkpoint = { ...raw, metadata: decodeMetadata(raw.metadata) };
  if (messageIds) Object.defineProperty(checkpoint, "messageIds", { enumerable: true, get: () => (list ??= messageIds.list()) });
  return Object.freeze(checkpoint);
}

/** One line of a listing. */
export const toSummary = (raw) => Object.freeze({ ...raw, metadata: decodeMetadata(raw.metadata) });

/**
 * The message ids of a stored checkpoint: a list that fits, else what the engine says. Never rejects, because it is asked
 * after a commit: ids that cannot be read (another tab has pruned the checkpoint meanwhile) are an error when looked at.
 *
 * @param {MessageIds} [expected]
 * @returns {MessageIds | Promise<MessageIds>} at once where nothing has to be read
 */
export function messageIdsOf(engine, raw, expected) {
  const count = raw.messageCount;
  if (expected?.count === count) return expected;
  if (count === 0) return new MessageIds([]);
  return engine.messageIds(raw.sessionId, raw.id).then(
    (ids) => MessageIds.stored(ids, count),
    (error) => MessageIds.stored(fromRaw(error), count),
  );
}
