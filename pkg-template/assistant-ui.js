// turnmark/assistant-ui: a history adapter for @assistant-ui/react. Needs nothing of that package at run time.
import { onThread } from "./assistant-ui-thread.js";
import { checkArray, checkFunction, checkId, checkObject, checkString, ifGiven } from "./check.js";
import { decode } from "./decode.js";
import { TurnmarkError, describe, fromRaw, invalid } from "./errors.js";
import { deliver } from "./events.js";
import { Pack } from "./pack.js";

/** The key of a stored message under which is what assistant-ui keeps beside it. */
const BESIDE = "assistant-ui";
const OWN_FORMAT = "messages of assistant-ui itself";

/** assistant-ui's own messages, stored as they are. */
const plain = {
  idOf: ({ message }) => checkObject(message, "message").id,
  toStored: ({ message, runConfig }) => (runConfig === undefined ? message : { ...message, [BESIDE]: { runConfig } }),
  fromStored({ parentId, value: { [BESIDE]: beside, ...message } }) {
    if (typeof message.format === "string") throw otherFormat(message.format, OWN_FORMAT);
    return { parentId, message, ...beside };
  },
};

/** Messages of another library, as its format adapter encodes them. */
function formatted(adapter) {
  const { format } = checkObject(adapter, "formatAdapter");
  checkString(format, "formatAdapter.format");
  const ask = (work) => foreign(`the format adapter ${JSON.stringify(format)}`, work);
  return {
    idOf: ({ message }) => ask(() => adapter.getId(message)),
    toStored(item, id) {
      const content = ask(() => adapter.encode(item));
      // The role beside it is what everything else in Turnmark reads.
      return { id, ...(typeof content?.role === "string" && { role: content.role }), format, content };
    },
    fromStored({ id, parentId, value }) {
      if (value.format !== format) throw otherFormat(value.format ?? OWN_FORMAT, format);
      return ask(() => adapter.decode({ id, parent_id: parentId, format, content: value.content }));
    },
  };
}

function otherFormat(found, asked) {
  return invalid(`the thread holds ${JSON.stringify(found)} and is read as ${JSON.stringify(asked)}: use the runtime it was written with`);
}

/** Calls what is not ours: its failure is not a fault of this library. */
function foreign(who, work) {
  try {
    return work();
  } catch (cause) {
    throw new TurnmarkError("InvalidArgument", `${who} failed: ${describe(cause)}`, { cause });
  }
}

/** Keeps a message as it is now, however long its write has to wait. */
function keep(message) {
  const pack = new Pack();
  pack.add(checkObject(message, "message"), "message");
  return async () => {
    await pack.ready();
    const { texts, binaries } = pack.raw();
    return decode(texts[0], binaries?.[0], () => "message");
  };
}

/** Makes a history adapter; see the declarations. */
export function createHistoryAdapter(options) {
  const { store, sessionId, scopeId, onError } = checkObject(options, "options");
  checkObject(store, "options.store");
  if (typeof sessionId !== "function") checkId(sessionId, "session id");
  ifGiven(scopeId, checkString, "options.scopeId");
  ifGiven(onError, checkFunction, "options.onError");
  const currentSession = () => (typeof sessionId === "function" ? foreign("sessionId()", sessionId) : sessionId) ?? undefined;

  /** Does an operation. Its failure is told to whoever called and here, because the runtimes only write it to the console. */
  async function perform(operation, sessionOf, idsOf, work) {
    let session;
    try {
      session = sessionOf();
      return await work(session);
    } catch (raw) {
      const error = fromRaw(raw);
      if (onError) deliver((about) => onError(error, about), { operation, sessionId: session ?? null, messageIds: idsOf() });
      throw error;
    }
  }

  function methods(codec, sessionOf) {
    const idOf = (item) => checkId(codec.idOf(checkObject(item, "item")), "message id");
    const add = (operation) => (item) => {
      let id;
      return perform(operation, sessionOf, () => [id ?? null], (session) => {
        checkSession(session);
        id = idOf(item);
        const parentId = item.parentId === null ? null : checkId(item.parentId, "parent id");
        const read = keep(codec.toStored(item, id));
        return onThread(store, session, (thread) => thread.add({ id, parentId, read }));
      });
    };
    return {
      load: () => perform("load", sessionOf, () => [], async (session) => {
        // A thread that was never written to may have no session yet.
        if (session === undefined) return { headId: null, messages: [] };
        const tree = await onThread(store, checkSession(session), (thread) => thread.load());
        return { headId: tree.head, messages: [...tree.connected()].map(codec.fromStored) };
      }),
      append: add("append"),
      update: add("update"),
      delete(items) {
        let ids = [];
        return perform("delete", sessionOf, () => ids, (session) => {
          checkSession(session);
          ids = checkArray(items, "items").map(idOf);
          return onThread(store, session, (thread) => thread.remove(ids));
        });
      },
    };
  }

  return {
    get scopeId() {
      return scopeId ?? currentSession();
    },
    ...methods(plain, currentSession),
    withFormat(formatAdapter) {
      let pinned;
      const pin = () => {
        pinned = currentSession() ?? pinned;
        return pinned;
      };
      const codec = formatted(formatAdapter);
      return {
        // A run that began in one thread is saved there, whichever the user has opened since.
        ...methods(codec, () => pinned ?? pin()),
        load: methods(codec, pin).load,
        pin: () => void pin(),
      };
    },
  };
}

function checkSession(session) {
  if (session === undefined) throw invalid("there is no session to write to: sessionId() gave none");
  return checkId(session, "session id");
}
