// Files to import as an enemy would make them: a good bundle, changed in one of many ways.

const REPLACEMENTS = [
  null, true, 0, -1, 1, -0, 0.5, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53, 1e300, "", "x", "__proto__", "constructor", "a\0", "\ud800", "~", '~["u"]', '~["m",1]', "{", '{"$bytes":"!"}', [], {}, [[]], { $bytes: "AAAA" }, { $bytes: 5 }, { $bytes: "@" }, { length: 4294967295 },
];

/** Every place in a parsed file, as a list of steps. Of long runs of numbers, only some. */
function placesIn(value, path = [], into = []) {
  into.push(path);
  if (value !== null && typeof value === "object") {
    const keys = Object.keys(value);
    const few = Array.isArray(value) && keys.length > 8 && value.every((item) => typeof item === "number") ? keys.slice(0, 2) : keys;
    for (const key of few) placesIn(value[key], [...path, key], into);
  }
  return into;
}

const at = (file, path) => path.reduce((value, step) => value?.[step], file);

const set = (object, key, value) => Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });

/** A place that is not the whole, with what holds it. */
function pick(file, random, test = () => true) {
  const found = placesIn(file).slice(1).filter((path) => test(at(file, path), path));
  if (found.length === 0) return null;
  const path = random.one(found);
  return { holder: at(file, path.slice(0, -1)), key: path.at(-1), value: at(file, path) };
}

const isHash = (value) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
const isList = (value) => Array.isArray(value) && value.length > 0;

/** Changes of a parsed file, each in place, or giving another. */
const OF_VALUES = {
  "a field removed": (file, random) => {
    const { holder, key } = pick(file, random);
    if (Array.isArray(holder)) holder.splice(Number(key), 1);
    else delete holder[key];
  },
  "a value of another type": (file, random) => {
    const { holder, key } = pick(file, random);
    set(holder, key, random.one(REPLACEMENTS));
  },
  "a number changed": (file, random) => {
    const { holder, key, value } = pick(file, random, (found) => typeof found === "number");
    holder[key] = random.one([value + 1, value - 1, -value, value * 2 ** 20, value + 0.5, value + 2 ** 53, 4294967295 - value]);
  },
  "an element twice": (file, random) => {
    const { value } = pick(file, random, isList);
    value.splice(random.below(value.length + 1), 0, structuredClone(random.one(value)));
  },
  "a list turned round": (file, random) => { pick(file, random, (found) => isList(found) && found.length > 1).value.reverse(); },
  "a text changed": (file, random) => {
    const { holder, key, value } = pick(file, random, (found) => typeof found === "string");
    holder[key] = random.one([`${value}x`, value.slice(1), value.toUpperCase(), [...value].reverse().join(""), `${value}\0`, `\ud800${value}`, value.repeat(300)]);
  },
  "two values exchanged": (file, random) => {
    const one = pick(file, random);
    const other = pick(file, random, (found) => typeof found === typeof one.value);
    const kept = structuredClone(other.value);
    set(other.holder, other.key, structuredClone(one.value));
    set(one.holder, one.key, kept);
  },
  "a hash of something else": (file, random) => {
    const [one, other] = [pick(file, random, isHash), pick(file, random, isHash)];
    if (one && other) one.holder[one.key] = other.value;
  },
  "all hashes one": (file, random) => {
    const chosen = pick(file, random, isHash)?.value;
    return JSON.parse(JSON.stringify(file), (key, value) => (isHash(value) && random.chance(0.3) ? chosen : value));
  },
  "a hostile key": (file, random) => {
    const { value } = pick(file, random, (found) => found !== null && typeof found === "object" && !Array.isArray(found));
    set(value, random.one(["__proto__", "constructor", "prototype", "toJSON", "$bytes", "then", "length", "more"]), random.one([{ polluted: true }, 1, "AAAA", null]));
  },
  "spans": (file, random) => {
    const found = pick(file, random, (value, path) => path.at(-1) === "spans" && isList(value)) ?? pick(file, random, isList);
    const { value } = found;
    const one = structuredClone(random.one(value));
    if (Array.isArray(one)) one[one.length - 1] = random.one([0, -1, 1, 3, 4294967295, 1e15, NaN, "5"]);
    value.splice(random.below(value.length), random.below(2), one, one);
  },
  "an id twice": (file, random) => {
    const isId = (value, path) => typeof value === "string" && /id$|session/i.test(String(path.at(-1)));
    const [one, other] = [pick(file, random, isId), pick(file, random, isId)];
    if (one && other) one.holder[one.key] = other.value;
  },
  "another version": (file, random) => {
    for (const key of Object.keys(file)) if (typeof file[key] === "number" || key === "format") set(file, key, random.one([0, 1, 2, 99, 1e9, -1, "turnmark", null]));
  },
  "a deep value": (file, random) => {
    const { holder, key } = pick(file, random);
    let value = 1;
    for (let i = 0; i < 3000; i += 1) value = random.chance(0.5) ? [value] : { value };
    set(holder, key, value);
  },
  "several changes": (file, random) => {
    let changed = file;
    for (let i = 0; i < 4; i += 1) changed = OF_VALUES[random.one(["a value of another type", "a number changed", "a text changed", "an element twice"])](changed, random) ?? changed;
    return changed;
  },
};

const cut = (text, random) => {
  const from = random.below(text.length);
  return [text.slice(0, from), text.slice(from)];
};

/** Changes of the text itself. */
const OF_TEXT = {
  "truncated": (text, random) => cut(text, random)[0],
  "a character changed": (text, random) => {
    const [before, rest] = cut(text, random);
    return before + String.fromCharCode(rest.charCodeAt(0) ^ (1 << random.below(7))) + rest.slice(1);
  },
  "characters removed": (text, random) => {
    const [before, rest] = cut(text, random);
    return before + rest.slice(1 + random.below(20));
  },
  "a part twice": (text, random) => {
    const [before, rest] = cut(text, random);
    return before + rest.slice(0, random.below(200)) + rest;
  },
  "something inserted": (text, random) => {
    const [before, rest] = cut(text, random);
    return before + random.one(["\0", "\ud800", "\ufeff", '"', "}", "]", ",", "1e999", "[".repeat(2000), '"__proto__":{"polluted":true},', "\\u0000", "-", "null"]) + rest;
  },
  "a number as text": (text, random) => {
    const found = [...text.matchAll(/[:,[]\d+(?=[,}\]])/g)];
    const { index, 0: hit } = random.one(found);
    return text.slice(0, index + 1) + random.one(["1e999", "-1e999", "1e-999", "-0", "00", "1.0000000000000001", "99999999999999999999", "0x10", "NaN"]) + text.slice(index + hit.length);
  },
  "something else": (text, random) => random.one([
    "", " ", "null", "true", "0", '""', "[]", "{}", "[[[]]]", "\ufeff" + text, text + text, ` ${text}\n`, text + "x", "[".repeat(100_000), '{"a":'.repeat(50_000), '{"__proto__":{"polluted":true}}', '{"$bytes":"AAAA"}', `[${text}]`, `"${text.slice(0, 50)}"`, "\0".repeat(1000),
  ]),
};

/** A hostile file, and in which way. */
export function hostileFile(base, random) {
  const what = random.one([...Object.keys(OF_VALUES), ...Object.keys(OF_TEXT)]);
  if (Object.hasOwn(OF_TEXT, what)) return { text: OF_TEXT[what](base, random), what };
  const file = JSON.parse(base);
  return { text: JSON.stringify(OF_VALUES[what](file, random) ?? file), what };
}
