// What `turnmark/checkpoint-store` keeps: checked, frozen copies in memory, and records with binary screenshots in the store.
import { checkArray, checkBoolean, checkId, checkObject, checkOneOf, checkString, checkStrings } from "./check.js";
import { bytesToDataUrl, dataUrlToBytes } from "./data-url.js";
import { decode } from "./decode.js";
import { MAX_BINARY, encode } from "./encode.js";
import { TurnmarkError, invalid } from "./errors.js";
import { freshId } from "./ids.js";

/** Most screenshots of one checkpoint. */
export const MAX_SCREENSHOTS = 5;
const MAX_ID = 256;
const ROLES = ["user", "assistant"];
/** Before a checkpoint's id in the name of its channel: an id may be any text, and not every text may name a channel. */
const PREFIX = "checkpoint:";

export const channelOf = (id) => PREFIX + id;

/** Ids of any form are accepted: upstream's `cp-<ms>-<n>`, uuids, whatever a database gave. */
export function checkCheckpointId(id, what = "checkpoint id") {
  checkId(id, what);
  if (id.length > 0 && id.length <= MAX_ID) return id;
  throw new TurnmarkError("InvalidId", `the ${what} must have from 1 to ${MAX_ID} characters, not ${id.length}`);
}

/** Freezes what a copy is made of. What is frozen already is one of our own copies. */
export function freeze(value) {
  if (value === null || typeof value !== "object" || Object.isFrozen(value)) return value;
  const prototype = Object.getPrototypeOf(value);
  if (!Array.isArray(value) && prototype !== Object.prototype && prototype !== null) return value;
  for (const key of Object.keys(value)) freeze(value[key]);
  return Object.freeze(value);
}

/** A copy that is what a reload would give; refuses what cannot be stored, naming its place. */
function copy(value, path) {
  const { text, binaries, blobs } = encode(value, path);
  if (blobs === null) return decode(text, binaries);
  throw new TurnmarkError("NotStorable", `${blobs[0].path} is a Blob, which has to be read first; pass its bytes or a data URL`, blobs[0]);
}

export const copyTargets = (targets, what = "targets") => freeze(copy(checkArray(targets, what), what));

export function copyScreenshots(screenshots, what = "screenshots") {
  const count = checkArray(screenshots, what).length;
  if (count > MAX_SCREENSHOTS) {
    throw new TurnmarkError("TooLarge",
      `${what} holds ${count} screenshots; one checkpoint may have ${MAX_SCREENSHOTS}. Nothing was written`, { path: what });
  }
  return freeze(Array.from(screenshots, (screenshot, i) => {
    // The address itself is a string, which needs no copy, and may be longer than a text.
    const { dataUrl, ...rest } = checkObject(screenshot, `${what}[${i}]`);
    checkString(rest.id, `${what}[${i}].id`);
    return { ...copy(rest, `${what}[${i}]`), dataUrl: checkString(dataUrl, `${what}[${i}].dataUrl`) };
  }));
}

export function copyMessages(messages, what = "messages") {
  checkArray(messages, what).forEach((message, i) => {
    const { id, role, content } = checkObject(message, `${what}[${i}]`);
    checkString(id, `${what}[${i}].id`);
    checkOneOf(role, ROLES, `${what}[${i}].role`);
    if (typeof content !== "string") throw invalid(`${what}[${i}].content must be a string: the text parts, joined`);
  });
  return freeze(copy(messages, what));
}

/** Everything of a ChatCheckpoint but its id. */
export function copyContent(checkpoint, what = "checkpoint") {
  const { id, targets, screenshots, messages, ...rest } = checkObject(checkpoint, what);
  const createdAt = Number(rest.createdAt);
  if (rest.createdAt === null || !Number.isFinite(createdAt)) throw invalid(`${what}.createdAt must be epoch milliseconds`);
  if (rest.commitHash !== null) checkString(rest.commitHash, `${what}.commitHash`);
  checkString(rest.name, `${what}.name`);
  checkStrings(rest.messageIds, `${what}.messageIds`);
  checkBoolean(rest.isSessionBoundary, `${what}.isSessionBoundary`);
  return freeze({
    ...copy(rest, what),
    createdAt,
    targets: copyTargets(targets, `${what}.targets`),
    screenshots: copyScreenshots(screenshots, `${what}.screenshots`),
    messages: copyMessages(messages, `${what}.messages`),
  });
}

/** The given checkpoints, whose ids must be distinct. */
export function copyCheckpoints(checkpoints) {
  const seen = new Set();
  return checkArray(checkpoints, "checkpoints").map((checkpoint, i) => {
    const what = `checkpoints[${i}]`;
    const id = checkCheckpointId(checkObject(checkpoint, what).id, `id of ${what}`);
    if (seen.has(id)) throw invalid(`${what}: the id ${JSON.stringify(id)} is there twice`);
    seen.add(id);
    return freeze({ id, ...copyContent(checkpoint, what) });
  });
}

/**
 * @typedef {object} Entry one checkpoint of the list
 * @property {number} order its place among the others
 * @property {string} rev names this content: where it is the same, so is everything else
 * @property {import("./checkpoint-store.js").ChatCheckpoint} checkpoint
 */

/** @returns {Entry} */
export const createEntry = (checkpoint, order) => ({ order, rev: freshId(), checkpoint });

/** What is stored of an entry: the images as bytes, which the store keeps once however many checkpoints show them. */
export function toRecord({ order, rev, checkpoint }) {
  const screenshots = checkpoint.screenshots.map((shot) => ({ ...shot, dataUrl: dataUrlToBytes(shot.dataUrl, MAX_BINARY) ?? shot.dataUrl }));
  return { order, rev, checkpoint: { ...checkpoint, screenshots } };
}

/** @returns {Entry} */
function fromRecord({ order, rev, checkpoint }) {
  const screenshots = checkpoint.screenshots.map(({ dataUrl, ...rest }) =>
    ({ ...rest, dataUrl: typeof dataUrl === "string" ? dataUrl : bytesToDataUrl(dataUrl.header, dataUrl.bytes) }));
  return { order, rev, checkpoint: freeze({ ...checkpoint, createdAt: Number(checkpoint.createdAt), screenshots }) };
}

/**
 * The entries of a stored state by id, in order. Those that are known already are the same objects as before.
 *
 * @param {Record<string, any>} state
 * @param {Map<string, Entry>} known
 * @returns {Map<string, Entry>}
 */
export function entriesOf(state, known) {
  const entries = Object.entries(state).filter(([channel]) => channel.startsWith(PREFIX)).map(([channel, record]) => {
    const id = channel.slice(PREFIX.length);
    const before = known.get(id);
    return [id, before?.rev === record.rev ? before : fromRecord(record)];
  });
  return inOrder(entries);
}

/** A Map of entries in the order of the list. Two tabs may give one place twice; the ids then decide, the same way in both. */
export function inOrder(entries) {
  return new Map([...entries].sort(([a, { order: i }], [b, { order: j }]) => i - j || (a < b ? -1 : 1)));
}
