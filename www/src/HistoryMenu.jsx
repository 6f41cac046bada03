// The sessions of this browser, newest first, eight to a page.
import { useEffect, useRef, useState } from "react";
import { useChatSessions } from "turnmark/react";
import { age, plural } from "./format.js";
import { Icon } from "./icons.jsx";

const marksOf = ({ active, sealed }) => [active && "open", sealed && "sealed"].filter(Boolean);

export function HistoryMenu({ select, current }) {
  const [open, setOpen] = useState(false);
  const box = useRef(null);
  const button = useRef(null);
  useEffect(() => {
    if (!open) return undefined;
    const onDown = (event) => !box.current.contains(event.target) && setOpen(false);
    const onKey = (event) => {
      if (event.key !== "Escape") return;
      setOpen(false);
      button.current.focus();
    };
    document.addEventListener("pointerdown", onDown);
    document.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("pointerdown", onDown);
      document.removeEventListener("keydown", onKey);
    };
  }, [open]);
  return (
    <div className="history" ref={box}>
      <button ref={button} type="button" className="icon-button" aria-label="Session history" title="Session history" aria-expanded={open} onClick={() => setOpen(!open)} data-testid="history"><Icon name="chats" /></button>
      {open && <HistoryList current={current} select={(id) => { setOpen(false); select(id); }} />}
    </div>
  );
}

function HistoryList({ current, select }) {
  const { entries, page, pages, total, loading, setPage } = useChatSessions();
  return (
    <div className="history-list" role="dialog" aria-label="Session history" data-testid="history-list">
      <button type="button" className="button primary wide" onClick={() => select(null)} data-testid="new-session"><Icon name="plus" />New session</button>
      <ul aria-busy={loading}>
        {entries.map((entry) => (
          <li key={entry.sessionId}>
            <button type="button" className="history-entry" aria-current={entry.sessionId === current || undefined} onClick={() => select(entry.sessionId)} data-testid="history-entry">
              <span className="clip">{entry.name}</span>
              <small>{[age(entry.updatedAt), plural(entry.messageCount, "message"), ...marksOf(entry)].join(" · ")}{entry.interrupted ? <span className="tag warn">interrupted</span> : entry.run && <span className="tag live">answering</span>}</small>
            </button>
          </li>
        ))}
        {!loading && total === 0 && <li className="empty">No sessions yet.</li>}
      </ul>
      {pages > 1 && (
        <div className="history-pages">
          <button type="button" className="button small" disabled={page <= 1} onClick={() => setPage(page - 1)} data-testid="history-newer">Newer</button>
          <span data-testid="history-page">{page} / {pages}</span>
          <button type="button" className="button small" disabled={page >= pages} onClick={() => setPage(page + 1)} data-testid="history-older">Older</button>
        </div>
      )}
    </div>
  );
}
