// One of every kind of value that must come back equal, and the comparison that notices when it does not.

const bytes = (length, factor = 7) => Uint8Array.from({ length }, (_, i) => (i * factor) % 256);

/** The same values at every call. */
export function richValues() {
  const views = ["Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array", "Uint32Array", "Float16Array", "Float32Array", "Float64Array"];
  const own = { normal: 1 };
  Object.defineProperty(own, "__proto__", { value: { polluted: true }, enumerable: true, configurable: true, writable: true });
  return {
    date: new Date(1_700_000_000_123), invalidDate: new Date(NaN),
    map: new Map([["key", { deep: [1, 2] }], [new Date(5), new Set(["x"])], [NaN, -0]]),
    set: new Set([1, "1", null, undefined, [2]]),
    bigint: [0n, -1n, 2n ** 80n, -(10n ** 400n)],
    numbers: [NaN, Infinity, -Infinity, -0, 0, 5e-324, 2 ** 53, 1.7976931348623157e308],
    nothing: undefined, nil: null, holes: [undefined, null],
    text: ["", "\0", "\ud800", "a\udfffb", "\udc00\ud800", "👩‍🚀", "\u2028\u2029", "<script>alert(1)</script>", "~tilde", "\\u0041"],
    keys: { "": 1, "a b": 2, constructor: 3, toString: 4, hasOwnProperty: 5, "0": 6, "\ud83d": 7 },
    own, bare: Object.assign(Object.create(null), { a: 1 }),
    buffer: bytes(1000).buffer, emptyBuffer: new ArrayBuffer(0),
    views: views.filter((name) => globalThis[name]).map((name) => new globalThis[name]([0, 1, 2, 250])),
    bigViews: [new BigInt64Array([-1n, 2n ** 62n]), new BigUint64Array([2n ** 64n - 1n])],
    dataView: new DataView(bytes(16).buffer), partOfBuffer: bytes(64).subarray(8, 24),
    blob: new Blob([bytes(2000, 11)], { type: "image/png" }), emptyBlob: new Blob([]),
    file: new File([bytes(300, 13)], "naïve \u202e.txt", { type: "text/plain", lastModified: 1_234_567_890_123 }),
    // Over 64 KB: Chromium keeps such values in files of their own when they are stored whole.
    large: { text: "turn".repeat(60_000), bytes: bytes(200_000, 31), blob: new Blob([bytes(150_000, 17)]) },
    deep: Array.from({ length: 150 }).reduce((inner) => ({ inner }), "bottom"),
  };
}

/** The shared parts of a Blob and a File, and what is in them. */
async function blobDifference(a, b, path) {
  for (const key of ["size", "type", "name", "lastModified"]) if (a[key] !== b[key]) return `${path}.${key}: ${a[key]} is not ${b[key]}`;
  return bytesDifference(await a.arrayBuffer(), await b.arrayBuffer(), path);
}

function bytesDifference(a, b, path) {
  const [left, right] = [a, b].map((value) => (ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : new Uint8Array(value)));
  if (left.length !== right.length) return `${path}: ${left.length} bytes are not ${right.length}`;
  const at = left.findIndex((byte, i) => byte !== right[i]);
  return at < 0 ? null : `${path}: byte ${at} differs`;
}

async function first(pairs) {
  for (const [a, b, path] of pairs) {
    const found = await difference(a, b, path);
    if (found) return found;
  }
  return null;
}

const prototypeOf = (value) => Object.getPrototypeOf(value);

/** Where two values first differ, in anything at all; `null` when they are equal. */
export async function difference(a, b, path = "value") {
  if (Object.is(a, b)) return null;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return `${path}: ${String(a)} (${typeof a}) is not ${String(b)} (${typeof b})`;
  if (prototypeOf(a) !== prototypeOf(b)) return `${path}: the prototypes differ`;
  if (a instanceof Date) return Object.is(a.getTime(), b.getTime()) ? null : `${path}: ${a} is not ${b}`;
  if (a instanceof Blob) return blobDifference(a, b, path);
  if (a instanceof ArrayBuffer || ArrayBuffer.isView(a)) return bytesDifference(a, b, path);
  if (a instanceof Set) return difference([...a], [...b], `${path}(set)`);
  if (a instanceof Map) return difference([...a], [...b], `${path}(map)`);
  const [left, right] = [Reflect.ownKeys(a), Reflect.ownKeys(b)];
  if (left.length !== right.length || left.some((key, i) => key !== right[i])) return `${path}: keys ${left.map(String)} are not ${right.map(String)}`;
  return first(left.filter((key) => key !== "length").map((key) => [Object.getOwnPropertyDescriptor(a, key).value, Object.getOwnPropertyDescriptor(b, key).value, `${path}[${JSON.stringify(key)}]`]));
}
