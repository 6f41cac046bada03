/**
 * A second copy of the newest checkpoints of each session, in files outside of IndexedDB: what a browser that throws its databases
 * away leaves. One tab keeps it, in the background, a second behind at most; none waits for it. What is in it and not in the database
 * any more is never written over: it is told, and comes back by `recover()`.
 */
import { writeBundle } from "./bundle.js";
import { MirrorFiles } from "./mirror-files.js";
import { within } from "./within.js";

/** Checkpoints of each session. */
const MOST = 20;
/** Sessions: those that were changed last. */
const SESSIONS = 200;
/** Files that a chain may have before it begins anew. */
const LENGTH = 100;
/** Bytes of what was new that any chain may have; else as many as its beginning has, so that beginning anew costs in the mean what is new. */
const SMALL = 256 * 1024;
/** Milliseconds between two rounds, and how many times the last one's duration. */
const PAUSE_MS = 1000;
const REST = 10;
/** What a mirror may keep others waiting, in milliseconds. */
const PATIENCE_MS = 1000;
/** Most of what the browser still has room for. */
const SHARE = 0.05;

/** What changes that can leave content behind which its owner wanted gone. */
const REMOVES = ["delete", "prune"];

/** What is told of a session that is only in the mirror. */
const shown = ({ sessionId, lastSeq, foundSeq, mirroredSeq, mirroredAt }) => ({ sessionId, lastSeq, foundSeq, mirroredSeq, mirroredAt });

/** The page comes first where there is much to be written. */
const rest = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, Math.min(milliseconds, PAUSE_MS)); });

const sum = (chains) => [...chains].reduce((total, { bytes }) => total + bytes, 0);

export class Mirror {
  #engine;
  #hub;
  #budget;
  #lock;
  #opening;
  /** The chain of each session, where this tab keeps the mirror; else `null`. */
  #chains = null;
  #lost = [];
  #totals = { sessions: 0, bytes: 0 };
  #full = false;
  /** Sessions that have changed: whether everything is to be written anew. */
  #dirty = new Map();
  #timer = null;
  #round = null;
  #next = 0;
  #hurries = false;
  #leaving = new AbortController();
  #stop;

  constructor({ name, scope, budget }, engine, hub) {
    this.#engine = engine;
    this.#hub = hub;
    this.#budget = budget;
    this.#lock = `turnmark-mirror:${JSON.stringify([name, scope])}`;
    this.#stop = hub.watch((told) => this.#hear(told));
    this.#opening = MirrorFiles.open(name, scope).catch(() => null);
    /** Resolves when what is there has been looked at. Never rejects. */
    this.ready = this.#look().catch(() => {});
    this.ready.then(() => this.#keep()).catch(() => {});
  }

  /** How the mirror stands; `null` where there can be none. */
  async status() {
    await within(PATIENCE_MS, "looking at the mirror", this.ready).catch(() => {});
    if (!(await within(PATIENCE_MS, "opening the mirror", this.#opening).catch(() => null))) return null;
    return { ...this.#totals, budget: this.#budget, full: this.#full, recoverable: this.#lost.map(shown) };
  }

  /** One at a time among all tabs. */
  #alone(work) {
    return navigator.locks.request(`${this.#lock}:files`, work);
  }

  /** Compares what is mirrored with what is stored. Returns the chains that go on, and remembers those that are all there is. */
  async #survey(files) {
    const chains = (await files.chains()).sort((a, b) => a.seq - b.seq || a.at - b.at);
    const sessions = new Map((await this.#engine.sessions()).map(({ id, createdAt }) => [id, createdAt]));
    const behind = await this.#engine.missing(chains.map(({ session }) => session), chains.map(({ seq }) => seq));
    const found = new Map(behind.map(({ sessionId, lastSeq, foundSeq }) => [`${lastSeq} ${sessionId}`, foundSeq]));
    const going = new Map();
    const lost = [];
    for (const chain of chains) {
      const { session, seq, at, created } = chain;
      const another = sessions.has(session) && sessions.get(session) !== created;
      const foundSeq = found.get(`${seq} ${session}`);
      if (chain.held === null && !another && foundSeq === undefined) {
        // An older one of the same session is of no use.
        if (going.has(session)) await files.remove(going.get(session));
        going.set(session, chain);
        continue;
      }
      const known = this.#hub.lost?.sessions.find(({ sessionId }) => sessionId === session)?.lastSeq;
      const lastSeq = Math.max(seq, known ?? chain.held?.lastSeq ?? 0);
      if (chain.held === null) await files.hold(chain, { lastSeq });
      lost.push({ chain: { ...chain, held: { lastSeq } }, sessionId: session, lastSeq, foundSeq: another ? null : (foundSeq ?? null), mirroredSeq: seq, mirroredAt: at });
    }
    this.#lost = lost;
    this.#totals = { sessions: chains.length, bytes: sum(chains) };
    return going;
  }

  async #look() {
    const files = await this.#opening;
    if (!files) return;
    await this.#alone(() => this.#survey(files));
    this.#tell();
  }

  #tell() {
    this.#hub.remember("data.recoverable", this.#lost.length > 0 ? { sessions: this.#lost.map(shown) } : null);
  }

  /** Waits until it is this tab that keeps the mirror, and goes on until it is closed. */
  async #keep() {
    const files = await this.#opening;
    if (!files) return;
    const { signal } = this.#leaving;
    await navigator.locks.request(this.#lock, { signal }, async () => {
      this.#chains = await this.#alone(() => this.#survey(files));
      const newest = (await this.#engine.sessions()).slice(0, SESSIONS);
      // Oldest first: where the budget is small the newest stay.
      for (const { id } of newest.reverse()) if (!this.#dirty.has(id)) this.#dirty.set(id, false);
      this.#plan();
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      await this.#round;
      this.#chains = null;
    });
  }

  #hear({ type, checkpoint, sessionId, reason }) {
    const session = checkpoint?.sessionId ?? sessionId;
    if (type === "session.deleted") {
      this.#dirty.delete(session);
      this.#chains?.delete(session);
    }
    if (type !== "checkpoint.created" && type !== "session.changed") return;
    const whole = this.#dirty.get(session) || (type === "session.changed" && REMOVES.includes(reason));
    this.#dirty.delete(session);
    this.#dirty.set(session, whole);
    this.#plan();
  }

  #plan() {
    if (this.#chains === null || this.#timer !== null || this.#round !== null || this.#leaving.signal.aborted) return;
    this.#timer = setTimeout(() => this.#go(), Math.max(PAUSE_MS / 4, this.#next - Date.now()));
  }

  #go() {
    this.#timer = null;
    const start = Date.now();
    this.#round = this.#work().catch(() => {}).then(() => {
      this.#round = null;
      this.#next = Date.now() + Math.max(PAUSE_MS, REST * (Date.now() - start));
      if (this.#dirty.size > 0) this.#plan();
    });
  }

  async #work() {
    const files = await this.#opening;
    const dirty = [...this.#dirty];
    this.#dirty.clear();
    for (const [session, whole] of dirty) {
      const start = Date.now();
      // What fails is mirrored with the next change: damage, which must not be mirrored, or no room.
      await this.#alone(() => this.#write(files, session, whole)).catch(() => {});
      if (dirty.length > 1 && !this.#hurries) await rest(Date.now() - start);
    }
    this.#totals = { sessions: this.#chains.size + this.#lost.length, bytes: this.#bytes() };
  }

  #bytes() {
    return sum(this.#chains.values()) + sum(this.#lost.map(({ chain }) => chain));
  }

  async #write(files, session, whole) {
    const chain = this.#chains.get(session) ?? null;
    const grown = chain !== null && (chain.index + 1 >= LENGTH || chain.bytes - chain.first > Math.max(chain.first, SMALL));
    const seen = chain === null || whole || grown ? null : { seq: chain.seq, epoch: chain.epoch, oldest: chain.oldest };
    const share = await this.#share(session, seen, whole ? null : chain);
    if (!share) {
      // One that its owner has emptied is there still. One that is gone was not deleted: that would have taken its chain away.
      if (chain) await ((await this.#engine.summary(session)) ? this.#drop(files, chain) : this.#hold(files, chain));
      return;
    }
    const [{ created, next, head: { seq } }] = share.bundle.sessions;
    if (chain && share.whole && (created !== chain.created || next <= chain.seq)) {
      // Another session, under a page that has lost the one before.
      await this.#hold(files, chain);
      return this.#write(files, session, whole);
    }
    const begins = share.whole;
    let text = writeBundle(share.bundle);
    if (begins && text.length > this.#budget) text = writeBundle((await this.#engine.share(session, null, 1)).bundle);
    if (!(await this.#makeRoom(files, text.length - (begins ? chain?.bytes ?? 0 : 0), session))) {
      this.#full = true;
      return;
    }
    const { epoch } = share.bundle.checkpoints.at(-1);
    const oldest = Math.min(share.bundle.checkpoints[0].seq, begins ? seq : chain.oldest);
    try {
      this.#chains.set(session, await files.add(chain, { session, created, seq, epoch, oldest }, text, begins));
    } catch (error) {
      // Removed by whoever deleted the session, or by nobody we know: begun anew with the next change.
      this.#chains.delete(session);
      throw error;
    }
  }

  /** What is new of a session. Where something old of it is damaged, what can be told without. */
  async #share(session, seen, chain) {
    const without = async (error) => {
      if (error?.code !== "RecordUnreadable" || seen !== null) throw error;
      return chain === null ? this.#engine.share(session, null, 1) : this.#engine.share(session, { seq: chain.seq, epoch: chain.epoch, oldest: chain.oldest }, MOST);
    };
    return this.#engine.share(session, seen, MOST).catch(without);
  }

  /** Makes room within the budget; `false` where there is none. What is all there is of a session stays. */
  async #makeRoom(files, bytes, session) {
    const { usage = 0, quota = Infinity } = (await navigator.storage?.estimate?.().catch(() => null)) ?? {};
    const room = Math.min(this.#budget, this.#bytes() + (quota - usage) * SHARE);
    const others = [...this.#chains.values()].filter((chain) => chain.session !== session).sort((a, b) => a.at - b.at);
    if (this.#bytes() - sum(others) + bytes > room) return false;
    while (this.#bytes() + bytes > room) await this.#drop(files, others.shift());
    this.#full = false;
    return true;
  }

  /** A chain that goes on no more: it is all there is of a session. */
  async #hold(files, chain) {
    this.#chains.delete(chain.session);
    const { session: sessionId, seq, at } = chain;
    const held = { lastSeq: seq };
    // Removed meanwhile, by whoever deleted the session.
    if (await files.hold(chain, held).then(() => false, () => true)) return;
    this.#lost.push({ chain: { ...chain, held }, sessionId, lastSeq: seq, foundSeq: null, mirroredSeq: seq, mirroredAt: at });
    this.#tell();
  }

  async #drop(files, chain) {
    await files.remove(chain);
    this.#chains?.delete(chain.session);
  }

  /** Restores what is mirrored and not stored. What cannot be is told, and stays in the mirror. */
  async bringBack() {
    const files = await this.#opening;
    if (!files) return [];
    return this.#alone(async () => {
      await this.#survey(files);
      const done = [];
      const left = [];
      for (const one of this.#lost) {
        const back = await this.#bringBack(files, one).catch((error) => ({ sessionId: one.sessionId, action: "failed", reason: error?.message ?? String(error) }));
        done.push(back);
        if (back.action === "failed") left.push(one);
      }
      this.#lost = left;
      this.#tell();
      return done;
    });
  }

  async #bringBack(files, { chain, sessionId, lastSeq }) {
    const { bundles, newest } = await files.read(chain);
    const { sessions: [back] } = await this.#engine.bringBack(bundles);
    if (!back) throw new Error("nothing of it can be read");
    await files.remove(chain);
    const { id } = bundles.at(-1).sessions[0].head;
    const { importedAs, checkpoints, messages } = back;
    return { sessionId: importedAs, checkpointId: id, action: "restored", restoredFrom: sessionId, checkpoints, messages, restoredSeq: newest.seq, lastSeq };
  }

  /** Does `work`, which deletes a session, and forgets the session. */
  async forget(session, work) {
    const files = await within(PATIENCE_MS, "opening the mirror", this.#opening).catch(() => null);
    if (!files) return work();
    return this.#alone(async () => {
      const chains = await files.chains(session);
      try {
        await work();
      } catch (error) {
        // Deleted is then what was left of it.
        if (error?.code !== "UnknownSession" || !chains.some(({ held }) => held)) throw error;
      }
      for (const chain of chains) await files.remove(chain).catch(() => {});
      this.#chains?.delete(session);
      this.#lost = this.#lost.filter(({ sessionId }) => sessionId !== session);
      this.#tell();
    });
  }

  /** Writes what is left, and is not waited for long. Never rejects. */
  async leave() {
    this.#stop();
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#hurries = true;
    if (this.#chains !== null) {
      const last = (this.#round ?? Promise.resolve()).then(() => this.#work());
      await within(PATIENCE_MS, "writing the mirror", last).catch(() => {});
    }
    // Not before: whoever keeps it from now on must not meet a file of ours.
    this.#leaving.abort();
  }
}
