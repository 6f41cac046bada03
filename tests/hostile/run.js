// Runs hostile cases, in a page or in Node, and judges each: what it was answered with, what it left behind, how long it took.
// A case is the same for the same seed and index, and needs no other case to have run before.
import { CALLS, KEEPING } from "./calls.js";
import { hostileFile } from "./files.js";
import { Random } from "./random.js";
import { HUGE, canonical, hostileValue } from "./values.js";

/** Milliseconds. A value at the limits is thousands of rows. */
const HANG = 1000;
const HANG_OF_HUGE = 60_000;
/** One case of so many has a value at the limits of size. */
const HUGE_EVERY = 500;

/** What a hostile key must not reach. */
const PROTOTYPES = [Object, Array, Function, String, Number, Promise, Map, Uint8Array, Error].map((Class) => Class.prototype);
const untouched = () => PROTOTYPES.map((prototype) => Reflect.ownKeys(prototype).map(String).join()).join("|");
const PRISTINE = untouched();

const described = (error) => {
  try {
    return `${error?.name}: ${error?.message} ${error?.cause?.stack ?? error?.stack ?? ""}`.slice(0, 700);
  } catch {
    return "(something that cannot be shown)";
  }
};

/** Runs the cases of one kind. */
export class Bench {
  #turnmark;
  #options;
  #seed;
  #base;
  #stores = 0;
  #context = null;

  /**
   * @param {object} turnmark the package
   * @param {{ options: object, seed: number, base: string }} settings `options` of `open()`; `base` is the bundle that each store begins with
   */
  constructor(turnmark, { options, seed, base }) {
    this.#turnmark = turnmark;
    this.#options = options;
    this.#seed = seed;
    this.#base = base;
  }

  /** A store with a session of two turns, that nobody has touched. */
  async #fresh() {
    await this.#leave();
    const store = await this.#open();
    await store.import(this.#base);
    const session = await store.session("s");
    const { checkpoint } = await session.get();
    this.#context = { turnmark: this.#turnmark, store, session, checkpoint: checkpoint.id, before: await store.export() };
    return this.#context;
  }

  #open() {
    return this.#turnmark.open({ ...this.#options, name: `${this.#options.name}-${(this.#stores += 1)}` });
  }

  async #leave() {
    const left = this.#context?.store;
    this.#context = null;
    if (left) await this.#end(left);
  }

  async #end(store) {
    await store.close();
    if (this.#options.backend !== "memory") await this.#turnmark.deleteDatabase(store.name);
  }

  close() {
    return this.#leave();
  }

  /** `{ verdicts, failures }` of the cases from `from` to before `to`. */
  async values(from, to, progress = () => {}) {
    return this.#run(from, to, progress, (index) => this.#value(index));
  }

  async files(from, to, progress = () => {}) {
    return this.#run(from, to, progress, (index) => this.#file(index));
  }

  async #run(from, to, progress, judge) {
    const verdicts = [];
    const failures = [];
    for (let index = from; index < to; index += 1) {
      progress(index);
      const { verdict, faults } = await judge(index);
      verdicts.push(verdict);
      const all = untouched() === PRISTINE ? faults : [...faults, "a prototype was changed"];
      if (all.length > 0) failures.push(`seed ${this.#seed}, index ${index}, ${verdict}: ${all.join("; ")}`);
    }
    return { verdicts, failures };
  }

  /** The code of a refusal, and what is wrong with it. */
  #refused(error, faults) {
    const { TurnmarkError, ERROR_CODES } = this.#turnmark;
    const isOurs = (() => {
      try {
        return error instanceof TurnmarkError;
      } catch {
        return false;
      }
    })();
    if (!isOurs || !ERROR_CODES.includes(error.code)) faults.push(`refused with what is no TurnmarkError: ${described(error)}`);
    else if (error.code === "Internal") faults.push(`a fault of the library: ${described(error)}`);
    return isOurs ? error.code : "(foreign)";
  }

  #parts(index) {
    const random = new Random(this.#seed, index);
    if (index % HUGE_EVERY === HUGE_EVERY - 1) {
      const [name, make, fits] = HUGE[Math.floor(index / HUGE_EVERY) % HUGE.length];
      const [first] = KEEPING;
      return { ...first, place: name, value: make(), again: make, steady: true, random, most: HANG_OF_HUGE, fits };
    }
    const call = random.one(CALLS);
    const seed = random.below(2 ** 31);
    const make = () => hostileValue(new Random(seed, index));
    const { value, steady } = make();
    return { ...call, value, again: () => make().value, steady, random: new Random(seed, index + 1), most: HANG };
  }

  async #value(index) {
    let done = await this.#valueOnce(index);
    // A machine that was busy is no hang: the same case must be slow again, twice.
    for (let tries = 0; tries < 2 && done.slow; tries += 1) done = await this.#valueOnce(index);
    if (done.slow) done.faults.push(`took ${Math.round(done.took)} ms`);
    return done;
  }

  async #valueOnce(index) {
    const { place, call, onTurn, value, again, steady, random, most, fits } = this.#parts(index);
    const keeping = KEEPING.some((known) => known.call === call);
    const context = this.#context ?? (await this.#fresh());
    const { store, session } = context;
    let { before } = context;
    const faults = [];
    if (onTurn) {
      context.turn = await session.begin({ raw: "typed" });
      context.turn.stream({ id: "grows", role: "assistant", value: "before" });
      await context.turn.flush();
      before = await store.export();
    }
    let answer = "kept";
    let kept;
    const started = performance.now();
    try {
      kept = await call(context, value, random);
    } catch (error) {
      answer = this.#refused(error, faults);
    }
    const took = performance.now() - started;
    const after = await store.export();
    const changed = after !== before;
    if (answer !== "kept" && answer !== "(foreign)" && changed) faults.push("a call that was refused changed the store");
    if (fits !== undefined && fits !== (answer === "kept")) faults.push(`${place} must ${fits ? "" : "not "}be kept`);
    if (answer === "kept" && keeping && steady) {
      const wanted = again();
      if ((await canonical(kept)) !== (await canonical(wanted))) faults.push("what was kept did not come back equal");
    }
    if (changed) {
      const report = await store.verify();
      if (!report.ok) faults.push(`verify() found ${JSON.stringify(report.faults).slice(0, 300)}`);
    }
    if (changed || onTurn || faults.length > 0) await this.#leave();
    return { verdict: `${place}: ${answer}`, faults, took, slow: took > most };
  }

  async #file(index) {
    const { text, what } = hostileFile(this.#base, new Random(this.#seed, index));
    // Beside what is there already, in half of the cases.
    const occupied = index % 2 === 0;
    await this.#leave();
    const store = await this.#open();
    const faults = [];
    let answer;
    if (occupied) await store.import(this.#base);
    const before = await store.export();
    const started = performance.now();
    try {
      const { sessions } = await store.import(text, { onExisting: "rename" });
      answer = `imported ${await this.#used(store, sessions, faults)}`;
    } catch (error) {
      answer = this.#refused(error, faults);
      if (!["BadBundle", "InvalidArgument", "TooLarge"].includes(answer)) faults.push(`a file is refused with ${answer}`);
      if ((await store.export()) !== before) faults.push("a file that was refused changed the store");
    }
    const took = performance.now() - started;
    if (took > 5 * HANG) faults.push(`took ${Math.round(took)} ms`);
    await this.#end(store);
    return { verdict: `${what}: ${answer}`, faults };
  }

  /** Uses all that a file has brought; what cannot be read says so. */
  async #used(store, sessions, faults) {
    const codes = new Set();
    const attempt = async (work) => {
      try {
        return await work();
      } catch (error) {
        codes.add(this.#refused(error, faults));
        return undefined;
      }
    };
    for (const { importedAs } of sessions) {
      const session = await store.session(importedAs);
      const list = [];
      await attempt(async () => { for await (const { id } of session.checkpoints()) list.push(id); });
      for (const id of list) await attempt(() => session.get(id));
      const live = await attempt(() => session.messages());
      await attempt(() => session.log());
      await attempt(() => session.summary());
      for (const { id } of live ?? []) if (typeof id === "string") await attempt(() => session.versions(id));
      await attempt(() => session.undo());
      await attempt(() => session.redo());
      await attempt(() => session.append([{ id: "on", role: "user" }]));
      await attempt(async () => (await session.begin({ raw: "more" })).end([{ id: "end", role: "user" }]));
    }
    await attempt(() => store.history());
    const { ok, faults: found } = await store.verify();
    if (!ok) faults.push(`verify() found ${JSON.stringify(found).slice(0, 300)}`);
    const exported = await attempt(() => store.export());
    if (exported !== undefined) await attempt(() => store.import(exported, { onExisting: "rename" }));
    return `${sessions.length} (${[...codes].sort().join()})`;
  }
}
