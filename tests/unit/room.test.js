// Whether the disk has room, asked by writing a file beside the database.
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

const { navigator: own } = globalThis;
let copies = 0;

/** The module anew, on a browser whose files do as `write` says. */
async function fresh(storage) {
  Object.defineProperty(globalThis, "navigator", { value: { storage }, configurable: true });
  return (await import(`../../pkg-template/room.js?${(copies += 1)}`)).hasRoom;
}
afterEach(() => Object.defineProperty(globalThis, "navigator", { value: own, configurable: true }));

/** Files of which each call is noted. */
function files({ write = async () => {}, getFileHandle }) {
  const calls = [];
  const writable = {
    write: (bytes) => {
      calls.push(`write ${bytes.length}`);
      return write();
    },
    abort: async () => calls.push("abort"),
  };
  const root = {
    getFileHandle: getFileHandle ?? (async () => ({ createWritable: async () => writable })),
    removeEntry: async (name) => calls.push(`remove ${name}`),
  };
  return { calls, storage: { getDirectory: async () => root } };
}

const full = async () => { throw new DOMException("full", "QuotaExceededError"); };

test("there is room where a file of the size of the cure can be written; nothing is left of it", async () => {
  const { calls, storage } = files({});
  const hasRoom = await fresh(storage);
  assert.equal(await hasRoom(), true);
  assert.deepEqual(calls, [`write ${20 * 2 ** 20}`, "abort", "remove turnmark-room"]);
});

test("there is none where the file cannot be made or written; that is asked once for all that ask, and not again at once", async () => {
  const { calls, storage } = files({ write: full });
  const hasRoom = await fresh(storage);
  assert.deepEqual(await Promise.all([hasRoom(), hasRoom()]), [false, false]);
  assert.equal(await hasRoom(), false);
  assert.equal(calls.filter((call) => call.startsWith("write")).length, 1);
  assert.deepEqual(calls.slice(1), ["abort", "remove turnmark-room"]);
  const unmade = await fresh(files({ getFileHandle: full }).storage);
  assert.equal(await unmade(), false);
});

test("a page without files cannot say, and is not hindered", async () => {
  assert.equal(await (await fresh(undefined))(), true);
  assert.equal(await (await fresh({ getDirectory: full }))(), true);
});
