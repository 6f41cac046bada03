// What a person may type for a checkpoint or a session: its id, a beginning of it, a number counted from the newest, or
// the object itself.

import { TurnmarkError } from "./errors.js";

const CHECKPOINT_PREFIX = "cp_";
const SUGGESTIONS = 3;
/** Longer ids than this are compared by their beginning. */
const COMPARED = 48;

/** How many letters must be changed to make `a` of `b`. */
function editDistance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length];
}

function nearest(text, ids) {
  const sought = text.slice(0, COMPARED);
  const distance = (id) => Math.min(...[id, id.slice(CHECKPOINT_PREFIX.length)].map((form) => editDistance(sought, form.slice(0, sought.length))));
  return ids.map((id) => ({ id, distance: distance(id) })).sort((a, b) => a.distance - b.distance).slice(0, SUGGESTIONS).map(({ id }) => id);
}

const quote = (text) => JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);

/**
 * The id among `ids` (newest first) that `reference` means. `noun` is "checkpoint", "session" or "turn". Throws an error that
 * lists what may have been meant.
 */
export function findId(reference, ids, noun) {
  const code = { session: "UnknownSession", checkpoint: "UnknownCheckpoint" }[noun] ?? "InvalidArgument";
  if (typeof reference === "number") {
    if (!Number.isInteger(reference) || reference >= 0) {
      throw new TurnmarkError("InvalidArgument", `${reference} is no ${noun}: count from the newest, -1, to older ones, -2, -3 and so on.`);
    }
    const id = ids.at(-1 - reference);
    if (-reference <= ids.length) return id;
    throw new TurnmarkError(code, `There is no ${noun} ${reference}: there are ${ids.length}.`);
  }
  if (typeof reference !== "string") {
    throw new TurnmarkError("InvalidArgument", `A ${noun} is named by its id, the beginning of it, a number such as -1, or the object from the listing.`);
  }

  // An id copied from a text or a cut-off cell ends in dots.
  const text = reference.trim().replace(/(…|\.\.\.)$/, "");
  if (ids.includes(text)) return text;
  const found = text === "" ? [] : ids.filter((id) => id.startsWith(text) || id.startsWith(CHECKPOINT_PREFIX + text));
  if (found.length === 1) return found[0];
  if (found.length > 1) {
    const more = found.length > SUGGESTIONS ? ` and ${found.length - SUGGESTIONS} more` : "";
    const some = `${found.slice(0, SUGGESTIONS).join(", ")}${more}`;
    throw new TurnmarkError("InvalidArgument", `${quote(text)} is the beginning of ${found.length} ${noun}s: ${some}. Type more of it.`);
  }
  const candidates = nearest(text, ids);
  throw new TurnmarkError(code, `No ${noun} ${quote(text)}. ${candidates.length ? `Nearest: ${candidates.join(", ")}.` : `There are no ${noun}s yet.`}`);
}

/** Whether the newest few ids can answer for all of them. A beginning that is unique there may not be unique further back. */
export function isDecidedBy(reference, ids) {
  return typeof reference === "number" ? -reference <= ids.length : ids.includes(reference);
}
