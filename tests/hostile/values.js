// Values as an enemy would pass them: one for each random stream, of everything that JavaScript has.

/** Whether the value in the making is the same however often it is read. */
let steady = true;

/** Where the next value is made: what differs between a page and Node comes from outside. */
let world = { Foreign: globalThis, Shared: globalThis.SharedArrayBuffer };

/** @param {{ Foreign: typeof globalThis, Shared: typeof SharedArrayBuffer }} given `Foreign`: the globals of another realm */
export function makeIn(given) {
  world = given;
}

const KEYS = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "toJSON", "then", "length", "id", "role", "0", "-1", "4294967295", "", " ", "\0", "\ud800", "a\udc00b", "~", "$bytes", "messages", "\u202e", "😀", "x".repeat(300)];
const TEXTS = [
  "", "\0", "\ud800", "\udc00\ud800", "a\udfffb", "~", '~["u"]', '["u"]', '{"$bytes":"AA=="}', "__proto__", "null", "\u2028\u2029", "\u202e", "👩‍🚀", "\\u0041", "\ufeff", "</script>", "x".repeat(257),
  "data:image/png;base64,", "data:image/png;base64,AAAA", `data:image/png;base64,${"AAAA".repeat(400)}`, `data:image/png;base64,${"AAAA".repeat(400)}=`, `data:text/plain;base64,${"@@@@".repeat(400)}`,
  "x".repeat(12_000), "\ud83d\ude00".repeat(13_000), "\ud800".repeat(9000), "\u0001".repeat(9000), "~".repeat(50_000),
];
const NUMBERS = [NaN, -0, 0, Infinity, -Infinity, 5e-324, -5e-324, 2 ** 53, 2 ** 53 + 2, -(2 ** 53), 1.7976931348623157e308, 1e21, 2 ** 31, 2 ** 32, 2 ** 32 - 2, 0.1, -1, 1.5, 200, 8.64e15];
const VIEWS = ["Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array", "Uint32Array", "Float32Array", "Float64Array"];
const DEPTHS = [1, 2, 190, 196, 197, 198, 199, 200, 201, 202, 203, 400, 5000, 100_000];

const bytes = (length) => Uint8Array.from({ length }, (_, i) => (i * 7) % 256);
const setOwn = (object, key, value) => Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });

function detached(make) {
  const buffer = new ArrayBuffer(16);
  const value = make(buffer);
  structuredClone(buffer, { transfer: [buffer] });
  return value;
}

/** What a trap or an accessor throws. */
function thrown(random) {
  return random.one([() => new Error("hostile"), () => "a string", () => undefined, () => null, () => revoked({}), () => ({ turnmark: true, code: "Nonsense", message: "forged" })])();
}

function revoked(target) {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

class Own { field = 1; }
class OwnArray extends Array {}
class OwnMap extends Map {}
class OwnSet extends Set {}
class OwnDate extends Date {}
class OwnBytes extends Uint8Array {}
class OwnError extends Error {}
class OwnBuffer extends ArrayBuffer {}

/** Values without parts. */
const LEAVES = [
  (random) => random.one(TEXTS),
  (random) => random.one(NUMBERS),
  (random) => random.one([undefined, null, true, false]),
  (random) => random.one([0n, -1n, 2n ** 64n, -(2n ** 63n), 10n ** 400n]),
  (random) => random.one([Symbol("s"), Symbol.iterator, Symbol.for("turnmark.registry")]),
  (random) => random.one([() => {}, function named() {}, async () => {}, class {}, Object, Proxy, eval]),
  (random) => random.one([() => new Date(NaN), () => new Date(8.64e15), () => new Date(-1), () => new Date(0), () => setOwn(new Date(1), "own", 1), () => new OwnDate(1), () => Object.create(Date.prototype), () => new world.Foreign.Date(5)])(),
  (random) => {
    const View = globalThis[random.one(VIEWS)];
    return random.one([
      () => new View([0, 1, 250]), () => new View(0), () => new View(bytes(64).buffer, 8, 3), () => detached((buffer) => new View(buffer)), () => new View(new world.Shared(16)),
      () => new View(new ArrayBuffer(16, { maxByteLength: 64 })), () => new View(new ArrayBuffer(16, { maxByteLength: 64 }), 0, 1), () => setOwn(new View(2), "own", 1), () => Object.defineProperty(new View(2), Symbol("s"), { value: 1 }),
      () => new world.Foreign.Uint8Array([1, 2]),
    ])();
  },
  (random) => random.one([
    () => bytes(random.below(60_000)).buffer, () => new ArrayBuffer(0), () => detached((buffer) => buffer), () => new world.Shared(8), () => new ArrayBuffer(8, { maxByteLength: 16 }), () => new DataView(bytes(9).buffer, 1, 4),
    () => detached((buffer) => new DataView(buffer)), () => new BigInt64Array([-1n, 2n ** 62n]), () => new BigUint64Array([2n ** 64n - 1n]), () => new OwnBytes(3), () => new OwnBuffer(3), () => Object.create(ArrayBuffer.prototype), () => Object.create(Uint8Array.prototype),
  ])(),
  (random) => random.one([
    () => new Blob([bytes(random.below(3000))], { type: "image/png" }), () => new Blob([]), () => new File([bytes(9)], "a\u202eb", { type: "a/b", lastModified: 5 }), () => setOwn(new Blob(["x"]), "own", 1), () => Object.create(Blob.prototype),
    () => new Blob(["x"], { type: "\u0001" }), () => new File([], "\ud800", { lastModified: 1 }), () => new File(["x"], "__proto__", { lastModified: -1 }),
  ])(),
  (random) => random.one([
    () => new Error("e"), () => new OwnError("e"), () => /r/g, () => Promise.resolve(1), () => new WeakMap(), () => new WeakSet(), () => new Own(), () => new OwnArray(1, 2), () => new OwnMap([[1, 2]]), () => new OwnSet([1]), () => Object("boxed"), () => Object(1),
    () => Object(1n), () => Object(Symbol("s")), () => (function () { return arguments; })(1, 2), () => (function* () { yield 1; })(), () => Math, () => JSON, () => Reflect, () => new URL("https://example.com"), () => new Proxy(() => {}, {}), () => Object.prototype, () => Array.prototype,
    () => Map.prototype, () => new (class Object { x = 1; })(), () => Object.create({ constructor: { name: "Object" } }), () => Object.create({ inherited: 1 }), () => new world.Foreign.Error("e"), () => new world.Foreign.RegExp("r"), () => new AbortController().signal, () => Symbol.prototype, () => new Intl.NumberFormat("en"),
  ])(),
  (random) => revoked(random.one([{}, [], () => {}])),
];

/** Values with parts, which `inner()` makes. */
const CONTAINERS = [
  (random, inner) => Array.from({ length: random.below(5) }).reduce((object) => setOwn(object, random.one(KEYS), inner()), {}),
  (random, inner) => Array.from({ length: random.below(5) }, inner),
  (random, inner) => new Map(Array.from({ length: random.below(4) }, () => [inner(), inner()])),
  (random, inner) => new Set(Array.from({ length: random.below(4) }, inner)),
  (random, inner) => setOwn(Object.create(null), random.one(KEYS), inner()),
  (random, inner) => JSON.parse(`{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"n":${random.below(9)}}`, (key, value) => (key === "n" ? inner() : value)),
  (random, inner) => Object.assign(new world.Foreign.Object(), { a: inner() }),
  (random, inner) => world.Foreign.Array.of(inner()),
  (random, inner) => new world.Foreign.Map([[1, inner()]]),
  (random, inner) => new world.Foreign.Set([inner()]),
  (random, inner) => Object.freeze({ a: inner() }),
  (random, inner) => setOwn([inner()], random.one(["own", "-1", "1e3"]), 1),
  (random, inner) => [inner(), , inner()],
  (random, inner) => Object.assign([inner()], { length: random.one([2, 100, 2 ** 24, 2 ** 32 - 2, 2 ** 32 - 1]) }),
  (random) => new Array(random.one([1, 2 ** 16, 2 ** 31, 2 ** 32 - 1])),
  (random, inner) => ({ [Symbol("s")]: inner() }),
  (random, inner) => Object.defineProperty({}, random.one(KEYS), { value: inner(), enumerable: false, configurable: true }),
  (random, inner) => ({ toJSON: random.one([() => "other", () => { throw new Error("toJSON"); }, inner()]), a: inner() }),
  (random, inner) => ({ [Symbol.toPrimitive]: () => inner(), valueOf: () => inner() }),
  (random) => Object.defineProperty({}, random.one(KEYS), { get: () => { throw thrown(random); }, enumerable: true, configurable: true }),
  (random, inner) => ({ get changing() { return inner(); } }),
  (random, inner) => {
    const shared = inner();
    return { a: shared, b: [shared, shared], c: new Map([[shared, shared]]) };
  },
  (random, inner) => {
    const object = { a: inner() };
    object.b = random.one([object, [object], new Map([[object, 1]]), new Set([object]), { object }, new Map([[1, { deep: object }]])]);
    return object;
  },
  (random) => {
    const list = [];
    list.push(list);
    return random.chance(0.5) ? list : new Map([["list", list]]);
  },
  (random, inner) => deep(random.one(DEPTHS), random, inner()),
  (random, inner) => new Proxy(random.one([() => ({ a: inner() }), () => [inner()]])(), {}),
  (random, inner) => {
    const trap = random.one(["get", "ownKeys", "getPrototypeOf", "getOwnPropertyDescriptor", "has"]);
    steady = false;
    return new Proxy({ a: inner() }, { [trap]: () => { throw thrown(random); } });
  },
  (random, inner) => {
    const trap = random.one(["get", "ownKeys", "getPrototypeOf", "getOwnPropertyDescriptor"]);
    steady = false;
    return new Proxy([inner()], { [trap]: () => { throw thrown(random); } });
  },
  // What answers differently each time can make any length between two looks at it, as any script can hang its page: here it is small.
  (random) => {
    steady = false;
    const inner = () => random.one(LEAVES)(random);
    return new Proxy({}, { getPrototypeOf: () => random.one([Object.prototype, Array.prototype, Date.prototype, null]), ownKeys: () => ["a"], getOwnPropertyDescriptor: () => ({ value: inner(), enumerable: true, configurable: true }) });
  },
  (random) => {
    steady = false;
    const inner = () => random.one(LEAVES)(random);
    return random.one([() => Object.defineProperty([1], 0, { get: inner, enumerable: true }), () => new Proxy([1, 2], { get: (list, key) => (key === "length" ? 2 : inner()) })])();
  },
  (random) => new Proxy(new (random.one([Map, Set, Date]))(), {}),
  // Few objects that are a million when they are written out.
  (random) => Array.from({ length: random.one([3, 8, 11, 60]) }).reduce((part) => [part, part], 1),
];

function deep(levels, random, bottom) {
  const wrap = random.one([(part) => [part], (part) => ({ part }), (part) => new Map([[1, part]]), (part) => new Map([[part, 1]]), (part) => new Set([part])]);
  let value = bottom;
  for (let i = 0; i < levels; i += 1) value = wrap(value);
  return value;
}

function any(random, level) {
  if (level > 3 || random.chance(0.45)) return random.one(LEAVES)(random);
  return random.one(CONTAINERS)(random, () => any(random, level + 1));
}

/** A hostile value. An equal stream makes an equal one. `steady`: it is the same however often it is read. */
export function hostileValue(random) {
  steady = true;
  const value = any(random, 0);
  return { value, steady };
}

const MAX_TEXT = 16 * 1024 * 1024;
const MAX_BINARY = 64 * 1024 * 1024;
const LARGEST = 1n << 1_000_000n;

/** Values at the limits of size: each costs much time, so they are few. The third part says whether it can be kept. */
export const HUGE = [
  ["the longest text", () => "x".repeat(MAX_TEXT - 100), true],
  ["a text that is too long", () => "x".repeat(MAX_TEXT - 1), false],
  ["a text of which every character is escaped", () => "\u0001".repeat(MAX_TEXT / 4), false],
  ["the largest integer", () => LARGEST - 1n, true],
  ["an integer that is too large", () => -LARGEST, false],
  ["a binary that is too large", () => new ArrayBuffer(MAX_BINARY + 1), false],
  ["a file that is too large", () => new Blob([new Uint8Array(MAX_BINARY), "x"]), false],
  ["an array of many numbers", () => Array.from({ length: 500_000 }, (_, i) => i), true],
  ["a map of many keys", () => new Map(Array.from({ length: 100_000 }, (_, i) => [String(i), i])), true],
];

// --- comparing --------------------------------------------------------------------------------------------------------

const tagOf = (value) => Object.prototype.toString.call(value).slice(8, -1);

/** A text that two values share only if they are equal, whatever realm they are from. */
export async function canonical(value) {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (Object.is(value, -0)) return "-0";
  if (value === null || typeof value !== "object") return String(value);
  if (value instanceof Blob) return `${tagOf(value)}(${value.type},${value.name},${value.lastModified},${await hex(await value.arrayBuffer())})`;
  if (ArrayBuffer.isView(value)) return `${tagOf(value)}(${await hex(value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength))})`;
  const tag = tagOf(value);
  if (tag === "ArrayBuffer") return `ArrayBuffer(${await hex(value)})`;
  if (tag === "Date") return `Date(${Date.prototype.getTime.call(value)})`;
  const parts = [];
  if (tag === "Map") for (const [key, item] of value) parts.push(`${await canonical(key)}=>${await canonical(item)}`);
  else if (tag === "Set") for (const item of value) parts.push(await canonical(item));
  else for (const key of Reflect.ownKeys(value)) if (!Array.isArray(value) || key !== "length") parts.push(`${JSON.stringify(key)}:${await canonical(Reflect.getOwnPropertyDescriptor(value, key).value)}`);
  return `${Object.getPrototypeOf(value) === null ? "bare " : ""}${tag}[${parts.join(",")}]`;
}

async function hex(buffer) {
  return Array.from(new Uint8Array(await buffer), (byte) => byte.toString(16)).join(".");
}
