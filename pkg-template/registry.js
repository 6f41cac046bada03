/**
 * What every copy of this package on a page shares. A bundle can hold two copies, and React's strict mode opens twice; two
 * engines on one database would be two writers.
 *
 * Only copies of one release share engines: another release may speak to its engine differently. Two releases on one
 * page are like two tabs.
 */
import { invalid } from "./errors.js";
import { Hub } from "./events.js";
import { Mirror } from "./mirror.js";
import { Queue } from "./queue.js";
import { VERSION } from "./version.js";
import { Witness } from "./witness.js";
import { within } from "./within.js";

const KEY = Symbol.for("turnmark.registry");

/** @returns {{ modules: Map<string, Promise<any>>, engines: Map<string, Shared> }} */
export function registry() {
  return (globalThis[KEY] ??= { modules: new Map(), engines: new Map() });
}

/** @typedef {{ engine: object, hub: Hub, queue: Queue, release: () => Promise<void> }} Lease */

/** An engine with everything that must exist once per engine. */
class Shared {
  hub = new Hub();
  queue = new Queue();
  users = 0;
  /** Set when the last user has left; resolves when the engine is closed. */
  closed = null;

  constructor(options, engine) {
    this.options = options;
    const witness = options.backend === "indexeddb" ? new Witness(options.name, options.scope) : null;
    const remembered = witness?.read();
    this.engine = engine(this.hub.receive).then(async (opened) => {
      this.hub.attach(opened, witness);
      // Before anything is written: what is lost must not look like what is new.
      if (witness) await this.hub.hearWitness(await remembered);
      const { name, scope, mirror: budget } = options;
      if (witness && budget > 0) this.hub.mirror = new Mirror({ name, scope, budget }, opened, this.hub);
      return opened;
    });
  }
}

/**
 * A share in the engine of a store, opened when this is its first.
 *
 * @param {{ name: string, scope: string, backend: string, durability: string, maxCheckpoints: number, retention: string, mirror: number }} options
 * @param {number} timeout in milliseconds
 * @param {(listener: (event: object) => void) => Promise<object>} openEngine
 * @param {import("./events.js").Listeners | null} listeners whoever listens already hears that the opening is blocked
 * @returns {Promise<Lease>}
 */
export async function acquire(options, timeout, openEngine, listeners = null) {
  const { engines } = registry();
  const key = JSON.stringify([VERSION, options.backend, options.name, options.scope]);
  let shared = engines.get(key);
  // One that is being closed must be gone first: its last writes end, its locks are freed.
  while (shared?.closed) {
    await within(timeout, "closing the store before it is opened again", shared.closed);
    shared = engines.get(key);
  }
  if (shared === undefined) {
    shared = new Shared(options, openEngine);
    engines.set(key, shared);
  } else {
    refuseOtherSettings(shared.options, options);
  }
  shared.users += 1;
  if (listeners) shared.hub.join(listeners);
  try {
    return { engine: await shared.engine, hub: shared.hub, queue: shared.queue, release: once(() => release(key, shared)) };
  } catch (error) {
    // All who wait for a failed opening get its error; the next caller starts afresh.
    if (engines.get(key) === shared) engines.delete(key);
    throw error;
  }
}

function refuseOtherSettings(open, asked) {
  for (const setting of ["durability", "maxCheckpoints", "retention"]) {
    if (open[setting] !== asked[setting]) {
      throw invalid(`store ${JSON.stringify(asked.name)} is already open on this page with ${setting} ${JSON.stringify(open[setting])};`
        + ` it cannot be opened with ${JSON.stringify(asked[setting])} as well. Use one setting, or close the other first`);
    }
  }
}

async function release(key, shared) {
  shared.users -= 1;
  if (shared.users > 0) return;
  const { engines } = registry();
  const leave = async (engine) => {
    await Promise.all([shared.hub.witness?.leave(), shared.hub.mirror?.leave()]);
    await engine.close();
  };
  const ended = shared.engine.then(leave).finally(() => engines.delete(key));
  // Whoever waits for the end does not care how it went; the closer hears of it.
  shared.closed = ended.catch(() => {});
  await ended;
}

function once(action) {
  let done;
  return () => (done ??= action());
}
