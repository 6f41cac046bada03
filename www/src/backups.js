// One backup for each store, for as long as the page lives: it goes on when the settings are closed.
import { createBackup } from "turnmark/backup";

const backups = new WeakMap();

/** The backup of a store, which goes on with the folder that was picked before. */
export function backupOf(store) {
  if (!backups.has(store)) {
    const backup = createBackup(store, { onError: (error) => console.error("the backup failed:", error) });
    backup.resume().catch(() => {});
    backups.set(store, backup);
  }
  return backups.get(store);
}
