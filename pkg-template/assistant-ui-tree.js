// A thread of assistant-ui as a tree, and the session state that keeps it: the line from the first message to the head is
// the state's `messages`, as of any chat, and everything beside that line is in channels. Nothing is kept twice.
import { invalid } from "./errors.js";

/** A message off the line: `{ parentId, message }`. On the line the parent is the message before. */
const NODE = "assistant-ui/node/";
/** The order of a message's children, where it has several. */
const SIBLINGS = "assistant-ui/siblings/";
/** The same for the first messages, which have no parent. No id can make `SIBLINGS` into this name. */
const ROOTS = "assistant-ui/roots";

const siblingsOf = (parentId) => (parentId === null ? ROOTS : SIBLINGS + parentId);
const isOurs = (channel) => channel.startsWith(NODE) || channel.startsWith(SIBLINGS) || channel === ROOTS;

/** @typedef {{ id: string, parentId: string | null, value: object }} Node `value` is the message as it is stored */

export class Tree {
  /**
   * Every node, also those that no line of parents connects to the first message: restoring only the messages of a
   * checkpoint can cut some off. They are not shown, and stay in their channels until their parent is back.
   *
   * @type {Map<string, Node>}
   */
  nodes = new Map();
  /** Ids from the first message to the head. */
  path = [];
  /** @type {Map<string | null, string[]>} ids of the children of each parent, in order */
  #children = new Map();
  #otherChannels;

  /** @param {import("./index.js").SessionState} state */
  constructor(state) {
    const { messages = [], ...channels } = state;
    for (const message of messages) this.#read(message);
    const entries = Object.entries(channels);
    for (const [channel, kept] of entries) {
      const id = channel.slice(NODE.length);
      if (channel.startsWith(NODE) && !this.nodes.has(id)) this.#attach({ id, parentId: kept.parentId, value: kept.message });
    }
    for (const [parentId, ids] of this.#children) this.#children.set(parentId, ordered(ids, channels[siblingsOf(parentId)]));
    this.#otherChannels = Object.fromEntries(entries.filter(([channel]) => !isOurs(channel)));
  }

  #read(message) {
    const { id } = message;
    if (typeof id !== "string" || this.nodes.has(id)) {
      throw invalid(`the session holds ${id === undefined ? "a message without an id" : `two messages with the id ${JSON.stringify(id)}`}, so it is no thread of assistant-ui`);
    }
    this.#attach({ id, parentId: this.head, value: message });
    this.path.push(id);
  }

  /** The id of the last message of the line. */
  get head() {
    return this.path.at(-1) ?? null;
  }

  /** The head, unless something hangs below it. */
  get tip() {
    return this.#children.get(this.head)?.length > 0 ? undefined : this.head;
  }

  /** Everything that is connected, parents first, siblings in order. */
  *connected() {
    const waiting = [...(this.#children.get(null) ?? [])].reverse();
    while (waiting.length > 0) {
      const node = this.nodes.get(waiting.pop());
      yield node;
      for (const child of [...(this.#children.get(node.id) ?? [])].reverse()) waiting.push(child);
    }
  }

  /** Ids from the first message to this one; `undefined` when they do not lead there. */
  pathTo(id) {
    const ids = new Set();
    for (let at = id; at !== null; at = this.nodes.get(at).parentId) {
      if (!this.nodes.has(at) || ids.has(at)) return undefined;
      ids.add(at);
    }
    return [...ids].reverse();
  }

  /**
   * Adds a message below its parent, as the last of its siblings, and makes the line end with it. One that is there already
   * is replaced where it is (and hung below its parent, should that be another one), and the line ends where it did.
   *
   * @param {Node} node
   */
  add({ id, parentId, value }) {
    const above = parentId === null ? [] : this.pathTo(parentId);
    if (above === undefined) throw invalid(`message ${JSON.stringify(id)} names the parent ${JSON.stringify(parentId)}, which this thread does not hold; nothing was written`);
    if (above.includes(id)) throw invalid(`message ${JSON.stringify(id)} would hang below itself; nothing was written`);
    const known = this.nodes.get(id);
    const isNew = known === undefined || this.pathTo(id) === undefined;
    if (known?.parentId === parentId) known.value = value;
    else {
      if (known) this.#detach(known);
      this.#attach({ id, parentId, value });
    }
    const at = this.path.indexOf(id);
    if (isNew) this.path = [...above, id];
    else if (at !== -1) this.path = [...above, ...this.path.slice(at)];
  }

  /** Takes a message out; its children go to its parent, as assistant-ui does it. Says whether it was there. */
  remove(id) {
    const node = this.nodes.get(id);
    if (node === undefined) return false;
    for (const child of this.#children.get(id) ?? []) this.#attach({ ...this.nodes.get(child), parentId: node.parentId });
    this.#children.delete(id);
    this.#detach(node);
    this.nodes.delete(id);
    const wasHead = this.head === id;
    this.path = this.path.filter((other) => other !== id);
    if (!wasHead) return true;
    // Another branch is shown now, as assistant-ui does it: the newest.
    for (let next = this.#newestChild(this.head); next !== undefined; next = this.#newestChild(next)) this.path.push(next);
    return true;
  }

  #newestChild(id) {
    return this.#children.get(id)?.at(-1);
  }

  #attach(node) {
    this.nodes.set(node.id, node);
    const siblings = this.#children.get(node.parentId);
    if (siblings) siblings.push(node.id);
    else this.#children.set(node.parentId, [node.id]);
  }

  #detach({ id, parentId }) {
    this.#children.set(parentId, this.#children.get(parentId).filter((other) => other !== id));
  }

  /** The state of the session that keeps this tree, with the channels of others as they were. */
  toState() {
    const state = { ...this.#otherChannels, messages: this.path.map((id) => this.nodes.get(id).value) };
    const onPath = new Set(this.path);
    for (const { id, parentId, value } of this.nodes.values()) if (!onPath.has(id)) state[NODE + id] = { parentId, message: value };
    for (const [parentId, ids] of this.#children) if (ids.length > 1) state[siblingsOf(parentId)] = ids;
    return state;
  }
}

/** Children in the order that was kept; those it does not name come last. */
function ordered(ids, kept = []) {
  const first = kept.filter((id) => ids.includes(id));
  return [...first, ...ids.filter((id) => !first.includes(id))];
}
