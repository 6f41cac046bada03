// What the tests of React code share: the React that is installed here, a page without a browser, and patience.
import assert from "node:assert/strict";
import { register } from "node:module";
import { after, afterEach, before } from "node:test";
import { Window } from "happy-dom";

/**
 * The package lies beside this folder, not below it: its `react` becomes the one installed here, as in an application. With `withoutWasm` the
 * sources serve as they are, and no module has to be built.
 */
export function useReactFromHere({ withoutWasm = false } = {}) {
  const NO_WASM = "data:text/javascript,export default async () => {}; export class Engine {}";
  register(
    `data:text/javascript,${encodeURIComponent(`export const resolve = (specifier, context, next) => {
      if (${withoutWasm} && specifier === "./wasm/turnmark.js") return { url: ${JSON.stringify(NO_WASM)}, shortCircuit: true };
      return next(specifier, /^react(-dom)?(\\/|$)/.test(specifier) ? { ...context, parentURL: ${JSON.stringify(import.meta.url)} } : context);
    };`)}`,
  );
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Tries until `check` does not throw any more. */
export async function eventually(check, attempts = 400) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await check();
    } catch (error) {
      if (attempt === attempts) throw error;
      await sleep(5);
    }
  }
}

/** What undoes the setting of a test: called when it is over, newest first. */
export const undone = [];

/** For a `describe`: a page for its tests, `{ dom, createRoot, hydrateRoot }` once they run. No rejection may be left unhandled in one. */
export function pageForTests({ settle = 0 } = {}) {
  const page = { dom: null, createRoot: null, hydrateRoot: null };
  const unhandled = [];
  const note = (reason) => unhandled.push(reason);
  before(async () => {
    page.dom = new Window();
    Object.assign(globalThis, { window: page.dom, document: page.dom.document });
    globalThis.navigator ??= page.dom.navigator;
    const { createRoot, hydrateRoot } = await import("react-dom/client");
    Object.assign(page, { createRoot, hydrateRoot });
    process.on("unhandledRejection", note);
  });
  after(async () => {
    process.off("unhandledRejection", note);
    await page.dom.happyDOM.close();
  });
  afterEach(async () => {
    for (const undo of undone.splice(0).reverse()) await undo();
    await sleep(settle);
    assert.deepEqual(unhandled.splice(0), [], "no rejection is ever left unhandled");
  });
  return page;
}
