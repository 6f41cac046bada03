// What kinds of checkpoints are called, and how they look on the rail of the timeline.

const KINDS = {
  "prompt-before": { label: "Before a question", look: "question" },
  "prompt-after": { label: "Question", look: "question" },
  "turn-after": { label: "Answer", look: "answer" },
  "mutation-before": { label: "Before a change", look: "quiet" },
  "session-boundary": { label: "Session boundary", look: "quiet" },
  "restore-point": { label: "Restore point", look: "quiet" },
  "branch-point": { label: "Fork", look: "fork" },
  committed: { label: "Committed", look: "answer" },
  manual: { label: "Saved", look: "quiet" },
};

const WRITES = {
  rollback: { label: "Rolled back", look: "moved" },
  undo: { label: "Undone", look: "moved" },
  redo: { label: "Redone", look: "moved" },
  import: { label: "Imported", look: "answer" },
  edit: { label: "Edited", look: null },
  regenerate: { label: "Another answer", look: null },
  continue: { label: "Continued answer", look: null },
  dismiss: { label: "Interrupted answer kept", look: null },
};

/** `{ label, look }` of a checkpoint. */
export function kindOf({ kind, source, writes, provisional }) {
  if (provisional) return { label: "Being written", look: "live" };
  const base = source === "fork" ? KINDS["branch-point"] : (KINDS[kind] ?? { label: kind, look: "quiet" });
  const special = writes.map((name) => WRITES[name]).find(Boolean);
  if (!special) return base;
  const label = special.label === "Edited" ? `Edited ${base.label.toLowerCase()}` : special.label;
  return { label: kind === "turn-after" && writes.includes("edit") ? "Answer" : label, look: special.look ?? base.look };
}
