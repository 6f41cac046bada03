/** Bundles as text. The engine tells and takes them as objects, and checks what they say; here they only become JSON. */
import { TurnmarkError, describe } from "./errors.js";

/** Most characters of a bundle. */
export const MAX_BUNDLE = 512 * 1024 * 1024;

/** @param {object} bundle as the engine tells it */
export function writeBundle(bundle) {
  try {
    return JSON.stringify(bundle, (_key, value) => (value instanceof Uint8Array ? { $bytes: toBase64(value) } : value));
  } catch (error) {
    throw new TurnmarkError("TooLarge", `the bundle is longer than a text can be (${describe(error)}); export fewer sessions at a time`, { cause: error });
  }
}

/** @param {string} text */
export function readBundle(text) {
  if (text.length > MAX_BUNDLE) throw new TurnmarkError("TooLarge", "a bundle may have at most 512 MB");
  try {
    return JSON.parse(text, (_key, value) => (typeof value?.$bytes === "string" ? fromBase64(value.$bytes) : value));
  } catch (error) {
    throw new TurnmarkError("BadBundle", `this is not a bundle that can be imported: ${describe(error)}. Nothing was imported`, { cause: error });
  }
}

/** Of the bytes of one row: few enough to be the arguments of one call. */
const toBase64 = (bytes) => btoa(String.fromCharCode(...bytes));

const fromBase64 = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
