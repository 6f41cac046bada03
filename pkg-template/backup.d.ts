// Copies that users hold themselves.
import type { TurnmarkError, Turnmark } from "./index.js";

export interface SavedCopy {
  readonly fileName: string;
  /** Length of the bundle, in UTF-16 units. */
  readonly characters: number;
}

/**
 * Saves a bundle (see {@link Turnmark.export}) as a file that the user chooses; where a page cannot ask, as a download. Call it on a click.
 * `null` when the user chose none. `turnmark.import(await file.text())` reads it.
 */
export function saveCopy(store: Turnmark, options?: { sessions?: string[]; fileName?: string }): Promise<SavedCopy | null>;

export interface BackupOptions {
  /** A folder to begin with. Default: none, until {@link Backup.pick} or {@link Backup.resume}. */
  folder?: FileSystemDirectoryHandle;
  /** Milliseconds between two copies, of a store that has changed. Default ten minutes, at least one second. */
  every?: number;
  /** Copies that are kept. Default 7. None goes while a new one lacks something (`omitted` sessions, data that was lost). */
  keep?: number;
  onSaved?(copy: SavedCopy & { readonly at: number }): void;
  /** Hears of copies that failed on their own time. Default: reported as the platform reports errors. */
  onError?(error: TurnmarkError): void;
}

/** Copies in a folder of the user's, written every so often while the page is open, by one tab. Each is read back before it counts. */
export interface Backup {
  /** Asks the user for a folder, remembers it, and writes the first copy. On a click. `null` when the user picked none. `Unavailable` where a browser cannot. */
  pick(): Promise<(SavedCopy & { readonly at: number }) | null>;
  /**
   * Goes on with the folder that was picked before. `"granted"`: copies are written; `"prompt"`: the browser wants the user to be asked
   * again, which `saveNow()` does on a click; `"none"`: no folder was picked.
   */
  resume(): Promise<PermissionState | "none">;
  /** Writes a copy now. `null` when another tab is at it. */
  saveNow(): Promise<(SavedCopy & { readonly at: number }) | null>;
  state(): Promise<{ folder: string | null; permission: PermissionState | "none" }>;
  /** Forgets the folder. The copies stay. */
  forget(): Promise<void>;
  /** No more copies. */
  stop(): void;
}

export function createBackup(store: Turnmark, options?: BackupOptions): Backup;
