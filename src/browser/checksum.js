// The checksum of a stored row, taken over the very value that is stored: no text is copied into the module's memory for it.
// Every step is a bijection of what came before, so no change of a single character, number or byte goes unnoticed.

// A stored value may be anything, cycles included: how deep and how far it is walked is bounded. Rows stay far below.
const DEPTH = 8;
const STEPS = 1 << 22;
// The content takes the upper 32 of the 53 bits of a number, the key the lower 21.
const KEY = 1 << 21;

const double = new Float64Array(1);
const words = new Uint32Array(double.buffer);
let left = 0;

function mix(sum, word) {
  sum = Math.imul(sum ^ word, 0x9e3779b1);
  return sum ^ (sum >>> 15);
}

function text(sum, value) {
  const { length } = value;
  left -= length;
  if (left < 0) return 0;
  sum = mix(sum, length);
  let at = 0;
  for (; at + 1 < length; at += 2) sum = mix(sum, value.charCodeAt(at) | (value.charCodeAt(at + 1) << 16));
  return at < length ? mix(sum, value.charCodeAt(at)) : sum;
}

function number(sum, value) {
  double[0] = value;
  return mix(mix(mix(sum, 2), words[0]), words[1]);
}

function list(sum, value, depth) {
  sum = mix(mix(sum, 4), value.length);
  for (let at = 0; at < value.length && left >= 0; at += 1) sum = walk(sum, value[at], depth - 1);
  return sum;
}

function bytes(sum, value) {
  left -= value.length;
  if (left < 0) return 0;
  sum = mix(mix(sum, 5), value.length);
  for (let at = 0; at < value.length; at += 1) sum = mix(sum, value[at]);
  return sum;
}

function record(sum, value, depth) {
  for (const name of Object.keys(value)) {
    if (left < 0) break;
    // The row's own checksum is not part of it.
    if (depth < DEPTH || name !== "sum") sum = walk(text(mix(sum, 6), name), value[name], depth - 1);
  }
  return mix(sum, 7);
}

function walk(sum, value, depth) {
  left -= 1;
  if (depth < 0) left = -1;
  if (left < 0) return 0;
  if (typeof value === "string") return text(mix(sum, 1), value);
  if (typeof value === "number") return number(sum, value);
  if (value === null || typeof value !== "object") return mix(sum, value === true ? 8 : value === false ? 9 : value === null ? 10 : 11);
  if (Array.isArray(value)) return list(sum, value, depth);
  return value instanceof Uint8Array ? bytes(sum, value) : record(sum, value, depth);
}

/** 32 bits; `NaN` for what is too deep or too large to be a row of ours. */
function sumOf(value) {
  left = STEPS;
  const sum = walk(0, value, DEPTH) >>> 0;
  return left < 0 ? NaN : sum;
}

const place = (key) => sumOf(key) % KEY;

/** Gives a row its checksum. */
export function seal(row, key) {
  row.sum = sumOf(row) * KEY + place(key);
}

/** Whether a stored value is what was written under its key, where that is known. One of an earlier release has no checksum. */
export function isSound(row, key) {
  const sum = row?.sum;
  if (sum === undefined) return true;
  return typeof sum === "number" && Math.floor(sum / KEY) === sumOf(row) && (key === undefined || sum % KEY === place(key));
}
