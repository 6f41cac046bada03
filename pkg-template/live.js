// What a view of a store is made of, with no React in it: a value that is kept current while somebody looks at it.
// Used by `turnmark/react` and `turnmark/devtools`; not an entry of the package.

/**
 * How long a value outlives its last subscriber. React unsubscribes and subscribes again for reasons that are not the
 * end of anything (StrictMode, a moved component, hot reload); closing a store or reading a chat again costs more than
 * keeping it for a moment.
 */
export const LINGER_MS = 1000;

/**
 * A value that is started by its first subscriber and stopped a moment after its last one has left. `start(source)`
 * returns the function that stops it. After the end it is `retired` (taken from its shelf) and never starts again.
 */
export function createSource(initial, start, retire) {
  const listeners = new Set();
  let value = initial;
  let stop = null;
  let ended = false;
  let farewell;

  const end = () => {
    ended = true;
    retire();
    stop();
  };

  const source = {
    get: () => value,
    set(next) {
      if (ended || Object.is(value, next)) return;
      value = next;
      for (const { notify } of [...listeners]) notify();
    },
    subscribe(notify) {
      const listener = { notify };
      clearTimeout(farewell);
      listeners.add(listener);
      stop ??= start(source);
      return () => {
        if (!listeners.delete(listener) || listeners.size > 0) return;
        // What has failed is not kept: whoever comes next tries again.
        if (value.error) return end();
        farewell = setTimeout(end, LINGER_MS);
        farewell.unref?.();
      };
    },
  };
  return source;
}

/** Resolves to the source's value as soon as it passes `test`, and keeps the source alive until then. */
export function until(source, test) {
  return new Promise((resolve) => {
    let leave = null;
    const look = () => {
      if (!test(source.get())) return false;
      leave?.();
      resolve(source.get());
      return true;
    };
    leave = source.subscribe(look);
    look();
  });
}

/**
 * Runs `read` whenever asked to, one run at a time: everything that asks during a run causes one more, and everything
 * that asks at the same moment is one run. So an older result can never replace a newer one, and a store that changes
 * faster than it can be read is not read more often than that.
 */
export function createRefresher(read, publish, fail) {
  let running = null;
  let again = false;
  let stopped = false;

  async function run() {
    do {
      // A task of its own: one write fires several events, and they shall be one read.
      await null;
      again = false;
      try {
        const result = await read();
        if (!stopped) publish(result);
      } catch (error) {
        if (!stopped) fail(error);
      }
    } while (again && !stopped);
    running = null;
  }

  return {
    /** Resolves when nothing is left to read. Never rejects. */
    refresh() {
      if (stopped) return Promise.resolve();
      again = true;
      running ??= run();
      return running;
    },
    /** Resolves when what has been asked for so far is read. */
    settled: async () => running,
    stop() {
      stopped = true;
    },
  };
}

/**
 * Calls `listener(type, event)` after every event that may change what a reader of the session (or, without an id, of any) sees.
 * A growing message is no such change: `stream` comes several times a second, and says itself what is to be read.
 */
export function onChange(store, sessionId, listener) {
  const hear = (type, isMeant) => store.on(type, (event) => isMeant(event) && listener(type, event));
  const isOurs = ({ sessionId: id, checkpoint }) => sessionId === undefined || (id ?? checkpoint.sessionId) === sessionId;
  const stops = ["checkpoint.created", "session.changed", "session.deleted", "restored"].map((type) => hear(type, isOurs));
  // While the connection was gone, other pages may have written.
  stops.push(hear("connection", ({ state }) => state === "open"));
  return () => stops.forEach((stop) => stop());
}

/** Reads an async iterable to its end, or to the given number of items. */
export async function collect(items, limit = Infinity) {
  const list = [];
  if (limit <= 0) return list;
  for await (const item of items) {
    list.push(item);
    if (list.length >= limit) break;
  }
  return list;
}

const isRecord = (value) => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

/**
 * `after`, with every part that equals the same part of `before` replaced by it, so that what did not change keeps its
 * identity across reads. Compares plain objects, arrays, dates and primitives; anything else counts as changed.
 */
export function reuse(before, after) {
  if (Object.is(before, after)) return before;
  if (before instanceof Date && after instanceof Date) return Object.is(before.getTime(), after.getTime()) ? before : after;
  if (Array.isArray(before) && Array.isArray(after)) {
    // forEach passes over holes; a hole is not `undefined` and must stay one.
    const list = after.slice();
    let same = before.length === after.length;
    after.forEach((item, index) => {
      list[index] = reuse(before[index], item);
    });
    for (let index = 0; same && index < list.length; index += 1) same = index in before === index in list && Object.is(before[index], list[index]);
    return same ? before : list;
  }
  if (!isRecord(before) || !isRecord(after)) return after;
  const known = Object.keys(before);
  const entries = Object.entries(after).map(([key, item]) => [key, Object.hasOwn(before, key) ? reuse(before[key], item) : item]);
  const same = entries.length === known.length && entries.every(([key, item], index) => key === known[index] && Object.is(item, before[key]));
  // Not by assignment: an own key "__proto__" would set the prototype.
  return same ? before : Object.fromEntries(entries);
}

/** `before` when `after` has the very same parts: a snapshot is replaced only when something in it was. */
export function keepSame(before, after) {
  return Object.keys(after).every((key) => Object.is(before[key], after[key])) ? before : after;
}

/** {@link reuse} for what the store reports of itself: a stamp that is read again says the same, only later. */
export function reuseReport(before, after) {
  if (Array.isArray(before) && Array.isArray(after)) {
    const known = new Map(before.map((item) => [item.id, item]));
    return reuse(before, after.map((item) => reuseReport(known.get(item.id), item)));
  }
  const [old, stamp] = [before?._durability, after?._durability];
  if (!old || !stamp || old.level !== stamp.level || before.id !== after.id) return reuse(before, after);
  return reuse(before, { ...after, _durability: { ...stamp, at: old.at } });
}
