/**
 * Texts to values: the reading half of the codec. What comes in was stored, imported or damaged, so nothing about it
 * is believed: whatever has not the exact shape that `encode.js` writes is `RecordUnreadable`.
 */
import { bytesToDataUrl, isDataUrlHeader } from "./data-url.js";
import { TurnmarkError, describe } from "./errors.js";
import { MAX_DEPTH } from "./encode.js";

const TILDE = 0x7e;

/** The classes a binary may come back as. A Map, so that no stored name can reach a prototype. */
const viewClasses = new Map(
  [
    "Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array", "Uint32Array",
    "Float16Array", "Float32Array", "Float64Array", "BigInt64Array", "BigUint64Array", "DataView",
  ].flatMap((name) => (globalThis[name] ? [[name, globalThis[name]]] : [])),
);

/**
 * The value of one text.
 *
 * @param {string} text
 * @param {Uint8Array[] | null | undefined} binaries what the text refers to by position
 * @param {() => string} what how a message calls the text
 */
export function decode(text, binaries, what = () => "value") {
  try {
    return text.charCodeAt(0) === TILDE ? revive(JSON.parse(text.slice(1)), binaries ?? [], 0) : JSON.parse(text);
  } catch (error) {
    throw new TurnmarkError("RecordUnreadable",
      `the stored ${what()} cannot be read (${describe(error)}); run verify() to see what it affects`, { cause: error });
  }
}

/**
 * The values of many texts. Parsed one by one: joining a thousand texts for a single parse was measured 1.5 times
 * slower, and would let a damaged text such as `1,2` shift all that follow.
 *
 * @param {string[]} texts
 * @param {(Uint8Array[] | undefined)[] | null} binaries
 * @param {(index: number) => string} what how a message calls text number `index`
 */
export function decodeMany(texts, binaries, what = (index) => `value ${index}`) {
  return texts.map((text, index) => decode(text, binaries?.[index], () => what(index)));
}

/** Sets an own property, whatever its name: `object.__proto__ = x` would set no property. */
export function setOwn(object, key, value) {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[key] = value;
  }
}

function revive(node, binaries, depth) {
  if (node === null || typeof node !== "object") return node;
  if (!Array.isArray(node)) throw new SyntaxError("an object in a tagged text");
  // A value of the deepest level that is allowed sits one below its container.
  if (depth > MAX_DEPTH) throw new SyntaxError(`nested deeper than ${MAX_DEPTH} levels`);
  const inner = (child) => revive(child, binaries, depth + 1);
  const [tag, first] = node;
  switch (tag) {
    case "a": return node.slice(1).map(inner);
    case "o": return record({}, node, inner);
    case "O": return record(Object.create(null), node, inner);
    case "u": return undefined;
    case "n": return number(first);
    case "i": return BigInt(string(first));
    case "d": return new Date(first === null ? NaN : finite(first));
    case "m": return new Map(pairs(node).map(([key, value]) => [inner(key), inner(value)]));
    case "s": return new Set(node.slice(1).map(inner));
    case "b": return bytes(string(first), binary(binaries, node[2]));
    case "B": return new Blob([binary(binaries, first)], { type: string(node[2]) });
    case "F": return new File([binary(binaries, first)], string(node[3]), { type: string(node[2]), lastModified: finite(node[4]) });
    case "D": return dataUrl(string(node[2]), binary(binaries, first));
    default: throw new SyntaxError(`an unknown tag ${JSON.stringify(tag)}`);
  }
}

function record(target, node, inner) {
  for (const [key, value] of pairs(node)) setOwn(target, string(key), inner(value));
  return target;
}

function pairs(node) {
  if (node.length % 2 === 0) throw new SyntaxError("a key without a value");
  return Array.from({ length: (node.length - 1) / 2 }, (_, i) => [node[2 * i + 1], node[2 * i + 2]]);
}

function number(word) {
  if (!["NaN", "Infinity", "-Infinity", "-0"].includes(word)) throw new SyntaxError("an unknown number");
  return Number(word);
}

function string(value) {
  if (typeof value !== "string") throw new SyntaxError("a string was expected");
  return value;
}

function finite(value) {
  if (typeof value !== "number") throw new SyntaxError("a number was expected");
  return value;
}

function binary(binaries, index) {
  const content = Number.isInteger(index) ? binaries[index] : undefined;
  if (!(content instanceof Uint8Array)) throw new SyntaxError(`binary content ${index} is missing`);
  return content;
}

function dataUrl(header, content) {
  if (!isDataUrlHeader(header)) throw new SyntaxError("the header of a data URL was expected");
  return bytesToDataUrl(header, content);
}

/** A buffer or a view that owns exactly the given bytes. */
function bytes(name, content) {
  const whole = content.byteLength === content.buffer.byteLength ? content : content.slice();
  if (name === "ArrayBuffer") return whole.buffer;
  const View = viewClasses.get(name);
  if (View === undefined) throw new SyntaxError(`no binary class ${JSON.stringify(name)} here`);
  return new View(whole.buffer);
}
