// Every argument of the public API that takes something from outside, as a call with a hostile value in that place. A call that
// keeps the value gives it back, so that it can be compared.

const drain = async (items) => { for await (const item of items) if (item === undefined) throw new Error("a listing gave nothing"); };
const message = (id, about) => ({ id, role: "user", ...about });
const named = (value) => (typeof value === "string" ? value : String(typeof value));

/** Calls on a store with a session that has been read. */
const ON_A_SESSION = {
  async "message list"({ session }, value) { await session.append(value); },
  async "message"({ session }, value) { await session.append([value]); },
  async "field of a message"({ session }, value) {
    await session.append([message("new", { content: { value } })]);
    return (await session.messages()).at(-1).content.value;
  },
  async "key of a message"({ session }, value) {
    await session.append([Object.defineProperty(message("new"), named(value), { value, enumerable: true, configurable: true, writable: true })]);
  },
  async "message id"({ session }, value) { await session.append([message(value)]); },
  async "role"({ session }, value) {
    await session.append([{ id: "new", role: value }]);
    return (await session.messages()).at(-1).role;
  },
  async "options of append()"({ session }, value) { await session.append([message("new")], value); },
  async "channels"({ session }, value) { await session.append([message("new")], { channels: value }); },
  async "channel"({ session }, value) {
    await session.append([message("new")], { channels: { value } });
    return (await session.state()).value;
  },
  async "channel's name"({ session }, value) {
    await session.append([], { channels: Object.defineProperty({}, named(value), { value: 1, enumerable: true, configurable: true, writable: true }) });
  },
  async "channels to remove"({ session }, value) { await session.append([message("new")], { remove: value }); },
  async "channel to remove"({ session }, value) { await session.append([message("new")], { remove: ["plan", value] }); },
  async "state"({ session }, value) { await session.put(value); },
  async "messages of a state"({ session }, value) { await session.put({ messages: value }); },
  async "channel of a state"({ session }, value) {
    await session.put({ messages: [message("u1")], value });
    return (await session.state()).value;
  },
  async "metadata"({ session }, value) { await session.append([message("new")], { metadata: value }); },
  async "value in metadata"({ session }, value) {
    await session.append([message("new")], { metadata: { value } });
    return (await session.get()).metadata.value;
  },
  async "known key of metadata"({ session }, value, random) {
    const key = random.one(["source", "kind", "name", "writes", "parentCheckpointId", "provisional", "allowEmpty", "forkedFrom", "usage"]);
    await session.append([message("new")], { metadata: { [key]: value } });
  },
  async "counters of usage"({ session }, value) { await session.append([message("new")], { metadata: { usage: { total: value, delta: { value } } } }); },
  async "pending writes"({ store }, value) { await store.saver().putWrites("s", value, "task"); },
  async "pending write"({ store }, value) { await store.saver().putWrites("s", [value], "task"); },
  async "value of a pending write"({ store, session }, value) {
    await store.saver().putWrites("s", [["plan", value]], "task");
    return (await session.get()).pendingWrites.find(([task]) => task === "task")[2];
  },
  async "task of a pending write"({ store }, value) { await store.saver().putWrites("s", [["plan", 1]], value); },
  async "title"({ session }, value) {
    await session.setTitle(value);
    return (await session.summary()).title;
  },
  async "remote session"({ session }, value) {
    await session.setRemoteSession(value);
    return session.remoteSession();
  },
  async "session id"({ store }, value) {
    const other = await store.session(value);
    await other.append([message("first")]);
    await other.fork(undefined, "fork of it");
  },
  async "checkpoint id"({ store, session }, value, random) {
    const ways = [() => session.get(value), () => session.rollback(value), () => session.fork(value), () => session.diff(value), () => session.show(value), () => store.checkpoints.delete("s", value), () => store.checkpoints.pin("s", value), () => store.fork("s", value)];
    await random.one(ways)();
  },
  async "id of a fork"({ session }, value) { await session.fork(undefined, value); },
  async "message to go back to"({ session }, value, random) {
    await random.one([() => session.restore(value), () => session.edit(value), () => session.versions(value), () => session.checkpointBefore(value), () => session.begin({ regenerate: value })])();
  },
  async "options of a restore"({ session, checkpoint }, value, random) {
    await random.one([() => session.restore("u2", value), () => session.edit("u2", value), () => session.undo(value), () => session.redo(value), () => session.rollback(checkpoint, value), () => session.show(checkpoint, value), () => session.recover(value)])();
  },
  async "option of a restore"({ session, checkpoint }, value, random) {
    const key = random.one(["parts", "load", "abortRun", "turn"]);
    await random.one([() => session.restore("u2", { [key]: value }), () => session.undo({ [key]: value }), () => session.rollback(checkpoint, { [key]: value }), () => session.rollback(checkpoint, { parts: [value] })])();
  },
  async "options of reading"({ store, session, checkpoint }, value, random) {
    const ways = [
      () => drain(session.checkpoints(value)), () => drain(session.checkpoints({ limit: value })), () => drain(session.checkpoints({ before: value })), () => drain(session.checkpoints({ filter: value })), () => drain(session.checkpoints({ filter: { value } })),
      () => drain(session.checkpoints({ filter: { [random.one(["source", "kind", "name", "writes", "forkedFrom", "commitHash", "turnId"])]: value } })), () => session.log(value), () => session.log({ limit: value }), () => session.preview(value),
      () => session.preview({ operation: value }), () => session.preview({ operation: "prune", keepLast: value }), () => session.preview({ operation: "rollback", checkpointId: checkpoint, parts: value }), () => store.checkpoints.diff(value, value),
      () => store.checkpoints.diff({ sessionId: "s", checkpointId: checkpoint }, { sessionId: value, checkpointId: value }), () => store.checkpoints.diff({ sessionId: "s", checkpointId: checkpoint }, { sessionId: "s", checkpointId: checkpoint }, value),
      () => store.history(value), () => store.history({ page: value, pageSize: value }), () => store.export(value), () => store.export({ sessions: value }), () => store.export({ sessions: [value] }), () => store.openSession(value), () => drain(store.checkpoints.list(value)), () => store.checkpoints.get(value),
    ];
    await random.one(ways)();
  },
  async "number to keep"({ store }, value) { await store.checkpoints.prune("s", value); },
  async "whether to pin"({ store, checkpoint }, value) { await store.checkpoints.pin("s", checkpoint, value); },
  async "options of newSession()"({ store }, value) { await store.newSession(value); },
  async "option of newSession()"({ store }, value, random) { await store.newSession({ [random.one(["id", "title", "commitHash", "from", "abortRun", "turn"])]: value }); },
  async "options of recover()"({ store }, value, random) { await random.one([() => store.recover(value), () => store.recover({ drop: value })])(); },
  async "bundle"({ store }, value, random) { await random.one([() => store.import(value), () => store.import("{}", value), () => store.import("{}", { onExisting: value })])(); },
  async "event and listener"({ store }, value, random) { random.one([() => store.on(value, () => {}), () => store.on("restored", value)])()?.(); },
  async "options of open()"({ turnmark }, value, random) {
    const key = random.one(["scope", "durability", "maxCheckpoints", "timeout", "fallbackToMemory", "persist", "retention", "streamInterval", "files", "mirror"]);
    const asked = { backend: "memory", name: `hostile-${random.below(1e9)}`, [key]: value };
    // Not an object itself: one without these would ask for a database, which Node has not.
    const store = await turnmark.open(value !== undefined && typeof value !== "object" && random.chance(0.5) ? value : asked);
    await store.close();
  },
  async "options of a saver"({ turnmark }, value, random) { await random.one([() => new turnmark.MemorySaver(value), () => new turnmark.MemorySaver({ maxCheckpoints: value })])().close(); },
  async "options of begin()"({ session }, value) { await (await session.begin(value)).abort({ keep: false }); },
  async "option of begin()"({ session }, value, random) {
    const key = random.one(["raw", "composed", "commitHash", "runId", "name", "metadata", "regenerate"]);
    await (await session.begin({ raw: "typed", [key]: value })).abort({ keep: false });
  },
  async "what surrounds a prompt"({ session }, value, random) {
    const turn = await session.begin({ ui: random.one([() => value, () => ({ screenshots: value }), () => ({ screenshots: [value, value] })])() });
    await turn.abort({ keep: false });
  },
  async "value in what surrounds a prompt"({ session }, value) {
    const turn = await session.begin({ ui: { value } });
    const { ui } = await session.get(turn.checkpoint.id);
    await turn.abort({ keep: false });
    return ui.value;
  },
};

/** Calls on a turn that has begun, and has saved some of an answer. */
const ON_A_TURN = {
  async "step of a turn"({ turn }, value, random) { await random.one([() => turn.append(value), () => turn.append([value]), () => turn.append([message("step")], value), () => turn.append([], { channels: value })])(); },
  async "field of a step"({ turn, session }, value) {
    await turn.append([message("step", { value })]);
    return (await session.messages()).at(-1).value;
  },
  async "growing message"({ turn }, value, random) {
    turn.stream(random.one([() => value, () => message("grows", { value }), () => message(value, { content: "" }), () => ({ id: "grows", role: value })])());
    await turn.flush();
  },
  async "field of a growing message"({ turn, session }, value) {
    turn.stream(message("grows", { value }));
    await turn.flush();
    return (await session.get()).streaming.message.value;
  },
  async "end of a turn"({ turn }, value, random) { await random.one([() => turn.end(value), () => turn.end([value]), () => turn.end([], value), () => turn.end([], { usage: value }), () => turn.end([], { metadata: value }), () => turn.end([message("last", { value })])])(); },
  async "touch of a turn"({ turn }, value, random) { await random.one([() => turn.touch(value), () => turn.touch({ name: value }), () => turn.touch({ commitHash: value }), () => turn.touch({ metadata: value })])(); },
  async "abort of a turn"({ turn }, value, random) { await random.one([() => turn.abort(value), () => turn.abort({ keep: value })])(); },
};

/** `{ place, call, onTurn }` for each place. */
export const CALLS = [
  ...Object.entries(ON_A_SESSION).map(([place, call]) => ({ place, call, onTurn: false })),
  ...Object.entries(ON_A_TURN).map(([place, call]) => ({ place, call, onTurn: true })),
];

/** The places whose call gives back what was kept, and takes values of any size. */
export const KEEPING = CALLS.filter(({ place }) => [
  "field of a message", "role", "channel", "channel of a state", "value in metadata", "value of a pending write", "title", "remote session", "value in what surrounds a prompt", "field of a step", "field of a growing message",
].includes(place));
