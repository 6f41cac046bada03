// `turnmark/devtools`: a store on the console, under one global name for people, and in a list under
// `Symbol.for("turnmark.devtools")` for tools.

import { createApi } from "./devtools-api.js";
import { count, createVoice } from "./devtools-table.js";

export const DEVTOOLS = Symbol.for("turnmark.devtools");
export const DEFAULT_GLOBAL_NAME = "__HARNESS_DEVTOOLS__";

/** Global names that belonged to somebody else, by the object they were found on: each is said once. */
const warned = new WeakMap();

function listOf(target) {
  if (!target[DEVTOOLS]) Object.defineProperty(target, DEVTOOLS, { value: [], configurable: true });
  return target[DEVTOOLS];
}

/** Puts the newest (or last chosen) installation on the global name, or takes the last one off. Never anything that is not ours. */
function showNewest(target, globalName, gone) {
  const list = target[DEVTOOLS];
  const next = list.filter((api) => api.globalName === globalName).at(-1);
  const taken = globalName in target && target[globalName] !== gone && !list.includes(target[globalName]);
  if (taken) return false;
  if (next) Object.defineProperty(target, globalName, { value: next, configurable: true, enumerable: true, writable: true });
  else delete target[globalName];
  return true;
}

function warnOnce(target, globalName, { warn }) {
  const names = warned.get(target) ?? new Set();
  if (names.has(globalName)) return;
  warned.set(target, names.add(globalName));
  warn(`${globalName} belongs to something else and was left alone. Choose another name: installDevTools(store, { globalName: "__TURNMARK__" }).`);
}

function uniqueName(list, wanted) {
  let name = wanted;
  for (let number = 2; list.some((api) => api.name === name); number += 1) name = `${wanted} ${number}`;
  return name;
}

/** The part of the surface that is about several installations. */
function createRegistry(target, globalName, { say, show }) {
  const siblings = () => target[DEVTOOLS]?.filter((api) => api.globalName === globalName) ?? [];
  return {
    stores() {
      const rows = siblings().map((api) => ({ name: api.name, current: api === target[globalName] ? "current" : "" }));
      show(`${count(rows.length, "store")}. Choose one: ${globalName}.use(name)`, rows);
      return rows.map(({ name }) => name);
    },
    use(name) {
      const list = target[DEVTOOLS] ?? [];
      const chosen = siblings().find((api) => api.name === name);
      if (!chosen) {
        say(`no store ${JSON.stringify(name)}; there are ${siblings().map((api) => JSON.stringify(api.name)).join(", ")}`);
        return undefined;
      }
      list.push(...list.splice(list.indexOf(chosen), 1));
      showNewest(target, globalName);
      say(`${globalName} is now store ${JSON.stringify(name)}`);
      return chosen;
    },
  };
}

const TRACK = { track: "checkpoints", trackGroup: "turnmark", color: "primary" };

/** Shows this page's checkpoint writes on a track of their own in the Performance panel. Returns the function that stops it. */
function traceWrites(store, out) {
  return store.on("checkpoint.created", ({ checkpoint, origin }) => {
    if (origin !== "local" || typeof performance === "undefined") return;
    // The event says when the write was asked for by the wall clock, which may have been set since.
    const end = performance.now();
    const start = Math.min(Math.max(checkpoint.createdAt - performance.timeOrigin, 0), end);
    const label = `${checkpoint.metadata.source} ${checkpoint.id}`;
    if (typeof out.timeStamp === "function") return void out.timeStamp(label, start, end, TRACK.track, TRACK.trackGroup, TRACK.color);
    performance.measure(label, { start, end, detail: { devtools: { dataType: "track-entry", ...TRACK } } });
    // The trace has it; the page's own buffer, which grows for ever, need not.
    performance.clearMeasures(label);
  });
}

/** Whether there is a console that somebody could open. */
const hasConsole = () => typeof window !== "undefined" || typeof WorkerGlobalScope !== "undefined";

/** Puts a store on the console. Returns the function that takes it off again. */
export function installDevTools(store, options = {}) {
  const { globalName = DEFAULT_GLOBAL_NAME, sessionId, console: out = globalThis.console, tools, target } = options;
  if (target === undefined && !hasConsole()) {
    return Object.assign(() => {}, { installed: false, api: null, reason: "there is no window; pass `target: globalThis` to install the devtools all the same" });
  }
  const place = target ?? globalThis;
  const list = listOf(place);
  const voice = createVoice(out);
  const name = uniqueName(list, options.name ?? (store.scope === "default" ? store.name : `${store.name}/${store.scope}`));
  const { api, stop } = createApi({ store, name, globalName, sessionId, voice, tools, registry: createRegistry(place, globalName, voice) });
  const stopTrace = traceWrites(store, out);
  list.push(api);
  if (!showNewest(place, globalName)) warnOnce(place, globalName, voice);

  const uninstall = () => {
    if (!list.includes(api)) return;
    list.splice(list.indexOf(api), 1);
    stopTrace();
    stop();
    showNewest(place, globalName, api);
    if (list.length === 0) delete place[DEVTOOLS];
  };
  return Object.assign(uninstall, { installed: true, api, reason: null });
}
