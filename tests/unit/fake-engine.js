// As much of the raw engine as the facade needs, in memory and with its strings in reach: tests can hold a call back, make
// one fail, look at what was sent, and send events. The rules of storage are the real engine's and are tested with it.

const raw = (code, message = code) => Object.assign(new Error(message), { turnmark: true, code });
const NO_KEYS = { keys: [], texts: [], binaries: null };
const NO_MESSAGES = { texts: [], ids: [], roles: [], binaries: null };

/** Entries of a list that was sent, from one place to another. */
function part(messages, from, to) {
  const cut = (list) => list?.slice(from, to) ?? null;
  return { texts: cut(messages.texts), ids: cut(messages.ids), roles: cut(messages.roles), binaries: cut(messages.binaries) };
}

function joined(a, b) {
  const list = (key) => [...(a[key] ?? a.texts.map(() => undefined)), ...(b[key] ?? b.texts.map(() => undefined))];
  return { texts: list("texts"), ids: list("ids"), roles: list("roles"), binaries: list("binaries") };
}

export function fakeGlue() {
  const glue = { opened: [], loads: 0, failOpen: null, openGate: null };
  class Engine {
    static async open(options) {
      await glue.openGate;
      if (glue.failOpen) throw glue.failOpen;
      const engine = new Engine();
      engine.options = options;
      glue.opened.push(engine);
      return engine;
    }

    static async deleteDatabase(name) {
      glue.deleted = name;
    }

    sessions_ = new Map();
    /** Id of the active session, the numbers given out so far, and the ids of the runs whose pages have died. */
    active_ = null;
    numbers = 0;
    dead = new Set();
    calls = [];
    closed = 0;
    /** Set to make the next call of a method reject, or wait. */
    fail = new Map();
    gates = new Map();

    async #enter(method, ...args) {
      this.calls.push([method, ...args]);
      await this.gates.get(method);
      const error = this.fail.get(method);
      this.fail.delete(method);
      if (error) throw error;
    }

    #find(session, checkpointId) {
      const found = this.sessions_.get(session);
      const checkpoint = checkpointId === null ? found?.checkpoints.at(-1) : found?.checkpoints.find(({ id }) => id === checkpointId);
      return { found, checkpoint };
    }

    #write(session, state, metadata, extra = {}) {
      const found = this.#session(session);
      found.epoch += 1;
      const { source, writes, forkedFrom, extra: more = [], kind = "manual", name = null } = metadata;
      const checkpoint = {
        id: `cp_${session}_${found.checkpoints.length}`, scopeId: "default", sessionId: session,
        parentCheckpointId: found.checkpoints.at(-1)?.id ?? null, kind, name, metadata: { source, ...(writes && { writes }), ...(forkedFrom && { forkedFrom }), extra: more },
        createdAt: 1, turn: null, vector: {}, pinned: false, provisional: false, sealed: false, commitHash: null,
        messageCount: state.messages.ids.length, _durability: { level: "memory", at: 1 }, ...extra,
      };
      found.checkpoints.push({ ...checkpoint, raw: checkpoint, state, epoch: found.epoch });
      this.emit({ type: "checkpoint.created", checkpoint, origin: "local" });
      return { checkpoint, epoch: found.epoch };
    }

    #session(session) {
      if (!this.sessions_.has(session)) this.sessions_.set(session, { epoch: 100, checkpoints: [], run: null, stream: null, remote: null, number: null, sealed: false });
      return this.sessions_.get(session);
    }

    #state(session) {
      return this.#find(session, null).checkpoint?.state ?? { listed: false, messages: NO_MESSAGES, channels: NO_KEYS, ui: NO_KEYS };
    }

    /** Other engines on the same data, as other pages have them. See joinTabs. */
    tabs = [];

    emit(event) {
      this.options.listener(event);
      for (const tab of this.tabs) setTimeout(() => tab.options.listener({ ...event, origin: "remote" }));
    }

    #guard(session, runId) {
      const run = this.sessions_.get(session)?.run;
      if (run && run.runId !== runId && !this.dead.has(run.runId)) throw raw("ActiveRun");
    }

    #endRun(session) {
      const found = this.sessions_.get(session);
      const run = found?.run;
      if (!run) return;
      found.run = found.stream = null;
      this.emit({ type: "run.ended", sessionId: session, runId: run.runId, origin: "local" });
    }

    #check(session, expect) {
      if (this.#isBehind(session, expect)) throw raw(expect === null ? "NotLoaded" : "Conflict");
    }

    #isBehind(session, expect) {
      const found = this.sessions_.get(session);
      // Nothing was seen, or that there was nothing, and there is nothing.
      if (!expect && !found?.checkpoints.length) return false;
      return (found?.epoch ?? null) !== expect;
    }

    async put(session, state, metadata, expect) {
      await this.#enter("put", session, state, metadata, expect);
      this.#check(session, expect);
      return this.#write(session, state, metadata);
    }

    async append(session, messages, channels, remove, metadata, expect) {
      await this.#enter("append", session, messages, channels, remove, metadata, expect);
      const { runId, end, keep = Infinity } = metadata;
      const found = this.sessions_.get(session);
      if (runId !== undefined && (found?.run?.runId !== runId || found.epoch !== expect)) {
        const branch = this.#branch(session, expect);
        const before = this.#state(branch);
        const { checkpoint } = this.#write(branch, { ...before, messages: joined(part(before.messages, 0, keep), messages) }, metadata);
        if (found?.run?.runId === runId) this.#endRun(session);
        throw Object.assign(raw("Conflict"), { branch: { sessionId: branch, checkpointId: checkpoint.id } });
      }
      this.#check(session, expect);
      const before = this.#state(session);
      const turn = found?.run?.turn ?? null;
      const state = { ...before, listed: true, messages: joined(part(before.messages, 0, keep), messages), channels };
      const written = this.#write(session, state, metadata, { turn: runId === undefined ? null : turn, commitHash: metadata.commitHash ?? null });
      if (runId !== undefined) found.stream = null;
      if (end) {
        this.#endRun(session);
        this.emit({ type: "turn.ended", sessionId: session, turnId: turn.id, checkpointId: written.checkpoint.id, origin: "local" });
      }
      return written;
    }

    /** A session with the state that a writer saw. */
    #branch(session, expect) {
      const branch = `${session}~${this.sessions_.size}`;
      const checkpoints = this.sessions_.get(session)?.checkpoints ?? [];
      const seen = checkpoints.findLast((checkpoint) => checkpoint.epoch <= expect);
      if (seen) this.#session(branch).checkpoints.push(seen);
      return branch;
    }

    async begin(session, { runId, regenerate, prompt }, metadata, expect) {
      await this.#enter("begin", session, { runId, regenerate, prompt }, metadata, expect);
      const run = this.sessions_.get(session)?.run;
      const isLive = run && !this.dead.has(run.runId);
      if (isLive && run.owner === this && !run.isRemote) throw raw("ActiveRun");
      const refused = isLive || this.#isBehind(session, expect);
      const target = refused ? this.#branch(session, expect) : session;
      const found = this.#session(target);
      const before = this.#state(target);
      const at = regenerate === null ? Infinity : before.messages.ids.indexOf(regenerate) + 1;
      const turn = { id: `turn_${found.checkpoints.length}`, seq: 1, version: "v1" };
      found.run = { runId, turn, since: 5, owner: this };
      const asked = prompt && { text: prompt.texts[0], turnId: turn.id };
      const state = { ...before, messages: part(before.messages, 0, at), ui: metadata.ui ?? before.ui, prompt: asked };
      const { checkpoint, epoch } = this.#write(target, state, { kind: "prompt-before", ...metadata }, { turn, commitHash: metadata.commitHash });
      this.emit({ type: "run.started", sessionId: target, runId, origin: "local" });
      const begun = { checkpoint, epoch, turn, runId, messageCount: state.messages.ids.length };
      if (refused) throw Object.assign(raw("Conflict"), { branch: { sessionId: target, checkpointId: checkpoint.id }, begun });
      return begun;
    }

    async stream(session, runId, row) {
      await this.#enter("stream", session, runId, row);
      const found = this.sessions_.get(session);
      if (found?.run?.runId !== runId) throw raw("Conflict");
      const before = row.n === 0 ? "" : found.stream.text;
      found.stream = { text: before.slice(0, row.head) + row.text + before.slice(before.length - row.tail), id: row.id };
      this.emit({ type: "stream", sessionId: session, runId, origin: "local" });
      return row.n + 1;
    }

    async runs() {
      await this.#enter("runs");
      return this.#runs();
    }

    #runs() {
      const live = [...this.sessions_].filter(([, { run }]) => run && !this.dead.has(run.runId));
      return live.map(([sessionId, { run }]) => ({ sessionId, runId: run.runId, turnId: run.turn.id, since: run.since, mine: run.owner === this }));
    }

    async askAbort(session) {
      await this.#enter("askAbort", session);
      this.emit({ type: "run.abort", sessionId: session, origin: "local" });
    }

    async load(session, checkpointId) {
      await this.#enter("load", session, checkpointId);
      const { found, checkpoint } = this.#find(session, checkpointId);
      if (!checkpoint) return undefined;
      const streaming = checkpointId === null ? this.#streaming(found) : null;
      return { checkpoint: checkpoint.raw, epoch: checkpointId === null ? found.epoch : null, ui: NO_KEYS, prompt: null, ...checkpoint.state, writes: [], streaming };
    }

    #streaming({ run, stream }) {
      return stream && { text: stream.text, runId: run.runId, turnId: run.turn.id, since: run.since };
    }

    async streaming(session) {
      await this.#enter("streaming", session);
      const found = this.sessions_.get(session);
      return found ? this.#streaming(found) : null;
    }

    async log(session, limit) {
      await this.#enter("log", session, limit);
      const all = [...(this.sessions_.get(session)?.checkpoints ?? [])].reverse().slice(0, limit);
      return all.map(({ kind }) => ({ type: kind === "restore-point" ? kind : "put", undoable: kind !== "restore-point" }));
    }

    async ui(session, checkpointId) {
      await this.#enter("ui", session, checkpointId);
      return this.#find(session, checkpointId).checkpoint.state.ui ?? NO_KEYS;
    }

    async messageIds(session, checkpointId) {
      await this.#enter("messageIds", session, checkpointId);
      const { checkpoint } = this.#find(session, checkpointId);
      if (!checkpoint) throw raw("UnknownCheckpoint");
      return checkpoint.state.messages.ids.filter((id) => id !== null);
    }

    async list(session, { limit, before }) {
      await this.#enter("list", session, { limit, before });
      const all = [...(this.sessions_.get(session)?.checkpoints ?? [])].reverse();
      const from = before === null ? 0 : all.findIndex(({ id }) => id === before) + 1;
      const items = all.slice(from, from + limit).map(({ raw: item }) => item);
      return { items, next: from + limit < all.length ? items.at(-1).id : null };
    }

    async rollback(session, checkpointId, parts, expect, runId) {
      await this.#enter("rollback", session, checkpointId, parts, expect, runId);
      const { checkpoint } = this.#find(session, checkpointId);
      if (!checkpoint) throw raw("UnknownCheckpoint");
      this.#guard(session, runId);
      return { ...this.#restore(session, checkpoint.state, { parentCheckpointId: checkpointId }), targetCheckpointId: checkpointId, parts };
    }

    #restore(session, state, extra) {
      const restorePoint = this.#write(session, this.#state(session), { source: "manual", kind: "restore-point" });
      const written = this.#write(session, state, { source: "manual", writes: ["rollback"] }, extra);
      this.emit({ type: "restored", sessionId: session, checkpointId: written.checkpoint.id, targetCheckpointId: null, restorePointId: restorePoint.checkpoint.id, origin: "local" });
      this.#endRun(session);
      return { ...written, restorePointId: restorePoint.checkpoint.id };
    }

    #match(session, messageId, runId) {
      const { messages } = this.#state(session);
      const at = messages.ids.indexOf(messageId);
      if (at < 0) throw raw("InvalidArgument", "no such message");
      this.#guard(session, runId);
      const before = JSON.stringify(messages.ids.slice(0, at));
      const prompts = this.sessions_.get(session).checkpoints.filter(({ kind, state }) => kind === "prompt-before" && JSON.stringify(state.messages.ids) === before);
      return { at, matched: prompts.at(-1) ?? null };
    }

    async findPrompt(session, messageId) {
      await this.#enter("findPrompt", session, messageId);
      return { matchedCheckpointId: this.#match(session, messageId, this.sessions_.get(session)?.run?.id).matched?.id ?? null, commitHash: null };
    }

    async aim(session, messageId, runId) {
      await this.#enter("aim", session, messageId, runId);
      const { matched } = this.#match(session, messageId, runId);
      return { matchedCheckpointId: matched?.id ?? null, commitHash: matched?.commitHash ?? null };
    }

    async restoreTo(session, messageId, runId, expect, commitHash) {
      await this.#enter("restoreTo", session, messageId, runId, expect, commitHash);
      const { at, matched } = this.#match(session, messageId, runId);
      this.#check(session, expect);
      const live = this.#state(session);
      const state = matched?.state ?? { ...live, messages: part(live.messages, 0, at) };
      const id = matched?.id ?? null;
      return {
        ...this.#restore(session, state), targetCheckpointId: id, prompt: matched?.state.prompt ?? null,
        removed: live.messages.ids.slice(at), commitHash: matched?.commitHash ?? null, parts: ["messages", "state", "ui"],
      };
    }

    async versions(session, messageId) {
      await this.#enter("versions", session, messageId);
      return [{ version: "v1", checkpointId: this.#find(session, null).checkpoint.id, createdAt: 1, messageCount: 2, live: true }];
    }

    async newSession({ id, title, about, runId, from }) {
      await this.#enter("newSession", { id, title, about, runId, from });
      const left = from ?? this.active_;
      if (left !== null) {
        this.#guard(left, runId);
        this.#endRun(left);
        this.#session(left).sealed = true;
      }
      const found = this.#session(id);
      Object.assign(found, { number: (this.numbers += 1), title, remote: `reserved:${id}`, parent: left });
      this.active_ = id;
      this.emit({ type: "session.changed", sessionId: id, reason: "open", origin: "local" });
      return { sessionId: id, number: found.number, sealed: left && { sessionId: left, checkpointId: `${left}-boundary` }, epoch: found.epoch, pruned: 0 };
    }

    async openSession(id, commitHash) {
      await this.#enter("openSession", id, commitHash);
      const previous = this.active_;
      this.active_ = id;
      if (previous !== id) this.emit({ type: "session.changed", sessionId: id, reason: "open", origin: "local" });
      return { previous };
    }

    async active() {
      await this.#enter("active");
      return this.active_;
    }

    async setRemote(session, id) {
      await this.#enter("setRemote", session, id);
      this.#session(session).remote = id;
    }

    async sessions() {
      await this.#enter("sessions");
      return [...this.sessions_.keys()].map((id) => this.#row(id));
    }

    #row(id) {
      const found = this.sessions_.get(id);
      const head = found.checkpoints.at(-1);
      return {
        id, title: found.title ?? null, number: found.number, createdAt: 1, updatedAt: found.updated ?? 1, messageCount: head?.messageCount ?? 0,
        checkpointCount: found.checkpoints.length, headCheckpointId: head?.id ?? null, forkedFrom: null, conflictOf: null, provisional: false,
        sealed: found.sealed, boundaryId: `${id}-boundary`, boundaryCommitHash: found.commit ?? null, parentSessionId: found.parent ?? null,
        remoteSessionId: found.remote, run: found.run && { runId: found.run.runId, turnId: found.run.turn.id, since: found.run.since }, active: id === this.active_,
      };
    }

    async deleteCheckpoint(session, checkpointId) {
      await this.#enter("deleteCheckpoint", session, checkpointId);
      const { found } = this.#find(session, checkpointId);
      const head = found.checkpoints.at(-1).id === checkpointId;
      found.checkpoints = found.checkpoints.filter(({ id }) => id !== checkpointId);
      return head ? (found.epoch += 1) : null;
    }

    async summary(session) {
      await this.#enter("summary", session);
      return this.sessions_.has(session) ? this.#row(session) : undefined;
    }

    async deleteSession(session) {
      await this.#enter("deleteSession", session);
      this.sessions_.delete(session);
      this.emit({ type: "session.deleted", sessionId: session, origin: "local" });
    }

    async recover(drop, only) {
      await this.#enter("recover", drop, only);
      return [...this.sessions_].filter(([id]) => only === null || id === only).map(([sessionId, found]) => ({
        sessionId, checkpointId: found.checkpoints.at(-1).id, action: drop ? "dropped" : "finalized", from: found.epoch, epoch: (found.epoch += 1), runId: found.run?.runId ?? null,
      }));
    }

    async export(sessions) {
      await this.#enter("export", sessions);
      return [...this.sessions_.keys()];
    }

    async import(bundle) {
      await this.#enter("import", bundle);
      return { sessions: [], skipped: [] };
    }

    async status() {
      await this.#enter("status");
      const gone = [...this.sessions_].filter(([, { run }]) => run && this.dead.has(run.runId));
      const interrupted = gone.map(([sessionId, { run }]) => ({ sessionId, checkpointId: "cp", since: run.since, runId: run.runId }));
      return { counts: {}, interrupted, runs: this.#runs() };
    }

    notePersisted(persisted) {
      this.persisted = persisted;
    }

    async close() {
      await this.#enter("close");
      this.closed += 1;
    }
  }
  glue.Engine = Engine;
  glue.initWasm = async () => {
    glue.loads += 1;
    if (glue.failLoad) throw glue.failLoad;
  };
  return glue;
}

/** Lets one engine be a second page on the data of another: each hears of the other a moment later. */
export function joinTabs(first, second) {
  second.sessions_ = first.sessions_;
  second.dead = first.dead;
  for (const key of ["active_", "numbers"]) Object.defineProperty(second, key, { get: () => first[key], set: (value) => (first[key] = value) });
  first.tabs.push(second);
  second.tabs.push(first);
}

/** A promise and the function that resolves it. */
export function gate() {
  let open;
  const promise = new Promise((resolve) => (open = resolve));
  return Object.assign(promise, { open });
}

export { raw };
