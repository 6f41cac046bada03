/**
 * Base64 data URLs as what they stand for: a header and bytes. Only those that come back as the very same string are taken
 * apart; a screenshot is then stored once, as binary, and not as base64 text in every checkpoint.
 */

/** A shorter payload is not worth a binary of its own. */
const LEAST_PAYLOAD = 256;
const SCHEME = "data:";
const HEADER = /^data:[^,]*;base64,$/;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const PAD = "=".charCodeAt(0);
/** Code unit to digit; 64 for any that is none. */
const digits = new Uint8Array(128).fill(64);
const letters = new Uint8Array(64);
for (let i = 0; i < 64; i += 1) {
  letters[i] = ALPHABET.charCodeAt(i);
  digits[letters[i]] = i;
}

/** Whether a string is worth a try by {@link dataUrlToBytes}. Costs next to nothing. */
export const mayBeDataUrl = (text) => text.length > LEAST_PAYLOAD && text.startsWith(SCHEME);

/** Whether a text is the header of a data URL, up to and including its comma. */
export const isDataUrlHeader = (text) => HEADER.test(text);

/**
 * The parts of a base64 data URL, or `null` of any other string, and of one that its parts would not give back exactly.
 *
 * @param {string} url
 * @param {number} most bytes that are still taken
 * @returns {{ header: string, bytes: Uint8Array } | null} the header ends with the comma
 */
export function dataUrlToBytes(url, most = Infinity) {
  if (!mayBeDataUrl(url)) return null;
  const start = url.indexOf(",") + 1;
  const length = url.length - start;
  if (start === 0 || length < LEAST_PAYLOAD || length % 4 !== 0 || (length / 4) * 3 - 2 > most) return null;
  const header = url.slice(0, start);
  if (!isDataUrlHeader(header)) return null;
  const bytes = fromBase64(url, start);
  return bytes !== null && bytes.length <= most ? { header, bytes } : null;
}

/** The data URL that {@link dataUrlToBytes} took apart. */
export const bytesToDataUrl = (header, bytes) => header + toBase64(bytes);

/** The bytes of a canonical base64 text from a position on; `null` when it is not canonical. */
function fromBase64(text, start) {
  if (typeof Uint8Array.fromBase64 !== "function") return decodeDigits(text, start);
  try {
    // "strict" refuses missing padding and left-over bits; that only white space was passed over, the length tells.
    const bytes = Uint8Array.fromBase64(text.slice(start), { lastChunkHandling: "strict" });
    return Math.ceil(bytes.length / 3) * 4 === text.length - start ? bytes : null;
  } catch {
    return null;
  }
}

function toBase64(bytes) {
  return typeof bytes.toBase64 === "function" ? bytes.toBase64() : new TextDecoder().decode(encodeDigits(bytes));
}

/** For platforms without `Uint8Array.fromBase64`. Not `atob`: it passes over what would not come back. */
function decodeDigits(text, start) {
  const end = text.length;
  const padding = text.charCodeAt(end - 1) !== PAD ? 0 : text.charCodeAt(end - 2) !== PAD ? 1 : 2;
  const bytes = new Uint8Array(((end - start) / 4) * 3 - padding);
  const digit = (at) => {
    const unit = text.charCodeAt(at);
    return unit < 128 ? digits[unit] : 64;
  };
  let at = start;
  for (let i = 0; i < bytes.length; i += 3, at += 4) {
    // In the last group, padding counts as zeroes.
    const left = bytes.length - i;
    const first = digit(at);
    const second = digit(at + 1);
    const third = left > 1 ? digit(at + 2) : 0;
    const fourth = left > 2 ? digit(at + 3) : 0;
    if ((first | second | third | fourth) > 63) return null;
    const group = (first << 18) | (second << 12) | (third << 6) | fourth;
    if (left < 3 && (group & (left === 1 ? 0xffff : 0xff)) !== 0) return null;
    bytes[i] = group >> 16;
    bytes[i + 1] = group >> 8;
    bytes[i + 2] = group;
  }
  return bytes;
}

function encodeDigits(bytes) {
  const out = new Uint8Array(Math.ceil(bytes.length / 3) * 4);
  for (let i = 0, at = 0; i < bytes.length; i += 3, at += 4) {
    const group = (bytes[i] << 16) | (bytes[i + 1] << 8) | bytes[i + 2];
    out[at] = letters[group >> 18];
    out[at + 1] = letters[(group >> 12) & 63];
    out[at + 2] = i + 1 < bytes.length ? letters[(group >> 6) & 63] : PAD;
    out[at + 3] = i + 2 < bytes.length ? letters[group & 63] : PAD;
  }
  return out;
}
