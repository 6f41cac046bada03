// turnmark/checkpoint-store: the checkpoint store of a chat builder (seed 000), on Turnmark.
import { checkFunction, checkOptions, checkString, ifGiven } from "./check.js";
import { createProject } from "./checkpoint-project.js";
import {
  checkCheckpointId, copyCheckpoints, copyContent, copyMessages, copyScreenshots, copyTargets, createEntry, freeze,
} from "./checkpoint-records.js";
import { disposable } from "./dispose.js";
import { TurnmarkError, invalid } from "./errors.js";
import { deliver, report } from "./events.js";
import { open as openStore } from "./index.js";
import { reuse } from "./live.js";

const NONE = Object.freeze([]);
const BLANK = { checkpoints: NONE, targets: NONE, screenshots: NONE, loaded: false, error: null };

function checkProjectId(projectId) {
  if (checkString(projectId, "projectId") === "") throw invalid("projectId must not be empty");
  return projectId;
}

const closed = () => new TurnmarkError("Closed", "this checkpoint store was closed; create another one");

const lastOrder = (entries) => [...entries.values()].at(-1)?.order ?? 0;

/** The known checkpoint where the new one says the same, so that its identity stays and nothing is written. */
const settled = (known, next) => freeze(reuse(known, next));

/** A plan that replaces the whole list; what is the same, in the same order, is not written again. */
function replaceAll(checkpoints, entries) {
  const kept = new Set(checkpoints.map(({ id }) => id));
  const set = [];
  let last = 0;
  for (const checkpoint of checkpoints) {
    const known = entries.get(checkpoint.id);
    const next = settled(known?.checkpoint, checkpoint);
    const inPlace = known !== undefined && known.order > last;
    last = inPlace ? known.order : last + 1;
    if (!inPlace || next !== known.checkpoint) set.push([checkpoint.id, createEntry(next, last)]);
  }
  return { set, remove: [...entries.keys()].filter((id) => !kept.has(id)) };
}

/**
 * Creates a store of chat checkpoints, project by project. Touches nothing until it is first used.
 *
 * @param {import("./checkpoint-store.js").CheckpointStoreOptions} [options]
 * @returns {import("./checkpoint-store.js").CheckpointStore}
 */
export function createCheckpointStore(options) {
  const { name, projectId = "default", onError = report, open = openStore } = checkOptions(options);
  ifGiven(name, checkString, "name");
  checkFunction(onError, "onError");
  checkFunction(open, "open");
  const listeners = new Set();
  /** Projects left behind that still have something to write. */
  const leaving = new Set();
  let snapshot = Object.freeze({ ...BLANK, projectId: checkProjectId(projectId) });
  let current = begin(projectId);
  let counter = null;
  let closing = null;

  function update(change) {
    if (Object.keys(change).every((key) => Object.is(change[key], snapshot[key]))) return;
    snapshot = Object.freeze({ ...snapshot, ...change });
    for (const { listener } of [...listeners]) deliver(listener);
  }

  function begin(id) {
    const project = createProject({
      open,
      name,
      projectId: id,
      changed: (change) => project === current && update(change),
      onError: (error) => deliver(onError, error),
    });
    return project;
  }

  function leave(id, project) {
    const entry = { id, done: project.close().catch((error) => deliver(onError, error)).then(() => leaving.delete(entry)) };
    leaving.add(entry);
    return entry.done;
  }

  /** The project that a call belongs to, from now to its end. */
  function project() {
    if (closing) throw closed();
    return current;
  }

  function start() {
    const loading = closing ? Promise.reject(closed()) : current.load();
    // Told by `error` and onError as well, so a promise that nobody looks at is no unhandled one.
    loading.catch(() => {});
    return loading;
  }

  async function saveCheckpoint(title, messageIds, commitHash = null, isSessionBoundary = false, messages = NONE) {
    const { targets, screenshots } = snapshot;
    const content = copyContent({ name: title, createdAt: Date.now(), targets, screenshots, messageIds, commitHash, isSessionBoundary, messages });
    return project().write((entries) => {
      // Each page counts from somewhere else; should two still make the same id, who writes second counts on.
      counter ??= crypto.getRandomValues(new Uint32Array(1))[0];
      let id;
      do id = `cp-${content.createdAt}-${(counter += 1)}`;
      while (entries.has(id));
      const checkpoint = freeze({ id, ...content });
      return { set: [[id, createEntry(checkpoint, lastOrder(entries) + 1)]], result: checkpoint };
    });
  }

  function loadCheckpoint(id) {
    checkCheckpointId(id);
    if (!snapshot.loaded) {
      start();
      throw new TurnmarkError("NotLoaded", "the checkpoints are not loaded yet; await `ready` first");
    }
    const checkpoint = project().find(id);
    if (checkpoint) update({ targets: checkpoint.targets, screenshots: checkpoint.screenshots });
    return checkpoint;
  }

  async function removeCheckpoint(id) {
    checkCheckpointId(id);
    return project().write((entries) => ({ remove: entries.has(id) ? [id] : [] }));
  }

  async function setCheckpoints(checkpoints) {
    const list = copyCheckpoints(checkpoints);
    return project().write((entries) => replaceAll(list, entries));
  }

  async function updateCheckpointMessages(id, messages) {
    checkCheckpointId(id);
    const copied = copyMessages(messages);
    const messageIds = copied.map((message) => message.id);
    return project().write((entries) => {
      const known = entries.get(id);
      if (!known) throw new TurnmarkError("UnknownCheckpoint", `there is no checkpoint ${JSON.stringify(id)} in this project`);
      const next = settled(known.checkpoint, { ...known.checkpoint, messages: copied, messageIds });
      return { set: next === known.checkpoint ? [] : [[id, createEntry(next, known.order)]], result: next };
    });
  }

  async function switchProject(id) {
    project();
    if (checkProjectId(id) !== snapshot.projectId) {
      const old = { id: snapshot.projectId, project: current };
      current = begin(id);
      update({ ...BLANK, projectId: id });
      leave(old.id, old.project);
    }
    return start();
  }

  async function deleteProject(id) {
    const mine = project();
    if (checkProjectId(id) === snapshot.projectId) return mine.clear();
    // What was asked for before comes first, or it would be written after the deletion.
    await Promise.all([...leaving].filter((entry) => entry.id === id).map((entry) => entry.done));
    const other = begin(id);
    try {
      await other.clear();
    } finally {
      await leave(id, other);
    }
  }

  async function close() {
    closing ??= Promise.all([current.close(), ...[...leaving].map((entry) => entry.done)]);
    await closing;
  }

  const store = {
    get projectId() { return snapshot.projectId; },
    get loaded() { return snapshot.loaded; },
    get error() { return snapshot.error; },
    get ready() { return start(); },
    get checkpoints() { return snapshot.checkpoints; },
    get targets() { return snapshot.targets; },
    get screenshots() { return snapshot.screenshots; },
    saveCheckpoint,
    loadCheckpoint,
    removeCheckpoint,
    setCheckpoints,
    updateCheckpointMessages,
    setTargets: (targets) => update({ targets: settled(snapshot.targets, copyTargets(targets)) }),
    setScreenshots: (screenshots) => update({ screenshots: settled(snapshot.screenshots, copyScreenshots(screenshots)) }),
    switchProject,
    deleteProject,
    subscribe: (listener) => {
      const entry = { listener: checkFunction(listener, "listener") };
      listeners.add(entry);
      if (!closing) start();
      return () => void listeners.delete(entry);
    },
    getSnapshot: () => snapshot,
    close,
  };
  disposable(store);
  return Object.freeze(store);
}
