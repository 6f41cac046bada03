// The Turnmark demo: a chat application that keeps every turn.
//
// Attributes for end-to-end tests (`data-testid`), stable:
//   panes        sessions-pane, chat-pane, timeline-pane; on a phone: tab-sessions, tab-chat, tab-timeline
//   sessions     new-chat, session-list, session-row (data-session-id, data-depth, data-conflict), session-open,
//                session-rename, rename-field, session-delete, session-search, open-import, export-all, open-storage
//   chat         chat-title, chat-status, undo, redo, toggle-timeline, messages, message (data-role, data-message-id),
//                message-text, message-ending, message-part, message-restore, message-edit, message-regenerate, versions,
//                version-before, version-after, history, history-list, history-entry, history-newer, history-older, history-page,
//                new-session, attach, attach-file, attachments, toggle-preview, preview, reload-key,
//                composer, composer-hint, send, stop, welcome, suggestion
//   recovery     interrupted + keep / discard; unanswered + answer; unsaved + save-again
//   timeline     timeline, checkpoint (data-checkpoint-id, data-kind, data-source, data-level, data-head), stamp,
//                checkpoint-open, checkpoint-details, checkpoint-rollback, checkpoint-fork, checkpoint-compare,
//                checkpoint-pin, compare-bar, timeline-more, devtools-hint
//   dialogs      compare-dialog (diff-summary, diff-row with data-change, compare-swap), storage-dialog
//                (storage-counts, storage-quota, storage-durability, storage-level, storage-persisted, persist,
//                storage-mirror, storage-backup, backup-pick, backup-now,
//                storage-runs, storage-interrupted, verify, verify-report with data-ok, repair, repaired; endpoint, endpoint-state, endpoint-open,
//                endpoint-address, endpoint-model, endpoint-key, endpoint-on, endpoint-off), import-dialog (import-file, import-progress, import-cancel, import-report, import-summary,
//                import-repairs, import-skipped, import-open, import-error, import-rename, import-skip, import-done),
//                confirm-dialog (confirm), dialog-close
//   notices      notices, notice, error-notice, error-code, notice-action; announcer (for screen readers)
//   start        opening, open-error, retry
// Address: `#<session id>` opens a chat, `?pace=<ms per word>` sets how fast the assistant writes, `?db=<name>` names the
// database, `?backend=memory` keeps nothing.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { TurnmarkProvider } from "turnmark/react";
import { App } from "./App.jsx";
import { ErrorBoundary } from "./ErrorBoundary.jsx";
import { explain } from "./errors.js";
import { Mark } from "./icons.jsx";
import { NoticesProvider } from "./notices.jsx";
import "./styles.css";

const address = new URLSearchParams(location.search);
const options = {
  name: address.get("db") || "turnmark-demo",
  backend: address.get("backend") === "memory" ? "memory" : "indexeddb",
};

/** What is shown instead of the application while the store is opening, or when it cannot be opened. */
function Start({ status, error }) {
  if (status === "opening") return <div className="start" data-testid="opening"><Mark size={52} /><p role="status">Opening your chats…</p></div>;
  const { title, text, todo, code } = explain(error);
  return (
    <div className="start" role="alert" data-testid="open-error">
      <Mark size={52} />
      <h1>{title}</h1>
      <p>{text} {todo}</p>
      <p><code className="error-code" data-testid="error-code">{code}</code></p>
      <button type="button" className="button primary" onClick={() => location.reload()} data-testid="retry">Reload</button>
    </div>
  );
}

createRoot(document.getElementById("root")).render(
  <StrictMode>
    <NoticesProvider>
      <ErrorBoundary show={(error) => <Start status="error" error={error} />}>
        <TurnmarkProvider options={options} fallback={(connection) => <Start {...connection} />}>
          <App />
        </TurnmarkProvider>
      </ErrorBoundary>
    </NoticesProvider>
  </StrictMode>,
);
