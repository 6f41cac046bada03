/** Checks of arguments, made before anything is touched. What an id may hold beyond being text is the engine's rule. */
import { TurnmarkError, describe, invalid, isOurs } from "./errors.js";

const LONE_SURROGATE = /\p{Surrogate}/u;

/** The wasm boundary would turn half a surrogate pair into U+FFFD, and two ids into one. */
export const isWellFormed = (text) => !LONE_SURROGATE.test(text);

/** `Array.isArray` throws for a proxy that was revoked. */
function isArray(value) {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}

function shown(value) {
  if (value === null) return "null";
  return typeof value === "object" ? (isArray(value) ? "an array" : "an object") : typeof value;
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
  if (value === null || typeof value !== "object" || isArray(value)) throw invalid(`${what} must be an object, not ${shown(value)}`);
  return value;
}

/** Options may be left out. */
export const checkOptions = (value, what = "options") => (value === undefined ? {} : checkObject(value, what));

export function checkArray(value, what) {
  if (!isArray(value)) throw invalid(`${what} must be an array, not ${shown(value)}`);
  return value;
}

/** What a check makes of each element of an array. One by one, because `map` walks over the four billion holes that an array can have. */
export function checkEach(value, what, check) {
  checkArray(value, what);
  const checked = [];
  for (let i = 0; i < value.length; i += 1) checked.push(check(value[i], `${what}[${i}]`));
  return checked;
}

export const checkStrings = (value, what) => checkEach(value, what, checkString);

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

function refuse(thrown) {
  if (isOurs(thrown)) throw thrown;
  throw new TurnmarkError("InvalidArgument", `an argument could not be read (${describe(thrown)}); nothing was written`, { cause: thrown });
}

/** The method, failing with a TurnmarkError also where an accessor or a proxy in its arguments throws. */
export function guarded(method) {
  return (...args) => {
    try {
      const answer = method(...args);
      return answer instanceof Promise ? answer.catch(refuse) : answer;
    } catch (thrown) {
      return refuse(thrown);
    }
  };
}

/** An object with each of its methods so. */
export function guardedMethods(object) {
  for (const [name, member] of Object.entries(object)) if (typeof member === "function") object[name] = guarded(member);
  return object;
}
