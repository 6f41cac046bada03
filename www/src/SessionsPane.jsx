// The left pane: every chat, forks under the chat they come from.
import { useState } from "react";
import { onArrowKeys } from "./arrowKeys.js";
import { Icon, Mark } from "./icons.jsx";
import { useSessionList } from "./sessionList.jsx";
import { SessionRow } from "./SessionRow.jsx";
import { sessionRows } from "./sessionTree.js";

const THEME_ICONS = { auto: "auto", light: "sun", dark: "moon" };

export function SessionsPane({ selected, select, theme, actions }) {
  const { sessions, loading } = useSessionList();
  const [search, setSearch] = useState("");
  const wanted = search.trim().toLowerCase();
  const family = sessionRows(sessions);
  const rows = wanted === "" ? family : family.filter(({ session }) => (session.title ?? "").toLowerCase().includes(wanted)).map((row) => ({ ...row, depth: 0 }));

  return (
    <nav className="pane sessions" aria-label="Chats" data-testid="sessions-pane">
      <header className="pane-head brand">
        <Mark />
        <h1>Turnmark</h1>
        <button type="button" className="icon-button" onClick={theme.next} aria-label={`Theme: ${theme.theme}. Switch.`} title={`Theme: ${theme.theme}`} data-testid="theme-toggle"><Icon name={THEME_ICONS[theme.theme]} /></button>
      </header>
      <div className="pane-tools">
        <button type="button" className="button primary wide" onClick={() => select(null)} data-testid="new-chat"><Icon name="plus" />New session</button>
        {sessions.length > 7 && <input type="search" className="field" placeholder="Find a chat" aria-label="Find a chat by its title" value={search} onChange={(event) => setSearch(event.target.value)} data-testid="session-search" />}
      </div>
      <h2 className="pane-label">Chats and their branches</h2>
      <ul className="session-list" aria-label="Chats, newest first" aria-busy={loading} onKeyDown={onArrowKeys} data-testid="session-list">
        {rows.map((row) => <SessionRow key={row.session.id} row={row} current={row.session.id === selected} select={select} remove={actions.remove} />)}
        {!loading && rows.length === 0 && <li className="empty">{wanted === "" ? "No chats yet. Say something, or drop a ChatGPT export on this page." : "No chat has such a title."}</li>}
      </ul>
      <footer className="pane-foot">
        <button type="button" className="button quiet" onClick={actions.openImport} data-testid="open-import"><Icon name="import" />Import</button>
        <button type="button" className="button quiet" onClick={actions.exportAll} disabled={sessions.length === 0} data-testid="export-all"><Icon name="export" />Export</button>
        <button type="button" className="button quiet" onClick={actions.openStorage} data-testid="open-storage"><Icon name="storage" />Settings</button>
      </footer>
    </nav>
  );
}
