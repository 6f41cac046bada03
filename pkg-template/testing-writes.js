/** Pending writes: values that belong to a checkpoint but not yet to a state. */
import { equal, rejects } from "./testing-assert.js";

const META = { source: "message" };
const needs = ["putWrites"];
const pending = async (saver, thread, id) => (await saver.get(thread, id)).pendingWrites.map((write) => [...write]);

export const writes = [
  {
    name: "P-02 pending writes belong to the newest checkpoint and come back with their task and channel",
    needs,
    async body(saver) {
      const first = await saver.put("t", { step: 1 }, META);
      await saver.putWrites("t", [["a", { n: 1 }], ["b", null]], "task");
      equal(await pending(saver, "t"), [["task", "a", { n: 1 }], ["task", "b", null]], "pending writes");
      await saver.put("t", { step: 2 }, META);
      equal(await pending(saver, "t"), [], "pending writes of the next checkpoint");
      equal(await pending(saver, "t", first.id), [["task", "a", { n: 1 }], ["task", "b", null]], "pending writes of the first");
      equal((await saver.get("t", first.id)).state, { step: 1 }, "the state they belong to");
    },
  },
  {
    name: "P-02 a pending write may be an object or a pair",
    needs,
    async body(saver) {
      await saver.put("t", { step: 1 }, META);
      await saver.putWrites("t", [{ channel: "a", value: 1 }, ["b", 2]], "task");
      equal(await pending(saver, "t"), [["task", "a", 1], ["task", "b", 2]], "pending writes");
    },
  },
  {
    name: "P-02 ordinary writes are write-once by task and place, so a task that runs again changes nothing",
    needs,
    async body(saver) {
      await saver.put("t", { step: 1 }, META);
      await saver.putWrites("t", [["a", "first"], ["a", "second"]], "task");
      await saver.putWrites("t", [["a", "again"], ["a", "again"], ["a", "third"]], "task");
      await saver.putWrites("t", [["a", "of another"]], "task2");
      equal(await pending(saver, "t"), [["task", "a", "first"], ["task", "a", "second"], ["task", "a", "third"], ["task2", "a", "of another"]], "pending writes");
    },
  },
  {
    name: "P-02 the special channels overwrite",
    needs,
    async body(saver) {
      await saver.put("t", { step: 1 }, META);
      for (const value of ["old", "new"]) {
        for (const channel of ["__error__", "__scheduled__", "__interrupt__", "__resume__"]) await saver.putWrites("t", [[channel, `${channel} ${value}`]], "task");
      }
      const values = (await pending(saver, "t")).map(([, , value]) => value).sort();
      equal(values, ["__error__ new", "__interrupt__ new", "__resume__ new", "__scheduled__ new"], "values of the special channels");
    },
  },
  {
    name: "P-02 pending writes are ordered by task id, by code point, then by their place",
    needs,
    async body(saver) {
      await saver.put("t", { step: 1 }, META);
      const tasks = ["b", "\u{10000}", "a", "\uffff", "B", "a1", "é"];
      for (const task of tasks) await saver.putWrites("t", [["x", 1], ["y", 2], ["z", 3]], task);
      const expected = ["B", "a", "a1", "b", "é", "\uffff", "\u{10000}"].flatMap((task) => [[task, "x", 1], [task, "y", 2], [task, "z", 3]]);
      equal(await pending(saver, "t"), expected, "pending writes");
    },
  },
  {
    name: "P-02 a pending write is taken as it is when putWrites is called",
    needs,
    async body(saver) {
      await saver.put("t", { step: 1 }, META);
      const value = { list: ["before"] };
      const list = [["a", value]];
      const writing = saver.putWrites("t", list, "task");
      value.list.push("after");
      list.push(["b", 1]);
      await writing;
      equal(await pending(saver, "t"), [["task", "a", { list: ["before"] }]], "pending writes");
    },
  },
  {
    name: "R3 pending writes keep every kind of value",
    needs: ["putWrites", "richValues"],
    async body(saver) {
      await saver.put("t", { step: 1 }, META);
      const values = [undefined, 10n, new Date(5), new Map([[1, new Set(["x"])]]), new Uint8Array([1, 2]), -0];
      await saver.putWrites("t", values.map((value) => ["c", value]), "task");
      equal((await pending(saver, "t")).map(([, , value]) => value), values, "values");
    },
  },
  {
    name: "P-02 a put made after putWrites takes effect after it",
    needs,
    async body(saver) {
      const first = await saver.put("t", { step: 1 }, META);
      await Promise.all([saver.putWrites("t", [["a", 1]], "task"), saver.put("t", { step: 2 }, META)]);
      equal(await pending(saver, "t", first.id), [["task", "a", 1]], "pending writes of the first");
      equal(await pending(saver, "t"), [], "pending writes of the second");
    },
  },
  {
    name: "P-02 putWrites refuses a session without a checkpoint, and empty ids",
    needs,
    async body(saver) {
      await rejects(() => saver.putWrites("nobody", [["a", 1]], "task"), null, "putWrites to an unknown session");
      equal(await saver.get("nobody"), undefined, "the unknown session");
      await saver.put("t", { step: 1 }, META);
      await rejects(() => saver.putWrites("", [["a", 1]], "task"), null, "putWrites to an empty session id");
      await rejects(() => saver.putWrites("t", [["a", 1]], ""), null, "putWrites of an empty task id");
      equal(await pending(saver, "t"), [], "pending writes");
    },
  },
];
