/** Checks of arguments, made before anything is touched. What an id may hold beyond being text is the engine's rule. */
import { TurnmarkError, invalid } from "./errors.js";

const LONE_SURROGATE = /\p{Surrogate}/u;

/** The wasm boundary would turn half a surrogate pair into U+FFFD, and two ids into one. */
export const isWellFormed = (text) => !LONE_SURROGATE.test(text);

function shown(value) {
  if (value === null) return "null";
  return typeof value === "object" ? (Array.isArray(value) ? "an array" : "an object") : typeof value;
}

/** @param {string} what for example `"session id"` */
export function checkId(value, what) {
  if (typeof value !== "string") throw new TurnmarkError("InvalidId", `the ${what} must be a string, not ${shown(value)}`);
  if (!isWellFormed(value)) throw new TurnmarkError("InvalidId", `the ${what} is not well-formed text: it holds half a surrogate pair`);
  return value;
}

export function checkString(value, what) {
  if (typeof value !== "string") throw invalid(`${what} must be a string, not ${shown(value)}`);
  if (!isWellFormed(value)) throw invalid(`${what} is not well-formed text: it holds half a surrogate pair`);
  return value;
}

export function checkObject(value, what) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw invalid(`${what} must be an object, not ${shown(value)}`);
  return value;
}

/** Options may be left out. */
export const checkOptions = (value, what = "options") => (value === undefined ? {} : checkObject(value, what));

export function checkArray(value, what) {
  if (!Array.isArray(value)) throw invalid(`${what} must be an array, not ${shown(value)}`);
  return value;
}

export const checkStrings = (value, what) => checkArray(value, what).map((item, i) => checkString(item, `${what}[${i}]`));

/** A whole number. Infinity and fractions are mistakes, not wishes. */
export function checkCount(value, what, least = 0, most = Number.MAX_SAFE_INTEGER) {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least}` : `from ${least} to ${most}`;
  throw invalid(`${what} must be a whole number ${range}, not ${typeof value === "number" ? value : shown(value)}`);
}

export function checkBoolean(value, what) {
  if (typeof value !== "boolean") throw invalid(`${what} must be true or false, not ${shown(value)}`);
  return value;
}

export function checkOneOf(value, words, what) {
  if (!words.includes(value)) throw invalid(`${what} must be one of ${words.map((word) => JSON.stringify(word)).join(", ")}`);
  return value;
}

export function checkFunction(value, what) {
  if (typeof value !== "function") throw invalid(`${what} must be a function, not ${shown(value)}`);
  return value;
}

/** `undefined` stays; anything else is checked. */
export const ifGiven = (value, check, ...rest) => (value === undefined ? undefined : check(value, ...rest));
