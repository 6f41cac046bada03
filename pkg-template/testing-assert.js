/** The few assertions the suite needs, so that it runs under any test runner, in any browser. */

class AssertionFailure extends Error {
  name = "AssertionFailure";
}

export function ok(condition, message) {
  if (!condition) throw new AssertionFailure(message);
}

/** Equality of value and kind: -0 is not 0, a Map is not an object, an `undefined` property is not an absent one. */
export function equal(actual, expected, what = "value") {
  const difference = compare(actual, expected, what);
  if (difference) throw new AssertionFailure(difference);
}

export const equals = (a, b) => compare(a, b, "") === null;

/** Awaits a rejection with an Error; with a code where one is part of the contract. */
export async function rejects(attempt, codes, what) {
  let outcome;
  try {
    outcome = await attempt();
  } catch (error) {
    ok(error instanceof Error, `${what} must fail with an Error, not with ${show(error)}`);
    ok(codes === null || codes.includes(error.code), `${what} must fail with ${codes?.join(" or ")}, not with ${error.code}: ${error.message}`);
    return error;
  }
  throw new AssertionFailure(`${what} must fail, but gave ${show(outcome)}`);
}

export async function collect(iterable) {
  const items = [];
  for await (const item of iterable) items.push(item);
  return items;
}

function show(value) {
  try {
    const text = typeof value === "bigint" ? `${value}n` : Object.is(value, -0) ? "-0" : JSON.stringify(value);
    return text === undefined ? String(value) : text.slice(0, 200);
  } catch {
    return Object.prototype.toString.call(value);
  }
}

const kind = (value) => Object.prototype.toString.call(value);
const bytesOf = (value) => (ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : new Uint8Array(value));

/** The first difference in words, or `null`. */
function compare(actual, expected, at) {
  const differ = () => `${at} is ${show(actual)}, not ${show(expected)}`;
  if (Object.is(actual, expected)) return null;
  if (typeof actual !== "object" || typeof expected !== "object" || actual === null || expected === null) return differ();
  if (kind(actual) !== kind(expected)) return `${at} is a ${kind(actual)}, not a ${kind(expected)}`;
  if (actual instanceof Date) return Object.is(actual.getTime(), expected.getTime()) ? null : differ();
  if (actual instanceof Map) return compare([...actual], [...expected], `${at} (its entries)`);
  if (actual instanceof Set) return compare([...actual], [...expected], `${at} (its values)`);
  if (actual instanceof ArrayBuffer || ArrayBuffer.isView(actual)) return compare([...bytesOf(actual)], [...bytesOf(expected)], `${at} (its bytes)`);
  if (Array.isArray(actual) && actual.length !== expected.length) return `${at} has ${actual.length} elements, not ${expected.length}: ${show(actual)}`;
  return compareProperties(actual, expected, at);
}

function compareProperties(actual, expected, at) {
  if ((Object.getPrototypeOf(actual) === null) !== (Object.getPrototypeOf(expected) === null)) return `${at} has another prototype`;
  for (const key of Object.keys(expected)) {
    if (!Object.hasOwn(actual, key)) return `${at} lacks ${JSON.stringify(key)}`;
    const difference = compare(actual[key], expected[key], Array.isArray(expected) ? `${at}[${key}]` : `${at}.${key}`);
    if (difference) return difference;
  }
  const extra = Object.keys(actual).find((key) => !Object.hasOwn(expected, key));
  return extra === undefined ? null : `${at} has ${JSON.stringify(extra)}, which it should not`;
}
