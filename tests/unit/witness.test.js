// The witness over a storage in memory: what it remembers, merges, forgets and believes.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { Hub } from "../../pkg-template/events.js";
import { Witness, dismiss } from "../../pkg-template/witness.js";

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
let kept;
let refusals;

beforeEach(() => {
  kept = new Map();
  refusals = 0;
  globalThis.localStorage = new Proxy({
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, text) => {
      if (refusals > 0) {
        refusals -= 1;
        throw new Error("full");
      }
      kept.set(key, text);
    },
    removeItem: (key) => kept.delete(key),
  }, { ownKeys: () => [...kept.keys()], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }) });
});
afterEach(() => delete globalThis.localStorage);

const remembered = async (witness) => {
  const { ids, seqs } = await witness.read();
  return ids.map((id, i) => `${id} ${seqs[i]}`).join(", ");
};

test("the greatest number of each session is remembered, those written last at the end", async () => {
  const witness = new Witness("db", "scope");
  witness.note("a", 3);
  witness.note("b", 1);
  witness.note("a", 2);
  await witness.flush();
  assert.equal(await remembered(witness), "b 1, a 3");
  // Another tab has written meanwhile.
  const other = new Witness("db", "scope");
  other.note("c", 7);
  other.note("b", 9);
  await other.flush();
  witness.note("b", 4);
  await witness.flush();
  assert.equal(await remembered(new Witness("db", "scope")), "a 3, c 7, b 9");
  assert.equal(await remembered(new Witness("db", "other scope")), "");
});

test("it is written by itself: at once, then at most once a second", async () => {
  const witness = new Witness("db", "scope");
  witness.note("a", 1);
  await sleep(30);
  assert.equal(await remembered(witness), "a 1");
  witness.note("a", 2);
  await sleep(100);
  assert.equal(await remembered(witness), "a 1");
  await sleep(1000);
  assert.equal(await remembered(witness), "a 2");
});

test("a session that is deleted is forgotten, also when it is made anew before that was written", async () => {
  const witness = new Witness("db", "scope");
  witness.note("a", 50);
  witness.note("b", 1);
  await witness.flush();
  await witness.forget(["a"]);
  assert.equal(await remembered(witness), "b 1");
  witness.note("a", 50);
  await witness.flush();
  refusals = 1;
  await witness.forget(["a"]);
  assert.equal(await remembered(witness), "b 1, a 50", "it could not be written");
  witness.note("a", 0);
  await witness.flush();
  assert.equal(await remembered(witness), "b 1, a 0");
});

test("what could not be kept is kept with the next", async () => {
  const witness = new Witness("db", "scope");
  refusals = 1;
  witness.note("a", 1);
  await witness.flush();
  assert.equal(await remembered(witness), "");
  witness.note("b", 2);
  await witness.flush();
  assert.equal(await remembered(witness), "a 1, b 2");
});

test("it remembers 200 sessions, and believes nothing that cannot be so", async () => {
  const witness = new Witness("db", "scope");
  for (let i = 0; i < 300; i += 1) witness.note(`s${i}`, i);
  await witness.flush();
  const { ids } = await witness.read();
  assert.deepEqual([ids.length, ids[0], ids.at(-1)], [200, "s100", "s299"]);
  const [key] = kept.keys();
  for (const text of ["", "{", "null", "3", '{"a":1}', '[1,null,["x"],["x",-1],["x",1.5],["x","1"],["",1],[2,2],["x",4294967296]]']) {
    kept.set(key, text);
    assert.equal(await remembered(new Witness("db", "scope")), "", text);
  }
});

test("a database that is deleted has no witness any more, others keep theirs", async () => {
  for (const [name, scope] of [["db", "a"], ["db", "b"], ["db2", "a"]]) {
    const witness = new Witness(name, scope);
    witness.note("s", 1);
    await witness.flush();
  }
  await dismiss("db");
  assert.deepEqual([await remembered(new Witness("db", "a")), await remembered(new Witness("db", "b")), await remembered(new Witness("db2", "a"))], ["", "", "s 1"]);
});

test("where nothing can be kept, nothing is, and nobody is hindered", async () => {
  delete globalThis.localStorage;
  const witness = new Witness("db", "scope");
  witness.note("a", 1);
  await witness.flush();
  await witness.forget(["a"]);
  assert.equal(await remembered(witness), "");
  await dismiss("db");
});

test("nobody waits for long for a witness that another tab keeps locked, or for a comparison that fails", { timeout: 10_000 }, async (t) => {
  const before = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  Object.defineProperty(globalThis, "navigator", { configurable: true, value: { locks: { request: () => new Promise(() => {}) } } });
  t.after(() => (before ? Object.defineProperty(globalThis, "navigator", before) : delete globalThis.navigator));
  const witness = new Witness("db", "scope");
  witness.note("a", 1);
  await witness.leave();
  await witness.forget(["a"]);

  const hub = new Hub();
  hub.attach({ missing: () => Promise.reject(new Error("cannot be read")) }, witness);
  await hub.hearWitness({ ids: ["a"], seqs: [1] });
  assert.equal(hub.lost, null);
});
