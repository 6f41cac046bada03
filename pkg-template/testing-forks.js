/** Forks: a new session at an old state, sharing nothing that either could change in the other. */
import { TimeTravelAPI } from "./time-travel.js";
import { collect, equal, ok, rejects } from "./testing-assert.js";

const META = { source: "message" };
const message = (id, content) => ({ id, role: "assistant", content });
const fork = (saver, source, id, target) => new TimeTravelAPI(saver).fork(source, id, target);
const pending = async (saver, thread) => (await saver.get(thread)).pendingWrites.map((write) => [...write]);

export const forks = [
  {
    name: "P-15 a fork starts a new session at the state of the checkpoint and says where it comes from",
    async body(saver) {
      const state = { messages: [message("a", "one")], plan: { steps: [1] } };
      const base = await saver.put("t", state, META);
      await saver.put("t", { messages: [message("a", "one"), message("b", "two")] }, META);
      const forked = await fork(saver, "t", base.id, "f");
      equal(forked.sessionId, "f", "sessionId");
      equal(forked.metadata.source, "fork", "metadata.source");
      equal(forked.metadata.forkedFrom, { sessionId: "t", checkpointId: base.id }, "metadata.forkedFrom");
      const read = await saver.get("f");
      equal(read.checkpoint.id, forked.id, "the newest checkpoint of the fork");
      equal(read.state, state, "state of the fork");
      equal((await collect(saver.list("f"))).length, 1, "checkpoints of the fork");
    },
  },
  {
    name: "P-15 a fork leaves its source as it was",
    async body(saver) {
      const base = await saver.put("t", { messages: [message("a", "one")] }, META);
      await saver.put("t", { messages: [message("a", "one"), message("b", "two")] }, META);
      const before = [await collect(saver.list("t")), (await saver.get("t")).state];
      await fork(saver, "t", base.id, "f");
      equal((await collect(saver.list("t"))).map(({ id }) => id), before[0].map(({ id }) => id), "checkpoints of the source");
      equal((await saver.get("t")).state, before[1], "state of the source");
    },
  },
  {
    name: "P-15 a fork without a target id gets a fresh one each time",
    async body(saver) {
      const { id } = await saver.put("t", { step: 1 }, META);
      const [a, b] = [await fork(saver, "t", id), await fork(saver, "t", id)];
      ok(a.sessionId && b.sessionId && a.sessionId !== b.sessionId && a.sessionId !== "t", "each fork needs an id of its own");
      for (const { sessionId } of [a, b]) equal((await saver.get(sessionId)).state, { step: 1 }, "state of a fork");
    },
  },
  {
    name: "P-15 a fork of an unknown checkpoint is UnknownCheckpoint and creates nothing",
    async body(saver) {
      await saver.put("t", { step: 1 }, META);
      await rejects(() => fork(saver, "t", "cp_00000000-0000-7000-8000-000000000000", "f"), ["UnknownCheckpoint"], "fork of an unknown checkpoint");
      await rejects(() => fork(saver, "nobody", "cp_00000000-0000-7000-8000-000000000000", "f"), ["UnknownCheckpoint", "UnknownSession"], "fork of an unknown session");
      equal(await saver.get("f"), undefined, "the target");
    },
  },
  {
    name: "P-15 a fork into a session that exists is AlreadyExists and leaves it as it was",
    async body(saver) {
      const { id } = await saver.put("t", { step: 1 }, META);
      await saver.put("f", { step: "own" }, META);
      await rejects(() => fork(saver, "t", id, "f"), ["AlreadyExists"], "fork into an existing session");
      await rejects(() => fork(saver, "t", id, "t"), ["AlreadyExists"], "fork into its own source");
      equal((await saver.get("f")).state, { step: "own" }, "state of the existing session");
      equal((await collect(saver.list("f"))).length, 1, "checkpoints of the existing session");
    },
  },
  {
    name: "langgraph#2737, #1812, #8551 two forks of one parent that reuse its message and channel ids keep to themselves, both ways",
    async body(saver) {
      const parent = { messages: [message("m1", "shared"), message("m2", "parent")], plan: { owner: "parent" } };
      const { id } = await saver.put("parent", parent, META);
      await fork(saver, "parent", id, "left");
      await fork(saver, "parent", id, "right");
      const state = (owner) => ({ messages: [message("m1", "shared"), message("m2", owner), message("m3", owner)], plan: { owner }, extra: owner });
      for (const owner of ["left", "right"]) await saver.put(owner, state(owner), META);
      await saver.put("parent", state("parent's next"), META);
      for (const owner of ["left", "right"]) equal((await saver.get(owner)).state, state(owner), `state of ${owner}`);
      equal((await saver.get("parent")).state, state("parent's next"), "state of the parent");
      equal((await saver.get("parent", id)).state, parent, "the checkpoint they were forked from");
    },
  },
  {
    name: "P-15 changes in flight on either side do not cross a fork",
    async body(saver) {
      const { id } = await saver.put("t", { messages: [message("m1", "base")], n: 0 }, META);
      const [, forked] = await Promise.all([
        saver.put("t", { messages: [message("m1", "base"), message("m2", "source")], n: 1 }, META),
        fork(saver, "t", id, "f"),
        saver.put("t", { messages: [message("m1", "base"), message("m2", "source"), message("m3", "source")], n: 2 }, META),
      ]);
      equal((await saver.get("f")).state, { messages: [message("m1", "base")], n: 0 }, "state of the fork");
      await Promise.all([
        saver.put("f", { messages: [message("m1", "base"), message("m2", "fork")], n: 3 }, META),
        saver.put("t", { messages: [message("m1", "base"), message("m2", "source")], n: 4 }, META),
      ]);
      equal((await saver.get("f")).state, { messages: [message("m1", "base"), message("m2", "fork")], n: 3 }, "state of the fork");
      equal((await saver.get("t")).state, { messages: [message("m1", "base"), message("m2", "source")], n: 4 }, "state of the source");
      equal((await saver.get("f", forked.id)).state, { messages: [message("m1", "base")], n: 0 }, "the fork's first checkpoint");
    },
  },
  {
    name: "P-15 a fork of a fork names its own parent, and all three stay apart",
    async body(saver) {
      const base = await saver.put("a", { messages: [message("m", "a")] }, META);
      const b = await fork(saver, "a", base.id, "b");
      await saver.put("b", { messages: [message("m", "b")] }, META);
      const c = await fork(saver, "b", b.id, "c");
      equal(c.metadata.forkedFrom, { sessionId: "b", checkpointId: b.id }, "forkedFrom of the second fork");
      await saver.put("c", { messages: [message("m", "c")] }, META);
      for (const [thread, id] of [["a", base.id], ["b", b.id], ["c", c.id]]) {
        equal((await saver.get(thread)).state, { messages: [message("m", thread)] }, `state of ${thread}`);
        equal((await saver.get(thread, id)).state, { messages: [message("m", "a")] }, `first state of ${thread}`);
      }
    },
  },
  {
    name: "P-15 a fork outlives the pruning of what it came from",
    async body(saver) {
      const base = await saver.put("t", { messages: [message("m", "base")], plan: [1] }, META);
      await fork(saver, "t", base.id, "f");
      for (let i = 0; i < 5; i += 1) await saver.put("t", { messages: [message("m", `later ${i}`)] }, META);
      await saver.prune("t", 1);
      equal((await saver.get("f")).state, { messages: [message("m", "base")], plan: [1] }, "state of the fork");
      equal((await saver.get("t")).state, { messages: [message("m", "later 4")] }, "state of the source");
    },
  },
  {
    name: "P-15 a fork takes the pending writes along, and later ones belong to one side only",
    needs: ["putWrites"],
    async body(saver) {
      const { id } = await saver.put("t", { step: 1 }, META);
      const shared = [["task1", "a", 1], ["task1", "b", { n: 2 }], ["task2", "a", 3]];
      await saver.putWrites("t", [["a", 1], ["b", { n: 2 }]], "task1");
      await saver.putWrites("t", [["a", 3]], "task2");
      await fork(saver, "t", id, "f");
      equal(await pending(saver, "f"), shared, "pending writes of the fork");
      await saver.putWrites("f", [["c", "fork"]], "task3");
      await saver.putWrites("t", [["c", "source"]], "task3");
      equal(await pending(saver, "f"), [...shared, ["task3", "c", "fork"]], "pending writes of the fork");
      equal(await pending(saver, "t"), [...shared, ["task3", "c", "source"]], "pending writes of the source");
    },
  },
  {
    name: "P-15 pending writes a fork took along are still write-once there",
    needs: ["putWrites"],
    async body(saver) {
      const { id } = await saver.put("t", { step: 1 }, META);
      await saver.putWrites("t", [["a", "first"], ["__error__", "e"], ["b", "second"]], "task");
      await fork(saver, "t", id, "f");
      await saver.putWrites("f", [["a", "again"]], "task");
      const values = (await pending(saver, "f")).map(([, , value]) => value).sort();
      equal(values, ["e", "first", "second"], "values");
    },
  },
];
