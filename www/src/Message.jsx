import { memo, useState } from "react";
import { anyText, clock, isTime, textOf } from "./format.js";
import { Icon, Mark } from "./icons.jsx";
import { RichText } from "./RichText.jsx";
import { Versions } from "./Versions.jsx";

const NAMES = { user: "You", assistant: "Assistant", tool: "Tool", system: "System" };
const ENDINGS = { stopped: "You stopped this answer.", interrupted: "This answer was interrupted.", failed: "The endpoint broke off here.", streaming: "This answer was interrupted." };

/** Why a message is not whole, or `null`. */
function endingOf({ status, metadata }) {
  if (metadata?.interrupted === true) return "This answer was never finished in ChatGPT.";
  return ENDINGS[status] ?? null;
}

export const Message = memo(function Message({ message, index, streaming, busy, locked, last, goBack, regenerate, asked, head, versions, show }) {
  const { role = "unknown", createdAt, parts } = message;
  const text = textOf(message);
  const kept = Array.isArray(parts) ? parts.filter((part) => part?.type !== "text") : [];
  const ending = streaming ? null : endingOf(message);

  return (
    <article className={`message ${role}`} aria-label={NAMES[role] ?? role} aria-busy={streaming} data-testid="message" data-role={role} data-message-id={message.id}>
      {role !== "user" && <span className="avatar" aria-hidden="true"><Mark size={26} /></span>}
      <div className="message-column">
        <div className="bubble" data-testid="message-text">
          {role === "tool" && <p className="tool-name">{message.metadata?.author ?? "Tool"}</p>}
          {streaming && text === "" ? <span className="thinking" aria-label="Thinking"><i /><i /><i /></span> : <RichText text={text} />}
          {kept.map((part, i) => <Part key={i} part={part} />)}
          {Array.isArray(message.images) && <p className="tool-name attached"><Icon name="image" size={14} /> {message.images.map(anyText).join(", ")}</p>}
        </div>
        {ending && <p className="message-ending" data-testid="message-ending"><Icon name="warning" size={14} />{ending}</p>}
        {!streaming && (
          <div className={last ? "message-actions shown" : "message-actions"}>
            {isTime(createdAt) && <time className="message-time" dateTime={new Date(createdAt).toISOString()}>{clock(createdAt)}{message.editedAt ? " · edited" : ""}</time>}
            {typeof message.model === "string" && <span className="message-time">{message.model}</span>}
            <CopyButton text={text} />
            {role === "user" && message.id !== undefined && (
              <>
                <button type="button" className="icon-button" disabled={locked} onClick={() => goBack(message, false)} aria-label="Restore: go back to before this message" title="Restore: go back to before this message" data-testid="message-restore"><Icon name="rollback" size={16} /></button>
                <button type="button" className="icon-button" disabled={locked} onClick={() => goBack(message, true)} aria-label="Edit: go back, and write it anew" title="Edit: go back, and write it anew" data-testid="message-edit"><Icon name="edit" size={16} /></button>
              </>
            )}
            {role === "assistant" && asked !== null && <Versions asked={asked} head={head} busy={busy} versions={versions} show={show} />}
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
