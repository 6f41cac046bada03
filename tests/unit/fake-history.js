// A store of sessions and turns in memory, as far as an adapter of a chat library can see one, with faults to inject.
import { TurnmarkError } from "../../pkg-template/errors.js";

const copy = (value) => structuredClone(value);

/** `fault(operation, sessionId)` may throw; `gate(operation, sessionId)` may wait. `log` says what was asked for, in order. */
export function fakeStore({ fault = () => {}, gate = async () => {} } = {}) {
  const sessions = new Map();
  const listeners = new Map();
  const log = [];
  let count = 0;
  let active = null;
  const fresh = (prefix) => `${prefix}_${(count += 1)}`;
  const emit = (event, payload) => (listeners.get(event) ?? []).forEach((listener) => listener(payload));

  function row(id) {
    if (!sessions.has(id)) sessions.set(id, { id, checkpoints: [], run: null, turns: new Map(), dead: null });
    return sessions.get(id);
  }
  const headOf = (session) => session.checkpoints.at(-1) ?? null;
  const seen = new Map();
  const sawHead = (session, origin) => seen.set(`${origin} ${session.id}`, headOf(session)?.checkpoint.id ?? null);
  const messagesOf = (session) => headOf(session)?.state.messages ?? [];

  async function enter(operation, id, ...details) {
    log.push([operation, id, ...details].filter((part) => part !== undefined).join(" "));
    await gate(operation, id);
    fault(operation, id);
  }

  function commit(session, state, about = {}, origin = "local") {
    const checkpoint = {
      id: fresh("cp"), sessionId: session.id, kind: about.kind ?? "turn-after", metadata: { source: "message", ...about.metadata }, provisional: about.provisional ?? false,
      messageCount: state.messages?.length ?? 0, messageIds: (state.messages ?? []).map(({ id }) => id), turn: about.turn ?? null, _durability: { level: "memory", at: 0 },
    };
    if (headOf(session)?.checkpoint.provisional && !about.keepProvisional) session.checkpoints.pop();
    session.checkpoints.push({ checkpoint, state: copy(state), prompt: about.prompt ?? null, ui: about.ui ?? {} });
    emit("checkpoint.created", { checkpoint, origin });
    return checkpoint;
  }

  function branchOf(session, state, about) {
    const branch = row(fresh("branch"));
    const checkpoint = commit(branch, state, about);
    return { branch, at: { sessionId: branch.id, checkpointId: checkpoint.id } };
  }

  function makeTurn(session, { turn, base, checkpoint, origin }) {
    const runId = fresh("run");
    const abort = new AbortController();
    const own = new Map();
    session.run = { runId, turnId: turn.id, streaming: null };
    const refuse = (state) => {
      const { at } = branchOf(session, state, { turn });
      ended = true;
      throw Object.assign(new TurnmarkError("Conflict", "another writer was first", { branch: at }));
    };
    let ended = false;
    const write = async (operation, messages, about) => {
      await enter(operation, session.id, messages.map(({ id }) => id).join(","));
      if (ended) throw new TurnmarkError("Closed", "this turn has ended");
      for (const message of messages) {
        if (base.some(({ id }) => id === message.id)) throw new TurnmarkError("InvalidArgument", `message ${message.id} was there before this turn`);
        own.set(message.id, copy(message));
      }
      const state = { ...headOf(session)?.state, messages: [...base, ...own.values()] };
      if (session.run?.runId !== runId) refuse(state);
      const done = commit(session, state, { turn, ...about }, origin);
      sawHead(session, origin);
      return done;
    };
    return {
      id: turn.id, version: turn.version, runId, sessionId: session.id, checkpoint, signal: abort.signal, stopRequest: () => abort.abort(),
      get ended() { return ended; },
      append: (messages) => write("append", messages),
      stream(message) {
        log.push(`stream ${session.id} ${message.id}`);
        if (session.run?.runId === runId) session.run.streaming = copy(message);
      },
      async flush() {},
      async end(messages = [], { metadata } = {}) {
        const last = session.run?.streaming;
        const all = last && !messages.some(({ id }) => id === last.id) && !own.has(last.id) ? [...messages, last] : messages;
        const done = await write("end", all, { metadata });
        session.turns.set(turn.id, [...(session.turns.get(turn.id) ?? []), { version: turn.version, checkpointId: done.id }]);
        ended = true;
        session.run = null;
        emit("run.ended", { sessionId: session.id, runId, origin: "local" });
        return done;
      },
      async abort() {
        await enter("abort", session.id);
        ended = true;
        session.run = null;
        const done = commit(session, headOf(session).state, { metadata: { aborted: true } }, origin);
        sawHead(session, origin);
        return done;
      },
    };
  }

  function finalize(session) {
    if (!session.dead) return null;
    const { message } = session.dead;
    session.dead = null;
    return commit(session, { ...headOf(session)?.state, messages: [...messagesOf(session).filter(({ id }) => id !== message.id), message] });
  }

  function handle(id, origin = "local") {
    const session = row(id);
    // What a page has seen is known to its store, not to a handle.
    const saw = () => sawHead(session, origin);
    const moveTo = async (operation, messages, extra = {}) => {
      const before = headOf(session);
      const checkpoint = commit(session, { ...before?.state, messages }, { keepProvisional: true, metadata: { writes: [operation] } }, origin);
      session.before = before;
      emit("restored", { sessionId: id, checkpointId: checkpoint.id, origin });
      return { sessionId: id, checkpoint, state: copy(headOf(session).state), files: "not-restored", ...extra };
    };
    const cut = (messageId) => {
      const list = messagesOf(session);
      const at = list.findIndex((message) => message.id === messageId);
      if (at < 0) throw new TurnmarkError("InvalidArgument", `no live message ${messageId}`);
      return { list, at };
    };
    return {
      id,
      async get() {
        await enter("get", id);
        saw();
        const head = headOf(session);
        const streaming = session.dead ?? (session.run?.streaming ? { message: session.run.streaming, runId: session.run.runId, turnId: session.run.turnId, since: 0 } : null);
        return head ? { ...copy(head), streaming: copy(streaming) } : undefined;
      },
      state: async () => copy(headOf(session)?.state ?? {}),
      async put(state, { parentCheckpointId, provisional = false, ...metadata }) {
        await enter("put", id, state.messages.map((message) => message.id).join(","));
        if (state.messages.length === 0 && messagesOf(session).length > 0) throw new TurnmarkError("EmptyOverNonEmpty", "a state without messages would replace one that has some");
        const known = headOf(session)?.checkpoint.id;
        if (parentCheckpointId !== undefined && parentCheckpointId !== known) {
          throw new TurnmarkError("Conflict", "another writer was first", { branch: branchOf(session, state, {}).at });
        }
        const done = commit(session, state, { metadata, provisional }, origin);
        saw();
        return done;
      },
      async begin({ raw, composed, ui, regenerate } = {}) {
        await enter("begin", id, regenerate ? `again ${regenerate}` : raw);
        const dead = session.dead !== null;
        const behind = !dead && (seen.get(`${origin} ${id}`) ?? null) !== (headOf(session)?.checkpoint.id ?? null);
        finalize(session);
        let base = messagesOf(session);
        let turn = { id: fresh("turn"), seq: 0, version: "v1" };
        if (regenerate) {
          const { at } = cut(regenerate);
          base = base.slice(0, at + 1);
          turn = session.turnOf?.get(regenerate) ? { ...session.turnOf.get(regenerate), version: fresh("v") } : turn;
        }
        const prompt = raw === undefined ? null : { raw, composed: composed ?? null, turnId: turn.id };
        const about = { kind: "prompt-before", turn, prompt, ui };
        if (behind || session.run) {
          const { branch, at } = branchOf(session, { messages: base }, about);
          const begun = makeTurn(branch, { turn, base, checkpoint: headOf(branch).checkpoint, origin });
          throw Object.assign(new TurnmarkError("Conflict", "another writer was first", { branch: at }), { turn: begun });
        }
        const checkpoint = commit(session, { ...headOf(session)?.state, messages: base }, about, origin);
        saw();
        const begun = makeTurn(session, { turn, base, checkpoint, origin });
        const seeing = (method) => async (...args) => {
          const result = await method(...args);
          session.turnOf ??= new Map();
          const asked = messagesOf(session).slice(base.length).find(({ role }) => role === "user");
          if (asked) session.turnOf.set(asked.id, turn);
          return result;
        };
        session.writer = begun;
        const methods = { append: seeing(begun.append), end: seeing(begun.end), abort: seeing(begun.abort) };
        return new Proxy(begun, { get: (target, name) => methods[name] ?? target[name] });
      },
      async restore(messageId) {
        await enter("restore", id, messageId);
        const { list, at } = cut(messageId);
        const asked = headOf(session);
        const prompt = session.checkpoints.findLast((entry) => entry.checkpoint.kind === "prompt-before" && entry.checkpoint.messageCount === at)?.prompt ?? null;
        const result = await moveTo("restore", list.slice(0, at), { removedMessageIds: list.slice(at).map((message) => message.id), prompt, asked });
        saw();
        return result;
      },
      async edit(messageId) {
        const result = await this.restore(messageId);
        return { ...result, rawPrompt: result.prompt?.raw ?? null };
      },
      async undo() {
        await enter("undo", id);
        if (!session.before) throw new TurnmarkError("NothingToUndo", "there is nothing to undo");
        const result = await moveTo("undo", session.before.state.messages);
        saw();
        return result;
      },
      async versions(messageId) {
        return session.turns.get(session.turnOf?.get(messageId)?.id) ?? [];
      },
      async show(version) {
        const entry = session.checkpoints.find(({ checkpoint }) => checkpoint.id === (version.checkpointId ?? version));
        const result = await moveTo("show", entry.state.messages);
        saw();
        return result;
      },
      async recover({ drop = false } = {}) {
        await enter("recover", id, drop ? "drop" : undefined);
        if (!session.dead) return null;
        if (drop) session.dead = null;
        else finalize(session);
        return { sessionId: id, checkpointId: headOf(session)?.checkpoint.id, action: drop ? "dropped" : "finalized" };
      },
    };
  }

  return {
    log,
    row,
    messages: (id) => copy(messagesOf(row(id))),
    /** Another page. */
    remote: (id) => handle(id, "remote"),
    /** What a reload leaves of a turn: its run is dead, and what was streamed is still there. */
    kill(id) {
      const session = row(id);
      if (session.run?.streaming) session.dead = { message: session.run.streaming, runId: session.run.runId, turnId: session.run.turnId, since: 0 };
      session.run = null;
    },
    stopRun: (id) => row(id).writer.stopRequest(),
    emit,
    session: async (id) => handle(id),
    status: async () => ({ runs: [...sessions.values()].filter(({ run }) => run).map(({ id, run }) => ({ sessionId: id, runId: run.runId, mine: true })) }),
    on(event, listener) {
      listeners.set(event, [...(listeners.get(event) ?? []), listener]);
      return () => listeners.set(event, listeners.get(event).filter((other) => other !== listener));
    },
    activeSession: async () => (active === null ? null : handle(active)),
    openSession: async (id) => void (active = id),
    async newSession() {
      await enter("newSession", active ?? "none");
      const sealed = active === null ? null : { sessionId: active, checkpointId: "boundary" };
      active = fresh("session");
      return { sessionId: active, sealed };
    },
  };
}
