// As much of the raw engine as the facade needs, in memory and with its strings in reach: tests can hold a call back, make
// one fail, look at what was sent, and send events. The rules of storage are the real engine's and are tested with it.

const raw = (code, message = code) => Object.assign(new Error(message), { turnmark: true, code });

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
      const found = this.sessions_.get(session) ?? { epoch: 100, checkpoints: [] };
      this.sessions_.set(session, found);
      found.epoch += 1;
      const { source, writes, forkedFrom, extra: more = [], kind = "manual", name = null } = metadata;
      const checkpoint = {
        id: `cp_${session}_${found.checkpoints.length}`, scopeId: "default", sessionId: session,
        parentCheckpointId: found.checkpoints.at(-1)?.id ?? null, kind, name, metadata: { source, ...(writes && { writes }), ...(forkedFrom && { forkedFrom }), extra: more },
        createdAt: 1, turn: null, vector: {}, pinned: false, provisional: false, sealed: false, commitHash: null,
        messageCount: state.messages.ids.length, _durability: { level: "memory", at: 1 }, ...extra,
      };
      found.checkpoints.push({ ...checkpoint, raw: checkpoint, state });
      this.emit({ type: "checkpoint.created", checkpoint, origin: "local" });
      return { checkpoint, epoch: found.epoch };
    }

    emit(event) {
      this.options.listener(event);
    }

    #check(session, expect) {
      const epoch = this.sessions_.get(session)?.epoch ?? null;
      if (epoch !== expect) throw raw(expect === null ? "NotLoaded" : "Conflict");
    }

    async put(session, state, metadata, expect) {
      await this.#enter("put", session, state, metadata, expect);
      this.#check(session, expect);
      return this.#write(session, state, metadata);
    }

    async append(session, messages, channels, remove, metadata, expect) {
      await this.#enter("append", session, messages, channels, remove, metadata, expect);
      this.#check(session, expect);
      const old = this.sessions_.get(session)?.checkpoints.at(-1)?.state.messages ?? { texts: [], ids: [], roles: [], binaries: null };
      const join = (key) => [...(old[key] ?? old.texts.map(() => undefined)), ...(messages[key] ?? messages.texts.map(() => undefined))];
      const joined = { texts: join("texts"), ids: join("ids"), roles: join("roles"), binaries: join("binaries") };
      return this.#write(session, { listed: true, messages: joined, channels }, metadata);
    }

    async load(session, checkpointId) {
      await this.#enter("load", session, checkpointId);
      const { found, checkpoint } = this.#find(session, checkpointId);
      if (!checkpoint) return undefined;
      return { checkpoint: checkpoint.raw, epoch: checkpointId === null ? found.epoch : null, ...checkpoint.state, writes: [] };
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

    async rollback(session, checkpointId, parts, expect) {
      await this.#enter("rollback", session, checkpointId, parts, expect);
      const { checkpoint } = this.#find(session, checkpointId);
      if (!checkpoint) throw raw("UnknownCheckpoint");
      const head = this.#find(session, null).checkpoint;
      const restorePoint = this.#write(session, head.state, { source: "manual", kind: "restore-point" });
      const written = this.#write(session, checkpoint.state, { source: "manual", writes: ["rollback"] }, { parentCheckpointId: checkpointId });
      return { ...written, restorePointId: restorePoint.checkpoint.id, targetCheckpointId: checkpointId, parts };
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
      const { checkpoint } = this.#find(session, null);
      return checkpoint && { id: session, headCheckpointId: checkpoint.id };
    }

    async recover(drop) {
      await this.#enter("recover", drop);
      return [...this.sessions_].map(([sessionId, found]) => ({
        sessionId, checkpointId: found.checkpoints.at(-1).id, action: drop ? "dropped" : "finalized", epoch: (found.epoch += 1),
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
      return { counts: {}, interrupted: [] };
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

/** A promise and the function that resolves it. */
export function gate() {
  let open;
  const promise = new Promise((resolve) => (open = resolve));
  return Object.assign(promise, { open });
}

export { raw };
