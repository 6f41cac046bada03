// A turn of this page, as the chat that it belongs to sees it: what was given to it is shown before it is read back.

/** Whether two lists have the very same entries. */
const isSame = (a, b) => a.length === b.length && a.every((item, index) => item === b[index]);

/** `next`, or `before` when nothing in it is another. */
export const sameList = (before, next) => (isSame(before, next) ? before : next);

/** A list with messages set in it: those that it has by their id in place, the others at its end. */
export function withMessages(list, messages) {
  const next = [...list];
  for (const message of messages) {
    const at = next.findLastIndex(({ id }) => id === message.id);
    if (at < 0) next.push(message);
    else next[at] = message;
  }
  return next;
}

/**
 * Passes every call on to a turn, and tells of it.
 *
 * @typedef {{ changed(): void, succeeded(): void, failed(error: Error): void, ended(): void }} Chat
 */
export class ShownTurn {
  /** What an application is given: the turn itself, but for those methods that are listened to. */
  handle;
  #turn;
  #chat;
  /** The newest object that was given for each message id, and which ids were streamed. */
  #given = new Map();
  #streamed = new Set();
  /** The object that was streamed last: an application may let the same one grow. */
  #last = null;
  #ending = false;

  /** @param {Chat} chat */
  constructor(turn, chat) {
    this.#turn = turn;
    this.#chat = chat;
    const own = {
      stream: (message) => this.#stream(message),
      append: (messages, options) => this.#call(() => turn.append(messages, options), messages),
      touch: (options) => this.#call(() => turn.touch(options)),
      flush: () => this.#call(() => turn.flush()),
      end: (messages, options) => this.#end(() => turn.end(messages, options), messages),
      abort: (options) => this.#end(() => turn.abort(options)),
    };
    const get = (_, key) => {
      if (Object.hasOwn(own, key)) return own[key];
      const value = Reflect.get(turn, key);
      return typeof value === "function" ? value.bind(turn) : value;
    };
    // Not over the turn itself: it is frozen, and what is frozen cannot be shown as another.
    this.handle = new Proxy(Object.create(Object.getPrototypeOf(turn)), { get });
  }

  get runId() { return this.#turn.runId; }
  get ended() { return this.#turn.ended; }
  /** Id of the message that grows. */
  get growingId() { return this.#last?.id ?? null; }

  /** The streamed messages, in their order. */
  get streamed() {
    return [...this.#streamed].map((id) => this.#given.get(id));
  }

  /** What was given for an id; `undefined` when nothing was. */
  given(id) {
    return this.#given.get(id);
  }

  /** Whether a checkpoint is a step of this turn. */
  wrote({ turn }) {
    return turn !== null && turn?.id === this.#turn.id && turn.version === this.#turn.version;
  }

  #stream(message) {
    this.#turn.stream(message);
    if (this.ended || this.#ending) return;
    // What has the same identity is not rendered again.
    this.#given.set(message.id, message === this.#last ? { ...message } : message);
    this.#last = message;
    this.#streamed.add(message.id);
    this.#chat.changed();
  }

  async #call(call, messages = []) {
    const result = call();
    const undo = this.#give(messages);
    try {
      const answer = await result;
      this.#chat.succeeded();
      return answer;
    } catch (error) {
      undo();
      this.#chat.failed(error);
      throw error;
    }
  }

  async #end(call, messages) {
    this.#ending = true;
    try {
      const answer = await this.#call(call, messages);
      this.#chat.ended();
      return answer;
    } finally {
      this.#ending = false;
    }
  }

  /** Notes messages that are about to be stored. Returns what takes them back, where nothing newer has come. */
  #give(messages) {
    const known = Array.isArray(messages) ? messages.filter((message) => typeof message?.id === "string") : [];
    const before = known.map(({ id }) => this.#given.get(id));
    for (const message of known) this.#given.set(message.id, message);
    return () =>
      known.forEach((message, index) => {
        const { id } = message;
        if (this.#given.get(id) !== message) return;
        if (before[index] === undefined) this.#given.delete(id);
        else this.#given.set(id, before[index]);
      });
  }
}
