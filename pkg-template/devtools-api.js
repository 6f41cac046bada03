// What `__HARNESS_DEVTOOLS__` can do for one store: listings that answer at once and print themselves, and actions that
// return a promise and say in a line what they did and how to undo it.

import { TurnmarkError } from "./errors.js";
import { collect } from "./live.js";
import { findId, isDecidedBy } from "./devtools-ids.js";
import { MIRRORED, createMirror } from "./devtools-mirror.js";
import { age, changeRows, checkpointRows, count, line, operationRows, sessionRows, shortener, size, toolRows, turnRows, turnsOf } from "./devtools-table.js";

const NO_REPLICA = "no replica is configured";
const LOADING = "still loading; ask again";
const quote = (text) => JSON.stringify(text);

/** The surface for one store. `registry` adds what is about several: `{ stores(), use(name) }`. */
export function createApi({ store, name, globalName, sessionId, voice, tools, registry }) {
  const { say, complain, show } = voice;
  const hint = (call) => `${globalName}.${call}`;

  const mirror = createMirror(store, sessionId, complain);
  const ready = mirror.refresh();
  const shorten = (id) => shortener(mirror.view().checkpoints.map((checkpoint) => checkpoint.id))(id);

  /**
   * An action: its failure is printed once, reaches whoever awaits it, and is never "unhandled". It sees everything that
   * was written before it was called: -1 is the newest checkpoint, not the newest one mirrored.
   */
  function action(work) {
    return (...args) => {
      const result = mirror.settled().then(() => work(...args));
      result.catch(complain);
      return result;
    };
  }

  function selectedId() {
    const { sessionId: id } = mirror.view();
    if (id === null) throw new TurnmarkError("UnknownSession", `There is no session yet. Write one, then list them with ${hint("sessions()")}.`);
    return id;
  }

  /** The session and checkpoint that `reference` means. */
  async function locate(reference) {
    if (typeof reference?.id === "string") return { sessionId: reference.sessionId ?? selectedId(), checkpointId: reference.id };
    const id = selectedId();
    let ids = mirror.view().checkpoints.map((checkpoint) => checkpoint.id);
    if (!mirror.view().complete && !isDecidedBy(reference, ids)) ids = (await collect(store.checkpoints.list(id))).map((checkpoint) => checkpoint.id);
    return { sessionId: id, checkpointId: findId(reference, ids, "checkpoint") };
  }

  /** The session and turn that `reference` means. */
  function locateTurn(reference) {
    const id = selectedId();
    const turns = turnsOf(mirror.view().state);
    const messageId = findId(reference?.id ?? reference, turns.map((turn) => turn.id), "turn");
    return { sessionId: id, ...turns.find((turn) => turn.id === messageId) };
  }

  /** "cp_018f6a2b (message, 2 min ago)". An undo may lead to before the first checkpoint. */
  function describe(id) {
    if (id === null) return "the empty beginning";
    const known = mirror.view().checkpoints.find((checkpoint) => checkpoint.id === id);
    return known ? `${shorten(id)} (${line(known.source)}, ${age(known.createdAt)})` : id;
  }

  /** The call that acts on `id`, which is the selected session unless named. */
  const on = (id, call) => hint(id === mirror.view().sessionId ? `${call}()` : `${call}(${quote(id)})`);

  const offline = () => ({ enabled: false, vector: { ...mirror.view().vector }, reason: NO_REPLICA });

  /** Runs a restore and says what became of the messages, and which call (`undo` or `redo`) is its inverse. */
  async function restored(id, restore, told, inverse) {
    const before = mirror.view().sessionId === id ? `${mirror.view().checkpoints[0]?.messageCount ?? 0} -> ` : "";
    const result = await restore();
    await mirror.refresh();
    say(`${told(result)}: ${before}${count(result.checkpoint.messageCount, "message")}. ${inverse === "undo" ? "Undo" : "Redo"}: ${on(id, inverse)}`);
    return result;
  }

  const api = {
    name,
    globalName,
    store,
    ready,

    get session() {
      return mirror.view().state;
    },

    sessions() {
      const { sessions, sessionId: id, loaded } = mirror.view();
      const amount = `${sessions.length < MIRRORED ? "" : "newest "}${count(sessions.length, "session")}`;
      show(loaded ? `${amount}. Choose one: ${hint("select(-1)")}` : LOADING, sessionRows(sessions, id));
      return sessions.map((session) => ({ ...session }));
    },

    checkpoints() {
      const { checkpoints, sessionId: id, complete, loaded } = mirror.view();
      const amount = `${complete ? "" : "newest "}${count(checkpoints.length, "checkpoint")}`;
      show(loaded ? `${amount} of session ${quote(id)}. Go back: ${hint("rollback(-2)")}` : LOADING, checkpointRows(checkpoints));
      return checkpoints.map((checkpoint) => ({ ...checkpoint }));
    },

    turns() {
      const { state, sessionId: id, loaded } = mirror.view();
      const turns = turnsOf(state);
      show(loaded ? `${count(turns.length, "turn")} of session ${quote(id)}. The state before one: await ${hint("before(-1)")}. Go back there: ${hint("restore(-1)")}` : LOADING, turnRows(turns));
      return turns;
    },

    before: action(async (reference = -1) => {
      const { sessionId: id, id: messageId, index, asked } = locateTurn(reference);
      const checkpointId = await (await store.session(id)).checkpointBefore(messageId);
      const found = checkpointId === null ? null : await store.checkpoints.get(id, checkpointId);
      const { checkpoint = null, state = { messages: mirror.view().state.messages.slice(0, index) } } = found ?? {};
      const where = checkpoint ? describe(checkpointId) : "no checkpoint was taken then";
      say(`before ${quote(line(asked, 40))}: ${count(state.messages?.length ?? 0, "message")}, ${where}. Go back there: ${hint(`restore(${quote(messageId)})`)}`);
      return { checkpoint, state };
    }),

    restore: action(async (reference = -1, options = undefined) => {
      const { sessionId: id, id: messageId, asked } = locateTurn(reference);
      const session = await store.session(id);
      const told = ({ matchedCheckpointId }) =>
        `went back to before ${quote(line(asked, 40))} in session ${quote(id)}${matchedCheckpointId === null ? " (the messages only: no checkpoint was taken then)" : ""}`;
      return restored(id, () => session.restore(messageId, options), told, "undo");
    }),

    select: action(async (reference) => {
      const previous = mirror.view().sessionId;
      if (reference === null || reference === undefined) {
        await mirror.select(null);
        say(`following the session this page writes to: ${quote(mirror.view().sessionId)}`);
        return mirror.view().sessionId;
      }
      let ids = mirror.view().sessions.map((session) => session.id);
      const wanted = reference.id ?? reference;
      if (!isDecidedBy(wanted, ids)) ids = (await collect(store.sessions())).map((session) => session.id);
      const id = findId(wanted, ids, "session");
      await mirror.select(id);
      const amount = count(mirror.view().checkpoints.length, "checkpoint");
      say(`selected session ${quote(id)}: ${amount}. Back: ${hint(`select(${quote(previous)})`)}`);
      return id;
    }),

    rollback: action(async (reference, options) => {
      const { sessionId: id, checkpointId } = await locate(reference);
      const target = describe(checkpointId);
      const told = () => `rolled session ${quote(id)} back to ${target}`;
      return restored(id, () => store.checkpoints.rollback(id, checkpointId, options), told, "undo");
    }),

    undo: action((id = selectedId()) => {
      const told = (result) => `undid the newest operation of session ${quote(id)}, back to ${describe(result.targetCheckpointId)}`;
      return restored(id, () => store.undo(id), told, "redo");
    }),

    redo: action((id = selectedId()) => {
      const told = (result) => `did it again in session ${quote(id)}, forward to ${describe(result.targetCheckpointId)}`;
      return restored(id, () => store.redo(id), told, "undo");
    }),

    fork: action(async (reference = -1, newSessionId = undefined) => {
      const { sessionId: id, checkpointId } = await locate(reference);
      const shown = mirror.view().sessionId;
      const session = await store.fork(id, checkpointId, newSessionId);
      await mirror.stay(shown);
      const forked = quote(session.id);
      say(
        `forked session ${quote(id)} at ${describe(checkpointId)} into ${forked}; the first is untouched. ` +
          `Look at it: ${hint(`select(${forked})`)}. Undo: (await ${hint(`store.session(${forked})`)}).delete()`,
      );
      return session;
    }),

    diff: action(async (a, b = -1) => {
      const [from, to] = [await locate(a), await locate(b)];
      const diff = await store.checkpoints.diff(from, to);
      const { added, removed, changed, commonPrefix } = diff;
      const between = `${describe(from.checkpointId)} -> ${describe(to.checkpointId)}`;
      show(`${between}: ${added} added, ${removed} removed, ${changed} changed after ${count(commonPrefix, "common message")}`, changeRows(diff));
      return diff;
    }),

    pin: action(async (reference, pinned = true) => {
      const { sessionId: id, checkpointId } = await locate(reference);
      await store.checkpoints.pin(id, checkpointId, pinned);
      await mirror.refresh();
      say(`${pinned ? "pinned" : "unpinned"} ${describe(checkpointId)}. Undo: ${hint(`pin(${quote(checkpointId)}, ${!pinned})`)}`);
    }),

    log: action(async (id = selectedId()) => {
      const operations = await store.log(id, { limit: 50 });
      show(`newest operations of session ${quote(id)}`, operationRows(operations));
      return operations;
    }),

    verify: action(async () => {
      const report = await store.verify();
      const { sessions, checkpoints, messages } = report.checked;
      const checked = `${count(sessions, "session")}, ${count(checkpoints, "checkpoint")} and ${count(messages, "message")} checked`;
      const rows = report.faults.map(({ fault, record, message }) => ({ fault, record: line(record), message: line(message, 120) }));
      show(`${report.ok ? "all is well" : count(report.faults.length, "fault")}: ${checked}`, rows);
      return report;
    }),

    recover: action(async (options) => {
      const done = await store.recover(options);
      await mirror.refresh();
      const rows = done.map(({ sessionId: id, action: what, reason = "", restoredFrom, restoredSeq, lastSeq }) => ({
        session: line(id), did: what, from: restoredFrom === undefined ? "" : line(restoredFrom), missing: lastSeq === undefined ? "" : lastSeq - restoredSeq, why: line(reason, 120),
      }));
      show(done.length === 0 ? "nothing is interrupted, and nothing is in the mirror alone" : `recovered ${count(done.length, "session")}`, rows);
      return done;
    }),

    repair: action(async (options) => {
      const report = await store.repair(options);
      const left = report.lost.length === 0 ? "nothing stays lost" : `${count(report.lost.length, "record")} stay lost: ${hint("verify()")}`;
      const rows = report.actions.map(({ action: what, record, message }) => ({ action: what, record: line(record), message: line(message, 120) }));
      show(`${count(rows.length, "repair")} ${report.dryRun ? "would be made" : "made"}; ${left}`, rows);
      return report;
    }),

    export: action(async (options) => {
      const bundle = await store.export(options);
      say(`exported ${size(bundle.length)}. To the clipboard: copy(await ${hint("export()")})`);
      return bundle;
    }),

    status: action(async () => {
      const status = await store.status();
      const { backend, durability, level, connection, counts, interrupted, mirror: second } = status;
      const holds = `${count(counts.sessions, "session")}, ${count(counts.checkpoints, "checkpoint")}, ${interrupted.length} interrupted`;
      say(`${backend} ${quote(status.name)}, scope ${quote(status.scope)}: durability ${durability}, stamps ${quote(level)}, connection ${connection}, ${holds}`);
      if (second?.recoverable.length > 0) say(`${count(second.recoverable.length, "session")} of the mirror can come back: ${hint("recover()")}`);
      return status;
    }),

    tools() {
      let list = [];
      try {
        list = [...((typeof tools === "function" ? tools() : tools) ?? [])];
      } catch (error) {
        complain(error);
        return list;
      }
      show(tools ? count(list.length, "registered tool") : "no tools: pass `tools` (a list, or a function that returns one) to the devtools", toolRows(list));
      return list;
    },

    syncStatus() {
      const status = offline();
      const rows = Object.entries(status.vector).map(([device, counter]) => ({ device: line(device), counter }));
      show(`sync is off: ${NO_REPLICA}. Version vector of session ${quote(mirror.view().sessionId)}:`, rows);
      return status;
    },

    forceSync: action(async () => {
      say(`nothing was sent: ${NO_REPLICA}`);
      return offline();
    }),

    stores: () => registry.stores(),
    use: (other) => registry.use(other),

    help() {
      voice.page(helpLines(globalName));
    },
  };
  return { api, stop: mirror.stop };
}

function helpLines(globalName) {
  const rows = [
    ["session", "the state of the selected session, now"],
    ["checkpoints()", "its checkpoints, newest first: -1, -2, ..."],
    ["rollback(-2)", "go back to the one before the newest; can be undone"],
    ['rollback("cp_018f")', "any beginning of an id will do, or an object of a listing"],
    ["turns()", "what was asked, newest first: -1, -2, ..."],
    ["before(-1)", "the state before a turn"],
    ["restore(-1)", "go back to before it; can be undone"],
    ["undo(), redo()", "take back the newest operation; do it again"],
    ['fork(-2, "what-if")', "a new session from there; this one stays as it is"],
    ["diff(-2, -1)", "what changed between the two"],
    ["pin(-1)", "never prune it; pin(-1, false) takes that back"],
    ["sessions()", "all sessions; select(-1) chooses one, select() follows the page"],
    ["verify(), repair(), status()", "check every record; set right what can be; how durable the store is"],
    ["recover()", "finish what was interrupted; bring back what only the mirror has"],
    ["log(), export()", "the newest operations; everything as one text"],
    ["tools()", "the tools the application has registered"],
    ["syncStatus(), forceSync()", "the version vector; there is no replica yet"],
    ["stores(), use(name)", "when there are several stores"],
  ];
  const width = Math.max(...rows.map(([call]) => call.length));
  return [`Turnmark in the console: ${globalName}.`, ...rows.map(([call, what]) => `  .${call.padEnd(width)}  ${what}`), "What takes time returns a promise: await it for its result."];
}
