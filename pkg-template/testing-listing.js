/** Listing, deleting and pruning. */
import { collect, equal, ok, rejects } from "./testing-assert.js";

const META = { source: "message" };

/** Puts `count` checkpoints and gives their ids, oldest first. */
async function fill(saver, thread, count, metadata = () => META) {
  const ids = [];
  for (let i = 0; i < count; i += 1) ids.push((await saver.put(thread, { messages: [{ id: "m", role: "user" }], step: i }, metadata(i))).id);
  return ids;
}

const ids = async (iterable) => (await collect(iterable)).map(({ id }) => id);

export const listing = [
  {
    name: "P-12 list gives the newest first, as an async iterable and not as an array",
    async body(saver) {
      const written = await fill(saver, "t", 4);
      const listed = saver.list("t");
      ok(typeof listed[Symbol.asyncIterator] === "function", "list must return an async iterable");
      const items = await collect(listed);
      equal(items.map(({ id }) => id), written.reverse(), "ids");
      for (const item of items) {
        equal(item.source, "message", "source of a summary");
        ok(typeof item.createdAt === "number", "createdAt of a summary is a number of milliseconds");
      }
    },
  },
  {
    name: "P-12 a listing longer than any page is complete and without repetitions",
    async body(saver) {
      const written = await fill(saver, "t", 120);
      equal(await ids(saver.list("t")), written.reverse(), "ids");
    },
  },
  {
    name: "P-12 limit gives that many and no more, and a listing may be left early",
    async body(saver) {
      const written = (await fill(saver, "t", 70)).reverse();
      for (const limit of [0, 1, 3, 50, 51, 70, 500]) equal(await ids(saver.list("t", { limit })), written.slice(0, limit), `limit ${limit}`);
      for await (const { id } of saver.list("t")) {
        equal(id, written[0], "the first one");
        break;
      }
    },
  },
  {
    name: "P-02 before gives only what is older than the checkpoint named",
    async body(saver) {
      const written = (await fill(saver, "t", 6)).reverse();
      equal(await ids(saver.list("t", { before: written[2] })), written.slice(3), "before the third newest");
      equal(await ids(saver.list("t", { before: written[0], limit: 2 })), written.slice(1, 3), "before the newest, two");
      equal(await ids(saver.list("t", { before: written[5] })), [], "before the oldest");
    },
  },
  {
    name: "P-02 filter gives only checkpoints whose metadata equals every key, and limit counts those",
    async body(saver) {
      const metadata = (i) => ({ source: i % 2 ? "message" : "tool_execution", tool: i % 3 ? "grep" : "read", tags: [i % 2] });
      const written = (await fill(saver, "t", 9, metadata)).map((id, i) => ({ id, ...metadata(i) })).reverse();
      const check = async (options, test, what) => {
        const expected = written.filter(test).map(({ id }) => id).slice(0, options.limit);
        equal(await ids(saver.list("t", options)), expected, what);
      };
      const byMessage = ({ source }) => source === "message";
      await check({ filter: { source: "message" } }, byMessage, "by source");
      await check({ filter: { source: "message" }, limit: 2 }, byMessage, "by source, two");
      await check({ filter: { tool: "read" } }, ({ tool }) => tool === "read", "by a further key");
      await check({ filter: { tags: [1] } }, ({ tags }) => tags[0] === 1, "by a list");
      await check({ filter: { source: "message", tool: "grep" } }, ({ source, tool }) => source === "message" && tool === "grep", "by two keys");
      const older = written.slice(5);
      await check({ filter: { source: "message" }, before: written[4].id }, (w) => byMessage(w) && older.includes(w), "before the fifth newest");
      await check({ filter: { tool: "none" } }, () => false, "by a value nothing has");
      await check({ filter: { absent: 1 } }, () => false, "by a key nothing has");
    },
  },
  {
    name: "P-12 the listing of an unknown session is empty",
    body: async (saver) => equal(await ids(saver.list("nobody")), [], "ids"),
  },
  {
    name: "firebase#3852 order is that of the writes, even when the clock goes back",
    async body(saver) {
      const now = Date.now;
      const written = [];
      try {
        for (const back of [0, 60_000, 3_600_000, 0]) {
          Date.now = () => now() - back;
          written.push((await saver.put("t", { back }, META)).id);
        }
      } finally {
        Date.now = now;
      }
      equal(await ids(saver.list("t")), written.reverse(), "ids");
      equal((await saver.get("t")).state.back, 0, "the newest state");
    },
  },
  {
    name: "P-02 delete removes one checkpoint and leaves the others as they were",
    async body(saver) {
      const [first, second, third] = await fill(saver, "t", 3);
      await saver.delete("t", second);
      equal(await saver.get("t", second), undefined, "the deleted one");
      equal(await ids(saver.list("t")), [third, first], "the listing");
      equal((await saver.get("t", first)).state.step, 0, "the older one");
      equal((await saver.get("t")).state.step, 2, "the newest one");
    },
  },
  {
    name: "P-02 after the newest is deleted the one before it is the newest, and the session goes on from there",
    async body(saver) {
      const [, second, third] = await fill(saver, "t", 3);
      await saver.delete("t", third);
      equal((await saver.get("t")).checkpoint.id, second, "the newest");
      await saver.put("t", { messages: [{ id: "m", role: "user" }], step: "next" }, META);
      equal((await saver.get("t")).state.step, "next", "the step put after it");
    },
  },
  {
    name: "P-02 a put right after the newest was deleted needs no other read",
    async body(saver) {
      const [, , third] = await fill(saver, "t", 3);
      await saver.delete("t", third);
      await saver.put("t", { messages: [{ id: "m", role: "user" }], step: "next" }, META);
      equal((await saver.get("t")).state.step, "next", "the newest step");
    },
  },
  {
    name: "P-02 delete of an unknown checkpoint is UnknownCheckpoint and deletes nothing",
    async body(saver) {
      const written = await fill(saver, "t", 2);
      await rejects(() => saver.delete("t", "cp_00000000-0000-7000-8000-000000000000"), ["UnknownCheckpoint"], "delete of an unknown checkpoint");
      await rejects(() => saver.delete("u", written[0]), ["UnknownCheckpoint", "UnknownSession"], "delete in another session");
      equal(await ids(saver.list("t")), written.reverse(), "the listing");
    },
  },
  {
    name: "P-03 prune keeps the newest and gives the number of those deleted",
    async body(saver) {
      const written = (await fill(saver, "t", 7)).reverse();
      await fill(saver, "other", 3);
      equal(await saver.prune("t", 3), 4, "number of deleted checkpoints");
      equal(await ids(saver.list("t")), written.slice(0, 3), "what is left");
      equal((await saver.get("t")).state.step, 6, "the newest state");
      equal((await saver.get("t", written[2])).state.step, 4, "the oldest state left");
      equal((await ids(saver.list("other"))).length, 3, "checkpoints of another session");
    },
  },
  {
    name: "P-03 prune of no more than there are deletes nothing",
    async body(saver) {
      const written = await fill(saver, "t", 2);
      equal(await saver.prune("t", 2), 0, "number of deleted checkpoints");
      equal(await saver.prune("t", 10), 0, "number of deleted checkpoints");
      equal(await ids(saver.list("t")), written.reverse(), "what is left");
    },
  },
];
