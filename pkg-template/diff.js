import { decode } from "./decode.js";

/** What changes from one checkpoint to another. */
export async function diff(engine, from, to, load) {
  return decodeDiff(await engine.diff(from, to, load), from, to);
}

/** A difference as the engine finds it, with the values decoded. */
export function decodeDiff(raw, from, to) {
  const messages = raw.messages.map((change) => sides(change, "message"));
  const count = (kind) => messages.filter(({ change }) => change === kind).length;
  return {
    from,
    to,
    commonPrefix: raw.commonPrefix,
    messages,
    channels: raw.channels.map((change) => sides(change, "channel")),
    ui: raw.ui.map((change) => sides(change, "ui value")),
    added: count("added"),
    removed: count("removed"),
    changed: count("changed"),
  };
}

function sides({ before, after, ...change }, what) {
  if (before) change.before = decode(before.text, before.binaries, () => `${what} before the change`);
  if (after) change.after = decode(after.text, after.binaries, () => `${what} after the change`);
  return change;
}
