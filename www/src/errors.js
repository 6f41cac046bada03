// Errors in words for people: what happened in a title, what to do where the error's own text does not say it, and that text anew where it
// is for programmers.

const WORDS = {
  QuotaExceeded: ["The disk or this site's share of it is full", "Delete chats you no longer need, or free some disk space, and save again."],
  Conflict: ["Somebody else wrote here first", "Open the branch to go on with your own version."],
  ConnectionLost: ["The browser closed the database", "It is opened again with the next action. If that fails, reload this page."],
  DataLost: ["The browser threw this site's data away", "What you write from now on is kept. An exported bundle can be imported again."],
  Recoverable: ["Chats can come back", "This site keeps a second copy beside its database."],
  Closed: ["The store is closed", "Reload this page."],
  Unavailable: ["This browser does not let this page store anything", "Allow site data for this page, or leave the private window."],
  Blocked: ["Another tab holds an older version open", "Close the other tabs of this page, then reload."],
  TimedOut: ["The browser's storage does not answer", "Reload this page. If it stays like this, restart the browser."],
  SchemaTooNew: ["The data was written by a newer version", "Reload to get the newer version of this page."],
  WasmFailed: ["The storage engine could not be loaded", "Check that this server sends the .wasm file and that its policy allows 'wasm-unsafe-eval', then reload."],
  RecordUnreadable: ["A stored record cannot be read", "Open Settings and press Verify to see what is affected. Everything else is still readable."],
  BadBundle: ["This file cannot be imported", ""],
  AlreadyExists: ["It is here already", ""],
  Protected: ["This checkpoint is protected", ""],
  NothingToUndo: ["There is nothing to undo", ""],
  NothingToRedo: ["There is nothing to redo", ""],
  ActiveRun: ["An answer is being written", "Wait until it is complete, or stop it: what has arrived is kept.", "This would change the chat under it. Nothing was changed."],
  UnknownSession: ["This chat does not exist any more", "It may have been deleted in another tab."],
  UnknownCheckpoint: ["This checkpoint does not exist any more", "It may have been pruned or deleted."],
  InvalidId: ["This is not the id of a chat", ""],
  TooLarge: ["This is too large to keep", ""],
  NotStorable: ["This cannot be stored", ""],
  Endpoint: ["The endpoint gave no whole answer", "Check it in Settings, then answer again. What had arrived is kept."],
  Aborted: ["Stopped before it was finished", ""],
};

const sentence = (text) => {
  const trimmed = text.trim();
  const start = /^[a-z]/.test(trimmed) ? trimmed[0].toUpperCase() + trimmed.slice(1) : trimmed;
  return /[.!?…]$/.test(start) ? start : `${start}.`;
};

/** `{ title, text, todo, code }` of anything that was thrown. */
export function explain(error) {
  const code = typeof error?.code === "string" ? error.code : "Internal";
  const [title, todo, text = error?.message || String(error)] = WORDS[code] ?? ["Something went wrong", "Reload this page. What was acknowledged is stored."];
  return { title, text: sentence(text), todo, code };
}
