import { TurnmarkError, fromRaw } from "./errors.js";
import { checkArray, checkBoolean, checkCount, checkId, checkOneOf, checkOptions, checkStrings, ifGiven } from "./check.js";
import { MessageIds, messageIdsOf, toCheckpoint, toSummary } from "./checkpoint.js";
import { Listeners, deliver } from "./events.js";
import { freshId } from "./ids.js";
import { encodeFilter, encodeMetadata } from "./metadata.js";
import { persist } from "./persistence.js";
import { decodeState, decodeWrites, encodeChannels, encodeMessages, encodeState, encodeWrites } from "./state.js";

const PARTS = ["messages", "state"];
/** Checkpoints read at a time by a listing. */
const PAGE = 50;

/**
 * One owner's view of an engine: what it has seen of each session, its listeners, and its calls in flight. Holds no rule
 * of storage. `open()`, `saver()` and the savers are faces of it.
 *
 * Every value is encoded when the method is called and before anything is awaited, so later changes to it do not matter.
 */
export class Store {
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

  constructor(acquire) {
    this.#acquire = acquire;
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
    await Promise.allSettled(this.#pending);
    const lease = await this.#lease?.catch(() => null);
    if (!lease) return;
    lease.hub.audience.delete(this.#listeners);
    await lease.release().catch((error) => {
      throw fromRaw(error);
    });
  }

  /** One call: refused once closed, waited for by close(), failing with a TurnmarkError only. */
  async #call(work) {
    if (this.#closing) throw new TurnmarkError("Closed", "this store was closed by its owner; open it again");
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

  /** A call that concerns some sessions, in its turn among theirs. */
  onSessions(sessions, work) {
    return this.#call(({ engine, hub, queue }) => queue.run(sessions, () => work(engine, hub)));
  }

  /** A call that answers however long others have to wait. */
  atOnce(work) {
    return this.#call(({ engine }) => work(engine));
  }

  /** A call that reads everything. */
  onAll(work) {
    return this.#call(({ engine, queue }) => queue.runAfterAll(() => work(engine)));
  }

  /** A call that may change everything. */
  alone(work) {
    return this.#call(({ engine, queue }) => queue.runAlone(() => work(engine)));
  }

  on(event, listener) {
    const stop = this.#listeners.on(event, listener);
    const lost = event === "data.lost" && this.#hub?.lost;
    if (lost) queueMicrotask(() => deliver(listener, lost));
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
      const seen = this.#seen.get(session);
      const expected = idsAfter(seen?.ids ?? null);
      const written = await hub.expecting(session, expected, () => write(engine, seen?.epoch ?? null));
      return this.#saw(engine, written, expected);
    });
  }

  /** Takes note of a checkpoint that this owner wrote, and of the ids of its messages. */
  async #saw(engine, written, expected) {
    return this.#note(written, await messageIdsOf(engine, written.checkpoint, expected));
  }

  /** The same without the ids, which would have to be read, message by message. */
  #note({ checkpoint, epoch }, ids = null) {
    this.#seen.set(checkpoint.sessionId, { epoch, ids });
    return toCheckpoint(checkpoint, ids);
  }

  async get(session, checkpointId) {
    checkId(session, "session id");
    ifGiven(checkpointId, checkId, "checkpoint id");
    return this.onSessions([session], (engine) => this.#load(engine, session, checkpointId ?? null));
  }

  async #load(engine, session, checkpointId) {
    const raw = await engine.load(session, checkpointId);
    if (raw === undefined) {
      if (checkpointId === null) this.#seen.delete(session);
      return undefined;
    }
    const state = decodeState(raw);
    const ids = MessageIds.of(state.messages);
    // Only now: a state that could not be read must not be overwritten.
    if (raw.epoch !== null) this.#seen.set(session, { epoch: raw.epoch, ids });
    const checkpoint = toCheckpoint(raw.checkpoint, ids);
    return {
      checkpoint,
      state,
      metadata: checkpoint.metadata,
      parentCheckpointId: checkpoint.parentCheckpointId,
      pendingWrites: decodeWrites(raw.writes),
    };
  }

  /** A listing. Mistakes in the arguments are told by its first step, as any failure is. */
  list(session, options) {
    let request;
    try {
      const { limit, before, filter } = checkOptions(options);
      request = {
        session: checkId(session, "session id"),
        limit: ifGiven(limit, checkCount, "limit") ?? Infinity,
        before: ifGiven(before, checkId, "checkpoint id in `before`") ?? null,
        filter: encodeFilter(filter),
      };
    } catch (error) {
      request = error;
    }
    return this.#pages(request);
  }

  async *#pages(request) {
    if (request instanceof Error) throw request;
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

  async rollback(session, checkpointId, options) {
    checkId(session, "session id");
    checkId(checkpointId, "checkpoint id");
    const parts = checkArray(checkOptions(options).parts ?? PARTS, "parts").map((part, i) => checkOneOf(part, PARTS, `parts[${i}]`));
    return this.#restore(session, options, (engine, expect) => engine.rollback(session, checkpointId, parts, expect));
  }

  /** @param {"undo" | "redo"} direction */
  async step(direction, session, options) {
    checkId(session, "session id");
    return this.#restore(session, options, (engine, expect) => engine[direction](session, expect));
  }

  #restore(session, options, restore) {
    const load = ifGiven(checkOptions(options).load, checkBoolean, "load") ?? true;
    return this.onSessions([session], async (engine, hub) => {
      const written = await restore(engine, this.#seen.get(session)?.epoch ?? null);
      await hub.settled();
      const state = load ? await this.#restoredState(engine, session, written.checkpoint.id) : undefined;
      return {
        sessionId: session,
        checkpoint: load ? await this.#saw(engine, written, MessageIds.of(state.messages)) : this.#note(written),
        restorePointId: written.restorePointId,
        targetCheckpointId: written.targetCheckpointId,
        ...(load && { state }),
        parts: written.parts,
        files: "not-restored",
      };
    });
  }

  async #restoredState(engine, session, checkpointId) {
    try {
      return decodeState(await engine.load(session, checkpointId));
    } catch (error) {
      // What was there before is no longer live, and what is live was not seen.
      this.#seen.delete(session);
      const known = fromRaw(error);
      throw new TurnmarkError(known.code, `${known.message}. The restore itself was committed; undo() takes it back`, { cause: known });
    }
  }

  /** Forks, for whoever wants the new checkpoint. */
  fork(source, checkpointId, target) {
    return this.#fork(source, checkpointId, target, (engine, written) => this.#saw(engine, written));
  }

  /** Forks, for whoever wants the new session: costs the same at any length. Without a checkpoint id, from the newest. */
  branch(source, checkpointId, target) {
    return this.#fork(source, checkpointId, target, (engine, written) => this.#note(written).sessionId);
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
      this.#follow(session, await engine.deleteCheckpoint(session, checkpointId), new MessageIds([]));
    });
  }

  /** Goes on from a change of the head that this owner asked for, where it had seen the head before. */
  #follow(session, epoch, ids) {
    const seen = this.#seen.get(session);
    if (epoch != null && seen?.epoch === epoch - 1) this.#seen.set(session, { epoch, ids: ids ?? seen.ids });
  }

  async recover(drop) {
    return this.alone(async (engine) => {
      const done = await engine.recover(drop);
      return done.map(({ epoch, ...recovered }) => {
        // What is finalized is what it was; what is dropped must be looked at.
        if (recovered.action === "finalized") this.#follow(recovered.sessionId, epoch);
        return recovered;
      });
    });
  }

  async prune(session, keepLast) {
    checkId(session, "session id");
    checkCount(keepLast, "keepLast");
    return this.onSessions([session], (engine) => engine.prune(session, keepLast));
  }

  async deleteSession(session) {
    return this.onSessions([session], async (engine) => {
      await engine.deleteSession(session);
      this.#seen.delete(session);
    });
  }
}

/** The newest checkpoint of a session that must exist. */
export async function headOf(engine, session) {
  const head = (await engine.summary(session))?.headCheckpointId;
  if (head == null) throw new TurnmarkError("UnknownSession", `session ${JSON.stringify(session)} has no checkpoint yet; save something first`);
  return head;
}
