/**
 * Every code a TurnmarkError can carry. Closed and append-only; the declarations, the README's table and the Rust
 * enum are compared with it by a test.
 */
export const ERROR_CODES = Object.freeze([
  "InvalidId", "InvalidArgument", "NotStorable", "TooLarge",
  "UnknownSession", "UnknownCheckpoint", "UnknownParent", "AlreadyExists",
  "NotLoaded", "EmptyOverNonEmpty", "Conflict", "Protected", "NothingToUndo", "NothingToRedo", "ActiveRun",
  "BadBundle", "Unavailable", "Blocked", "TimedOut", "SchemaTooNew", "SchemaMismatch",
  "QuotaExceeded", "ConnectionLost", "Aborted", "RecordUnreadable", "Closed", "WasmFailed", "Internal",
]);

/** The one error class. `message` says what failed, on what, and what to do. */
export class TurnmarkError extends Error {
  /**
   * @param {import("./index.js").ErrorCode} code
   * @param {string} message
   * @param {{ cause?: unknown, path?: string, branch?: { sessionId: string, checkpointId: string } }} [details]
   */
  constructor(code, message, details = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    if (details.path !== undefined) this.path = details.path;
    if (details.branch !== undefined) this.branch = details.branch;
  }
}

// On the prototype, as the built-in errors have it, so that it is no own property of every instance.
Object.defineProperty(TurnmarkError.prototype, "name", { value: "TurnmarkError", configurable: true, writable: true });

/** An argument of the wrong type or out of range. */
export function invalid(message) {
  return new TurnmarkError("InvalidArgument", message);
}

/** Whether a thrown value is one of ours. A hostile one may throw again when it is looked at. */
export function isOurs(thrown) {
  try {
    return thrown instanceof TurnmarkError;
  } catch {
    return false;
  }
}

/** A thrown value as words, for a message. Never throws, whatever was thrown. */
export function describe(thrown) {
  try {
    return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  } catch {
    return "a value that cannot be shown";
  }
}

/** Makes a TurnmarkError of whatever came out of the engine. */
export function fromRaw(raw) {
  if (raw instanceof TurnmarkError) return raw;
  if (raw?.turnmark === true && ERROR_CODES.includes(raw.code)) return new TurnmarkError(raw.code, raw.message, raw);
  if (typeof WebAssembly === "object" && raw instanceof WebAssembly.RuntimeError) {
    return new TurnmarkError("Internal",
      `the WebAssembly module stopped (${describe(raw)}); reload the page: what was acknowledged before is stored. Please report this`,
      { cause: raw });
  }
  return new TurnmarkError("Internal", `an unexpected failure (${describe(raw)}). Please report this`, { cause: raw });
}
