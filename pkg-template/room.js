/** What the cure of a database writes at most, in bytes. */
const ROOM = 20 * 2 ** 20;
/** Milliseconds for which "no" is not asked again. */
const PAUSE_MS = 1000;
const NAME = "turnmark-room";

let asking = null;

/** Tries it: the browser gives no other true answer. */
async function ask() {
  let root;
  try {
    root = await navigator.storage.getDirectory();
  } catch {
    // A page without files cannot say.
    return true;
  }
  try {
    const file = await root.getFileHandle(NAME, { create: true });
    // Never closed: what is written beside the file takes the room.
    const writable = await file.createWritable();
    try {
      await writable.write(new Uint8Array(ROOM));
    } finally {
      await writable.abort().catch(() => {});
      await root.removeEntry(NAME).catch(() => {});
    }
    return true;
  } catch {
    return false;
  }
}

/** Whether the disk has room for the cure of a database. */
export function hasRoom() {
  asking ??= ask().then((found) => {
    setTimeout(() => { asking = null; }, found ? 0 : PAUSE_MS);
    return found;
  });
  return asking;
}
