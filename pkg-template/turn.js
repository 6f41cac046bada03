/** One user message and all that follows from it, as its writer sees it. */
import { checkBoolean, checkId, checkObject, checkOptions, checkString, guarded, ifGiven } from "./check.js";
import { MessageIds } from "./checkpoint.js";
import { TurnmarkError, fromRaw, invalid } from "./errors.js";
import { checkReference, snapshot } from "./files.js";
import { freshId } from "./ids.js";
import { encodeMetadata } from "./metadata.js";
import { encodeChannels, encodeMessages, encodePrompt, encodeUi, fromEntries, toEntries } from "./state.js";
import { StreamWriter } from "./streaming.js";

/** Begins a turn: the host's files first, then the prompt checkpoint, and only then is there a turn to write messages with. */
export async function beginTurn(store, session, options) {
  const { raw, composed, ui: given, commitHash, runId, name, metadata, regenerate } = checkOptions(options);
  if (raw !== undefined && typeof raw !== "string") throw invalid("raw must be a string");
  if (composed !== undefined && (typeof composed !== "string" || raw === undefined)) throw invalid("composed must be a string, and given with raw");
  const own = ifGiven(commitHash, checkReference, "commitHash");
  const request = {
    runId: ifGiven(runId, checkId, "run id") ?? freshId(),
    regenerate: ifGiven(regenerate, checkId, "message id in `regenerate`") ?? null,
    prompt: encodePrompt(raw === undefined ? null : { raw, composed: composed ?? null }),
  };
  const ui = ifGiven(given, encodeUi);
  const about = encodeMetadata(metadata, "message");
  about.name = ifGiven(name, checkString, "name") ?? about.name ?? null;
  return store.onSessions([session], async (engine, hub) => {
    await ui?.ready();
    if (ui) about.ui = ui.raw();
    about.commitHash = own === undefined ? await snapshot(store.files) : own;
    const ids = store.idsOf(session);
    let begun;
    let conflict = null;
    try {
      begun = await hub.expecting(session, ids, () => engine.begin(session, request, about, store.epochOf(session)));
    } catch (error) {
      if (!error?.begun) throw error;
      begun = error.begun;
      conflict = fromRaw(error);
    }
    const turn = new Turn(store, hub, begun, request.regenerate);
    turn.start(await store.saw(engine, begun, conflict ? null : ids));
    if (conflict) throw Object.assign(conflict, { turn });
    return turn;
  });
}

/** Whether two entries would be stored as the same message. */
function isEqual(a, b) {
  if (a === b) return true;
  if (a.text !== b.text || a.id !== b.id || a.role !== b.role || a.binaries?.length !== b.binaries?.length) return false;
  return (a.binaries ?? []).every((bytes, i) => bytes.length === b.binaries[i].length && bytes.every((byte, at) => byte === b.binaries[i][at]));
}

const METHODS = ["append", "stream", "flush", "touch", "end", "abort"];

/** @implements {import("./index.js").Turn} */
export class Turn {
  #store;
  #hub;
  #begun;
  #checkpoint;
  /** What this turn has last seen of its session. The owner's own view moves with all that it reads; a turn's must not. */
  #epoch;
  /** Ids of the messages before this turn, and their number. */
  #before;
  #base;
  /**
   * What this turn has stored, in order. When it answers a message once more that message comes first, with no text known.
   *
   * @type {import("./state.js").Entry[]}
   */
  #written;
  /** How many of them are among the ids in `#before`. */
  #given;
  /** Messages that grew to their end but are not stored yet, each encoded. */
  #owed = [];
  #storing = null;
  #ending = null;
  #ended = false;
  #lost = false;
  #leaving = false;
  #streaming;
  #abort = new AbortController();
  #unwatch;

  /** @param {object} begun what the engine told when it began */
  constructor(store, hub, begun, regenerated) {
    this.#store = store;
    this.#hub = hub;
    this.#begun = begun;
    this.#epoch = begun.epoch;
    this.#written = regenerated === null ? [] : [{ id: regenerated, role: null, text: null, binaries: undefined }];
    this.#given = this.#written.length;
    this.#base = begun.messageCount - this.#given;
    this.#streaming = new StreamWriter(store.streamInterval, (save) => this.#saveStream(save), (error) => this.#tell(error));
    this.#unwatch = hub.watch((event) => this.#hear(event));
    for (const method of METHODS) this[method] = guarded(this[method].bind(this));
  }

  /** Its prompt checkpoint has become known. */
  start(checkpoint) {
    this.#checkpoint = checkpoint;
    // Not null: to have the checkpoint is to have them.
    this.#before = this.#store.idsOf(this.sessionId);
    this.#store.turns.add(this);
    Object.freeze(this);
  }

  get id() { return this.#begun.turn.id; }
  get seq() { return this.#begun.turn.seq; }
  get version() { return this.#begun.turn.version; }
  get runId() { return this.#begun.runId; }
  get sessionId() { return this.#begun.checkpoint.sessionId; }
  get checkpoint() { return this.#checkpoint; }
  get signal() { return this.#abort.signal; }
  get ended() { return this.#ended || this.#lost; }

  async append(messages, options) {
    const { channels = {}, metadata } = checkOptions(options);
    return this.#write({ given: messages, channels, about: encodeMetadata(metadata, "message") });
  }

  stream(message) {
    const { id } = checkObject(message, "message");
    if (id === undefined) throw invalid("a message that is streamed needs an id: by it the next call is known to be of the same message");
    checkId(id, "id of the message");
    // A token that comes after the end is nothing to keep: the end had the whole message.
    if (this.ended || this.#ending) return;
    if (this.#streaming.message && this.#streaming.message.id !== id) this.#finish();
    this.#streaming.push(message);
  }

  async flush() {
    await this.#ending?.catch(() => {});
    await this.#storing;
    if (this.#owed.length > 0) await this.#step();
    await this.#streaming.flush();
  }

  async touch(options) {
    const { name, metadata, commitHash } = checkOptions(options);
    const own = ifGiven(commitHash, checkReference, "commitHash");
    const about = { ...encodeMetadata(metadata, "tool_execution"), kind: "mutation-before" };
    const called = ifGiven(name, checkString, "name");
    if (called !== undefined) about.name = called;
    return this.#write({ about, commitHash: async () => (own === undefined ? snapshot(this.#store.files) : own) });
  }

  async end(messages = [], options) {
    const { metadata, usage, channels = {} } = checkOptions(options);
    const about = encodeMetadata(metadata, "message");
    if (usage !== undefined) about.usage = encodeMetadata({ usage }, "message").usage;
    return this.#end({ given: messages, channels, about });
  }

  async abort(options) {
    const keep = ifGiven(checkOptions(options).keep, checkBoolean, "keep") ?? true;
    await this.#ending?.catch(() => {});
    if (!keep) this.#streaming.reset();
    if (this.#lost && !this.#isBehind) this.#over();
    if (this.#ended) return null;
    return this.#end({ about: encodeMetadata({ aborted: true }, "message") });
  }

  /** Stores what is not in the message list yet, and does nothing where everything is. */
  async settle() {
    await this.#storing;
    if (this.#isBehind) await this.#step();
  }

  /** It was taken away by its own owner: there is nothing to go on with. */
  release() {
    this.#over(new TurnmarkError("Aborted", "the turn was ended by a restore that its owner asked for"));
  }

  /** The store is being closed: what was streamed is stored first. The run itself has not ended: it is interrupted. Never rejects. */
  async leave() {
    this.#leaving = true;
    // A failure was told as any failure to save.
    await this.flush().catch(() => {});
    this.#over(new TurnmarkError("Closed", "the store was closed while this turn was being written; what was streamed is kept for recover()"));
  }

  get #isBehind() {
    return this.#owed.length > 0 || this.#streaming.isUnlisted;
  }

  #end(request) {
    this.#check();
    this.#streaming.stop();
    // Before the first await: nothing may slip in between.
    this.#ending = this.#write({ ...request, ends: true }).then(
      (checkpoint) => {
        this.#over();
        return checkpoint;
      },
      (error) => {
        this.#ending = null;
        if (!this.ended) this.#streaming.resume();
        throw error;
      },
    );
    return this.#ending;
  }

  #check() {
    if (this.#ended) throw new TurnmarkError("Closed", "this turn has ended; begin another one");
    if (this.#ending) throw new TurnmarkError("Closed", "this turn is being ended already");
  }

  /** A message has grown to its end, because another one begins. */
  #finish() {
    try {
      const encoded = this.#streaming.encoded();
      this.#streaming.reset();
      if (!encoded) return;
      this.#owed.push(encoded);
      const stored = this.#step().then(() => {}, (error) => this.#streaming.fail(error)).then(() => {
        if (this.#storing === stored) this.#storing = null;
      });
      this.#storing = stored;
    } catch (error) {
      this.#streaming.reset();
      this.#streaming.fail(fromRaw(error));
    }
  }

  #step() {
    return this.#write({ about: encodeMetadata(undefined, "message") });
  }

  /**
   * Every write of a turn: what is owed, the growing message as it is now, and what is given, of which only what is new is
   * sent. So each of its checkpoints holds all that there was to see.
   */
  async #write({ given: messages = [], channels = {}, about, ends = false, commitHash }) {
    this.#check();
    const given = encodeMessages(messages);
    const set = encodeChannels(channels, "channels");
    const { message: growing, version } = this.#streaming;
    // What is given of the growing message is newer than what was streamed.
    const streamed = growing && !given.ids.includes(growing.id) ? this.#streaming.encoded() : null;
    return this.#store.onSessions([this.sessionId], async (engine, hub) => {
      const owed = [...this.#owed];
      const packs = [...owed, ...(streamed ? [streamed] : []), given];
      for (const pack of packs) await pack.ready();
      await set.ready();
      const { next, from } = this.#merge(packs.flatMap(toEntries));
      const step = { ...about, runId: this.runId };
      if (ends) step.end = true;
      if (from < this.#written.length) step.keep = this.#base + from;
      if (commitHash) step.commitHash = await commitHash();
      const ids = new MessageIds(next.slice(this.#given).map(({ id }) => id), this.#before);
      let written;
      try {
        written = await hub.expecting(this.sessionId, ids, () =>
          engine.append(this.sessionId, fromEntries(next.slice(from)), set.raw(), [], step, this.#epoch));
      } catch (error) {
        const known = fromRaw(error);
        if (known.code === "Conflict") this.#over(known);
        throw known;
      }
      this.#epoch = written.epoch;
      this.#written = next;
      this.#owed = this.#owed.filter((pack) => !owed.includes(pack));
      this.#streaming.listed(version);
      return this.#store.saw(engine, written, ids);
    }, this.#leaving);
  }

  /** The list with some entries set: those that it has by their id in place, the others at its end. */
  #merge(entries) {
    const next = [...this.#written];
    for (const entry of entries) {
      const at = entry.id === null ? -1 : next.findIndex(({ id }) => id === entry.id);
      if (at < 0) next.push(entry);
      else next[at] = entry;
    }
    this.#refuseEarlier(next);
    let from = 0;
    while (from < this.#written.length && isEqual(next[from], this.#written[from])) from += 1;
    return { next, from };
  }

  /** A message of an earlier turn would be in the list twice. */
  #refuseEarlier(next) {
    const added = next.slice(this.#written.length).filter(({ id }) => id !== null);
    if (added.length === 0) return;
    let again;
    try {
      again = added.find(({ id }) => this.#before.has(id));
    } catch {
      // Ids that cannot be read forbid nothing.
      return;
    }
    if (again) throw invalid(`message ${JSON.stringify(again.id)} was there before this turn; give a turn its own messages only`);
  }

  #saveStream(save) {
    const write = (engine) => save((row) => engine.stream(this.sessionId, this.runId, row));
    return this.#store.onSessions([this.sessionId], write, this.#leaving);
  }

  #tell(error) {
    this.#hub.tell("stream.failed", { sessionId: this.sessionId, runId: this.runId, error });
  }

  /** What the engine tells of this turn's session, while it is open. */
  #hear({ type, sessionId, runId }) {
    if (sessionId !== this.sessionId) return;
    if (type === "run.abort") this.#abort.abort(new TurnmarkError("Aborted", "somebody asked to stop this run; end it with end() or abort()"));
    const isTaken = type === "restored" || type === "session.deleted" || (type === "run.ended" && runId === this.runId);
    if (!isTaken || this.#ending) return;
    // What its writer still has goes where no other can overwrite it: the next write is refused, and kept as a branch.
    this.#lost = true;
    const reason = new TurnmarkError("Aborted", `the turn was taken away (${type}); what it still writes is kept as a branch`);
    this.#streaming.stop(reason);
    this.#abort.abort(reason);
  }

  #over(reason) {
    if (this.#ended) return;
    this.#ended = true;
    this.#streaming.stop(reason);
    this.#unwatch();
    this.#store.turns.delete(this);
    if (reason) this.#abort.abort(reason);
  }
}
