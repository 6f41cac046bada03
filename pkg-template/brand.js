/**
 * What an object really is, whatever realm it comes from and whatever it claims to be.
 *
 * `instanceof` fails for objects of another window, and `Symbol.toStringTag` can lie. The accessors used here read an
 * internal slot and throw where there is none.
 */

const { getPrototypeOf, getOwnPropertyDescriptor } = Object;

/** @param {(this: unknown) => unknown} accessor */
function brand(accessor) {
  return (value) => {
    try {
      accessor.call(value);
      return true;
    } catch {
      return false;
    }
  };
}

/** The getter of an accessor property, or `undefined` where the platform lacks the class. */
function getter(Class, name) {
  return Class && getOwnPropertyDescriptor(Class.prototype, name)?.get;
}

const TypedArray = getPrototypeOf(Uint8Array);
const never = () => false;
const blobSize = getter(globalThis.Blob, "size");
const fileName = getter(globalThis.File, "name");
const bufferLength = getter(ArrayBuffer, "byteLength");
const bufferResizable = getter(ArrayBuffer, "resizable");

export const isDate = brand(Date.prototype.getTime);
export const isMap = brand(getter(Map, "size"));
export const isSet = brand(getter(Set, "size"));
/** An ArrayBuffer and not a SharedArrayBuffer. */
export const isArrayBuffer = brand(bufferLength);
export const isBlob = blobSize ? brand(blobSize) : never;
export const isFile = fileName ? brand(fileName) : never;

/** Name of a typed array's own kind (a subclass has its base's), `undefined` for anything else. */
export const typedArrayName = (value) => getter(TypedArray, Symbol.toStringTag).call(value);

export const isResizable = bufferResizable ? (buffer) => bufferResizable.call(buffer) : never;

/** Whether a buffer's bytes were transferred away. There is no other way to ask on every supported platform. */
export function isDetached(buffer) {
  try {
    new Uint8Array(buffer);
    return false;
  } catch {
    return true;
  }
}

/**
 * Whether `proto` is the built-in prototype called `name` of some realm: so many steps above `null`, and owned by a
 * constructor of that name. A subclass is a step further away.
 *
 * @param {object | null} proto
 * @param {string} name
 * @param {number} steps number of prototypes above it: 0 for `Object.prototype`, 1 for `Date.prototype`
 */
export function isBuiltin(proto, name, steps) {
  if (proto === null) return false;
  const owner = getOwnPropertyDescriptor(proto, "constructor")?.value;
  if (typeof owner !== "function" || owner.name !== name || owner.prototype !== proto) return false;
  let above = getPrototypeOf(proto);
  for (; above !== null && steps > 0; steps -= 1) above = getPrototypeOf(above);
  return above === null && steps === 0;
}
