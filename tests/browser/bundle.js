// A bundle as a text and back, as pkg-template/bundle.js does it, without what guards against files that are none.
const toBase64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
const fromBase64 = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

export const write = (bundle) => JSON.stringify(bundle, (_, value) => (value instanceof Uint8Array ? { $bytes: toBase64(value) } : value));
export const read = (text) => JSON.parse(text, (_, value) => (typeof value?.$bytes === "string" ? fromBase64(value.$bytes) : value));
