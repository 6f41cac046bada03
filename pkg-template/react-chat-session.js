// One chat as the hooks show it: what is stored of it, what grows in it, and who writes it. No React in here.

import { createRefresher, createSource, keepSame, onChange, reuse, reuseReport } from "./live.js";
import { ShownTurn, sameList, withMessages } from "./react-chat-turn.js";
import { asTurnmarkError, createWriter, sourceKind, sourceOf, undoable } from "./react-sources.js";

const NOTHING = Object.freeze([]);
const NO_UI = Object.freeze({});
/** Milliseconds of silence after which the run of another page is looked at: a page that dies says nothing. */
export const SILENCE_MS = 3000;
/** Reasons of `session.changed` that change nothing here, or that a `checkpoint.created` goes with. */
const SILENT = ["write", "remote", "pin", "title", "open"];
/** What a `begin()` writes. */
const OPENING = ["prompt-before", "restore-point"];

export const CHAT = sourceKind(
  "chat",
  { messages: NOTHING, ui: NO_UI, head: null, streaming: null, interrupted: null, canUndo: false, canRedo: false },
  (store, retire, id) => new Chat(store, retire, id).source,
);

class Chat {
  source;
  #store;
  #id;
  #session = null;
  #hasRead = false;
  /** Why the newest operation, and why the newest read has failed. */
  #refused = null;
  #failure = null;
  #refresher = null;
  /** What is to be read: `all`, or only the message that `grows`, whether the run is `live`, whether there is a step to `undo`. */
  #wanted = new Set();
  /** The message list as it is stored. */
  #listed = NOTHING;
  /** What was read of a message that another page, or other code of this one, is writing or was writing. */
  #growing = null;
  /** Whoever writes, when it is not `#turn`. */
  #run = null;
  /** @type {ShownTurn | null} */
  #turn = null;
  /** Calls of begin() under way; whether they wrote; how often the list was changed without reading it. */
  #beginning = 0;
  #began = false;
  #taken = 0;
  #silence;

  constructor(store, retire, id) {
    this.#store = store;
    this.#id = id;
    const source = createSource(CHAT.blank, () => this.#start(), retire);
    this.source = {
      ...source,
      refresh: () => this.#ask("all"),
      begin: (options, hold) => this.#begin(options, hold),
      take: (turn, hold) => this.#take(turn, hold),
    };
    const write = createWriter(this.source, () => this.#hasRead, (error) => this.#refuse(error));
    this.source.write = (operate) => write(() => operate(this.#session));
  }

  #start() {
    this.#refresher = createRefresher(
      () => this.#read(),
      (read) => {
        this.#failure = null;
        this.#show({ loading: false, ...read });
      },
      (error) => {
        this.#failure = asTurnmarkError(error);
        this.#show({ loading: false });
      },
    );
    const ofOthers = (task) => (event) => event.sessionId === this.#id && this.#turn?.runId !== event.runId && task(event);
    const stops = [
      onChange(this.#store, this.#id, (type, event) => this.#hear(type, event)),
      this.#store.on("run.started", ofOthers(({ origin }) => (origin === "local" && this.#beginning > 0) || this.#ask("all"))),
      this.#store.on("run.ended", ofOthers(() => this.#ask("all"))),
      this.#store.on("stream", ofOthers(({ runId }) => this.#ask(this.#run?.runId === runId ? "grows" : "all"))),
      this.#store.on("stream.failed", ({ runId, error }) => this.#turn?.runId === runId && this.#refuse(error)),
    ];
    this.#ask("all");
    return () => {
      stops.forEach((stop) => stop());
      clearTimeout(this.#silence);
      this.#refresher.stop();
    };
  }

  #ask(what) {
    this.#wanted.add(what);
    return this.#refresher.refresh();
  }

  #hear(type, { checkpoint, origin, reason }) {
    if (type === "session.changed" && SILENT.includes(reason)) return;
    if (type === "checkpoint.created" && origin === "local") {
      if (this.#beginning > 0 && OPENING.includes(checkpoint.kind)) {
        this.#began = true;
        return;
      }
      if (this.#turn?.wrote(checkpoint) && this.#adopt(checkpoint)) return;
    }
    this.#ask("all");
  }

  async #read() {
    const wanted = this.#wanted;
    this.#wanted = new Set();
    try {
      if (wanted.has("all")) return await this.#readAll();
      let read = {};
      if (wanted.has("live") && !(await this.#isLive())) return await this.#readAll();
      if (wanted.has("undo")) read = await undoable(this.#session);
      if (wanted.has("grows")) await this.#readGrowing();
      return read;
    } catch (error) {
      // It has not been read: whoever asks next shall have it.
      for (const what of wanted) this.#wanted.add(what);
      throw error;
    }
  }

  async #readAll() {
    for (;;) {
      const taken = this.#taken;
      this.#session ??= await this.#store.session(this.#id);
      const tuple = await this.#session.get();
      const able = tuple ? await undoable(this.#session) : { canUndo: false, canRedo: false };
      const { run, interrupted } = await this.#readRun(tuple);
      // Meanwhile a turn of this page has gone on, and what was read is older than what is shown.
      if (taken !== this.#taken) continue;
      const before = this.source.get();
      this.#hasRead = true;
      this.#listed = reuse(this.#listed, tuple?.state.messages ?? NOTHING);
      this.#growing = this.#turn ? null : reuse(this.#growing, tuple?.streaming?.message ?? null);
      this.#run = run;
      return { ...able, interrupted, ui: reuse(before.ui, tuple?.ui ?? NO_UI), head: reuseReport(before.head, tuple?.checkpoint ?? null) };
    }
  }

  /** Who writes, and who has stopped without a word. */
  async #readRun(tuple) {
    const nobody = { run: null, interrupted: null };
    if (!tuple) return nobody;
    const { run } = await this.#session.summary();
    if (run === null && !tuple.checkpoint.provisional) return nobody;
    if (run !== null && run.runId === this.#turn?.runId) return nobody;
    const { runs, interrupted } = await this.#store.status();
    const live = runs.find(({ sessionId, runId }) => sessionId === this.#id && runId === run?.runId);
    if (live) return { run: { runId: live.runId, mine: live.mine }, interrupted: null };
    const dead = interrupted.find(({ sessionId }) => sessionId === this.#id);
    if (!dead) return nobody;
    const { runId, since } = dead;
    const messageId = tuple.streaming?.message.id ?? (tuple.checkpoint.provisional ? tuple.state.messages?.at(-1)?.id : null) ?? null;
    return { run: null, interrupted: reuse(this.source.get().interrupted, { messageId, runId, since }) };
  }

  async #readGrowing() {
    const found = await this.#session.streaming();
    // Without one it is in the list by now, or gone: the event of that is on its way.
    if (found) this.#growing = reuse(this.#growing, found.message);
  }

  async #isLive() {
    const { runs } = await this.#store.status();
    return runs.some(({ runId }) => runId === this.#run?.runId);
  }

  /** Takes over a checkpoint of `#turn` without reading it: its messages are known, from the list and from the turn. */
  #adopt(checkpoint) {
    const ids = idsOf(checkpoint);
    const known = new Map(this.#listed.map((message) => [message.id, message]));
    if (!this.#hasRead || !ids || known.size < this.#listed.length) return false;
    const list = ids.map((id) => this.#turn.given(id) ?? known.get(id));
    if (list.includes(undefined)) return false;
    this.#taken += 1;
    this.#listed = sameList(this.#listed, list);
    this.#growing = null;
    this.#show({ head: checkpoint });
    return true;
  }

  #show(read = {}) {
    const before = this.source.get();
    const growing = this.#turn ? this.#turn.streamed : [this.#growing].filter(Boolean);
    const streaming = this.#turn ? { runId: this.#turn.runId, messageId: this.#turn.growingId, mine: true }
      : this.#run && { ...this.#run, messageId: this.#growing?.id ?? null };
    this.source.set(keepSame(before, {
      ...before,
      ...read,
      error: this.#refused ?? this.#failure,
      ...(this.#turn && { interrupted: null }),
      messages: sameList(before.messages, withMessages(this.#listed, growing)),
      streaming: reuse(before.streaming, streaming),
    }));
    clearTimeout(this.#silence);
    if (this.#turn || !this.#run) return;
    this.#silence = setTimeout(() => this.#ask("live"), SILENCE_MS);
    this.#silence.unref?.();
  }

  #refuse(error) {
    this.#refused = error && asTurnmarkError(error);
    this.#show();
  }

  /** @param {(over: Promise<void>) => void} hold is told how long the turn goes on */
  #begin(options, hold) {
    return this.source.write(async (session) => {
      this.#beginning += 1;
      try {
        const turn = await session.begin(options);
        const handle = this.#take(turn, hold);
        if (options?.ui) this.#show({ ui: { ...options.ui } });
        // There was nothing to read for it, unless what it began on was not what is shown.
        this.#began = !this.#adopt(turn.checkpoint);
        return handle;
      } catch (error) {
        // On the branch that keeps the prompt the turn can go on, and is shown there.
        if (error.turn) error.turn = sourceOf(this.#store, CHAT, error.turn.sessionId).take(error.turn, hold);
        throw error;
      } finally {
        this.#beginning -= 1;
        if (this.#began) this.#ask("all");
        this.#began = false;
      }
    });
  }

  /** Shows a turn until it is over, also when nobody looks at the chat meanwhile. */
  #take(turn, hold) {
    const leave = this.source.subscribe(() => {});
    let release;
    hold?.(new Promise((resolve) => {
      release = resolve;
    }));
    const over = (what) => {
      if (this.#turn === shown) this.#turn = null;
      this.#ask(what);
      this.#show();
      leave();
      release?.();
    };
    const shown = new ShownTurn(turn, {
      changed: () => this.#show(),
      succeeded: () => this.#refuse(null),
      failed: (error) => {
        this.#refuse(error);
        this.#ask("all");
      },
      ended: () => over("undo"),
    });
    this.#turn = shown;
    this.#run = null;
    // Somebody asked to stop: that ends nothing yet. Or it was taken away.
    turn.signal.addEventListener("abort", () => turn.ended && this.#turn === shown && over("all"));
    this.#show();
    return shown.handle;
  }
}

/** The ids of all messages of a checkpoint, or `null` where not every one is known. */
function idsOf(checkpoint) {
  try {
    const { messageIds, messageCount } = checkpoint;
    return messageIds.length === messageCount ? messageIds : null;
  } catch {
    return null;
  }
}
