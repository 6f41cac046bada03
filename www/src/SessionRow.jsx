import { useRef, useState } from "react";
import { useTurnmark } from "turnmark/react";
import { focusOn } from "./focus.js";
import { age, plural } from "./format.js";
import { Icon } from "./icons.jsx";
import { useNotices } from "./notices.jsx";
import { RenameField } from "./RenameField.jsx";
import { useClock } from "./useClock.js";

/** What kind of branch a session is, in words. */
function branchOf({ conflictOf, forkedFrom }, orphan) {
  if (conflictOf !== null) return { icon: "warning", label: "conflict", text: "kept work of a conflict" };
  if (forkedFrom !== null) return { icon: "fork", label: null, text: orphan ? "fork of a deleted chat" : "fork" };
  return null;
}

export function SessionRow({ row: { session, depth, guides, last, orphan }, current, select, remove }) {
  const { store } = useTurnmark();
  const notices = useNotices();
  const [renaming, setRenaming] = useState(false);
  const main = useRef(null);
  const now = useClock(session.updatedAt);
  const title = session.title ?? "Untitled chat";
  const branch = branchOf(session, orphan);

  const rename = async (next) => {
    setRenaming(false);
    focusOn(main);
    if (next === null || next === session.title) return;
    try {
      await (await store.session(session.id)).setTitle(next || null);
    } catch (error) {
      notices.fail(error);
    }
  };

  return (
    <li className={current ? "session current" : "session"} data-testid="session-row" data-session-id={session.id} data-depth={depth} data-conflict={session.conflictOf !== null || undefined}>
      {depth > 0 && (
        <span className="guides" aria-hidden="true">
          {guides.map((line, i) => <span key={i} className={line ? "guide line" : "guide"} />)}
          <span className={last ? "guide turn last" : "guide turn"} />
        </span>
      )}
      {renaming
        ? <RenameField title={session.title ?? ""} done={rename} />
        : (
          <button ref={main} type="button" className="session-main" data-row aria-current={current ? "page" : undefined} onClick={() => select(session.id)} onDoubleClick={() => setRenaming(true)} data-testid="session-open">
            <span className="session-title">
              {branch && <Icon name={branch.icon} size={14} />}
              <span className="clip">{title}</span>
            </span>
            <span className="session-meta">
              {branch?.label && <span className="tag warn">{branch.label}</span>}
              {(session.run !== null || session.provisional) && <span className="tag warn">unfinished</span>}
              {branch && !branch.label && <span className="sr-only">{branch.text}</span>}
              {plural(session.messageCount, "message")} · {age(session.updatedAt, now)}
            </span>
          </button>
        )}
      {!renaming && (
        <span className="row-actions">
          <button type="button" className="icon-button" aria-label={`Rename ${title}`} title="Rename" onClick={() => setRenaming(true)} data-testid="session-rename"><Icon name="edit" size={16} /></button>
          <button type="button" className="icon-button" aria-label={`Delete ${title}`} title="Delete" onClick={() => remove(session)} data-testid="session-delete"><Icon name="trash" size={16} /></button>
        </span>
      )}
    </li>
  );
}
