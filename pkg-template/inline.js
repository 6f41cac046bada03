// `turnmark/inline`: the same package with the module inside it, for bundlers and pages that cannot carry a file along.
// It is also what `turnmark` is on a server: a bundled one has no file beside it, or only an address for browsers (Next.js).
import initWasm, { Engine } from "./wasm/turnmark.js";
import { createApi } from "./api.js";
import base64 from "./inline-wasm.js";

export { ERROR_CODES, TurnmarkError } from "./errors.js";
export { TimeTravelAPI } from "./time-travel.js";

export const { open, init, deleteDatabase, MemorySaver, IndexedDBSaver } = /* @__PURE__ */ createApi(
  { initWasm, Engine },
  () => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)),
);
