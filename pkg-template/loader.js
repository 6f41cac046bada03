/** Loads the WebAssembly module, once per page and release, and says what to do when it cannot be loaded. */
import { TurnmarkError, describe } from "./errors.js";
import { registry } from "./registry.js";
import { VERSION } from "./version.js";

const FILES = "node:fs/promises";

/**
 * The engine's module. Loaded at most once; a failure is forgotten, so that a later call can try again.
 *
 * @param {{ initWasm: (options: { module_or_path: unknown }) => Promise<unknown>, Engine: unknown }} glue
 * @param {() => unknown} source where from, when it is not loaded yet
 * @returns {Promise<any>} the class `Engine`
 */
export function loadEngine(glue, source) {
  const { modules } = registry();
  let loading = modules.get(VERSION);
  if (loading === undefined) {
    loading = instantiate(glue, source).catch((error) => {
      modules.delete(VERSION);
      throw error;
    });
    modules.set(VERSION, loading);
  }
  return loading;
}

async function instantiate({ initWasm, Engine }, source) {
  let place = "the given source";
  try {
    if (typeof WebAssembly !== "object") throw new Error("this environment has no WebAssembly");
    const given = await source();
    if (isAddress(given)) place = String(given.url ?? given);
    await initWasm({ module_or_path: isAddress(given) ? await download(given) : given });
    return Engine;
  } catch (error) {
    const why = describe(error).replace(/\.$/, "");
    throw new TurnmarkError("WasmFailed", `the WebAssembly module could not be loaded from ${place}: ${why}${advice(error)}`, { cause: error });
  }
}

function isAddress(source) {
  return typeof source === "string" || source instanceof URL || (typeof Request === "function" && source instanceof Request);
}

/** The bytes at an address. */
async function download(address) {
  // Node fetches no files. The name is in a variable so that no bundler looks for such a module.
  if (address.protocol === "file:" && globalThis.process?.versions?.node) {
    const { readFile } = await import(/* webpackIgnore: true */ /* @vite-ignore */ FILES);
    return readFile(address);
  }
  const response = await fetch(address);
  if (!response.ok) throw new Error(`the server answered with status ${response.status}`);
  // A development server answers an unknown address with its page, and status 200.
  if (/^text\/html/i.test(response.headers.get("content-type") ?? "")) {
    throw new Error("the server answered with an HTML page (expected magic word 00 61 73 6d, found 3c 21 64 6f)");
  }
  return response;
}

/** What the caller can do, for the failures that are met in practice. */
function advice(error) {
  const text = describe(error);
  if (/unsafe-eval|wasm-eval|content security policy|\bCSP\b/i.test(text)) {
    return ". The page's Content-Security-Policy forbids WebAssembly: add 'wasm-unsafe-eval' to its script-src";
  }
  if (/magic (word|number)|doesn't (parse|start)|HTML page|status 404/i.test(text)) {
    return ". The .wasm file is not where the bundler put the script. In Vite 7's dev server, add"
      + ' optimizeDeps: { exclude: ["turnmark"] } to vite.config; with esbuild, Bun or Rollup, import "turnmark/inline" instead,'
      + ' or copy "turnmark/turnmark_bg.wasm" to your output and call init(url) before open()';
  }
  return "";
}
