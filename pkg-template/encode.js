/**
 * Values to texts: the writing half of the codec.
 *
 * A pure JSON value becomes its JSON. Anything else that can be kept exactly becomes "~" and the JSON of a tagged form.
 * All other values are refused with `NotStorable` and the place, before anything is written. `decode.js` reads both.
 */
import { TurnmarkError, describe, isOurs } from "./errors.js";
import {
  isArrayBuffer, isBlob, isBuiltin, isDate, isDetached, isFile, isMap, isResizable, isSet, typedArrayName,
} from "./brand.js";
import { dataUrlToBytes, mayBeDataUrl } from "./data-url.js";

export const MAX_DEPTH = 200;
/** Longest text of one value. */
export const MAX_TEXT = 16 * 1024 * 1024;
/** Most bytes of one binary. */
export const MAX_BINARY = 64 * 1024 * 1024;
/** Of the largest integer. Firefox and WebKit make none of more than 1,048,576 bits; Firefox reads none of more than 313,592 digits. */
const MAX_BITS = 1_000_000;
const TOO_LARGE = 1n << BigInt(MAX_BITS);
/** So much of a value is written before its parts are remembered: a few objects that refer to each other often can make any length. */
const UNREMEMBERED = 256 * 1024;

const { getPrototypeOf, getOwnPropertyDescriptor, getOwnPropertyNames, getOwnPropertySymbols, is } = Object;
const { stringify } = JSON;
const isArray = Array.isArray;
const ObjectPrototype = Object.prototype;
const ArrayPrototype = Array.prototype;
const dateTime = Function.prototype.call.bind(Date.prototype.getTime);
const mapEntries = Function.prototype.call.bind(Map.prototype.entries);
const setValues = Function.prototype.call.bind(Set.prototype.values);

/**
 * @typedef {object} Encoded
 * @property {string} text
 * @property {(Uint8Array | Blob)[] | null} binaries what the text refers to by position; a Blob still has to be read
 * @property {{ index: number, path: string }[] | null} blobs the Blobs among `binaries`
 */

/**
 * Encodes a value as it is now: later changes to it do not matter. Runs no accessor of the value but those that
 * stand for elements of an array, and the traps of proxies.
 *
 * @param {unknown} value
 * @param {string} path how messages call the value
 * @param {{ dataUrls?: boolean }} [options] `dataUrls`: long base64 data URLs are kept as binaries
 * @returns {Encoded}
 * @throws {TurnmarkError} `NotStorable` or `TooLarge`, with the place
 */
export function encode(value, path = "value", { dataUrls = false } = {}) {
  const json = asJson(value, dataUrls);
  if (json !== null) return { text: json, binaries: null, blobs: null };
  const writer = new TaggedWriter(path, dataUrls);
  try {
    const text = "~" + writer.write(value, 0);
    return { text, binaries: writer.binaries, blobs: writer.blobs };
  } catch (error) {
    if (isOurs(error)) throw error;
    throw writer.refusal(`could not be read (${describe(error)})`, error);
  }
}

/** What became of the parts of one value, by their depth, which decides whether they are kept. */
class Remembered {
  #levels = [];

  get(part, depth) {
    return this.#levels[depth]?.get(part);
  }

  set(part, depth, result) {
    (this.#levels[depth] ??= new Map()).set(part, result);
  }
}

/** The JSON of a value that JSON keeps exactly, `null` of any other, and of one that may hold a data URL to take apart. */
function asJson(value, dataUrls) {
  if ("toJSON" in ObjectPrototype || "toJSON" in ArrayPrototype) return null;
  try {
    if (scan(value, 0, MAX_TEXT, dataUrls, new Remembered()) < 0) return null;
    const text = stringify(value);
    return typeof text === "string" && text.length <= MAX_TEXT ? text : null;
  } catch {
    // A proxy threw. The tagged writer meets the same again, and knows where.
    return null;
  }
}

/**
 * Walks a value that may be pure JSON. The budget bounds the work when a value refers many times to one large part.
 *
 * @returns {number} what is left of the budget; negative when the value is not pure JSON, or too large
 */
function scan(value, depth, budget, dataUrls, sizes) {
  switch (typeof value) {
    case "string": return dataUrls && mayBeDataUrl(value) ? -1 : budget - value.length - 2;
    case "boolean": return budget - 4;
    case "number": return Number.isFinite(value) && !is(value, -0) ? budget - 1 : -1;
    case "object": break;
    default: return -1;
  }
  if (value === null) return budget - 4;
  if (depth >= MAX_DEPTH) return -1;
  if (MAX_TEXT - budget < UNREMEMBERED) return scanParts(value, depth, budget, dataUrls, sizes);
  const known = sizes.get(value, depth);
  if (known !== undefined) return budget - known;
  const left = scanParts(value, depth, budget, dataUrls, sizes);
  sizes.set(value, depth, budget - left);
  return left;
}

function scanParts(value, depth, budget, dataUrls, sizes) {
  if (isArray(value)) return scanArray(value, depth, budget - 2, dataUrls, sizes);
  const proto = getPrototypeOf(value);
  if (proto !== ObjectPrototype && !isForeignPlain(proto)) return -1;
  if (getOwnPropertySymbols(value).length > 0) return -1;
  const keys = getOwnPropertyNames(value);
  let left = budget - 2;
  for (let i = 0; i < keys.length && left >= 0; i += 1) {
    const property = getOwnPropertyDescriptor(value, keys[i]);
    if (!property.enumerable || property.get || property.set) return -1;
    left = scan(property.value, depth + 1, left - keys[i].length - 3, dataUrls, sizes);
  }
  return left;
}

function scanArray(array, depth, budget, dataUrls, sizes) {
  if (getPrototypeOf(array) !== ArrayPrototype && !isBuiltin(getPrototypeOf(array), "Array", 1)) return -1;
  const length = array.length;
  let left = budget - length;
  for (let i = 0; i < length && left >= 0; i += 1) left = scan(array[i], depth + 1, left, dataUrls, sizes);
  return left >= 0 && hasOnlyElements(array, length) ? left : -1;
}

/** An array as a literal makes it. Asked after a walk, which has bounded `length`. */
export function isPlainArray(array) {
  const proto = getPrototypeOf(array);
  return (proto === ArrayPrototype || isBuiltin(proto, "Array", 1)) && hasOnlyElements(array, array.length);
}

/** An object as a literal makes it, in this realm or another, or one without a prototype. */
export function isPlainObject(object) {
  const proto = getPrototypeOf(object);
  return proto === null || proto === ObjectPrototype || isBuiltin(proto, "Object", 0);
}

/** Dense, and nothing but elements. */
function hasOnlyElements(array, length) {
  return getOwnPropertyNames(array).length === length + 1 && getOwnPropertySymbols(array).length === 0;
}

/** A plain object's prototype in another realm. One that has a `toJSON` would make JSON.stringify write other things. */
function isForeignPlain(proto) {
  return proto !== null && isBuiltin(proto, "Object", 0) && !("toJSON" in proto);
}

/** Writes the tagged form, knowing at every moment where in the value it is. */
class TaggedWriter {
  binaries = null;
  blobs = null;
  #root;
  #dataUrls;
  #trail = [];
  #open = [];
  #left = MAX_TEXT;
  #texts = new Remembered();

  constructor(root, dataUrls) {
    this.#root = root;
    this.#dataUrls = dataUrls;
  }

  write(value, depth) {
    switch (typeof value) {
      case "string": return this.#string(value);
      case "boolean": return this.#spend(value ? "true" : "false");
      case "number":
        if (Number.isFinite(value) && !is(value, -0)) return this.#spend(String(value));
        return this.#spend(is(value, -0) ? '["n","-0"]' : `["n","${value}"]`);
      case "bigint":
        if (value >= TOO_LARGE || value <= -TOO_LARGE) throw this.#tooLarge(`is an integer of more than ${MAX_BITS} bits`);
        return this.#spend(`["i","${value}"]`);
      case "undefined": return this.#spend('["u"]');
      case "object": return value === null ? this.#spend("null") : this.#object(value, depth);
      default: throw this.refusal(`is a ${typeof value}`);
    }
  }

  #string(text) {
    const parts = this.#dataUrls ? dataUrlToBytes(text, MAX_BINARY) : null;
    return this.#spend(parts === null ? stringify(text) : `["D",${this.#refer(parts.bytes)},${stringify(parts.header)}]`);
  }

  #object(value, depth) {
    if (this.#open.includes(value)) throw this.refusal("refers back to an object that contains it");
    if (depth >= MAX_DEPTH) throw this.refusal(`is nested deeper than ${MAX_DEPTH} levels`);
    const remembers = MAX_TEXT - this.#left >= UNREMEMBERED;
    const known = remembers ? this.#texts.get(value, depth) : undefined;
    if (known !== undefined) return this.#spend(known);
    const binaries = this.binaries?.length;
    this.#open.push(value);
    const text = isArray(value) ? this.#array(value, depth) : this.#byPrototype(value, depth);
    this.#open.pop();
    // A binary is referred to once.
    if (remembers && this.binaries?.length === binaries) this.#texts.set(value, depth, text);
    return text;
  }

  #byPrototype(value, depth) {
    const proto = getPrototypeOf(value);
    if (proto === null) return this.#record("O", value, depth);
    if (proto === ObjectPrototype || isBuiltin(proto, "Object", 0)) return this.#record("o", value, depth);
    if (isBuiltin(proto, "Date", 1) && isDate(value)) return this.#date(value);
    if (isBuiltin(proto, "Map", 1) && isMap(value)) return this.#map(value, depth);
    if (isBuiltin(proto, "Set", 1) && isSet(value)) return this.#set(value, depth);
    if (ArrayBuffer.isView(value)) return this.#view(value, proto);
    if (isBuiltin(proto, "ArrayBuffer", 1) && isArrayBuffer(value)) return this.#buffer(value);
    if (isBuiltin(proto, "Blob", 1) && isBlob(value)) return this.#blob("B", value);
    if (isBuiltin(proto, "File", 2) && isFile(value)) return this.#blob("F", value);
    const owner = getOwnPropertyDescriptor(proto, "constructor")?.value?.name;
    throw this.refusal(typeof owner === "string" && owner !== "" ? `is an instance of ${owner}` : "is not a plain object");
  }

  #array(array, depth) {
    const proto = getPrototypeOf(array);
    if (proto !== ArrayPrototype && !isBuiltin(proto, "Array", 1)) throw this.refusal("is an instance of a subclass of Array");
    const length = array.length;
    if (length > this.#left) throw this.#tooLarge(`is an array of ${length} elements`);
    let text = '["a"';
    for (let i = 0; i < length; i += 1) {
      this.#trail.push(i);
      const element = array[i];
      if (element === undefined && !Object.hasOwn(array, i)) throw this.refusal("is a hole in a sparse array");
      text += "," + this.write(element, depth + 1);
      this.#trail.pop();
    }
    if (!hasOnlyElements(array, length)) throw this.refusal("is an array with properties beside its elements");
    return this.#close(text);
  }

  #record(tag, record, depth) {
    this.#refuseSymbols(record);
    let text = `["${tag}"`;
    for (const key of getOwnPropertyNames(record)) {
      this.#trail.push(key);
      const property = getOwnPropertyDescriptor(record, key);
      if (property.get || property.set) throw this.refusal("is an accessor, not a value");
      if (!property.enumerable) throw this.refusal("is a hidden property");
      text += "," + this.#spend(stringify(key)) + "," + this.write(property.value, depth + 1);
      this.#trail.pop();
    }
    return this.#close(text);
  }

  #date(date) {
    this.#refuseProperties(date);
    const time = dateTime(date);
    return this.#spend(Number.isNaN(time) ? '["d",null]' : `["d",${time}]`);
  }

  #map(map, depth) {
    this.#refuseProperties(map);
    let text = '["m"';
    let position = 0;
    for (const [key, value] of mapEntries(map)) {
      text += "," + this.#inside(position, "key", key, depth) + "," + this.#inside(position, "value", value, depth);
      position += 1;
    }
    return this.#close(text);
  }

  #set(set, depth) {
    this.#refuseProperties(set);
    let text = '["s"';
    let position = 0;
    for (const value of setValues(set)) {
      this.#trail.push(position);
      text += "," + this.write(value, depth + 1);
      this.#trail.pop();
      position += 1;
    }
    return this.#close(text);
  }

  #inside(position, side, value, depth) {
    this.#trail.push(position, side);
    const text = this.write(value, depth + 1);
    this.#trail.length -= 2;
    return text;
  }

  #buffer(buffer) {
    this.#refuseProperties(buffer);
    return this.#bytes("ArrayBuffer", buffer, 0, buffer.byteLength);
  }

  #view(view, proto) {
    // Its other properties would have to be told from a name for every element, so only those are looked at.
    this.#refuseSymbols(view);
    const name = typedArrayName(view) ?? "DataView";
    if (!isBuiltin(proto, name, name === "DataView" ? 1 : 2)) {
      throw this.refusal(`is an instance of a subclass of ${name}; copy it into a plain one`);
    }
    return this.#bytes(name, view.buffer, view.byteOffset, view.byteLength);
  }

  #bytes(name, buffer, offset, length) {
    if (!isArrayBuffer(buffer)) throw this.refusal("is backed by a SharedArrayBuffer; copy it first");
    if (isDetached(buffer)) throw this.refusal("is backed by a detached ArrayBuffer");
    if (isResizable(buffer)) throw this.refusal("is backed by a resizable ArrayBuffer; copy it first");
    if (length > MAX_BINARY) throw this.#tooLarge(`holds ${length} bytes; one binary may have ${MAX_BINARY}`);
    return this.#spend(`["b","${name}",${this.#refer(new Uint8Array(buffer, offset, length).slice())}]`);
  }

  #blob(tag, blob) {
    // Not #refuseProperties: some platforms keep a Blob's state under symbols of their own.
    const [key] = getOwnPropertyNames(blob);
    if (key !== undefined) throw this.refusal(`has a property of its own, ${stringify(key)}`);
    if (blob.size > MAX_BINARY) throw this.#tooLarge(`holds ${blob.size} bytes; one binary may have ${MAX_BINARY}`);
    const index = this.#refer(blob);
    (this.blobs ??= []).push({ index, path: this.#path() });
    const file = tag === "F" ? `,${stringify(blob.name)},${blob.lastModified}` : "";
    return this.#spend(`["${tag}",${index},${stringify(blob.type)}${file}]`);
  }

  #refer(binary) {
    return (this.binaries ??= []).push(binary) - 1;
  }

  #refuseSymbols(object) {
    const [symbol] = getOwnPropertySymbols(object);
    if (symbol !== undefined) throw this.refusal(`has a property named by a symbol, ${String(symbol)}`);
  }

  /** For objects whose content is not in properties: one that has some would lose them. */
  #refuseProperties(object) {
    this.#refuseSymbols(object);
    const [key] = getOwnPropertyNames(object);
    if (key !== undefined) throw this.refusal(`has a property of its own, ${stringify(key)}`);
  }

  #close(text) {
    this.#spend("[]");
    return text + "]";
  }

  #spend(text) {
    this.#left -= text.length + 1;
    if (this.#left < 0) throw this.#tooLarge(`makes the value longer than ${MAX_TEXT} characters`);
    return text;
  }

  #tooLarge(why) {
    const path = this.#path();
    return new TurnmarkError("TooLarge", `${path} ${why}; store it in several smaller values`, { path });
  }

  refusal(why, cause) {
    const path = this.#path();
    return new TurnmarkError("NotStorable", `${path} ${why}, so it cannot be kept exactly; nothing was written`, { path, cause });
  }

  #path() {
    return this.#trail.reduce((path, step) => path + pathStep(step), this.#root);
  }
}

/** One step of a path: `[3]`, `.parts` or `["a key"]`. */
export function pathStep(step) {
  if (typeof step === "number") return `[${step}]`;
  return /^[A-Za-z_$][\w$]*$/.test(step) ? `.${step}` : `[${stringify(step)}]`;
}
