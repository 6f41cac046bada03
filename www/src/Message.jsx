import { memo, useEffect, useRef, useState } from "react";
import { focusComposer, focusOn } from "./focus.js";
import { anyText, clock, textOf } from "./format.js";
import { Icon, Mark } from "./icons.jsx";
import { RichText } from "./RichText.jsx";

const NAMES = { user: "You", assistant: "Assistant", tool: "Tool", system: "System" };
const ENDINGS = { stopped: "You stopped this answer.", interrupted: "This answer was interrupted.", streaming: "This answer was interrupted." };


/** Why a message is not whole, or `null`. */
function endingOf({ status, metadata }) {
  if (metadata?.interrupted === true) return "This answer was never finished in ChatGPT.";
  return ENDINGS[status] ?? null;
}

export const Message = memo(function Message({ message, index, streaming, busy, last, edit, regenerate }) {
  const [editing, setEditing] = useState(false);
  const editButton = useRef(null);
  const { role = "unknown", createdAt, parts } = message;
  const text = textOf(message);
  const kept = Array.isArray(parts) ? parts.filter((part) => part?.type !== "text") : [];
  const ending = streaming ? null : endingOf(message);

  return (
    <article className={`message ${role}`} aria-label={NAMES[role] ?? role} aria-busy={streaming} data-testid="message" data-role={role} data-message-id={message.id}>
      {role !== "user" && <span className="avatar" aria-hidden="true"><Mark size={26} /></span>}
      <div className="message-column">
        {editing
          ? <EditField text={text} cancel={() => { setEditing(false); focusOn(editButton); }} save={(next) => { setEditing(false); focusComposer(); edit(index, next); }} />
          : (
            <div className="bubble" data-testid="message-text">
              {role === "tool" && <p className="tool-name">{message.metadata?.author ?? "Tool"}</p>}
              {streaming && text === "" ? <span className="thinking" aria-label="Thinking"><i /><i /><i /></span> : <RichText text={text} />}
              {kept.map((part, i) => <Part key={i} part={part} />)}
            </div>
          )}
        {ending && <p className="message-ending" data-testid="message-ending"><Icon name="warning" size={14} />{ending}</p>}
        {!editing && !streaming && (
          <div className={last ? "message-actions shown" : "message-actions"}>
            {typeof createdAt === "number" && <time className="message-time" dateTime={new Date(createdAt).toISOString()}>{clock(createdAt)}{message.editedAt ? " · edited" : ""}</time>}
            <CopyButton text={text} />
            {role === "user" && <button ref={editButton} type="button" className="icon-button" disabled={busy} onClick={() => setEditing(true)} aria-label="Edit and ask again" title="Edit and ask again" data-testid="message-edit"><Icon name="edit" size={16} /></button>}
            {role === "assistant" && <button type="button" className="icon-button" disabled={busy} onClick={() => regenerate(index)} aria-label="Answer again" title="Answer again; this answer stays in the timeline" data-testid="message-regenerate"><Icon name="regenerate" size={16} /></button>}
          </div>
        )}
      </div>
    </article>
  );
});

/** A part that is not text: named, with what is known of it. */
function Part({ part }) {
  const name = String(part?.type ?? "part").replaceAll("_", " ");
  return (
    <details className="part" data-testid="message-part">
      <summary>{name}</summary>
      <pre tabIndex={0}>{anyText(part?.value ?? part)}</pre>
    </details>
  );
}

function CopyButton({ text }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(setCopied, 1500, false);
    } catch {
      // The browser did not allow it; the text can still be selected.
    }
  };
  return <button type="button" className="icon-button" onClick={copy} aria-label={copied ? "Copied" : "Copy"} title="Copy"><Icon name={copied ? "check" : "copy"} size={16} /></button>;
}

function EditField({ text, save, cancel }) {
  const [value, setValue] = useState(text);
  const box = useRef(null);
  useEffect(() => {
    box.current.scrollIntoView({ block: "nearest" });
  }, []);
  const usable = value.trim() !== "" && value.trim() !== text;
  const onKeyDown = (event) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Escape") cancel();
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      if (usable) save(value.trim());
    }
  };
  return (
    <div className="edit" ref={box}>
      <textarea className="field" aria-label="Edit your message" rows={Math.min(12, value.split("\n").length + 1)} value={value} autoFocus onChange={(event) => setValue(event.target.value)} onKeyDown={onKeyDown} data-testid="edit-field" />
      <div className="edit-actions">
        <span className="edit-note">What follows stays in the timeline.</span>
        <button type="button" className="button small" onClick={cancel}>Cancel</button>
        <button type="button" className="button small primary" disabled={!usable} onClick={() => save(value.trim())} data-testid="edit-save">Ask again</button>
      </div>
    </div>
  );
}
