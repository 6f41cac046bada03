// The package entry for browsers and bundlers: the module is a file beside this one. Importing it touches nothing.
import initWasm, { Engine } from "./wasm/turnmark.js";
import { createApi } from "./api.js";

export { ERROR_CODES, TurnmarkError } from "./errors.js";
export { TimeTravelAPI } from "./time-travel.js";

export const { open, init, deleteDatabase, MemorySaver, IndexedDBSaver } = /* @__PURE__ */ createApi(
  { initWasm, Engine },
  () => new URL("./wasm/turnmark_bg.wasm", import.meta.url),
);
