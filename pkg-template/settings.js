import { checkBoolean, checkCount, checkOneOf, checkOptions, checkString, ifGiven } from "./check.js";

export const DEFAULT_NAME = "turnmark";
/** A longer timer fires at once. */
const MAX_TIMEOUT = 2 ** 31 - 1;

/** The options of `open()` and of the savers, checked and complete. */
export function checkSettings(options) {
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
  };
}
