// Asks the assistant and saves what it says, as it says it. Lives outside of React, so that an answer goes on being
// written while another chat is looked at.
//
// What a turn writes, in this order:
//   1. the question, as a checkpoint of its own, before the first word of the answer
//   2. the answer as far as it has come, twice a second, provisional: the next write replaces it
//   3. the whole answer
// A page that dies in between leaves the newest of these, and the next page offers to go on.

import { answer } from "./assistant.js";
import { excerpt, textOf } from "./format.js";

const SAVE_EVERY_MS = 500;
/** How long a finished turn is shown at most while the store is read again. */
const SETTLE_MS = 1000;
const sleep = (time) => new Promise((resolve) => setTimeout(resolve, time));
const newId = () => crypto.randomUUID();

/** The newest question of a list of messages. */
function questionOf(messages) {
  const asked = messages.findLast(({ role }) => role === "user");
  return asked ? textOf(asked) : "";
}

/** What a chat is called until somebody renames it. */
const titleOf = (messages) => excerpt(questionOf(messages), 60) || null;

const answerTo = (messages, variant) => answer(questionOf(messages), variant);

/**
 * `openWriter` opens a store of its own for the turns. A store takes what it reads as seen by whoever writes through it,
 * and the panes read all the time: through theirs, a turn would write over what another tab has done meanwhile.
 *
 * @param {() => Promise<import("turnmark").Turnmark>} openWriter
 * @param {{ pace: number, onError: Function, onConflict: Function, onSpoken: Function }} options `pace` is milliseconds per word
 */
export function createTurns(openWriter, { pace, onError, onConflict, onSpoken }) {
  let opening = null;
  const writer = () => {
    opening ??= openWriter().catch((error) => {
      opening = null;
      throw error;
    });
    return opening;
  };
  const turns = new Map();
  const listeners = new Set();
  const changed = () => listeners.forEach((listener) => listener());

  const show = (turn, more) => {
    if (turn.abandoned) return;
    turn.shown = { ...turn.shown, ...more };
    turns.set(turn.sessionId, turn);
    changed();
  };
  const forget = (turn) => {
    if (turns.get(turn.sessionId) !== turn) return;
    turns.delete(turn.sessionId);
    changed();
  };

  /** Runs one write. Work that lost a race is kept by the store as a branch: the turn goes on there. */
  async function write(turn, operation) {
    if (turn.abandoned) return;
    const continues = turn.written === null && turn.head !== null ? { parentCheckpointId: turn.head } : {};
    try {
      turn.written = (await operation(turn.session, continues)).id;
    } catch (error) {
      if (error?.code !== "Conflict" || !error.branch) throw error;
      forget(turn);
      turn.sessionId = error.branch.sessionId;
      turn.session = await (await writer()).session(turn.sessionId);
      await turn.session.messages();
      turn.written = error.branch.checkpointId;
      onConflict(error);
      show(turn);
      await turn.session.setTitle(`Kept: ${excerpt(questionOf(turn.shown.messages), 60) || "an answer"}`).catch(onError);
    }
  }

  /** Runs a turn: what it shows is on the screen before anything is written, and stays there until it can be read back. */
  async function run(turn, work) {
    show(turn, { answering: true, unsaved: false });
    try {
      if (turn.session === null) {
        turn.session = await (await writer()).session(turn.sessionId);
        await turn.session.messages();
      }
      await work(turn);
      show(turn, { answering: false, settled: turn.written });
      setTimeout(forget, SETTLE_MS, turn);
    } catch (error) {
      show(turn, { answering: false, unsaved: true });
      onError(error);
    }
  }

  /** `head` is the checkpoint the turn was begun on, as far as it is known: a newer one makes its first write a conflict. */
  function begin(sessionId, head, messages, work) {
    if (turns.get(sessionId)?.shown.answering) return Promise.resolve();
    return run({ sessionId, head, session: null, stopped: false, abandoned: false, written: null, shown: { messages } }, work);
  }

  /** Streams `text` into the message `reply`, which follows `before`. */
  async function stream(turn, before, reply, text, writes) {
    const said = text.startsWith(reply.content) ? reply.content : "";
    const tokens = text.slice(said.length).match(/\s*\S+\s*/g) ?? [];
    const messages = (content, status) => [...before, { ...reply, content, ...(status ? { status } : {}) }];
    const metadata = { source: "message", kind: "turn-after", ...(writes && { writes }) };
    let content = said;
    let saving = null;
    let lastSave = performance.now();
    const start = lastSave;
    show(turn, { messages: messages(content, "streaming") });
    for (let done = 0; done < tokens.length && !turn.stopped;) {
      await sleep(pace);
      // A hidden tab's timers are slow: say what is due, not one word a tick.
      const now = performance.now();
      const due = pace > 0 ? Math.min(tokens.length, Math.max(done + 1, Math.floor((now - start) / pace))) : tokens.length;
      if (turn.stopped) break;
      content += tokens.slice(done, due).join("");
      done = due;
      show(turn, { messages: messages(content, "streaming") });
      if (saving !== null || now - lastSave < SAVE_EVERY_MS || done === tokens.length) continue;
      lastSave = now;
      const partial = messages(content, "streaming");
      saving = write(turn, (session, continues) => session.put({ messages: partial }, { ...continues, ...metadata, provisional: true, name: "Answer being written" }))
        // The whole answer is written at the end in any case, and tells what is wrong if that fails too.
        .catch(() => {})
        .finally(() => { saving = null; });
    }
    await saving;
    const whole = messages(content, turn.stopped ? "stopped" : null);
    show(turn, { messages: whole });
    await write(turn, (session, continues) => session.put({ messages: whole }, { ...continues, ...metadata, name: excerpt(content) || null }));
    onSpoken(content, turn.stopped);
  }

  const reply = (variant) => ({ id: newId(), role: "assistant", content: "", createdAt: Date.now(), variant });

  return {
    /** `{ messages, answering, unsaved, settled }` of the turn a session is in, or `undefined`. */
    get: (sessionId) => turns.get(sessionId)?.shown,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },

    /** Asks something new at the end of the chat. */
    send: (sessionId, head, messages, text) => {
      const asked = [...messages, { id: newId(), role: "user", content: text, createdAt: Date.now() }];
      return begin(sessionId, head, asked, async (turn) => {
        await write(turn, (session, continues) => session.append(asked.slice(-1), { metadata: { ...continues, source: "message", kind: "prompt-after", name: excerpt(text) } }));
        if (messages.length === 0) await turn.session.setTitle(titleOf(asked));
        await stream(turn, asked, reply(0), answerTo(asked, 0));
      });
    },

    /** Asks the question at `index` in other words. What followed it stays reachable in the timeline. */
    edit: (sessionId, head, messages, index, text) => {
      const asked = [...messages.slice(0, index), { ...messages[index], content: text, editedAt: Date.now() }];
      return begin(sessionId, head, asked, async (turn) => {
        await write(turn, (session, continues) => session.put({ messages: asked }, { ...continues, source: "message", kind: "prompt-after", writes: ["edit"], name: excerpt(text) }));
        await stream(turn, asked, reply(0), answerTo(asked, 0), ["edit"]);
      });
    },

    /** Answers the question before `index` once more; with `index` at the end, one that has no answer yet. */
    regenerate: (sessionId, head, messages, index) => {
      const before = messages.slice(0, index);
      const old = messages[index];
      const variant = old === undefined ? 0 : (old.variant ?? 0) + 1;
      const next = old === undefined ? reply(0) : { ...reply(variant), id: old.id ?? newId() };
      return begin(sessionId, head, before, (turn) => stream(turn, before, next, answerTo(before, variant), old && ["regenerate"]));
    },

    /** Goes on with an answer that was interrupted. */
    resume: (sessionId, head, messages) => {
      const before = messages.slice(0, -1);
      const { status, ...partial } = messages.at(-1);
      return begin(sessionId, head, messages, (turn) => stream(turn, before, partial, answerTo(before, partial.variant ?? 0), ["continue"]));
    },

    /** Leaves an interrupted answer as far as it came. */
    dismiss: (sessionId, head, messages) => {
      const kept = [...messages.slice(0, -1), { ...messages.at(-1), status: "interrupted" }];
      return begin(sessionId, head, kept, (turn) => write(turn, (session, continues) => session.put({ messages: kept }, { ...continues, source: "message", kind: "turn-after", writes: ["dismiss"], name: excerpt(textOf(kept.at(-1))) || null })));
    },

    stop(sessionId) {
      const turn = turns.get(sessionId);
      if (turn) turn.stopped = true;
    },

    /** Saves again what could not be saved. */
    retry(sessionId) {
      const turn = turns.get(sessionId);
      return turn && run(turn, async () => {
        const messages = turn.shown.messages.map(({ status, ...message }) => (status === "streaming" || !status ? message : { ...message, status }));
        await write(turn, (session, continues) => session.put({ messages }, { ...continues, source: "message", name: excerpt(textOf(messages.at(-1))) || null }));
        if ((await turn.session.summary()).title === null) await turn.session.setTitle(titleOf(messages));
      });
    },

    /** Shows what is stored again: the turn can be read back, was given up, or its session is gone. */
    forget(sessionId) {
      const turn = turns.get(sessionId);
      if (!turn) return;
      Object.assign(turn, { stopped: true, abandoned: true });
      forget(turn);
    },
  };
}
