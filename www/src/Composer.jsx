import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { Icon } from "./icons.jsx";

/** Where the next message is written. Its draft belongs to the chat it was begun in. */
export function Composer({ sessionId, answering, disabled, send, stop, hint, draft }) {
  const drafts = useRef(new Map());
  const field = useRef(null);
  const [text, setText] = useState("");

  useEffect(() => {
    setText(drafts.current.get(sessionId) ?? "");
    if (matchMedia("(hover: hover)").matches && !document.querySelector("dialog[open]")) field.current.focus();
  }, [sessionId]);
  // What is to be written anew.
  useEffect(() => {
    if (!draft) return;
    drafts.current.set(sessionId, draft.text);
    setText(draft.text);
    field.current.focus();
  }, [draft]);
  useLayoutEffect(() => {
    field.current.style.height = "auto";
    field.current.style.height = `${field.current.scrollHeight}px`;
  }, [text]);

  const write = (value) => {
    drafts.current.set(sessionId, value);
    setText(value);
  };
  const submit = (event) => {
    event?.preventDefault();
    if (text.trim() === "" || answering || disabled) return;
    write("");
    send(text.trim());
  };
  const onKeyDown = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };

  return (
    <form className="composer" onSubmit={submit}>
      {hint && <p className="composer-hint" data-testid="composer-hint">{hint}</p>}
      <div className="composer-box">
        <textarea
          id="composer" ref={field} rows={1} value={text} placeholder="Ask the built-in assistant" aria-label="Message" aria-describedby="composer-keys"
          onChange={(event) => write(event.target.value)} onKeyDown={onKeyDown} data-testid="composer"
        />
        {answering
          ? <button key="stop" type="button" className="send stop" aria-label="Stop answering" title="Stop" onClick={stop} data-testid="stop"><Icon name="stop" /></button>
          : <button key="send" type="submit" className="send" aria-label="Send" title="Send" disabled={text.trim() === "" || disabled} data-testid="send"><Icon name="send" /></button>}
      </div>
      <p id="composer-keys" className="composer-keys">A small script answers, in this page. <kbd>Enter</kbd> sends, <kbd>Shift</kbd>+<kbd>Enter</kbd> makes a new line.</p>
    </form>
  );
}
