/** States: what is put comes back, as it was when it was put, and under its own id only. */
import { collect, equal, ok, rejects } from "./testing-assert.js";

const message = (id, text = id) => ({ id, role: "user", content: text });
const META = { source: "message" };
const wait = () => new Promise((resolve) => setTimeout(resolve, 0));

const RICH = {
  absent: undefined,
  numbers: [NaN, Infinity, -Infinity, -0, 2 ** 53, 5e-324],
  integers: [0n, -(2n ** 80n)],
  dates: [new Date(0), new Date(NaN)],
  map: new Map([["k", { deep: new Set([1, "1"]) }], [{ object: "key" }, undefined]]),
  set: new Set([[1], { a: 1 }]),
  bytes: new Uint8Array([0, 255, 7]),
  view: new Float64Array([1.5, -0]),
  buffer: new Uint8Array([1, 2, 3]).buffer,
  bare: Object.assign(Object.create(null), { own: 1 }),
};

const JSON_VALUES = {
  text: ["", "plain", "é 漢 🙂", "\ud83d", "a\udc00b", "\u0000", "line\u2028", "<script>"],
  numbers: [0, -1.5, 1e21, Number.MAX_SAFE_INTEGER],
  nothing: [null, false, {}, []],
  keys: JSON.parse('{"__proto__":{"polluted":true},"constructor":1,"":2,"a b":3,"0":4}'),
};

const HOSTILE_IDS = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf"];

export const states = [
  {
    name: "P-02 put resolves to the checkpoint it wrote, and get without an id gives the newest",
    async body(saver) {
      const first = await saver.put("t", { messages: [message("a")] }, META);
      const second = await saver.put("t", { messages: [message("a"), message("b")], plan: { step: 2 } }, META);
      ok(typeof first.id === "string" && first.id !== "" && first.id !== second.id, "every checkpoint needs an id of its own");
      const newest = await saver.get("t");
      equal(newest.checkpoint.id, second.id, "the newest checkpoint");
      equal(newest.state, { messages: [message("a"), message("b")], plan: { step: 2 } }, "state");
      equal(newest.checkpoint.sessionId, "t", "checkpoint.sessionId");
    },
  },
  {
    name: "P-02 get with an id gives exactly that state, whatever was put after it",
    async body(saver) {
      const written = [];
      for (let i = 0; i < 5; i += 1) {
        const state = { messages: Array.from({ length: i + 1 }, (_, n) => message(`m${n}`, `${n} at ${i}`)), step: i };
        written.push([(await saver.put("t", state, META)).id, state]);
      }
      for (const [id, state] of written) equal((await saver.get("t", id)).state, state, `state of ${id}`);
    },
  },
  {
    name: "P-02 get of an unknown session or checkpoint is undefined, never an error",
    async body(saver) {
      equal(await saver.get("nobody"), undefined, "an unknown session");
      await saver.put("t", { messages: [] }, META);
      equal(await saver.get("t", "cp_00000000-0000-7000-8000-000000000000"), undefined, "an unknown checkpoint");
      equal(await saver.get("other"), undefined, "another session");
    },
  },
  {
    name: "P-02 sessions do not see each other's checkpoints, however alike their ids are",
    async body(saver) {
      const ids = ["a", "A", "a ", "a/b", "a:b", "a,b", "ä", "a\u0308", "0", "[]", "null", "undefined", "𐀀", "\uffff"];
      for (const id of ids) await saver.put(id, { owner: id }, META);
      for (const id of ids) {
        equal((await saver.get(id)).state, { owner: id }, `state of session ${JSON.stringify(id)}`);
        equal((await collect(saver.list(id))).length, 1, `checkpoints of session ${JSON.stringify(id)}`);
      }
    },
  },
  {
    name: "P-02 an empty session id is refused by put",
    body: (saver) => rejects(() => saver.put("", { messages: [] }, META), null, "put under an empty id"),
  },
  {
    name: "R12 an id that names a prototype property is refused or kept, and reaches no prototype",
    async body(saver) {
      for (const id of HOSTILE_IDS) {
        const written = await saver.put(id, { owner: id, polluted: true }, META).catch(() => null);
        if (written) equal((await saver.get(id)).state, { owner: id, polluted: true }, `state of session ${id}`);
        equal({}.polluted, undefined, "Object.prototype.polluted");
        equal(Object.prototype.owner, undefined, "Object.prototype.owner");
      }
      for (const id of HOSTILE_IDS) await saver.get(id, "__proto__").then((found) => equal(found, undefined, `${id}/__proto__`), () => {});
    },
  },
  {
    name: "P-06 a checkpoint says how durable it is, and says the same when it is read",
    async body(saver) {
      const { _durability } = await saver.put("t", { messages: [] }, META);
      ok(["memory", "os", "disk", "replicated"].includes(_durability?.level), `_durability.level is ${_durability?.level}`);
      ok(typeof _durability.at === "number", "_durability.at is the time of the acknowledgement");
      const read = await saver.get("t");
      equal(read.checkpoint._durability.level, _durability.level, "the level when read");
    },
  },
  {
    name: "P-09 metadata comes back as it was given, further keys included",
    async body(saver) {
      const metadata = { source: "tool_execution", writes: ["search", "plan"], tool: "grep", nested: { a: [1, null] } };
      await saver.put("t", { messages: [] }, metadata);
      const { metadata: read, checkpoint } = await saver.get("t");
      equal(read.source, "tool_execution", "metadata.source");
      equal(read.writes, ["search", "plan"], "metadata.writes");
      equal(read.tool, "grep", "metadata.tool");
      equal(read.nested, { a: [1, null] }, "metadata.nested");
      equal(checkpoint.metadata.source, "tool_execution", "checkpoint.metadata.source");
      ok(typeof checkpoint.createdAt === "number", "checkpoint.createdAt is a number of milliseconds");
    },
  },
  {
    name: "P-13 a checkpoint names the one it continues from when it was told to",
    async body(saver) {
      const first = await saver.put("t", { step: 1 }, META);
      await saver.put("t", { step: 2 }, { ...META, parentCheckpointId: first.id });
      equal((await saver.get("t")).parentCheckpointId, first.id, "parentCheckpointId");
      equal((await saver.get("t", first.id)).parentCheckpointId, null, "the first one's parentCheckpointId");
    },
  },
  {
    name: "R3 JSON values come back equal, text with half surrogate pairs and hostile keys included",
    async body(saver) {
      await saver.put("t", { messages: [{ id: "m", role: "user", ...JSON_VALUES }], ...JSON_VALUES }, META);
      const { state } = await saver.get("t");
      equal(state.messages, [{ id: "m", role: "user", ...JSON_VALUES }], "messages");
      for (const [name, value] of Object.entries(JSON_VALUES)) equal(state[name], value, name);
      equal({}.polluted, undefined, "Object.prototype.polluted");
    },
  },
  {
    name: "R3 dates, maps, sets, big integers, binary, undefined, NaN, infinities and -0 come back equal",
    needs: ["richValues"],
    async body(saver) {
      await saver.put("t", { messages: [{ id: "m", role: "tool", ...RICH }], ...RICH }, META);
      const { state } = await saver.get("t");
      equal(state.messages, [{ id: "m", role: "tool", ...RICH }], "messages");
      for (const [name, value] of Object.entries(RICH)) equal(state[name], value, name);
    },
  },
  {
    name: "R3 a value that cannot be kept exactly is refused, and nothing of its state is written",
    needs: ["richValues"],
    async body(saver) {
      const cyclic = {};
      cyclic.self = cyclic;
      const unstorable = [() => {}, Symbol("s"), new (class Point {})(), new WeakMap(), cyclic, Promise.resolve()];
      for (const [i, value] of unstorable.entries()) {
        await rejects(() => saver.put(`t${i}`, { good: 1, bad: value }, META), null, `put of unstorable value ${i}`);
        await rejects(() => saver.put(`t${i}`, { messages: [message("a"), { id: "b", value }] }, META), null, `put of a message with unstorable value ${i}`);
        equal(await saver.get(`t${i}`), undefined, `session t${i} after refused puts`);
      }
    },
  },
  {
    name: "R3 a thousand messages come back in their order",
    async body(saver) {
      const messages = Array.from({ length: 1000 }, (_, i) => message(`m${i}`, "x".repeat(i % 300)));
      const { id } = await saver.put("t", { messages }, META);
      await saver.put("t", { messages: messages.toReversed?.() ?? [...messages].reverse() }, META);
      equal((await saver.get("t", id)).state.messages, messages, "messages");
      equal((await saver.get("t")).state.messages, [...messages].reverse(), "messages in the other order");
    },
  },
  {
    name: "P-02 a state without a message list is not one with an empty list",
    async body(saver) {
      await saver.put("channels", { plan: 1 }, META);
      await saver.put("empty", { messages: [] }, META);
      equal((await saver.get("channels")).state, { plan: 1 }, "state of channels only");
      equal((await saver.get("empty")).state, { messages: [] }, "state with an empty list");
    },
  },
  {
    name: "langgraph#8748 a state is taken as it is when put is called, so a mutation right after does not reach it",
    async body(saver) {
      const state = { messages: [message("a", "before")], plan: { steps: ["one"] } };
      const metadata = { source: "message", note: "before" };
      const writing = saver.put("t", state, metadata);
      state.messages[0].content = "after";
      state.messages.push(message("b"));
      state.plan.steps.push("two");
      metadata.note = "after";
      await writing;
      await wait();
      const read = await saver.get("t");
      equal(read.state, { messages: [message("a", "before")], plan: { steps: ["one"] } }, "state");
      equal(read.metadata.note, "before", "metadata.note");
    },
  },
  {
    name: "langgraph#8748 what get gives belongs to the caller, so a mutation of it reaches nothing stored",
    async body(saver) {
      await saver.put("t", { messages: [message("a", "stored")], plan: { steps: ["one"] } }, META);
      const { state } = await saver.get("t");
      state.messages[0].content = "mutated";
      state.messages.push(message("b"));
      state.plan.steps.length = 0;
      equal((await saver.get("t")).state, { messages: [message("a", "stored")], plan: { steps: ["one"] } }, "state");
    },
  },
  {
    name: "P-02 puts made without waiting take effect in the order of the calls",
    async body(saver) {
      const written = await Promise.all(Array.from({ length: 8 }, (_, i) => saver.put("t", { messages: [message("a")], step: i }, META)));
      equal((await saver.get("t")).state.step, 7, "the newest step");
      equal((await collect(saver.list("t"))).map(({ id }) => id), written.map(({ id }) => id).reverse(), "the listing");
    },
  },
];
