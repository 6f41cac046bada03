import { disposable } from "./dispose.js";
import { freshId } from "./ids.js";
import { NATIVE_FORK } from "./time-travel.js";
import { checkSettings } from "./settings.js";
import { Store } from "./store.js";

/** The saver contract on a store that is open already. */
export function saverOf(store) {
  return Object.freeze({
    put: (threadId, state, metadata) => store.put(threadId, state, metadata),
    get: (threadId, checkpointId) => store.get(threadId, checkpointId),
    list: (threadId, options) => store.list(threadId, options),
    delete: (threadId, checkpointId) => store.delete(threadId, checkpointId),
    prune: (threadId, keepLast) => store.prune(threadId, keepLast),
    putWrites: (threadId, writes, taskId) => store.putWrites(threadId, writes, taskId),
    [NATIVE_FORK]: (source, checkpointId, target) => store.fork(source, checkpointId, target),
  });
}

/**
 * The two saver classes. Their constructors do nothing but check the options: the module is loaded by the first call.
 *
 * @param {(settings: object, listeners: import("./events.js").Listeners) => Promise<object>} connect
 */
export function createSavers(connect) {
  class Saver {
    #store;

    constructor(settings) {
      this.#store = new Store((listeners) => connect(settings, listeners));
    }

    async put(threadId, state, metadata) {
      return this.#store.put(threadId, state, metadata);
    }

    async get(threadId, checkpointId) {
      return this.#store.get(threadId, checkpointId);
    }

    list(threadId, options) {
      return this.#store.list(threadId, options);
    }

    async delete(threadId, checkpointId) {
      return this.#store.delete(threadId, checkpointId);
    }

    async prune(threadId, keepLast) {
      return this.#store.prune(threadId, keepLast);
    }

    async putWrites(threadId, writes, taskId) {
      return this.#store.putWrites(threadId, writes, taskId);
    }

    on(event, listener) {
      return this.#store.on(event, listener);
    }

    async close() {
      return this.#store.close();
    }

    async [NATIVE_FORK](source, checkpointId, target) {
      return this.#store.fork(source, checkpointId, target);
    }
  }
  disposable(Saver.prototype);

  class MemorySaver extends Saver {
    constructor(options) {
      // A name of its own: two memory savers share nothing.
      super({ ...checkSettings(options), name: `memory-${freshId()}`, backend: "memory" });
    }
  }

  class IndexedDBSaver extends Saver {
    constructor(options) {
      super({ ...checkSettings(options), backend: "indexeddb" });
    }
  }

  return { MemorySaver, IndexedDBSaver };
}
