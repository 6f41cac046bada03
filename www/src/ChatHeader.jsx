import { useRef, useState } from "react";
import { useTurnmark } from "turnmark/react";
import { focusOn } from "./focus.js";
import { plural } from "./format.js";
import { HistoryMenu } from "./HistoryMenu.jsx";
import { Icon } from "./icons.jsx";
import { useNotices } from "./notices.jsx";
import { RenameField } from "./RenameField.jsx";
import { useSessionList } from "./sessionList.jsx";
import { Stamp } from "./Stamp.jsx";

const isMac = /mac|iphone|ipad/i.test(navigator.userAgentData?.platform ?? navigator.platform ?? "");
const KEY = isMac ? "⌘" : "Ctrl+";

export function ChatHeader({ sessionId, session, select, answering, busy, showTimeline, undo, redo, preview, togglePreview }) {
  const { store } = useTurnmark();
  const { sessions } = useSessionList();
  const notices = useNotices();
  const [renaming, setRenaming] = useState(false);
  const titleButton = useRef(null);
  const summary = sessions.find(({ id }) => id === sessionId);
  const title = summary ? (summary.title ?? "Untitled chat") : "New session";
  const { head, canUndo, canRedo } = session;

  const rename = async (next) => {
    setRenaming(false);
    focusOn(titleButton);
    if (next === null || next === summary?.title) return;
    try {
      await (await store.session(sessionId)).setTitle(next || null);
    } catch (error) {
      notices.fail(error);
    }
  };

  return (
    <header className="pane-head chat-head">
      <div className="chat-title">
        {renaming
          ? <RenameField title={summary?.title ?? ""} done={rename} />
          : <h2><button ref={titleButton} type="button" className="title-button clip" disabled={!summary} onClick={() => setRenaming(true)} title={summary ? "Rename" : undefined} data-testid="chat-title">{title}</button></h2>}
        <p className="chat-sub" data-testid="chat-status">
          {answering && <span className="tag live">answering</span>}
          {head ? <>{plural(head.messageCount, "message")} · saved to <Stamp durability={head._durability} /></> : "Nothing stored yet"}
        </p>
      </div>
      <div className="head-actions">
        <HistoryMenu select={select} current={sessionId} />
        <button type="button" className="icon-button" aria-label="Preview" title="Preview" aria-pressed={preview} onClick={togglePreview} data-testid="toggle-preview"><Icon name="preview" /></button>
        <button type="button" className="icon-button" aria-label="Undo" title={`Undo (${KEY}Z)`} aria-keyshortcuts={isMac ? "Meta+Z" : "Control+Z"} disabled={!canUndo || busy} onClick={undo} data-testid="undo"><Icon name="undo" /></button>
        <button type="button" className="icon-button" aria-label="Redo" title={`Redo (${isMac ? "⇧⌘" : "Ctrl+Shift+"}Z)`} aria-keyshortcuts={isMac ? "Meta+Shift+Z" : "Control+Shift+Z"} disabled={!canRedo || busy} onClick={redo} data-testid="redo"><Icon name="redo" /></button>
        <button type="button" className="icon-button timeline-toggle" aria-label="Timeline" title="Timeline" onClick={showTimeline} data-testid="toggle-timeline"><Icon name="timeline" /></button>
      </div>
    </header>
  );
}
