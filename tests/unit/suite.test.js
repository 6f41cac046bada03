// The conformance suite proves savers; this proves the suite: it passes a right one and catches wrong ones.
import assert from "node:assert/strict";
import test from "node:test";
import { checkpointerSuite } from "../../pkg-template/testing.js";
import { TurnmarkError } from "../../pkg-template/errors.js";

/** A right saver in the fewest lines: everything is a structured clone. */
class PlainSaver {
  threads = new Map();

  async put(thread, state, metadata) {
    if (thread === "") throw new TurnmarkError("InvalidId", "the session id is empty");
    const list = this.threads.get(thread) ?? [];
    const checkpoint = {
      id: `cp_${crypto.randomUUID()}`, sessionId: thread, createdAt: Date.now(), parentCheckpointId: metadata.parentCheckpointId ?? null,
      metadata: structuredClone(metadata), _durability: { level: "memory", at: Date.now() },
    };
    list.push({ checkpoint, state: this.clone(state), writes: new Map() });
    this.threads.set(thread, list);
    return structuredClone(checkpoint);
  }

  clone(state) {
    this.check(state);
    return this.revive(state);
  }

  check(value) {
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return;
    const proto = Object.getPrototypeOf(value);
    const kept = [null, Object.prototype, ...[Array, Date, Map, Set, ArrayBuffer].map((Class) => Class.prototype)];
    if (!kept.includes(proto)) throw new Error("not storable");
    const inner = typeof value.values === "function" ? value.values() : Object.values(value);
    for (const part of inner) this.check(part);
  }

  /** structuredClone, but it keeps null prototypes. */
  revive(value) {
    if (Array.isArray(value)) return value.map((inner) => this.revive(inner));
    if (value === null || typeof value !== "object") return structuredClone(value);
    const proto = Object.getPrototypeOf(value);
    if (proto !== null && proto !== Object.prototype) return structuredClone(value);
    const copy = Object.create(proto);
    for (const [key, inner] of Object.entries(value)) Object.defineProperty(copy, key, { value: this.revive(inner), enumerable: true, configurable: true, writable: true });
    return copy;
  }

  async get(thread, id) {
    const list = this.threads.get(thread) ?? [];
    const found = id === undefined ? list.at(-1) : list.find(({ checkpoint }) => checkpoint.id === id);
    if (!found) return undefined;
    const pendingWrites = [...found.writes.entries()].sort(([, a], [, b]) => byCodePoint(a.task, b.task) || a.index - b.index).map(([, { task, channel, value }]) => [task, channel, structuredClone(value)]);
    return { checkpoint: structuredClone(found.checkpoint), state: this.revive(found.state), metadata: structuredClone(found.checkpoint.metadata), parentCheckpointId: found.checkpoint.parentCheckpointId, pendingWrites };
  }

  async *list(thread, { limit = Infinity, before, filter = {} } = {}) {
    let passed = before === undefined;
    for (const { checkpoint } of [...(this.threads.get(thread) ?? [])].reverse()) {
      if (limit <= 0) return;
      const matches = Object.entries(filter).every(([key, value]) => JSON.stringify(checkpoint.metadata[key]) === JSON.stringify(value));
      if (passed && matches) {
        limit -= 1;
        yield { id: checkpoint.id, createdAt: checkpoint.createdAt, source: checkpoint.metadata.source };
      }
      passed ||= checkpoint.id === before;
    }
  }

  async delete(thread, id) {
    const list = this.threads.get(thread) ?? [];
    const at = list.findIndex(({ checkpoint }) => checkpoint.id === id);
    if (at < 0) throw new TurnmarkError("UnknownCheckpoint", "no such checkpoint");
    list.splice(at, 1);
  }

  async prune(thread, keepLast) {
    const list = this.threads.get(thread) ?? [];
    return list.splice(0, Math.max(0, list.length - keepLast)).length;
  }

  async putWrites(thread, writes, task) {
    const head = this.threads.get(thread)?.at(-1);
    if (!head || task === "") throw new TurnmarkError("InvalidId", "no such session, or an empty task");
    const special = ["__error__", "__scheduled__", "__interrupt__", "__resume__"];
    writes.forEach((write, i) => {
      const [channel, value] = Array.isArray(write) ? write : [write.channel, write.value];
      const index = special.includes(channel) ? -1 - special.indexOf(channel) : i;
      const key = JSON.stringify([task, index]);
      if (index < 0 || !head.writes.has(key)) head.writes.set(key, { task, index, channel, value: structuredClone(value) });
    });
  }
}

function byCodePoint(a, b) {
  const [left, right] = [[...a], [...b]].map((chars) => chars.map((char) => char.codePointAt(0)));
  const at = left.findIndex((point, i) => point !== right[i]);
  return at < 0 ? left.length - right.length : left[at] - (right[at] ?? -1);
}

const failures = async (create, options) => (await checkpointerSuite({ create, ...options }).run()).filter(({ ok }) => !ok).map(({ name, error }) => `${name}: ${error.message}`);

test("a right saver passes every case", async () => {
  assert.deepEqual(await failures(() => new PlainSaver()), []);
});

test("a saver without putWrites passes, with the cases that need it skipped by name", async () => {
  class Minimal extends PlainSaver {}
  Minimal.prototype.putWrites = undefined;
  const results = await checkpointerSuite({ create: () => new Minimal(), lacks: ["richValues"] }).run();
  assert.deepEqual(results.filter(({ ok }) => !ok), []);
  assert.deepEqual(new Set(results.flatMap(({ skipped }) => skipped ?? [])), new Set(["the saver lacks putWrites", "the saver lacks richValues"]));
});

const mutants = {
  "keeps the caller's own state": class extends PlainSaver { clone(state) { return state; } },
  "gives out its own state": class extends PlainSaver { async get(...args) { return { ...(await super.get(...args)), state: this.threads.get(args[0])?.at(-1)?.state }; } },
  "loses half surrogates": class extends PlainSaver { clone(state) { return JSON.parse(JSON.stringify(super.clone(state)).replaceAll(/\\ud[89ab]../g, "\ufffd")); } },
  "stores JSON": class extends PlainSaver { clone(state) { return JSON.parse(JSON.stringify(super.clone(state))); } },
  "lists oldest first": class extends PlainSaver { async *list(...args) { yield* (await all(super.list(...args))).reverse(); } },
  "drains beyond its limit": class extends PlainSaver { list(thread, options) { return super.list(thread, { ...options, limit: options?.limit && options.limit + 1 }); } },
  "ignores before": class extends PlainSaver { list(thread, options) { return super.list(thread, { ...options, before: undefined }); } },
  "ignores filter": class extends PlainSaver { list(thread, options) { return super.list(thread, { ...options, filter: {} }); } },
  "prunes one too many": class extends PlainSaver { prune(thread, keep) { return super.prune(thread, keep - 1); } },
  "deletes silently": class extends PlainSaver { async delete(...args) { await super.delete(...args).catch(() => {}); } },
  "overwrites pending writes": class extends PlainSaver { async putWrites(thread, writes, task) { this.threads.get(thread)?.at(-1)?.writes.clear(); return super.putWrites(thread, writes, task); } },
  "throws for unknown sessions": class extends PlainSaver { async get(...args) { return (await super.get(...args)) ?? Promise.reject(new Error("none")); } },
  "shares rows between sessions": class extends PlainSaver { put(thread, ...rest) { return super.put(thread.toLowerCase(), ...rest); } get(thread, id) { return super.get(thread.toLowerCase(), id); } },
  "never stamps": class extends PlainSaver { async put(...args) { return { ...(await super.put(...args)), _durability: undefined }; } },
};

async function all(iterable) {
  const items = [];
  for await (const item of iterable) items.push(item);
  return items;
}

for (const [name, Mutant] of Object.entries(mutants)) {
  test(`a saver that ${name} is caught`, async () => {
    const found = await failures(() => new Mutant());
    assert.ok(found.length > 0);
  });
}

test("with a runner's test function every case is registered under its sentence", async () => {
  const registered = [];
  const { names } = checkpointerSuite({ create: () => new PlainSaver(), test: (name, body) => registered.push([name, body]) });
  assert.deepEqual(registered.map(([name]) => name), names);
  assert.equal(new Set(names).size, names.length, "names are unique");
  for (const name of names) assert.match(name, /^([PR]-?\d+|[a-z]+#\d+)/, "each name says what it proves");
  await registered[0][1]();
  assert.throws(() => checkpointerSuite({ create: () => new PlainSaver(), lacks: ["speed"] }), /no capability "speed"/);
});
