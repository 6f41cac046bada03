/** Checkpoint metadata, to and from the engine's shape: known keys by name, all others as texts. */
import { decode, setOwn } from "./decode.js";
import { encode, isPlainObject, pathStep } from "./encode.js";
import { TurnmarkError, describe, invalid, isOurs } from "./errors.js";
import { checkBoolean, checkId, checkObject, checkOneOf, checkString, checkStrings, ifGiven } from "./check.js";

const SOURCES = ["message", "tool_execution", "job_complete", "subagent", "sync", "manual", "fork"];
const KINDS = [
  "prompt-before", "prompt-after", "turn-after", "mutation-before", "session-boundary",
  "restore-point", "branch-point", "committed", "manual",
];

/** The keys the engine knows, each with its check. */
const known = new Map(Object.entries({
  source: (value, what) => checkOneOf(value, SOURCES, what),
  kind: (value, what) => checkOneOf(value, KINDS, what),
  name: (value, what) => (value === null ? null : checkString(value, what)),
  writes: checkStrings,
  parentCheckpointId: (value) => checkId(value, "parentCheckpointId"),
  provisional: checkBoolean,
  allowEmpty: checkBoolean,
  forkedFrom: checkOrigin,
  usage: checkUsage,
}));

const orNull = (value, what) => (value === null ? null : checkString(value, what));

/** The keys a filter compares by name. The others in `known` are instructions for a write, or texts of their own. */
const filterable = new Map([
  ...["source", "kind", "name", "writes", "forkedFrom"].map((key) => [key, known.get(key)]),
  ["commitHash", orNull],
  ["parentCheckpointId", orNull],
  ["turnId", orNull],
]);

function checkOrigin(value, what) {
  const { sessionId, checkpointId } = checkObject(value, what);
  return { sessionId: checkId(sessionId, `${what}.sessionId`), checkpointId: checkId(checkpointId, `${what}.checkpointId`) };
}

function checkUsage(value, what) {
  const { total, delta } = checkObject(value, what);
  return { total: checkCounters(total, `${what}.total`), delta: checkCounters(delta, `${what}.delta`) };
}

function checkCounters(counters, what) {
  const entries = Object.entries(checkObject(counters, what)).filter(([, count]) => count !== undefined);
  for (const [name, count] of entries) {
    if (Number.isFinite(count)) continue;
    throw invalid(`${what}${pathStep(name)} must be a number; keep other figures under another key of the metadata`);
  }
  return Object.fromEntries(entries);
}

/** A value as a text that refers to no binaries: headers hold none. */
function encodeExtra(value, path) {
  const { text, binaries } = encode(value, path);
  if (binaries !== null) {
    throw new TurnmarkError("NotStorable", `${path} holds binary data, which metadata cannot; put it into a channel of the state`, { path });
  }
  return text;
}

/**
 * Sorts the keys of a metadata object or filter. Each is read once.
 *
 * @param {Map<string, (value: unknown, what: string) => unknown>} named the keys that go by name, each with its check
 */
function sort(object, what, named) {
  const raw = {};
  const extra = [];
  try {
    if (!isPlainObject(checkObject(object, what))) throw invalid(`${what} must be a plain object`);
    for (const key of Reflect.ownKeys(object)) {
      if (typeof key === "symbol") throw invalid(`${what} has a key that is a symbol, ${String(key)}`);
      const value = object[key];
      const path = what + pathStep(key);
      if (named.has(key)) {
        if (value !== undefined) raw[key] = named.get(key)(value, path);
      } else {
        extra.push([checkString(key, `a key of ${what}`), encodeExtra(value, path)]);
      }
    }
  } catch (cause) {
    if (isOurs(cause)) throw cause;
    throw new TurnmarkError("NotStorable", `${what} could not be read (${describe(cause)}); nothing was written`, { path: what, cause });
  }
  return { ...raw, extra };
}

/** @param {import("./index.js").CheckpointSource} [defaultSource] for callers that may leave the source out */
export function encodeMetadata(metadata, defaultSource) {
  const raw = sort(metadata ?? {}, "metadata", known);
  raw.source ??= defaultSource;
  if (raw.source !== undefined) return raw;
  throw invalid(`metadata.source is missing; it says what triggered the checkpoint: one of ${SOURCES.join(", ")}`);
}

export const encodeFilter = (filter) => ifGiven(filter, sort, "filter", filterable) ?? { extra: [] };

/** The public metadata of a stored checkpoint. */
export function decodeMetadata({ extra, ...named }) {
  const metadata = named;
  for (const [key, text] of extra) setOwn(metadata, key, decode(text, null, () => `metadata key ${JSON.stringify(key)}`));
  return Object.freeze(metadata);
}
