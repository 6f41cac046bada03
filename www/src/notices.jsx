// Short messages at the edge of the page, read out by screen readers. Errors stay until they are closed.
import { createContext, useCallback, useContext, useEffect, useMemo, useRef, useState } from "react";
import { explain } from "./errors.js";
import { Icon } from "./icons.jsx";

const SHOWN_MS = 8000;
const MOST = 4;
const Notices = createContext(null);

/** `{ say(text, actions?, topic?), fail(error, actions?), announce(text) }`. `announce` is for screen readers only. */
export const useNotices = () => useContext(Notices);

/** Tells an error that a hook of `turnmark/react` shows. */
export function useReported(error) {
  const { fail } = useNotices();
  useEffect(() => {
    if (error) fail(error);
  }, [error, fail]);
}

export function NoticesProvider({ children }) {
  const [notices, setNotices] = useState([]);
  const [spoken, setSpoken] = useState("");
  const count = useRef(0);
  const timers = useRef(new Map());

  const close = useCallback((id) => setNotices((list) => list.filter((notice) => notice.id !== id)), []);
  const hold = useCallback((id) => clearTimeout(timers.current.get(id)), []);
  const expire = useCallback((id) => {
    hold(id);
    timers.current.set(id, setTimeout(close, SHOWN_MS, id));
  }, [close, hold]);

  const api = useMemo(() => {
    const add = (notice) => {
      const id = (count.current += 1);
      // The same thing said twice in a row is said once, and of one topic only the newest.
      const isOld = ({ title, text, topic }) => (title === notice.title && text === notice.text) || (topic !== undefined && topic === notice.topic);
      setNotices((list) => [...list.filter((shown) => !isOld(shown)), { ...notice, id }].slice(-MOST));
      if (notice.kind !== "error") expire(id);
    };
    return {
      say: (text, actions = [], topic = undefined) => add({ kind: "info", text, actions, topic }),
      fail: (error, actions = []) => add({ kind: "error", actions, ...explain(error) }),
      announce: setSpoken,
    };
  }, [expire]);

  return (
    <Notices value={api}>
      {children}
      <div className="sr-only" role="status" aria-live="polite" data-testid="announcer">{spoken}</div>
      <section className="notices" aria-label="Notices" data-testid="notices">
        {notices.map((notice) => (
          <Notice key={notice.id} notice={notice} close={() => close(notice.id)} hold={() => hold(notice.id)} expire={() => notice.kind !== "error" && expire(notice.id)} />
        ))}
      </section>
    </Notices>
  );
}

function Notice({ notice, close, hold, expire }) {
  const { kind, title, text, todo, code, actions } = notice;
  return (
    <div className={`notice ${kind}`} role={kind === "error" ? "alert" : "status"} data-testid={kind === "error" ? "error-notice" : "notice"} onMouseEnter={hold} onMouseLeave={expire} onFocus={hold} onBlur={expire}>
      <div className="notice-body">
        {title && <strong>{title} <code className="error-code" data-testid="error-code">{code}</code></strong>}
        <span className="notice-text">{text}</span>
        {todo && <span className="notice-todo">{todo}</span>}
      </div>
      {actions.map(({ label, run }) => (
        <button key={label} type="button" className="button small" onClick={() => { close(); run(); }} data-testid="notice-action">{label}</button>
      ))}
      <button type="button" className="icon-button" aria-label="Close this notice" onClick={close}><Icon name="close" size={16} /></button>
    </div>
  );
}
