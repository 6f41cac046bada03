/** A message that grows: what is new in its text, and when that is saved. */
import { TurnmarkError, fromRaw } from "./errors.js";
import { encodeMessages, toEntries } from "./state.js";

/** UTF-16 units that are compared at once. */
const BLOCK = 4096;
/** The stored additions may be so much longer than the text before it is stored anew: they are read one by one. */
const SLACK = 64 * 1024;

const isHighSurrogate = (unit) => unit >= 0xd800 && unit <= 0xdbff;
const isLowSurrogate = (unit) => unit >= 0xdc00 && unit <= 0xdfff;

/**
 * How one text becomes another: `after` is the first `head` units of `before`, `text`, and the last `tail` units of `before`. No
 * part begins or ends within a surrogate pair. The rest of a text is compared block by block, never unit by unit.
 *
 * @param {string} before well-formed, as every encoded text is
 * @param {string} after
 */
export function delta(before, after) {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head + BLOCK <= most && before.slice(head, head + BLOCK) === after.slice(head, head + BLOCK)) head += BLOCK;
  while (head < most && before.charCodeAt(head) === after.charCodeAt(head)) head += 1;
  if (isHighSurrogate(after.charCodeAt(head - 1))) head -= 1;

  const ends = (text, from, to) => text.slice(text.length - to, text.length - from);
  const left = most - head;
  let tail = 0;
  while (tail + BLOCK <= left && ends(before, tail, tail + BLOCK) === ends(after, tail, tail + BLOCK)) tail += BLOCK;
  while (tail < left && before.charCodeAt(before.length - 1 - tail) === after.charCodeAt(after.length - 1 - tail)) tail += 1;
  if (tail > 0 && isLowSurrogate(after.charCodeAt(after.length - tail))) tail -= 1;
  return { head, tail, text: after.slice(head, after.length - tail) };
}

/**
 * Saves a growing message: at most one save at a time, and one an interval. The message is encoded when it is saved, so that a token
 * costs nothing.
 */
export class StreamWriter {
  #interval;
  #run;
  #failed;
  #message = null;
  /** Counts the calls of {@link push}; the others say up to which of them the message is stored, and in the message list. */
  #version = 0;
  #stored = 0;
  #listed = 0;
  /** The text that the next addition is added to, `null` to start anew. */
  #before = null;
  /** The engine's number of that addition, and the length of all before it. */
  #next = 0;
  #length = 0;
  #saving = null;
  #startedAt = -Infinity;
  #timer;
  #stopped = false;
  #error = null;

  /**
   * @param {number} interval in milliseconds
   * @param {(save: (write: (row: object) => Promise<number>) => Promise<void>) => Promise<void>} run runs a save in its turn
   * @param {(error: TurnmarkError) => void} failed hears of the first of equal failures in a row
   */
  constructor(interval, run, failed) {
    this.#interval = interval;
    this.#run = run;
    this.#failed = failed;
  }

  get message() {
    return this.#message;
  }

  /** Whether the newest text is in no message list yet. */
  get isUnlisted() {
    return this.#message !== null && this.#listed < this.#version;
  }

  push(message) {
    this.#message = message;
    this.#version += 1;
    this.#schedule();
  }

  /** What {@link listed} is told with. */
  get version() {
    return this.#version;
  }

  /** The message as it is now, for the message list; `null` where that has it. */
  encoded() {
    return this.isUnlisted ? encodeMessages([this.#message]) : null;
  }

  /** The message list holds the message as it was in that version. What grows on is stored anew. */
  listed(version) {
    this.#listed = Math.max(this.#listed, version);
    // With that the additions are gone, those of later versions as well.
    this.#stored = this.#listed;
    this.#before = null;
    this.#error = null;
    this.#schedule();
  }

  /** Another message comes. */
  reset() {
    this.#message = null;
    this.#before = null;
    this.#listed = this.#stored = this.#version;
  }

  /** Saves nothing any more, until {@link resume}. With a reason that is for ever, and what flush() rejects with. */
  stop(reason = null) {
    this.#stopped = true;
    this.#error ??= reason;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  resume() {
    this.#stopped = false;
    this.#schedule();
  }

  /** Resolves when the newest message is stored; rejects when the attempt has failed. */
  async flush() {
    const wanted = this.#version;
    // One that is under way may have begun before.
    await this.#saving;
    if (this.#stored < wanted && !this.#stopped) await (this.#saving ?? this.#save());
    if (this.#stored < wanted && this.#error) throw this.#error;
  }

  /** Tells of a failure, once. */
  fail(error) {
    const isNews = this.#error?.code !== error.code;
    this.#error = error;
    if (isNews) this.#failed(error);
  }

  #schedule() {
    if (this.#stopped || this.#saving || this.#timer !== undefined || this.#stored >= this.#version) return;
    const wait = this.#startedAt + this.#interval - performance.now();
    if (wait <= 0) this.#save();
    else this.#timer = setTimeout(() => this.#save(), wait);
  }

  #save() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#startedAt = performance.now();
    let tried = this.#version;
    const attempt = async (write) => {
      tried = this.#version;
      await this.#write(write);
    };
    this.#saving = this.#run(attempt).then(
      () => {
        this.#error = null;
      },
      (error) => {
        // What of it has arrived is not known.
        this.#before = null;
        this.fail(fromRaw(error));
      },
    ).then(() => {
      this.#saving = null;
      // A failed save is tried again when there is something newer to save.
      if (this.#version > tried) this.#schedule();
    });
    return this.#saving;
  }

  async #write(write) {
    const version = this.#version;
    if (this.#stopped || this.#stored >= version) return;
    const [{ id, role, text, binaries }] = toEntries(encodeMessages([this.#message]));
    if (binaries) {
      throw new TurnmarkError("NotStorable", "the message holds binary data, which is not saved while it grows; append() and end() save it");
    }
    const fresh = this.#before === null || this.#length > 4 * text.length + SLACK;
    const added = fresh ? { head: 0, tail: 0, text } : delta(this.#before, text);
    this.#next = await write({ n: fresh ? 0 : this.#next, id, role, ...added });
    this.#length = (fresh ? 0 : this.#length) + added.text.length;
    this.#before = text;
    this.#stored = Math.max(this.#stored, version);
  }
}
