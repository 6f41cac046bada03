// Three panes on a wide screen, tabs on a phone, and the dialogs above them.
import { useCallback, useEffect, useMemo, useState } from "react";
import { useHarnessDevTools, useTurnmark } from "turnmark/react";
import { isImage } from "./attachments.js";
import { backupOf } from "./backups.js";
import { ChatPane } from "./ChatPane.jsx";
import { CompareDialog } from "./CompareDialog.jsx";
import { Dialog } from "./Dialog.jsx";
import { excerpt, plural } from "./format.js";
import { Icon } from "./icons.jsx";
import { ImportDialog } from "./ImportDialog.jsx";
import { useNotices } from "./notices.jsx";
import { useSelection } from "./selection.js";
import { SessionList } from "./sessionList.jsx";
import { SessionsPane } from "./SessionsPane.jsx";
import { StorageDialog } from "./StorageDialog.jsx";
import { useTheme } from "./theme.js";
import { TimelinePane } from "./TimelinePane.jsx";
import { createTurns } from "./turns.js";
import { useActions } from "./useActions.js";
import { useDrop } from "./useDrop.js";
import { useShortcuts } from "./useShortcuts.js";

const TABS = [["sessions", "Chats", "chats"], ["chat", "Chat", "chat"], ["timeline", "Timeline", "timeline"]];
const PACE_MS = 34;

/** `?pace=5` makes the assistant write faster: milliseconds per word. */
function paceFromAddress() {
  const pace = Number(new URLSearchParams(location.search).get("pace") ?? PACE_MS);
  return Number.isFinite(pace) ? Math.min(2000, Math.max(0, pace)) : PACE_MS;
}

export function App() {
  const { store } = useTurnmark();
  const [sessionId, selectId] = useSelection();
  const [view, setView] = useState("chat");
  const [dialog, setDialog] = useState(null);
  const theme = useTheme();
  const notices = useNotices();
  const [importing, setImporting] = useState(false);
  useHarnessDevTools({ sessionId: sessionId ?? undefined, enabled: !importing });

  const select = useCallback((id) => {
    selectId(id);
    setView("chat");
  }, [selectId]);
  const turns = useMemo(() => createTurns({
    pace: paceFromAddress(),
    onError: (error) => notices.fail(error),
    onConflict: (error) => notices.fail(error, [{ label: "Open the branch", run: () => select(error.branch.sessionId) }]),
    onSpoken: (text, stopped) => notices.announce(`${stopped ? "Stopped." : "The assistant said:"} ${excerpt(text, 600)}`),
  }), [notices, select]);
  const ask = useCallback((question) => setDialog({ name: "ask", ...question }), []);
  const actions = useActions({ store, sessionId, select, notices, ask, show: setDialog });
  const closeDialog = useCallback(() => setDialog(null), []);

  useEffect(
    () => store.on("run.started", ({ sessionId: id }) => id === sessionId && notices.announce("The assistant is answering.")),
    [store, sessionId, notices],
  );
  // What is looked at is the active session: the one that the next new session seals.
  useEffect(() => {
    if (sessionId !== null) store.openSession(sessionId).catch((error) => error.code === "UnknownSession" || notices.fail(error));
  }, [store, sessionId, notices]);
  useEffect(() => store.on("session.deleted", (event) => {
    if (event.sessionId !== sessionId || event.origin === "local") return;
    select(null);
    notices.say("This chat was deleted in another tab.");
  }), [store, sessionId, select, notices]);
  useEffect(() => store.on("data.lost", ({ message }) => notices.fail({ code: "DataLost", message })), [store, notices]);
  // Goes on with the folder that was picked before.
  useEffect(() => void backupOf(store), [store]);
  useEffect(() => store.on("data.recoverable", ({ sessions }) => {
    notices.fail({ code: "Recoverable", message: `${plural(sessions.length, "chat")} of this site ${sessions.length === 1 ? "is" : "are"} not in its database any more` }, [{ label: sessions.length === 1 ? "Bring it back" : "Bring them back", run: actions.bringBack }]);
  }), [store, notices, actions]);

  const guarded = useMemo(() => {
    const when = (action) => () => sessionId !== null && action();
    return { undo: when(actions.undo), redo: when(actions.redo) };
  }, [actions, sessionId]);
  useShortcuts(guarded);
  // Images are for the message field.
  const dragging = useDrop(useCallback((files) => {
    const file = files.find((dropped) => !isImage(dropped));
    if (file) setDialog({ name: "import", file });
  }, []));

  return (
    <SessionList paused={importing}>
      <div className="shell" data-view={view}>
        <a className="skip" href="#composer" onClick={(event) => { event.preventDefault(); document.getElementById("composer").focus(); }}>Skip to the message field</a>
        <SessionsPane selected={sessionId} select={select} theme={theme} actions={actions} />
        <ChatPane sessionId={sessionId} select={select} turns={turns} showTimeline={() => setView(view === "timeline" ? "chat" : "timeline")} undo={guarded.undo} redo={guarded.redo} />
        <TimelinePane sessionId={sessionId} actions={actions} close={() => setView("chat")} />
        <div className="tabs" role="group" aria-label="View">
          {TABS.map(([name, label, icon]) => (
            <button key={name} type="button" className="tab" aria-pressed={view === name} onClick={() => setView(name)} data-testid={`tab-${name}`}><Icon name={icon} size={20} />{label}</button>
          ))}
        </div>
        {dragging && <div className="drop" data-testid="drop"><p><Icon name="import" size={30} />Drop images for the next message, a ChatGPT export or a Turnmark bundle</p></div>}
        {dialog?.name === "import" && <ImportDialog file={dialog.file} onClose={closeDialog} onBusy={setImporting} open={select} />}
        {dialog?.name === "storage" && <StorageDialog onClose={closeDialog} open={select} />}
        {dialog?.name === "compare" && <CompareDialog from={dialog.from} to={dialog.to} onClose={closeDialog} />}
        {dialog?.name === "ask" && <AskDialog question={dialog} onClose={closeDialog} />}
      </div>
    </SessionList>
  );
}

function AskDialog({ question, onClose }) {
  const confirm = () => {
    onClose();
    question.run();
  };
  const actions = (
    <>
      <button type="button" className="button" onClick={onClose} data-focus>Cancel</button>
      <button type="button" className="button danger" onClick={confirm} data-testid="confirm">{question.confirm}</button>
    </>
  );
  return <Dialog title={question.title} onClose={onClose} actions={actions} testId="confirm-dialog"><p>{question.text}</p></Dialog>;
}
