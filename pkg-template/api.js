import { checkString } from "./check.js";
import { TurnmarkError, fromRaw } from "./errors.js";
import { loadEngine } from "./loader.js";
import { removeMirrors } from "./mirror-files.js";
import { acquire } from "./registry.js";
import { hasRoom } from "./room.js";
import { createSavers } from "./savers.js";
import { DEFAULT_NAME, checkSettings } from "./settings.js";
import { Store } from "./store.js";
import { createTurnmark } from "./turnmark.js";
import { within } from "./within.js";
import { dismiss } from "./witness.js";

/**
 * The package's functions and classes over one way to load the module. The entries (`index.js`, `inline.js`) differ
 * in that way only.
 *
 * @param {{ initWasm: Function, Engine: any }} glue what wasm-bindgen made
 * @param {() => unknown} defaultSource where the module is when nobody says otherwise
 */
export function createApi(glue, defaultSource) {
  async function connect({ timeout, ...settings }, listeners) {
    if (settings.backend === "indexeddb") requireIndexedDB();
    const Engine = await within(timeout, "loading the WebAssembly module", loadEngine(glue, defaultSource));
    const { name, scope, backend, durability, maxCheckpoints, retention, mirror } = settings;
    const options = { name, scope, backend, durability, maxCheckpoints, retention, mirror };
    return acquire(options, timeout, (listener) => Engine.open({ ...options, timeout, listener, hasRoom }), listeners);
  }

  async function connectOrFallBack(settings) {
    try {
      return { settings, lease: await connect(settings) };
    } catch (error) {
      const known = fromRaw(error);
      if (known.code !== "Unavailable" || !settings.fallbackToMemory) throw known;
      const memory = { ...settings, backend: "memory" };
      return { settings: memory, lease: await connect(memory) };
    }
  }

  return {
    ...createSavers(connect),

    async open(options) {
      const { settings, lease } = await connectOrFallBack(checkSettings(options));
      const store = new Store(async () => lease, settings);
      await store.open();
      // Not awaited: see there.
      if (settings.persist) store.persist().catch(() => {});
      return createTurnmark(store, settings);
    },

    async init(source) {
      await loadEngine(glue, source === undefined ? defaultSource : () => source);
    },

    async deleteDatabase(name = DEFAULT_NAME) {
      checkString(name, "name");
      requireIndexedDB();
      const Engine = await loadEngine(glue, defaultSource);
      await dismiss(name);
      await removeMirrors(name);
      try {
        await Engine.deleteDatabase(name);
      } catch (error) {
        throw fromRaw(error);
      }
    },
  };
}

/** Fails before anything is loaded where there is nothing to store in. */
function requireIndexedDB() {
  let found;
  try {
    found = globalThis.indexedDB;
  } catch {
    // Some browsers forbid even to look, in a sandboxed frame for example.
  }
  if (!found) {
    throw new TurnmarkError("Unavailable", "there is no IndexedDB here (a server, or a page whose storage the browser blocks);"
      + ' open the store in the browser, or pass backend: "memory" or fallbackToMemory: true');
  }
}
