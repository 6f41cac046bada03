import { TurnmarkError, fromRaw } from "./errors.js";
import { checkBoolean, checkCount, checkId, checkOptions, checkStrings, guarded, ifGiven } from "./check.js";
import { MessageIds, messageIdsOf, toCheckpoint, toSummary } from "./checkpoint.js";
import { Listeners, deliver } from "./events.js";
import { freshId } from "./ids.js";
import { encodeFilter, encodeMetadata } from "./metadata.js";
import { persist } from "./persistence.js";
import { STREAM_INTERVAL } from "./settings.js";
import { decodePrompt, decodeState, decodeStreaming, decodeUi, decodeWrites, encodeChannels, encodeMessages, encodeState, encodeWrites } from "./state.js";

/** Checkpoints read at a time by a listing. */
const PAGE = 50;

const checkListing = guarded((session, options) => {
  const { limit, before, filter } = checkOptions(options);
  return {
    session: checkId(session, "session id"),
    limit: ifGiven(limit, checkCount, "limit") ?? Infinity,
    before: ifGiven(before, checkId, "checkpoint id in `before`") ?? null,
    filter: encodeFilter(filter),
  };
});

/**
 * One owner's view of an engine: what it has seen of each session, its listeners, and its calls in flight. Holds no rule
 * of storage. `open()`, `saver()` and the savers are faces of it.
 *
 * Every value is encoded when the method is called and before anything is awaited, so later changes to it do not matter.
 */
export class Store {
  /** The host's own files, or `null`. */
  files;
  /** Milliseconds between two saves of a growing message. */
  streamInterval;
  /**
   * Turns of this owner that have not ended.
   *
   * @type {Set<import("./turn.js").Turn>}
   */
  turns = new Set();
  /** @type {(listeners: Listeners) => Promise<import("./registry.js").Lease>} */
  #acquire;
  #lease = null;
  #hub = null;
  #closing = null;
  #pending = new Set();
  /**
   * For each session, the epoch and the message ids of the newest state that this owner was given or wrote. Another
   * tab's event does not count: an owner that has not looked at a change must not overwrite it.
   *
   * @type {Map<string, { epoch: number, ids: MessageIds | null }>} ids are `null` where they were not needed yet
   */
  #seen = new Map();
  #listeners = new Listeners();

  constructor(acquire, { files = null, streamInterval = STREAM_INTERVAL } = {}) {
    this.#acquire = acquire;
    this.files = files;
    this.streamInterval = streamInterval;
  }

  /** Opens the engine, once; a failure is forgotten, so that a later call can try again. */
  open() {
    return (this.#lease ??= this.#acquire(this.#listeners).then(
      (lease) => {
        this.#hub = lease.hub;
        this.#hub.join(this.#listeners);
        return lease;
      },
      (error) => {
        this.#lease = null;
        throw fromRaw(error);
      },
    ));
  }

  close() {
    return (this.#closing ??= this.#close());
  }

  async #close() {
    // What was given to a turn's stream() before is a call that was made before.
    await Promise.all([...this.turns].map((turn) => turn.leave()));
    await Promise.allSettled(this.#pending);
    const lease = await this.#lease?.catch(() => null);
    if (!lease) return;
    lease.hub.audience.delete(this.#listeners);
    await lease.release().catch((error) => {
      throw fromRaw(error);
    });
  }

  /** One call: refused once closed, unless close() itself waits for it; failing with a TurnmarkError only. */
  async #call(work, last = false) {
    if (this.#closing && !last) throw new TurnmarkError("Closed", "this store was closed by its owner; open it again");
    const call = this.open().then(work);
    const done = () => this.#pending.delete(call);
    this.#pending.add(call);
    call.then(done, done);
    try {
      return await call;
    } catch (error) {
      throw fromRaw(error);
    }
  }

  /** A call that concerns some sessions, in its turn among theirs. `last`: one that close() waits for. */
  onSessions(sessions, work, last) {
    return this.#call(({ engine, hub, queue }) => queue.run(sessions, () => work(engine, hub)), last);
  }

  /** A call that answers however long others have to wait. */
  atOnce(work) {
    return this.#call(({ engine, hub }) => work(engine, hub));
  }

  /** A call that reads everything. */
  onAll(work) {
    return this.#call(({ engine, queue }) => queue.runAfterAll(() => work(engine)));
  }

  /** A call that may change everything. */
  alone(work) {
    return this.#call(({ engine, hub, queue }) => queue.runAlone(() => work(engine, hub)));
  }

  on(event, listener) {
    const stop = this.#listeners.on(event, listener);
    const news = this.#hub?.news(event);
    if (news) queueMicrotask(() => deliver(listener, news));
    // A listener alone is reason enough to open: it wants to hear of other tabs. The next call tells of a failure.
    else if (!this.#closing) this.open().catch(() => {});
    return stop;
  }

  /**
   * Asks the browser to keep this origin's data; the stamps say from then on what it answered. Not a call that close()
   * waits for: Firefox asks its user, who may never answer.
   */
  async persist() {
    const granted = await persist();
    if (!this.#closing) (await this.open()).engine.notePersisted(granted);
    return granted;
  }

  async put(session, state, metadata, defaultSource) {
    checkId(session, "session id");
    const body = encodeState(state);
    const about = encodeMetadata(metadata, defaultSource);
    return this.#write(session, body, () => new MessageIds(body.ids), (engine, expect) => engine.put(session, body.raw(), about, expect));
  }

  async append(session, messages, options) {
    const { metadata, channels = {}, remove = [] } = checkOptions(options);
    const added = encodeMessages(messages);
    const set = encodeChannels(channels, "channels");
    const removed = checkStrings(remove, "remove");
    const about = encodeMetadata(metadata, "message");
    const body = { ready: async () => void (await added.ready(), await set.ready()) };
    return this.#write(session, body, (before) => new MessageIds(added.ids, before),
      (engine, expect) => engine.append(session, added.raw(), set.raw(), removed, about, expect));
  }

  #write(session, body, idsAfter, write) {
    return this.onSessions([session], async (engine, hub) => {
      await body.ready();
      const expected = idsAfter(this.idsOf(session));
      const written = await hub.expecting(session, expected, () => write(engine, this.epochOf(session)));
      return this.saw(engine, written, expected);
    });
  }

  /** The epoch of the newest state of a session that this owner has seen, or `null`. */
  epochOf(session) {
    return this.#seen.get(session)?.epoch ?? null;
  }

  /** The ids in that state, or `null`. */
  idsOf(session) {
    return this.#seen.get(session)?.ids ?? null;
  }

  /** What is live in a session was not seen any more. */
  forget(session) {
    this.#seen.delete(session);
  }

  /** Takes note of a session's state that this owner knows without having read it. */
  know(session, epoch, ids) {
    this.#seen.set(session, { epoch, ids });
  }

  /** Takes note of a checkpoint that this owner wrote, and of the ids of its messages. */
  async saw(engine, written, expected) {
    return this.note(written, await messageIdsOf(engine, written.checkpoint, expected));
  }

  /** The same without the ids, which would have to be read, message by message. */
  note({ checkpoint, epoch }, ids = null) {
    this.know(checkpoint.sessionId, epoch, ids);
    return toCheckpoint(checkpoint, ids);
  }

  async get(session, checkpointId) {
    checkId(session, "session id");
    ifGiven(checkpointId, checkId, "checkpoint id");
    return this.onSessions([session], (engine) => this.load(engine, session, checkpointId ?? null));
  }

  /** Reads a checkpoint, and takes note of the newest. */
  async load(engine, session, checkpointId) {
    const raw = await engine.load(session, checkpointId);
    if (raw === undefined) {
      // To have seen that there is none is to have seen it: another tab's first message is no reason to lose this one's.
      if (checkpointId === null) this.know(session, 0, new MessageIds([]));
      return undefined;
    }
    const state = decodeState(raw);
    const ids = MessageIds.of(state.messages);
    const around = { ui: decodeUi(raw.ui), prompt: decodePrompt(raw.prompt), streaming: decodeStreaming(raw.streaming) };
    // Only now: a state that could not be read must not be overwritten.
    if (raw.epoch !== null) this.know(session, raw.epoch, ids);
    const checkpoint = toCheckpoint(raw.checkpoint, ids);
    return {
      checkpoint,
      state,
      metadata: checkpoint.metadata,
      parentCheckpointId: checkpoint.parentCheckpointId,
      pendingWrites: decodeWrites(raw.writes),
      ...around,
    };
  }

  /** The message that is being written in a session, read alone. What else is live there was not seen by that. */
  streaming(session) {
    return this.onSessions([session], async (engine) => decodeStreaming(await engine.streaming(session)));
  }

  /** A listing. Mistakes in the arguments are told by its first step, as any failure is. */
  list(session, options) {
    try {
      return this.#pages(checkListing(session, options));
    } catch (error) {
      return this.#failed(error);
    }
  }

  async *#failed(error) {
    throw error;
  }

  async *#pages(request) {
    const { session, limit, filter } = request;
    let { before } = request;
    for (let left = limit; left > 0;) {
      const asked = { limit: Math.min(left, PAGE), before, filter };
      const { items, next } = await this.onSessions([session], (engine) => engine.list(session, asked));
      for (const item of items) yield toSummary(item);
      left -= items.length;
      before = next;
      if (next === null) return;
    }
  }

  /** Forks, for whoever wants the new checkpoint. */
  fork(source, checkpointId, target) {
    return this.#fork(source, checkpointId, target, (engine, written) => this.saw(engine, written));
  }

  /** Forks, for whoever wants the new session: costs the same at any length. Without a checkpoint id, from the newest. */
  branch(source, checkpointId, target) {
    return this.#fork(source, checkpointId, target, (engine, written) => this.note(written).sessionId);
  }

  async #fork(source, checkpointId, target = freshId(), answer) {
    checkId(source, "source session id");
    ifGiven(checkpointId, checkId, "checkpoint id");
    checkId(target, "new session id");
    return this.onSessions([source, target], async (engine, hub) => {
      const written = await engine.fork(source, checkpointId ?? (await headOf(engine, source)), target);
      await hub.settled();
      return answer(engine, written);
    });
  }

  async putWrites(session, writes, taskId) {
    checkId(session, "session id");
    checkId(taskId, "task id");
    const body = encodeWrites(writes);
    return this.onSessions([session], async (engine) => {
      await body.ready();
      await engine.putWrites(session, taskId, body.channels, body.raw());
    });
  }

  async pin(session, checkpointId, pinned = true) {
    checkId(session, "session id");
    checkId(checkpointId, "checkpoint id");
    checkBoolean(pinned, "pinned");
    return this.onSessions([session], (engine) => engine.pin(session, checkpointId, pinned));
  }

  async delete(session, checkpointId) {
    checkId(session, "session id");
    checkId(checkpointId, "checkpoint id");
    return this.onSessions([session], async (engine) => {
      // An empty list fits no state that has messages: the ids are read when they are next needed.
      const epoch = await engine.deleteCheckpoint(session, checkpointId);
      if (epoch !== null) this.#follow(session, epoch - 1, epoch, new MessageIds([]));
    });
  }

  /** Goes on from a change of the head that this owner asked for, where it had seen the head before. */
  #follow(session, from, epoch, ids) {
    const seen = this.#seen.get(session);
    if (seen?.epoch === from) this.know(session, epoch, ids ?? seen.ids);
  }

  /** Makes an end of what was interrupted: in one session, or with `null` in all, and then brings back what only the mirror has. */
  async recover(options, session) {
    const drop = ifGiven(checkOptions(options).drop, checkBoolean, "drop") ?? false;
    const call = (work) => (session === null ? this.alone(work) : this.onSessions([session], work));
    return call(async (engine, hub) => {
      const done = await engine.recover(drop, session);
      const back = session === null ? await hub.mirror?.bringBack() : null;
      const ended = done.map(({ from, epoch, runId, ...recovered }) => {
        // A finalized state is what it was. One that an answer was added to, or that went back, must be looked at.
        if (recovered.action === "finalized" && runId == null) this.#follow(recovered.sessionId, from, epoch);
        return recovered;
      });
      return ended.concat(back ?? []);
    });
  }

  /** Sets right what can be. Whoever goes on with a session that was changed reads it first. */
  async repair(options) {
    const dryRun = ifGiven(checkOptions(options).dryRun, checkBoolean, "dryRun") ?? false;
    return this.alone(async (engine) => {
      const { sessions, ...report } = await engine.repair(dryRun);
      if (!dryRun) for (const session of sessions) this.forget(session);
      return report;
    });
  }

  async prune(session, keepLast) {
    checkId(session, "session id");
    checkCount(keepLast, "keepLast");
    return this.onSessions([session], (engine) => engine.prune(session, keepLast));
  }

  async deleteSession(session) {
    return this.onSessions([session], async (engine, hub) => {
      // First, or a page that dies between the two would take it for lost.
      await hub.witness?.forget([session]);
      const work = () => engine.deleteSession(session);
      await (hub.mirror?.forget(session, work) ?? work());
      this.forget(session);
    });
  }
}

/** The newest checkpoint of a session that must exist. */
export async function headOf(engine, session) {
  const head = (await engine.summary(session))?.headCheckpointId;
  if (head == null) throw new TurnmarkError("UnknownSession", `session ${JSON.stringify(session)} has no checkpoint yet; save something first`);
  return head;
}
