import { messageIdsOf, toCheckpoint } from "./checkpoint.js";
import { checkFunction, checkOneOf } from "./check.js";

const EVENTS = [
  "checkpoint.created", "session.changed", "session.deleted", "restored", "run.started", "run.ended", "turn.ended", "stream", "stream.failed",
  "connection", "suspect", "healed", "data.lost", "data.recoverable", "blocked",
];
/** After these, what a preview shows of the host's files may be another. */
const RELOADING = ["restored", "turn.ended"];

/** A listener's error is the listener's: it is reported as the platform reports any, and reaches nobody else. */
export function report(error) {
  if (typeof reportError === "function") reportError(error);
  else console.error("turnmark: an event listener failed:", error);
}

/** The listeners of one store. */
export class Listeners {
  #lists = new Map(EVENTS.map((event) => [event, new Set()]));

  on(event, listener) {
    const entry = { listener: checkFunction(listener, "listener") };
    const list = this.#lists.get(checkOneOf(event, EVENTS, "event"));
    list.add(entry);
    return () => void list.delete(entry);
  }

  has(event) {
    return this.#lists.get(event).size > 0;
  }

  emit(event, payload) {
    for (const { listener } of [...(this.#lists.get(event) ?? [])]) deliver(listener, payload);
  }

  clear() {
    for (const list of this.#lists.values()) list.clear();
  }
}

/** What a witness remembers of an event of this page. */
function testify(witness, { type, origin, checkpoint, seq, sessionId, reason }) {
  if (origin !== "local") return;
  if (type === "checkpoint.created") witness.note(checkpoint.sessionId, seq);
  if (type === "session.changed" && reason === "import") witness.note(sessionId, 0);
}

/** Calls a listener. A rejection of an async one is its error too. */
export function deliver(listener, payload) {
  try {
    const returned = listener(payload);
    if (typeof returned?.then === "function") returned.then(undefined, report);
  } catch (error) {
    report(error);
  }
}

/**
 * Turns what an engine reports into the public events of every store that shares it, in the order of the commits.
 *
 * An event goes out at once, so that it is heard before the operation's promise resolves; only a checkpoint whose message
 * ids have to be read first (another tab's) waits, and those behind it wait with it.
 */
export class Hub {
  /** Stores' {@link Listeners}. */
  audience = new Set();
  /** What whoever listens later hears too: of what was lost, and of what can come back. */
  #news = new Map();
  /** Remembers outside of IndexedDB what was written. */
  witness = null;
  /** The second copy outside of IndexedDB, if there is one. */
  mirror = null;
  /** Counts up with every restore and every end of a turn, of any tab. */
  reloadKey = 0;
  #engine = null;
  /** Whoever must know at once, before the listeners. */
  #watchers = new Set();
  #expected = new Map();
  #waiting = null;

  /** @param {import("./witness.js").Witness | null} witness */
  attach(engine, witness = null) {
    this.#engine = engine;
    this.witness = witness;
    if (witness) this.watch((told) => testify(witness, told));
  }

  /** Compares what is stored with what a witness remembers, and tells what is gone: once. Where that cannot be compared, it is left for the next time. */
  async hearWitness({ ids, seqs }) {
    const sessions = ids.length > 0 ? await this.#engine.missing(ids, seqs).catch(() => []) : [];
    if (sessions.length === 0) return;
    const list = sessions.slice(0, 3).map(({ sessionId }) => JSON.stringify(sessionId)).join(", ");
    const why = this.lost?.message ?? "the browser has lost data of this store";
    const told = { message: `${why}: ${sessions.length} ${sessions.length === 1 ? "session holds" : "sessions hold"} less than before (${list}${sessions.length > 3 ? ", ..." : ""})`, sessions };
    this.remember("data.lost", told);
    await this.witness.forget(sessions.map(({ sessionId }) => sessionId));
    for (const { sessionId, foundSeq } of sessions) if (foundSeq !== null) this.witness.note(sessionId, foundSeq);
  }

  /** Adds a store's listeners, who also hear of what was lost before they came. */
  join(listeners) {
    if (this.audience.has(listeners)) return;
    this.audience.add(listeners);
    for (const [event, payload] of this.#news) listeners.emit(event, payload);
  }

  /** What is known of an event for those who listen later; `null` where it has not happened. */
  news(event) {
    return this.#news.get(event) ?? null;
  }

  /** What was lost before this engine opened, if anything. */
  get lost() {
    return this.news("data.lost");
  }

  /** Tells of something that those who listen later hear too; with `null`, that it is so no more. */
  remember(event, payload) {
    if (payload === null) return void this.#news.delete(event);
    this.#news.set(event, payload);
    this.tell(event, payload);
  }

  /** Tells which message ids the operation in flight will leave in a session. */
  async expecting(session, ids, operation) {
    this.#expected.set(session, ids);
    try {
      return await operation();
    } finally {
      this.#expected.delete(session);
    }
  }

  /** Calls `watcher` with every event as the engine tells it, at once. Returns the function that stops it. */
  watch(watcher) {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Tells every store that shares the engine of something that is no event of the engine. */
  tell(type, payload) {
    for (const listeners of [...this.audience]) listeners.emit(type, payload);
  }

  /** Resolves when everything received so far has been heard. */
  async settled() {
    await this.#waiting;
  }

  /** The engine's listener. Never throws: the engine has committed already. */
  receive = (told) => {
    for (const watcher of [...this.#watchers]) deliver(watcher, told);
    const raw = RELOADING.includes(told.type) ? { ...told, reloadKey: (this.reloadKey += 1) } : told;
    if (this.#waiting !== null) {
      this.#wait(raw, this.#waiting.then(() => this.#translate(raw)));
      return;
    }
    try {
      const event = this.#translate(raw);
      if (event instanceof Promise) this.#wait(raw, event);
      else this.#emit(raw.type, event);
    } catch (error) {
      report(error);
    }
  };

  #wait({ type }, event) {
    const heard = event.then((payload) => this.#emit(type, payload)).catch(report).then(() => {
      if (this.#waiting === heard) this.#waiting = null;
    });
    this.#waiting = heard;
  }

  #emit(type, payload) {
    if (type === "data.lost") this.remember(type, payload);
    else if (payload !== null) this.tell(type, payload);
  }

  /** The public payload, or a promise of it; `null` when nobody wants it. */
  #translate({ type, ...payload }) {
    if (type === "checkpoint.created") return this.#created(payload);
    // Between an owner of a run and whoever wants it to stop: its turn's signal tells of it.
    if (type === "run.abort") return null;
    if (type === "data.lost") return { ...payload, sessions: [] };
    // The epoch is the engine's own business.
    delete payload.epoch;
    return payload;
  }

  #created({ checkpoint: raw, origin }) {
    if (![...this.audience].some((listeners) => listeners.has("checkpoint.created"))) return null;
    const created = (ids) => ({ checkpoint: toCheckpoint(raw, ids), origin });
    const ids = messageIdsOf(this.#engine, raw, origin === "local" ? this.#expected.get(raw.sessionId) : undefined);
    return ids instanceof Promise ? ids.then(created) : created(ids);
  }
}
