// Watches a chat of the AI SDK, writes down what it does, and shows in it what the store holds. No React in here; not an
// entry of the package.

import { followTurn } from "./ai-sdk-answer.js";
import { holds, readMessages } from "./ai-sdk-chat.js";
import { isBusy, judge, sameItems, textOf } from "./ai-sdk-judge.js";
import { asTurnmarkError, createLedger, NONE } from "./ai-sdk-ledger.js";
import { TurnmarkError } from "./errors.js";
import { createRefresher } from "./live.js";

/** How often an answer is saved that grows outside of a turn, or without anybody looking. */
const PATCH_MS = 250;
const nothing = () => {};
/** What was last shown in each chat: one that outlived its component is not set back to an older state. */
const lastShown = new WeakMap();

/** `options()` are the hook's newest. `waitFor()` resolves when the chat is free; `retire()` is called when all is written. */
export function createRecorder({ store, sessionId, chat, options, waitFor, retire }) {
  const key = chat.stop;
  let seen = chat;
  let heard = null;
  let behind = false;
  /** The turn that is being written; or an answer that grows outside of one. */
  let following = null;
  let patching = null;
  let watchers = 0;
  let closed = false;
  let loading = null;
  let unlisten = nothing;
  let running = 0;
  let tail = Promise.resolve();
  const prompts = [];

  const ledger = createLedger({ store, sessionId, options, moved: listen });
  /** The chat itself, where the application has it in hand. Later options may be another chat's. */
  let held = null;
  const instance = () => (held ??= options().instance?.stop === key ? options().instance : null);
  const messages = () => instance()?.messages ?? (holds(chat) ? readMessages(chat) : seen.messages);
  const status = () => instance()?.status ?? seen.status;
  const idle = () => running === 0 && !closed && !following && !patching && !isBusy(status());

  /** One task at a time. What the chat does meanwhile is looked at when the last one is done. */
  function run(task) {
    running += 1;
    const result = tail.then(task);
    tail = result.then(nothing, nothing).then(() => {
      running -= 1;
      if (running === 0) react();
    });
    return result;
  }

  // --- from the store to the chat ---

  function show(list) {
    const now = messages();
    lastShown.set(key, { sessionId: ledger.session.id, head: ledger.head, saved: ledger.saved });
    if (sameItems(now, list) || !holds(chat)) return;
    ledger.publish({ behind: now, shown: list });
    chat.setMessages(list);
  }

  async function load() {
    // What the chat was answering for another session was stopped.
    if (await waitFor()) seen = { ...seen, status: "ready" };
    await ledger.open(sessionId);
    const stored = await ledger.read();
    ledger.adopt(stored);
    const now = messages();
    const last = lastShown.get(key);
    if (isBusy(status()) && (!last || last.sessionId === sessionId)) {
      // It is being answered already (a resumed stream, a chat that lives outside): its messages are newer than the stored ones.
      const known = new Set(ledger.saved.map(({ id }) => id));
      const newer = new Map(now.map((message) => [message.id, message]));
      show([...ledger.saved.map((message) => newer.get(message.id) ?? message), ...now.filter(({ id }) => !known.has(id))]);
    } else if (last?.sessionId === sessionId && last.head === ledger.head && now.length > 0) {
      // It may have gone on while nobody watched: what it has more than the store is written next.
      ledger.saved = last.saved;
    } else if (stored.checkpoint || stored.interrupted || last || now.length === 0) {
      show(ledger.saved);
    }
    ledger.publish({ ready: true, error: null });
  }

  /** Resolves when the session has been read; tries again after a failure. Nothing is written before. */
  function loaded() {
    loading ??= run(load).catch((thrown) => {
      loading = null;
      throw ledger.fail(thrown);
    });
    return loading;
  }

  const refresher = createRefresher(
    () => idle() && run(async () => {
      heard = null;
      const free = () => !closed && !following && !patching && !isBusy(status()) && sameItems(messages(), ledger.saved);
      if (!free()) return;
      const stored = await ledger.read();
      // Only over a chat that has nothing of its own that is not stored.
      if (!free()) return;
      ledger.adopt(stored);
      show(ledger.saved);
    }),
    nothing,
    (thrown) => ledger.fail(thrown),
  );

  function listen() {
    unlisten();
    const mine = (listener) => (event) => (event.sessionId ?? event.checkpoint?.sessionId) === ledger.session.id && listener(event);
    const changed = (id) => {
      heard = id;
      if (idle() && id !== ledger.head) refresher.refresh();
    };
    const stops = [
      store.on("checkpoint.created", mine(({ checkpoint }) => changed(checkpoint.id))),
      store.on("restored", mine(({ checkpointId }) => changed(checkpointId))),
      store.on("run.ended", mine(({ origin }) => origin === "remote" && changed("run"))),
      store.on("session.deleted", mine(() => changed("deleted"))),
      store.on("connection", ({ state }) => state === "open" && changed("connection")),
      store.on("stream.failed", mine(({ runId, error }) => following?.turn.runId === runId && ledger.fail(error))),
    ];
    unlisten = () => stops.forEach((stop) => stop());
  }

  // --- from the chat to the store ---

  function promptOf(message, given = {}) {
    const resolve = (value) => (typeof value === "function" ? value(message) : value);
    const text = textOf(message);
    const raw = resolve(given.raw ?? options().raw) ?? text;
    const ui = resolve(given.ui ?? options().ui);
    return { raw, ...(raw === text ? {} : { composed: text }), ...(ui === undefined ? {} : { ui }) };
  }

  /** `asks`: the user's message is one of the turn, and not there already. */
  async function begin(about, base, { asks = true, aside = null } = {}) {
    const turn = await ledger.begin(about, base);
    // The store knows more of this session than the chat showed: that is shown when the turn is over.
    behind = turn.checkpoint.messageCount !== base.length;
    following = { ...followTurn(turn, base, ledger.fail), asks, aside, request: null, metadata: undefined };
    turn.signal.addEventListener("abort", () => following?.turn === turn && !turn.ended && chat.stop());
  }

  /**
   * Follows a request that was made through the hook: its promise says when the answer is over, with all that the chat sends by
   * itself in between. `stored` resolves when everything is written.
   */
  function track(request) {
    const followed = following;
    const stored = new Promise((resolve, reject) => {
      followed.request = { over: false, resolve, reject };
    });
    const over = () => {
      followed.request.over = true;
      if (watchers > 0 && running === 0) react();
    };
    request.then(over, over);
    const result = request.then(() => stored);
    stored.catch(nothing);
    result.catch(nothing);
    return { stored: result };
  }

  /** Ends the turn with the messages of `list`. */
  async function finish(list) {
    const followed = following;
    const { aside, request } = followed;
    if (aside && !followed.ofTurn(list).some(({ id }) => id === aside.message.id || !aside.known.has(id))) {
      // Nothing was delivered once more: what had arrived before stays.
      list = [...list, aside.message];
      show(list);
    }
    const failure = seen.status === "error" ? { finishReason: "error", error: String(seen.error?.message ?? seen.error) } : undefined;
    try {
      ledger.note(await ledger.write(() => followed.end(list, failure ?? followed.metadata)));
      ledger.saved = [...followed.base, ...followed.ofTurn(list)];
    } catch (thrown) {
      // Ended by somebody else: what it did not store is saved as any other change.
      if (thrown?.code !== "Closed") await ledger.lostTo(thrown, list).catch((error) => {
        request?.reject(asTurnmarkError(error));
        throw error;
      });
    }
    following = null;
    request?.resolve();
  }

  /** Writes down what the chat did by itself. */
  async function take(now, busy) {
    const { kind, at, edited } = judge(ledger.saved, now, busy, ledger.snapshot().interrupted !== null);
    if (kind === "edit") return ledger.put(now);
    if (kind === "continue") return void (patching = { timer: null, half: false });
    if (kind === "same") return undefined;
    const asked = now[at];
    if (kind === "send") {
      const before = now.slice(0, at);
      if (edited) ledger.note((await ledger.write((session) => session.restore(asked.id, { load: false }))).checkpoint);
      else if (!sameItems(before, ledger.saved)) await ledger.put(before);
      const known = prompts.findIndex(({ text }) => text === textOf(asked));
      await begin(known < 0 ? promptOf(asked) : prompts.splice(known, 1)[0].prompt, before);
    } else {
      const { saved } = ledger;
      const aside = kind === "resume" ? { message: saved.at(-1), known: new Set(saved.slice(0, -1).map(({ id }) => id)) } : null;
      await begin({ regenerate: asked.id }, now.slice(0, at + 1), { asks: false, aside });
      // The AI SDK looks for the answer by its id, and would put one with another id beside the half one.
      if (aside && messages().includes(aside.message)) show(messages().filter((message) => message !== aside.message));
    }
    return following.record(messages());
  }

  /** Saves what the chat has and the store has not. An emptied view is no reason to empty the store. */
  async function tidy() {
    const now = messages();
    if (now.length > 0 && !sameItems(now, ledger.saved)) await ledger.put(now);
  }

  /** Makes everything of a chat that is at rest a part of the store. */
  async function keep() {
    const half = patchOver();
    if (following) await finish(messages());
    if (half) await ledger.put(messages());
    else await tidy();
  }

  /** Stops an answer that is being written, and stores what there is of it. */
  async function settle() {
    if (following || patching || isBusy(status())) {
      if (following) following.metadata = { finishReason: "aborted" };
      await chat.stop();
      seen = { ...seen, status: "ready", messages: messages() };
    }
    await keep();
  }

  /** Does by itself what nobody waits for. What fails is told, and not tried again until something changes. */
  function attempt(task) {
    const list = seen.messages;
    if (ledger.refused && sameItems(ledger.refused, list)) return;
    run(() => task().catch((thrown) => {
      ledger.refused = list;
      ledger.fail(thrown);
    }));
  }

  /** Saves an answer that grows outside of a turn, every now and then. */
  function patch() {
    if (sameItems(seen.messages, ledger.saved)) return;
    const current = patching;
    current.timer ??= setTimeout(() => {
      current.timer = null;
      if (patching !== current) return;
      attempt(async () => {
        await ledger.put(seen.messages, { provisional: true });
        current.half = true;
      });
    }, PATCH_MS);
  }

  /** Whether what was saved last still says that it is not finished. */
  function patchOver() {
    clearTimeout(patching?.timer);
    const half = patching?.half === true;
    patching = null;
    return half;
  }

  /** Every change of the chat, and the end of every task, comes by here. */
  function react() {
    if (!ledger.snapshot().ready || closed || running > 0) return;
    const busy = isBusy(seen.status);
    if (following) {
      // A message that was queued, or sent over an answer that is still being written, is a turn of its own.
      const next = following.ofTurn(seen.messages).filter(({ role }) => role === "user")[following.asks ? 1 : 0];
      if (next) return attempt(() => finish(messages().slice(0, messages().findIndex(({ id }) => id === next.id))));
      const over = following.request ? following.request.over && sameItems(seen.messages, messages()) : true;
      if (over && !busy) attempt(() => finish(messages()));
      return;
    }
    if (patching) {
      const next = seen.messages.findIndex(({ id, role }) => role === "user" && !ledger.saved.some((message) => message.id === id));
      if (busy && next < 0) return patch();
      if (patchOver()) return attempt(() => ledger.put(messages().slice(0, next < 0 ? undefined : next)));
    }
    if (!busy) ledger.tellConflict();
    if (!busy && sameItems(seen.messages, ledger.saved)) {
      if (behind || (heard !== null && heard !== ledger.head)) refresher.refresh();
      behind = false;
      return;
    }
    const now = messages();
    if (busy || !sameItems(now, ledger.saved)) attempt(() => take(messages(), busy));
  }

  // --- coming and going ---

  /** The last component has gone: what is still being answered is written to its end, and then everything is let go. */
  function drain() {
    let timer = null;
    const step = () => {
      if (watchers > 0 || closed) return clearInterval(timer);
      const now = messages();
      following?.record(now);
      const outlives = instance();
      // Nobody can read on in a chat that `useChat` has exchanged for another one.
      if (!outlives && !holds(chat)) chat.stop();
      else if (following?.request ? !following.request.over : following && outlives && isBusy(outlives.status)) return;
      clearInterval(timer);
      seen = { ...seen, status: outlives?.status ?? "ready", messages: now };
      run(async () => ledger.snapshot().ready && keep()).catch(ledger.fail).finally(() => watchers === 0 && close());
    };
    timer = setInterval(step, PATCH_MS);
    step();
  }

  function close() {
    if (closed) return;
    closed = true;
    ledger.tellConflict();
    unlisten();
    refresher.stop();
    if (ledger.session) lastShown.set(key, { sessionId: ledger.session.id, head: ledger.head, saved: ledger.saved });
    retire();
  }

  return {
    key, chat, ledger, prompts, run, loaded, settle, keep, begin, track, show, messages, promptOf,
    busy: () => isBusy(status()),
    /** Asked for `id`, or gone over to it. */
    isFor: (itsStore, id) => itsStore === store && (id === sessionId || id === ledger.snapshot().sessionId),
    isAbandoned: () => watchers === 0,
    sessionId: () => ledger.snapshot().sessionId,
    watch() {
      watchers += 1;
      loaded().catch(nothing);
      return () => {
        watchers -= 1;
        // StrictMode and hot reload come back at once.
        if (watchers === 0) setTimeout(() => watchers === 0 && drain(), 0);
      };
    },
    /** What a render showed of the chat. */
    observe(next) {
      seen = next;
      if (following) following.record(next.messages);
      react();
    },
    /** Gives the chat back, for another session: what it was answering is stopped and stored here. */
    release: () => run(async () => ledger.snapshot().ready && settle()).catch(ledger.fail).then(close),
    requireOpen() {
      if (closed) throw new TurnmarkError("Aborted", "the chat was switched to another session before this could be done; nothing was written");
    },
  };
}
