import { useId } from "react";
import { age, bytes, clock, plural, shortId } from "./format.js";
import { Icon } from "./icons.jsx";
import { kindOf } from "./kinds.js";
import { Stamp, stampText } from "./Stamp.jsx";
import { useClock } from "./useClock.js";

export function TimelineEntry({ checkpoint, open, toggle, compare, compareFrom, actions, parentName }) {
  const { id, name, head, messageCount, createdAt, pinned, provisional, _durability } = checkpoint;
  const now = useClock(createdAt);
  const details = useId();
  const { label, look } = kindOf(checkpoint);
  const title = name ?? (look === "moved" && parentName ? `to “${parentName}”` : label);

  return (
    <li className={`checkpoint ${look}${head ? " head" : ""}${open ? " open" : ""}${compareFrom ? " comparing" : ""}`} data-testid="checkpoint" data-checkpoint-id={id} data-kind={checkpoint.kind} data-source={checkpoint.source} data-level={_durability.level} data-head={head || undefined}>
      <span className="dot" aria-hidden="true" />
      <button type="button" className="checkpoint-main" data-row aria-expanded={open} aria-controls={details} onClick={toggle} data-testid="checkpoint-open">
        <span className="checkpoint-line">
          <span className="checkpoint-kind">{label}</span>
          {head && <span className="tag now">live</span>}
          {pinned && <Icon name="pin" size={14} />}
          {pinned && <span className="sr-only">pinned</span>}
          <span className="checkpoint-age">{age(createdAt, now)}</span>
        </span>
        {title !== label && <span className="checkpoint-name clip">{title}</span>}
        <span className="checkpoint-meta"><Stamp durability={_durability} /><span>{checkpoint.source}</span><span>{plural(messageCount, "message")}</span><code>{shortId(id)}</code></span>
      </button>
      {open && (
        <dl id={details} className="details" data-testid="checkpoint-details">
          <dt>Stamp</dt><dd>{stampText(_durability)}</dd>
          <dt>Id</dt><dd><code className="breakable">{id}</code></dd>
          <dt>Made</dt><dd>{clock(createdAt)}, number {checkpoint.seq} of this chat</dd>
          <dt>Kind</dt><dd>{checkpoint.kind}{checkpoint.writes.length > 0 && ` (${checkpoint.writes.join(", ")})`}</dd>
          <dt>Reaches</dt><dd>{bytes(checkpoint.size)} of messages, shared with the other checkpoints</dd>
          {checkpoint.parentCheckpointId && <><dt>After</dt><dd><code>{shortId(checkpoint.parentCheckpointId)}</code></dd></>}
          {checkpoint.forkedFrom && <><dt>Forked from</dt><dd><button type="button" className="link" onClick={() => actions.open(checkpoint.forkedFrom.sessionId)}>the chat it came from</button>, at <code>{shortId(checkpoint.forkedFrom.checkpointId)}</code></dd></>}
        </dl>
      )}
      <div className="checkpoint-actions">
        <button type="button" className="button tiny" disabled={head} onClick={() => actions.rollback(checkpoint)} title={head ? "This is the live state" : "Make this state live again. It can be undone."} data-testid="checkpoint-rollback"><Icon name="rollback" size={15} /><span>Roll back</span></button>
        <button type="button" className="button tiny" disabled={provisional} onClick={() => actions.fork(checkpoint)} title="Start a new chat here" data-testid="checkpoint-fork"><Icon name="fork" size={15} /><span>Fork</span></button>
        <button type="button" className="button tiny" aria-pressed={compareFrom} onClick={() => compare(checkpoint)} title="See what differs from another checkpoint" data-testid="checkpoint-compare"><Icon name="compare" size={15} /><span>Compare</span></button>
        {open && <button type="button" className="button tiny" aria-pressed={pinned} onClick={() => actions.pin(checkpoint)} title="A pinned checkpoint is never pruned" data-testid="checkpoint-pin"><Icon name="pin" size={15} /><span>{pinned ? "Unpin" : "Pin"}</span></button>}
      </div>
    </li>
  );
}
