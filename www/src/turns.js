// Lets the assistant answer. A turn belongs to the session it was begun in and lives outside of React, so that an answer goes on
// being written while another chat is looked at. What is stored, and when, is the library's business.
import { answer } from "./assistant.js";
import { endpoint } from "./endpoint.js";
import { excerpt, textOf } from "./format.js";

const sleep = (time) => new Promise((resolve) => setTimeout(resolve, time));
const newId = () => crypto.randomUUID();

/** What a chat is called until somebody renames it. */
const titleOf = (text) => excerpt(text, 60) || null;

/** A chat as an endpoint reads it. */
const asked = (messages) => messages.map((message) => ({ role: message.role, content: textOf(message) }))
  .filter(({ role, content }) => ["user", "assistant", "system"].includes(role) && content !== "");

/**
 * @param {{ pace: number, onError: Function, onConflict: Function, onSpoken: Function }} options `pace` is milliseconds per word
 */
export function createTurns({ pace, onError, onConflict, onSpoken }) {
  /** What ends the answer of a session that this page is writing, and what could not be stored of one. */
  const stops = new Map();
  const unsaved = new Map();
  const listeners = new Set();
  const changed = () => listeners.forEach((listener) => listener());

  /** Begins a turn; work that lost a race is kept by the store as a branch, and goes on there. */
  async function begin(chat, options) {
    try {
      return await chat.begin(options);
    } catch (error) {
      if (!error?.turn) throw error;
      onConflict(error);
      await chat.setTitle(error.turn.sessionId, `Kept: ${titleOf(options.raw ?? "an answer")}`);
      return error.turn;
    }
  }

  /** The words of the script, as it writes them: the whole text so far, each time. */
  async function* paced(text, signal) {
    const tokens = text.match(/\s*\S+\s*/g) ?? [];
    const start = performance.now();
    for (let done = 0; done < tokens.length && !signal.aborted;) {
      await sleep(pace);
      // A hidden tab's timers are slow: say what is due, not one word a tick.
      done = pace > 0 ? Math.min(tokens.length, Math.max(done + 1, Math.floor((performance.now() - start) / pace))) : tokens.length;
      yield tokens.slice(0, done).join("");
    }
  }

  /** Writes an answer into a message of the turn: the script's to `text` or, while it is on, the endpoint's to `messages`. */
  async function speak(turn, text, messages, variant) {
    const connected = endpoint.get();
    const reply = { id: newId(), role: "assistant", content: "", createdAt: Date.now(), variant, ...(connected && { model: connected.model }) };
    const stopping = new AbortController();
    const stop = () => stopping.abort();
    stops.set(turn.sessionId, stop);
    turn.signal.addEventListener("abort", stop);
    if (turn.signal.aborted) stop();
    let failure = null;
    try {
      const words = connected ? endpoint.answer(messages, stopping.signal) : paced(answer(text, variant), stopping.signal);
      for await (reply.content of words) {
        // Marked as long as it grows: if this page dies, it is what is found.
        turn.stream({ ...reply, status: "streaming" });
        if (stopping.signal.aborted) break;
      }
    } catch (error) {
      if (!stopping.signal.aborted) failure = error;
    }
    stops.delete(turn.sessionId);
    if (failure) onError(failure);
    if (failure && reply.content === "") return void (await turn.abort({ keep: false }));
    const stopped = stopping.signal.aborted;
    await finish(turn, stopped || failure ? { ...reply, status: stopped ? "stopped" : "failed" } : reply);
    onSpoken(reply.content, stopped);
  }

  async function finish(turn, message) {
    try {
      await turn.end([message], { metadata: { name: excerpt(message.content) || null } });
      unsaved.delete(turn.sessionId);
    } catch (error) {
      // Taken away by a restore, or kept as a branch: there is nothing to repeat.
      if (!turn.ended) unsaved.set(turn.sessionId, { turn, message });
      if (error?.code === "Conflict") onConflict(error);
      else if (error?.code !== "Aborted" && error?.code !== "Closed") onError(error);
    }
    changed();
  }

  /** Runs a turn; resolves to whether it was begun. */
  async function run(task) {
    try {
      await task();
      return true;
    } catch (error) {
      onError(error);
      return false;
    }
  }

  return {
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    isUnsaved: (sessionId) => unsaved.has(sessionId),

    /** Asks something new at the end of the chat. `parent` is the checkpoint that is shown: a newer one makes it a branch. */
    send: (chat, { text, images, parent, isFirst }) => run(async () => {
      const names = images.map(({ filename }) => filename ?? "image");
      // What is sent to a model is kept apart from what was typed, which Edit gives back.
      const composed = names.length > 0 ? `${text}\n\nAttached images: ${names.join(", ")}` : text;
      const about = { raw: text, ...(composed !== text && { composed }), ui: { screenshots: images } };
      const turn = await begin(chat, { ...about, ...(parent && { metadata: { parentCheckpointId: parent } }) });
      const message = { id: newId(), role: "user", content: text, createdAt: Date.now(), ...(names.length > 0 && { images: names }) };
      await turn.append([message], { metadata: { name: excerpt(text) } });
      if (isFirst) await chat.setTitle(turn.sessionId, titleOf(text));
      speak(turn, text, [...asked(chat.messages), { role: "user", content: composed }], 0).catch(onError);
    }),

    /** Answers a question of the user's once more; what was said before stays one of its versions. */
    regenerate: (chat, question, variant) => run(async () => {
      const before = chat.messages.slice(0, chat.messages.indexOf(question) + 1);
      const turn = await begin(chat, { regenerate: question.id });
      speak(turn, textOf(question), asked(before), variant).catch(onError);
    }),

    /** Stops the answer that this page is writing in a session; `false` when there is none. */
    stop(sessionId) {
      const stop = stops.get(sessionId);
      stop?.();
      return stop !== undefined;
    },

    /** Saves again what could not be saved, or lets go of it. */
    async retry(sessionId) {
      const { turn, message } = unsaved.get(sessionId);
      await finish(turn, message);
    },
    async discard(sessionId) {
      const { turn } = unsaved.get(sessionId);
      unsaved.delete(sessionId);
      changed();
      await turn.abort({ keep: false }).catch(onError);
    },
  };
}
