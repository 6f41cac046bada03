import { checkBoolean, checkCount, checkFunction, checkObject, checkOneOf, checkOptions, checkString, guarded, ifGiven } from "./check.js";

export const DEFAULT_NAME = "turnmark";
/** Milliseconds between two saves of a growing message. */
export const STREAM_INTERVAL = 250;
/** Bytes of the second copy outside of IndexedDB. */
const MIRROR_BUDGET = 64_000_000;
/** Less than a frame would only keep the disk busy. */
const MIN_INTERVAL = 16;
/** A longer timer fires at once. */
const MAX_TIMEOUT = 2 ** 31 - 1;

/** The options of `open()` and of the savers, checked and complete. */
export const checkSettings = guarded((options) => {
  const given = checkOptions(options);
  const backend = ifGiven(given.backend, checkOneOf, ["indexeddb", "memory"], "backend") ?? "indexeddb";
  return {
    name: ifGiven(given.name, checkString, "name") ?? DEFAULT_NAME,
    scope: ifGiven(given.scope, checkString, "scope") ?? "default",
    backend,
    durability: ifGiven(given.durability, checkOneOf, ["strict", "relaxed"], "durability") ?? "strict",
    maxCheckpoints: ifGiven(given.maxCheckpoints, checkCount, "maxCheckpoints") ?? 0,
    timeout: ifGiven(given.timeout, checkCount, "timeout", 1, MAX_TIMEOUT) ?? 10_000,
    fallbackToMemory: ifGiven(given.fallbackToMemory, checkBoolean, "fallbackToMemory") ?? false,
    persist: ifGiven(given.persist, checkBoolean, "persist") ?? false,
    retention: ifGiven(given.retention, checkOneOf, ["keep-all", "apploop"], "retention") ?? "keep-all",
    streamInterval: ifGiven(given.streamInterval, checkCount, "streamInterval", MIN_INTERVAL, MAX_TIMEOUT) ?? STREAM_INTERVAL,
    files: ifGiven(given.files, checkHost) ?? null,
    mirror: ifGiven(given.mirror, checkMirror) ?? MIRROR_BUDGET,
  };
});

/** The budget of the mirror, in bytes; 0: there is none. */
function checkMirror(mirror) {
  if (typeof mirror === "boolean") return mirror ? MIRROR_BUDGET : 0;
  return ifGiven(checkObject(mirror, "mirror").budget, checkCount, "mirror.budget") ?? MIRROR_BUDGET;
}

/** The host's own files. Its methods are called on it, so it may be an instance of a class. */
function checkHost(files) {
  checkObject(files, "files");
  checkFunction(files.snapshot, "files.snapshot");
  checkFunction(files.restore, "files.restore");
  return files;
}
