/** The host's own files: kept by the host, and brought back together with the chat. */
import { TurnmarkError, fromRaw, invalid } from "./errors.js";
import { checkString } from "./check.js";
import { report } from "./events.js";

/** A reference that a caller gives, or none. */
export const checkReference = (value, what) => (value === null ? null : checkString(value, what));

/**
 * A snapshot of the host's files: its reference, or `null` where there is no host, or the host cannot take one. A host that throws is
 * reported as a listener that throws is: its files must not keep anybody from a prompt.
 *
 * @param {import("./index.js").HostFiles | null} host
 */
export async function snapshot(host) {
  try {
    const reference = (await host?.snapshot()) ?? null;
    if (reference === null || typeof reference === "string") return reference;
    throw invalid(`files.snapshot() must resolve to a string or null, not to a value of type ${typeof reference}`);
  } catch (error) {
    report(error);
    return null;
  }
}

async function bringBack(host, reference) {
  try {
    return (await host.restore(reference)) === true;
  } catch (error) {
    report(error);
    return false;
  }
}

/**
 * Brings back the host's files and then ours. The host's come first, because ours can be refused without a trace; if they are, the
 * host's are put back as they were.
 *
 * @param {import("./index.js").HostFiles | null} host
 * @param {string | null} reference what the host is to bring back
 * @param {(before: string | null) => Promise<T>} commit gets the host's snapshot of before
 * @returns {Promise<{ answer: T, files: "restored" | "not-restored", filesReason: string | null }>}
 * @template T
 */
export async function restoringFiles(host, reference, commit) {
  if (host === null) return { answer: await commit(null), files: "not-restored", filesReason: "no-host" };
  if (reference === null) return { answer: await commit(null), files: "not-restored", filesReason: "no-snapshot" };
  const before = await snapshot(host);
  const restored = await bringBack(host, reference);
  try {
    const answer = await commit(before);
    return { answer, files: restored ? "restored" : "not-restored", filesReason: restored ? null : "host-refused" };
  } catch (error) {
    const known = fromRaw(error);
    if (!restored || (before !== null && (await bringBack(host, before)))) throw known;
    const stays = `the files were brought back to ${JSON.stringify(reference)} before that, and the host could not undo it`;
    throw new TurnmarkError(known.code, `${known.message}. But ${stays}`, { cause: known, branch: known.branch });
  }
}
