// What can be done with a durable chat, each once the session has been read and one after the other. No React in here;
// not an entry of the package.

import { NONE } from "./ai-sdk-ledger.js";
import { textOf } from "./ai-sdk-judge.js";
import { invalid } from "./errors.js";

/** The operations of one chat. `use(task)` gives the task the recorder as soon as there is one. */
export function chatOperations(use) {
  /** Runs `task(recorder)`. A rejection reaches the caller, is shown in `error` and is never "unhandled". */
  function operation(task) {
    return (...args) => {
      const result = use(async (recorder) => {
        await recorder.loaded();
        try {
          return await task(recorder, ...args);
        } catch (thrown) {
          throw recorder.ledger.fail(thrown);
        }
      });
      result.catch(() => {});
      return result;
    };
  }

  /** A task that is alone, on a chat of which everything is stored. An answer that is being written is stopped. */
  const alone = (task) => operation((recorder, ...args) => recorder.run(async () => {
    recorder.requireOpen();
    await recorder.settle();
    return task(recorder, ...args);
  }));

  /** An operation of the session after which it holds something else. */
  const restoring = (name) => alone(async ({ ledger, show }, target, options) => {
    const args = name === "undo" || name === "redo" ? [target] : [target, options];
    const result = await ledger.write((session) => session[name](...args));
    ledger.adopt(await ledger.read());
    show(ledger.saved);
    return result;
  });

  return {
    sendMessage: operation(async (recorder, message, options, prompt) => {
      const { stored } = await recorder.run(async () => {
        recorder.requireOpen();
        if (recorder.busy() || message === undefined) {
          // The AI SDK queues it, or sends it beside the other; the recorder sees it come.
          if (message !== undefined) recorder.prompts.push({ text: textOf(message), prompt: recorder.promptOf(message, prompt) });
          return { stored: recorder.chat.sendMessage(message, options) };
        }
        await recorder.keep();
        const { ledger } = recorder;
        let base = ledger.saved;
        if (message.messageId !== undefined) {
          const at = base.findIndex(({ id }) => id === message.messageId);
          if (at < 0) throw invalid(`sendMessage: no message of the chat has the id ${JSON.stringify(message.messageId)}`);
          ledger.note((await ledger.write((session) => session.restore(message.messageId, { load: false }))).checkpoint);
          base = base.slice(0, at);
        }
        await recorder.begin(recorder.promptOf(message, prompt), base);
        return recorder.track(recorder.chat.sendMessage(message, options));
      });
      await stored;
    }),

    regenerate: operation(async (recorder, { messageId, ...options } = {}) => {
      const { stored } = await recorder.run(async () => {
        recorder.requireOpen();
        await recorder.settle();
        const now = recorder.messages();
        const target = messageId === undefined ? now.length - 1 : now.findIndex(({ id }) => id === messageId);
        if (target < 0) throw invalid(`regenerate: no message of the chat has the id ${JSON.stringify(messageId)}`);
        const at = now.slice(0, target + 1).findLastIndex(({ role }) => role === "user");
        const request = () => recorder.chat.regenerate({ messageId, ...options });
        // An answer to nothing (a greeting) is no turn; the recorder saves what becomes of it.
        if (at < 0) return { stored: request() };
        await recorder.begin({ regenerate: now[at].id }, now.slice(0, at + 1), { asks: false });
        return recorder.track(request());
      });
      await stored;
    }),

    stop: operation((recorder) => recorder.run(() => recorder.settle())),
    resume: operation((recorder, options) => recorder.chat.resumeStream(options)),
    restore: restoring("restore"),
    edit: restoring("edit"),
    undo: restoring("undo"),
    redo: restoring("redo"),
    show: restoring("show"),
    versions: operation(({ ledger }, messageId) => ledger.session.versions(messageId)),

    recover: alone(async ({ ledger, show }, options) => {
      const result = await ledger.write((session) => session.recover(options));
      ledger.adopt(await ledger.read());
      show(ledger.saved);
      return result;
    }),

    newSession: alone(async ({ ledger, show }, options) => {
      const { store, session } = ledger;
      // The new session continues from this one, whichever was the active one.
      if (ledger.head !== null && (await store.activeSession())?.id !== session.id) await store.openSession(session.id);
      const made = await ledger.write(() => store.newSession(options));
      await ledger.open(made.sessionId);
      ledger.saved = NONE;
      ledger.adopt(await ledger.read());
      show(ledger.saved);
      return made;
    }),
  };
}
