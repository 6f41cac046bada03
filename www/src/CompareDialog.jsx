// What changes between two checkpoints of a chat, message by message and word by word.
import { useEffect, useMemo, useState } from "react";
import { useTurnmark } from "turnmark/react";
import { Dialog } from "./Dialog.jsx";
import { explain } from "./errors.js";
import { age, plural, shortId, shownText, textOf } from "./format.js";
import { Icon } from "./icons.jsx";
import { kindOf } from "./kinds.js";
import { Stamp } from "./Stamp.jsx";
import { wordDiff } from "./wordDiff.js";

const SIGNS = { added: "+", removed: "−", changed: "~" };

export function CompareDialog({ from, to, onClose }) {
  const { store } = useTurnmark();
  const [swapped, setSwapped] = useState(false);
  const [result, setResult] = useState(null);
  const [a, b] = swapped ? [to, from] : [from, to];

  useEffect(() => {
    let gone = false;
    setResult(null);
    const ref = ({ id, sessionId }) => ({ sessionId, checkpointId: id });
    store.checkpoints.diff(ref(a), ref(b)).then((diff) => !gone && setResult({ diff }), (error) => !gone && setResult({ error: explain(error) }));
    return () => { gone = true; };
  }, [store, a, b]);

  const swap = <button type="button" className="button" onClick={() => setSwapped(!swapped)} data-testid="compare-swap"><Icon name="swap" size={16} />Swap</button>;
  return (
    <Dialog title="Compare" wide onClose={onClose} testId="compare-dialog" actions={<>{swap}<button type="button" className="button primary" onClick={onClose}>Done</button></>}>
      <div className="compare-ends">
        <End checkpoint={a} word="From" />
        <span className="compare-arrow" aria-hidden="true">→</span>
        <End checkpoint={b} word="To" />
      </div>
      {result === null && <p className="empty">Comparing…</p>}
      {result?.error && <p className="empty" role="alert">{result.error.title}. {result.error.text}</p>}
      {result?.diff && <Changes diff={result.diff} count={b.messageCount} />}
    </Dialog>
  );
}

function End({ checkpoint, word }) {
  const { label } = kindOf(checkpoint);
  return (
    <div className="compare-end">
      <span className="compare-word">{word}</span>
      <strong className="clip">{checkpoint.name ?? label}</strong>
      <span className="checkpoint-meta"><Stamp durability={checkpoint._durability} /><span>{plural(checkpoint.messageCount, "message")}</span><span>{age(checkpoint.createdAt)}</span><code>{shortId(checkpoint.id)}</code></span>
    </div>
  );
}

/** The changes in reading order, with the unchanged messages between them counted. */
function inOrder(diff, count) {
  const rows = [];
  let next = 0;
  const same = (until) => {
    if (until > next) rows.push({ same: until - next });
    next = Math.max(next, until);
  };
  for (const change of diff.messages) {
    // A removed message stands where the messages before it end.
    if (change.toIndex !== null) same(change.toIndex);
    else same(Math.min(Math.max(diff.commonPrefix, next), count));
    rows.push(change);
    if (change.toIndex !== null) next = change.toIndex + 1;
  }
  same(count);
  return rows;
}

function Changes({ diff, count }) {
  const rows = useMemo(() => inOrder(diff, count), [diff, count]);
  const totals = { added: 0, removed: 0, changed: 0 };
  const beside = [...diff.channels.map((change) => ({ ...change, name: `channel ${change.channel}` })), ...diff.ui.map((change) => ({ ...change, name: `beside the prompt: ${change.key}` }))];
  for (const { change } of [...diff.messages, ...beside]) totals[change] += 1;
  const nothing = diff.messages.length === 0 && beside.length === 0;
  return (
    <>
      <p className="diff-summary" data-testid="diff-summary" role="status">
        {nothing
          ? "Nothing differs: both hold the same."
          : Object.keys(SIGNS).filter((change) => totals[change] > 0).map((change) => <span key={change} className={`chip ${change}`}>{SIGNS[change]}{totals[change]} {change}</span>)}
      </p>
      <ol className="diff" aria-label="Changes">
        {rows.map((row, i) => (row.same !== undefined
          ? <li key={i} className="diff-same">{plural(row.same, "message")} the same</li>
          : <MessageChange key={i} change={row} />))}
        {beside.map((change) => <ValueChange key={change.name} change={change} />)}
      </ol>
    </>
  );
}

function MessageChange({ change: { change, before, after, fromIndex, toIndex } }) {
  const message = after ?? before ?? {};
  return (
    <li className={`diff-row ${change}`} data-testid="diff-row" data-change={change}>
      <p className="diff-head"><span className="diff-who">{message.role ?? "message"}</span><span>{change}</span><span className="diff-place">#{(toIndex ?? fromIndex ?? 0) + 1}</span></p>
      <div className="diff-text">{change === "changed" ? <WordDiff before={textOf(before ?? {})} after={textOf(after ?? {})} /> : textOf(message)}</div>
    </li>
  );
}

function WordDiff({ before, after }) {
  const runs = useMemo(() => wordDiff(before, after), [before, after]);
  if (before === after) return <span className="diff-note">Same text; other details of the message changed.</span>;
  return runs.map(({ type, text }, i) => {
    if (type === "added") return <ins key={i}>{text}</ins>;
    if (type === "removed") return <del key={i}>{text}</del>;
    return <span key={i}>{text}</span>;
  });
}

function ValueChange({ change: { name, change, before, after } }) {
  return (
    <li className={`diff-row ${change}`} data-testid="diff-row" data-change={change}>
      <p className="diff-head"><span className="diff-who">{name}</span><span>{change}</span></p>
      <div className="diff-text"><WordDiff before={before === undefined ? "" : shownText(before)} after={after === undefined ? "" : shownText(after)} /></div>
    </li>
  );
}
