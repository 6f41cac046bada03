// The codec alone: what goes in comes out equal, or is refused with its place. (R3, field reports langgraph#8748)
import assert from "node:assert/strict";
import test from "node:test";
import vm from "node:vm";
import fc from "fast-check";
import { bytesToDataUrl, dataUrlToBytes } from "../../pkg-template/data-url.js";
import { encode, MAX_BINARY, MAX_DEPTH, MAX_TEXT } from "../../pkg-template/encode.js";
import { decode, decodeMany } from "../../pkg-template/decode.js";
import { Pack } from "../../pkg-template/pack.js";

const roundTrip = (value) => {
  const { text, binaries } = encode(value);
  return decode(text, binaries);
};

const refused = (value, path, code = "NotStorable") =>
  assert.throws(() => encode(value, "value"), (error) => {
    assert.equal(error.name, "TurnmarkError");
    assert.equal(error.code, code, error.message);
    assert.equal(error.path, path);
    assert.ok(error.message.startsWith(path), error.message);
    return true;
  });

/** Nested containers: `nested(3)` is [[[0]]]. */
const nested = (levels) => {
  let value = 0;
  for (let i = 0; i < levels; i += 1) value = [value];
  return value;
};

const leaf = fc.oneof(
  fc.string({ unit: "binary" }), fc.double(), fc.integer(), fc.boolean(), fc.constant(null), fc.constant(undefined),
  fc.bigInt(), fc.date({ noInvalidDate: true }), fc.constant(-0), fc.constantFrom("\ud800", "a\udfffb", "__proto__"),
  fc.uint8Array(), fc.float64Array(), fc.uint8Array().map((bytes) => bytes.buffer.slice(0)),
  fc.uint8Array({ minLength: 4 }).map((bytes) => new DataView(bytes.buffer.slice(0), 1, 2)),
  fc.uint8Array({ minLength: 4 }).map((bytes) => bytes.subarray(1, 3)),
);

const keys = fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "toString", "id", "0", "\udc00"));

const { value: anything } = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: "small", withCrossShrink: true }, leaf, tie("array"), tie("object"), tie("bare"), tie("map"), tie("set")),
  array: fc.array(tie("value"), { maxLength: 5 }),
  object: fc.dictionary(keys, tie("value"), { maxKeys: 5, noNullPrototype: true }),
  bare: fc.array(fc.tuple(keys, tie("value")), { maxLength: 5 })
    .map((entries) => Object.assign(Object.create(null), Object.fromEntries(entries))),
  map: fc.array(fc.tuple(tie("value"), tie("value")), { maxLength: 4 }).map((entries) => new Map(entries)),
  set: fc.array(tie("value"), { maxLength: 4 }).map((values) => new Set(values)),
}));

const json = fc.jsonValue({ noUnicodeString: false }).filter((value) => !JSON.stringify(value).includes("-0"));

test("any storable value comes back equal", () => {
  fc.assert(fc.property(anything, (value) => assert.deepStrictEqual(roundTrip(value), value)), { numRuns: 2000 });
});

test("an invalid date comes back invalid", () => {
  // Apart from the others because node:assert finds no invalid date equal to another.
  const back = roundTrip({ at: new Date(NaN) });
  assert.ok(back.at instanceof Date && Number.isNaN(back.at.getTime()));
});

test("equal values have identical texts, however often they are encoded", () => {
  fc.assert(fc.property(anything, (value) => {
    const { text, binaries } = encode(value);
    assert.equal(encode(value).text, text);
    assert.equal(encode(decode(text, binaries)).text, text);
  }), { numRuns: 1000 });
});

test("a pure JSON value is its JSON, and only such a value is", () => {
  fc.assert(fc.property(json, (value) => {
    const plain = JSON.parse(JSON.stringify(value));
    assert.equal(encode(plain).text, JSON.stringify(plain));
  }));
  for (const value of [undefined, -0, NaN, [undefined], { a: 1n }, Object.create(null)]) assert.match(encode(value).text, /^~/);
});

test("the tagged form is the one both sides have agreed on", () => {
  const bytes = new Uint8Array([1, 2]);
  const text = (value) => encode(value).text;
  assert.equal(text([undefined, NaN, -0, -Infinity, 12n]), '~["a",["u"],["n","NaN"],["n","-0"],["n","-Infinity"],["i","12"]]');
  assert.equal(text({ a: new Date(5), b: new Date(NaN) }), '~["o","a",["d",5],"b",["d",null]]');
  assert.equal(text(Object.assign(Object.create(null), { a: [1, "x", null, true] })), '~["O","a",["a",1,"x",null,true]]');
  assert.equal(text(new Map([[{ k: 1 }, new Set([1])]])), '~["m",["o","k",1],["s",1]]');
  assert.equal(text([bytes, bytes.buffer]), '~["a",["b","Uint8Array",0],["b","ArrayBuffer",1]]');
  assert.equal(text(new Blob(["x"], { type: "text/plain" })), '~["B",0,"text/plain"]');
  assert.equal(text(new File(["x"], "a.txt", { lastModified: 7 })), '~["F",0,"","a.txt",7]');
});

test("a value is taken as it is at the call, so a later mutation does not matter", () => {
  const value = { list: [1], bytes: new Uint8Array([1, 2, 3]) };
  const { text, binaries } = encode(value);
  value.list.push(2);
  value.bytes.fill(9);
  assert.deepStrictEqual(decode(text, binaries), { list: [1], bytes: new Uint8Array([1, 2, 3]) });
});

test("typed arrays of every kind come back with their own bytes only", () => {
  const buffer = Uint8Array.from({ length: 64 }, (_, i) => i).buffer;
  for (const Class of [Int8Array, Uint8ClampedArray, Int16Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array]) {
    const view = new Class(buffer, 16, 2);
    const back = roundTrip(view);
    assert.deepStrictEqual(back, view);
    assert.equal(back.buffer.byteLength, view.byteLength);
  }
});

test("bytes that arrive inside a larger buffer become values that own exactly theirs", () => {
  const arrived = new Uint8Array([9, 9, 9, 1, 2, 9]).subarray(3, 5);
  const back = decode('~["b","ArrayBuffer",0]', [arrived]);
  assert.deepStrictEqual(back, new Uint8Array([1, 2]).buffer);
});

test("prototype keys stay own properties and reach no prototype", () => {
  const value = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"n":{}}');
  for (const sent of [value, { ...value, at: new Date(0) }]) {
    const back = roundTrip(sent);
    assert.ok(Object.hasOwn(back, "__proto__"));
    assert.deepStrictEqual(back.__proto__, { polluted: 1 });
    assert.equal(Object.getPrototypeOf(back), Object.prototype);
  }
  assert.deepStrictEqual(roundTrip({ ["__proto__"]: 1n })["__proto__"], 1n);
  assert.equal({}.polluted, undefined);
});

test("objects, arrays and dates of another realm are what they are", () => {
  const other = vm.runInNewContext('({ plain: { a: [1] }, at: new Date(3), map: new Map([[1, 2]]), bytes: new Uint8Array([7]), bare: Object.create(null) })');
  assert.deepStrictEqual(roundTrip(other), { plain: { a: [1] }, at: new Date(3), map: new Map([[1, 2]]), bytes: new Uint8Array([7]), bare: Object.create(null) });
  assert.equal(encode(vm.runInNewContext("({ a: [1] })")).text, '{"a":[1]}');
  refused(vm.runInNewContext("new (class Point {})"), "value");
  refused(vm.runInNewContext("Object.create({ x: 1 })"), "value");
});

test("what cannot be kept exactly is refused with its place", () => {
  class Point { x = 1; }
  class Log extends Array {}
  class Stamp extends Date {}
  refused(() => {}, "value");
  refused({ a: [{ f() {} }] }, "value.a[0].f");
  refused({ a: Symbol("s") }, "value.a");
  refused({ "a b": [new Point()] }, 'value["a b"][0]');
  refused([new Log()], "value[0]");
  refused([new Stamp()], "value[0]");
  refused({ e: new Error("x") }, "value.e");
  refused({ e: /x/ }, "value.e");
  refused({ p: Promise.resolve() }, "value.p");
  refused({ w: new WeakMap() }, "value.w");
  refused({ s: new String("x") }, "value.s");
  refused({ [Symbol("s")]: 1 }, "value");
  refused(Object.defineProperty({ a: 1 }, "hidden", { value: 1, enumerable: false }), "value.hidden");
  refused({ get a() { return 1; } }, "value.a");
  refused({ set a(_) {} }, "value.a");
  refused({ a: [1, , 3] }, "value.a[1]"); // eslint-disable-line no-sparse-arrays
  refused(Object.assign([1], { extra: 1 }), "value");
  refused(Object.assign(new Date(0), { extra: 1 }), "value");
  refused(Object.assign(new Map(), { [Symbol("s")]: 1 }), "value");
  refused(new Map([[1, () => {}]]), "value[0].value");
  refused(new Map([[() => {}, 1]]), "value[0].key");
  refused(new Set([1, Symbol("s")]), "value[1]");
  refused((function f() { return arguments; })(1), "value");
  refused(Buffer.from([1]), "value");
  refused({ a: new URL("https://example.com") }, "value.a");
  refused(globalThis, "value");
});

test("bytes that another thread shares, that were transferred away, or that may grow are refused", () => {
  refused(new SharedArrayBuffer(8), "value");
  refused({ v: new Uint8Array(new SharedArrayBuffer(8)) }, "value.v");
  const buffer = new ArrayBuffer(8);
  const view = new Uint8Array(buffer);
  structuredClone(buffer, { transfer: [buffer] });
  refused([buffer], "value[0]");
  refused([view], "value[0]");
  const growing = new ArrayBuffer(8, { maxByteLength: 16 });
  refused([growing], "value[0]");
  refused([new Uint8Array(growing, 0, 4)], "value[0]");
});

test("a cycle is refused where it closes, a shared part is not a cycle", () => {
  const list = [1];
  const cyclic = { a: { list } };
  cyclic.a.back = cyclic;
  refused(cyclic, "value.a.back");
  const map = new Map();
  map.set("self", map);
  refused({ map }, "value.map[0].value");
  assert.deepStrictEqual(roundTrip({ a: list, b: list }), { a: [1], b: [1] });
});

test("a few objects that refer to each other a million times are kept or refused soon, and come back equal at every depth", () => {
  const pairs = (levels, bottom = 1) => Array.from({ length: levels }).reduce((part) => [part, part], bottom);
  const started = performance.now();
  for (const bottom of [1, undefined]) assert.throws(() => encode(pairs(60, bottom)), { code: "TooLarge" });
  assert.ok(performance.now() - started < 5000, "each reference was followed");
  // Longer than what is not remembered, in both forms.
  for (const bottom of ["x".repeat(60), undefined]) assert.deepStrictEqual(roundTrip(pairs(13, bottom)), pairs(13, bottom));
  // A part that is remembered from above is not kept too deep below.
  const part = nested(100);
  const early = { long: "x".repeat(300_000), part, again: part, deep: nested(MAX_DEPTH - 101).flat(0) };
  let inmost = early.deep;
  while (Array.isArray(inmost[0])) inmost = inmost[0];
  inmost[0] = part;
  assert.deepStrictEqual(roundTrip(early), early);
  inmost[0] = [[part]];
  refused(early, `value.deep${"[0]".repeat(MAX_DEPTH - 1)}`);
  // Two binaries stay two.
  const shared = [new Uint8Array([1, 2])];
  const [, first, second] = roundTrip(["x".repeat(300_000), shared, shared]);
  assert.notStrictEqual(first[0].buffer, second[0].buffer);
});

test("nesting is kept up to its limit and refused beyond", () => {
  assert.deepStrictEqual(roundTrip(nested(MAX_DEPTH)), nested(MAX_DEPTH));
  refused(nested(MAX_DEPTH + 1), `value${"[0]".repeat(MAX_DEPTH)}`);
  refused(nested(100_000), `value${"[0]".repeat(MAX_DEPTH)}`);
  const tagged = nested(MAX_DEPTH - 1);
  let inmost = tagged;
  while (Array.isArray(inmost[0])) inmost = inmost[0];
  inmost[0] = new Set([undefined]);
  assert.deepStrictEqual(roundTrip(tagged), tagged);
});

test("hostile objects give a NotStorable with a place, never their own error", () => {
  const trap = (handler) => new Proxy({ a: 1 }, handler);
  const boom = () => { throw new RangeError("boom"); };
  for (const handler of [{ ownKeys: boom }, { getPrototypeOf: boom }]) refused({ p: trap(handler) }, "value.p");
  refused({ p: trap({ getOwnPropertyDescriptor: boom }) }, "value.p.a");
  refused([new Proxy([1], { get: boom })], "value[0]");
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  refused({ p: proxy }, "value.p");
  refused({ d: Object.create(Date.prototype) }, "value.d");
  refused({ d: Object.defineProperty({}, Symbol.toStringTag, { value: "Date" }) }, "value.d");
  refused(new Proxy(new Date(), {}), "value");
  assert.throws(() => encode({ p: trap({ ownKeys: boom }) }), (error) => error.cause instanceof RangeError);
});

test("an honest proxy of a plain object, as reactive frameworks make them, is the object", () => {
  assert.deepStrictEqual(roundTrip(new Proxy({ a: [new Proxy({ b: 1 }, {})] }, {})), { a: [{ b: 1 }] });
});

test("a toJSON, own or inherited, never decides what is written", (t) => {
  refused({ toJSON: () => 1 }, "value.toJSON");
  assert.deepStrictEqual(roundTrip({ toJSON: "a word" }), { toJSON: "a word" });
  Object.prototype.toJSON = () => "hijacked";
  t.after(() => delete Object.prototype.toJSON);
  const { text, binaries } = encode({ a: [1] });
  delete Object.prototype.toJSON;
  assert.deepStrictEqual(decode(text, binaries), { a: [1] });
});

test("what is too large is refused at once, without walking it", () => {
  const started = performance.now();
  const endless = [];
  endless.length = 2 ** 32 - 2;
  refused({ endless }, "value.endless", "TooLarge");
  const sparse = [1];
  sparse[1_000_000] = 1;
  refused(sparse, "value[1]");
  refused(1n << 20_000_000n, "value", "TooLarge");
  refused({ text: "x".repeat(MAX_TEXT) }, "value.text", "TooLarge");
  refused({ bytes: new Uint8Array(MAX_BINARY + 1) }, "value.bytes", "TooLarge");
  assert.ok(performance.now() - started < 2000);
});

test("an integer is kept up to what all engines can make and read back, and refused beyond", () => {
  const beyond = 1n << 1_000_000n;
  for (const sign of [1n, -1n]) {
    const largest = sign * (beyond - 1n);
    assert.equal(roundTrip(largest), largest);
    // Firefox 153 was measured to read no more digits.
    assert.ok(String(largest).replace("-", "").length <= 313_592);
    refused([sign * beyond], "value[0]", "TooLarge");
  }
});

test("a small value that refers to itself a billion times over is refused, not expanded", () => {
  let laughs = ["ha"];
  for (let i = 0; i < 40; i += 1) laughs = [laughs, laughs];
  assert.throws(() => encode(laughs), { code: "TooLarge" });
});

test("a damaged or hostile text is RecordUnreadable and runs nothing", () => {
  const bad = [
    "", "{", "1,2", "~", "~{", "~{}", '~["a",{}]', '~["?"]', '~["__proto__"]', '~["o","a"]', '~["o",1,2]', '~["n","1"]', '~["i",5]',
    '~["i","x"]', '~["d","x"]', '~["b","Uint8Array",0]', '~["b","Function",0]', '~["b","__proto__",0]', '~["B",1,"x"]', '~["m",1]',
    '~["F",0,"","name"]', "~" + '["a",'.repeat(5000) + "1" + "]".repeat(5000),
  ];
  for (const text of bad) assert.throws(() => decode(text, [new Uint8Array([1])].slice(1)), { code: "RecordUnreadable" }, text);
  assert.throws(() => decode('~["b","Float64Array",0]', [new Uint8Array(3)]), { code: "RecordUnreadable" });
});

test("one bad text among many is named, and only that one", () => {
  const texts = ["1", '~["u"]', '{"a":2}', "{broken", '~["i","4"]'];
  assert.throws(() => decodeMany(texts, null, (i) => `message ${i}`), (error) => error.code === "RecordUnreadable" && error.message.includes("message 3"));
  assert.deepStrictEqual(decodeMany(texts.toSpliced(3, 1), null), [1, undefined, { a: 2 }, 4n]);
  assert.throws(() => decodeMany(["1,2", "3"], null), { code: "RecordUnreadable" });
});

/** A data URL of so many bytes. */
const dataUrl = (length, header = "data:image/png;base64,") => header + Buffer.from(new Uint8Array(length).map((_, i) => i * 7 + (i >> 8))).toString("base64");
const withDataUrls = (value) => encode(value, "value", { dataUrls: true });

/** A platform that has base64 of its own, strict as it is specified there, and one that has not. */
const strictBase64 = {
  fromBase64(text, { lastChunkHandling }) {
    assert.equal(lastChunkHandling, "strict");
    const dense = text.replace(/[\t\n\f\r ]/g, "");
    const bytes = Buffer.from(dense, "base64");
    if (bytes.toString("base64") !== dense) throw new SyntaxError("not strict base64");
    return new Uint8Array(bytes);
  },
  toBase64() {
    return Buffer.from(this).toString("base64");
  },
};

function onPlatform(t, isNative) {
  const before = [Object.getOwnPropertyDescriptor(Uint8Array, "fromBase64"), Object.getOwnPropertyDescriptor(Uint8Array.prototype, "toBase64")];
  const set = (target, name, property) => (property ? Object.defineProperty(target, name, property) : delete target[name]);
  const method = (value) => isNative && { value, configurable: true, writable: true };
  set(Uint8Array, "fromBase64", method(strictBase64.fromBase64));
  set(Uint8Array.prototype, "toBase64", method(strictBase64.toBase64));
  t.after(() => {
    set(Uint8Array, "fromBase64", before[0]);
    set(Uint8Array.prototype, "toBase64", before[1]);
  });
}

for (const isNative of [false, true]) {
  const where = isNative ? "with base64 of the platform's own" : "without base64 of the platform's own";

  test(`data URLs are kept as bytes wherever they stand, and come back as the very same strings (${where})`, (t) => {
    onPlatform(t, isNative);
    const [a, b, c] = [dataUrl(192), dataUrl(193, "data:text/plain;charset=utf-8;base64,"), dataUrl(300_001, "data:;base64,")];
    const value = { list: [a, { deep: [b] }], map: new Map([["k", c]]), plain: "x" };
    const { text, binaries } = withDataUrls(value);
    assert.deepEqual(binaries.map((bytes) => bytes.length), [192, 193, 300_001]);
    assert.ok(text.length < 250, text);
    assert.deepStrictEqual(decode(text, binaries), value);
    assert.equal(withDataUrls(a).text, '~["D",0,"data:image/png;base64,"]');
    for (const length of [194, 195, 196, 1000]) assert.equal(decode(...Object.values(withDataUrls(dataUrl(length)))), dataUrl(length));
  });

  test(`a data URL that its bytes would not give back exactly stays a string (${where})`, (t) => {
    onPlatform(t, isNative);
    const good = dataUrl(193);
    const payload = good.slice(good.indexOf(",") + 1);
    assert.match(payload, /[^=]==$/);
    const strings = [
      good.slice(0, -1), good.slice(0, -2), `${good}=`, `${good}====`, // padding
      good.replace(/.==$/, "B=="), dataUrl(194).replace(/.=$/, "B="), // left-over bits
      good.replace(/^(.{40})./, "$1\n"), good.replace(/^(.{40}).{4}/, "$1    "), `${good.slice(0, -4)}    ${good.slice(-4)}`, // white space
      good.replace(/^(.{40})./, "$1-"), good.replace(/^(.{40})./, "$1\u0141"), good.replace(/^(.{40})./, "$1="), good.replace(/.==$/, "==="), // no digits
      `data:image/png,${payload}`, `data:image/png;base64;x=1,${payload}`, `data:a,b;base64,${payload}`, `data:image/png;BASE64,${payload}`,
      `Data:image/png;base64,${payload}`, ` ${good}`, `blob:${payload}`, payload, `data:${payload}`,
      dataUrl(189), dataUrl(0), "data:,", "data:", // too short
    ];
    for (const text of strings) {
      const encoded = withDataUrls({ text });
      assert.equal(encoded.binaries, null, text.slice(0, 60));
      assert.deepStrictEqual(decode(encoded.text, null), { text });
      assert.equal(dataUrlToBytes(text), null);
    }
  });

  test(`any bytes are the bytes of their data URL (${where})`, (t) => {
    onPlatform(t, isNative);
    fc.assert(fc.property(fc.uint8Array({ minLength: 192, maxLength: 400 }), (bytes) => {
      const url = `data:a/b;base64,${Buffer.from(bytes).toString("base64")}`;
      assert.deepStrictEqual(dataUrlToBytes(url), { header: "data:a/b;base64,", bytes });
      assert.equal(bytesToDataUrl("data:a/b;base64,", bytes), url);
    }));
  });
}

test("a data URL longer than a text may be is kept as bytes; one of more bytes than a binary may have is refused", () => {
  const large = dataUrl(14 * 1024 * 1024);
  assert.ok(large.length > MAX_TEXT);
  const { text, binaries } = withDataUrls([large]);
  assert.ok(decode(text, binaries)[0] === large);
  refused([large], "value[0]", "TooLarge");
  const url = dataUrl(MAX_BINARY + 1);
  assert.throws(() => withDataUrls({ url }), { code: "TooLarge", path: "value.url" });
  assert.equal(dataUrlToBytes(url, MAX_BINARY), null);
  assert.equal(dataUrlToBytes(dataUrl(300), 299), null);
  assert.equal(dataUrlToBytes(dataUrl(300), 300).bytes.length, 300);
});

test("data URLs are left alone where nobody asked, and as keys", () => {
  const url = dataUrl(500);
  for (const value of [url, [url], { a: { url } }]) assert.deepEqual(encode(value), { text: JSON.stringify(value), binaries: null, blobs: null });
  assert.equal(encode(new Set([url])).text, `~["s","${url}"]`);
  const keyed = withDataUrls({ [url]: 1 });
  assert.deepEqual(keyed, { text: JSON.stringify({ [url]: 1 }), binaries: null, blobs: null });
  assert.equal(withDataUrls({ a: ["x".repeat(1000)] }).text, encode({ a: ["x".repeat(1000)] }).text);
  const both = withDataUrls({ [url]: url });
  assert.equal(both.binaries.length, 1);
  assert.deepStrictEqual(decode(both.text, both.binaries), { [url]: url });
});

test("any storable value with data URLs in it comes back equal", () => {
  const url = fc.integer({ min: 180, max: 260 }).map((length) => dataUrl(length));
  const value = fc.array(fc.oneof(url, anything, fc.dictionary(keys, url, { noNullPrototype: true })), { maxLength: 4 });
  fc.assert(fc.property(value, (list) => {
    const { text, binaries } = withDataUrls(list);
    assert.deepStrictEqual(decode(text, binaries), list);
  }));
});

test("a damaged data URL is RecordUnreadable", () => {
  const bytes = [new Uint8Array(300)];
  const bad = ['~["D"]', '~["D",0]', '~["D",0,5]', '~["D",0,"javascript:"]', '~["D",0,"data:a,;base64,"]', '~["D",1,"data:;base64,"]', '~["D","0","data:;base64,"]'];
  for (const text of bad) assert.throws(() => decode(text, bytes), { code: "RecordUnreadable" }, text);
  assert.match(decode('~["D",0,"data:;base64,"]', bytes), /^data:;base64,A{400}$/);
});

test("a pack takes data URLs apart when it is told to", () => {
  const texts = (pack, ...rest) => {
    pack.add(dataUrl(192), "value", ...rest);
    return pack.raw().texts;
  };
  const tagged = '~["D",0,"data:image/png;base64,"]';
  assert.deepEqual(texts(new Pack({ dataUrls: true })), [tagged]);
  assert.deepEqual(texts(new Pack(), { dataUrls: true }), [tagged]);
  assert.deepEqual(texts(new Pack()), [JSON.stringify(dataUrl(192))]);
});

test("a thousand messages of a kilobyte are encoded in little more than JSON.stringify takes", () => {
  const text = "Lorem ipsum dolor sit amet, consectetur adipiscing elit. ".repeat(16);
  const messages = () => Array.from({ length: 1000 }, (_, i) => ({ id: `m${i}`, role: "user", createdAt: i, parts: [{ type: "text", text: text + i }] }));
  const time = (work) => {
    const times = [];
    for (let run = 0; run < 15; run += 1) {
      const list = messages();
      const started = performance.now();
      for (const message of list) work(message);
      times.push(performance.now() - started);
    }
    return times.sort((a, b) => a - b)[7];
  };
  time(encode);
  const native = time((message) => JSON.stringify(message));
  const ours = time((message) => encode(message));
  console.log(`# 1,000 messages of 1 KB: encode ${ours.toFixed(2)} ms, JSON.stringify alone ${native.toFixed(2)} ms`);
  assert.ok(ours < 3 * native + 2, `${ours} ms against ${native} ms`);
});
