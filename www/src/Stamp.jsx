// How durable a checkpoint really is, in one word and, on demand, in a sentence.
import { clock } from "./format.js";

const MEANING = {
  disk: "A strict transaction has completed: the browser reports the data as flushed to disk.",
  os: "Handed to the operating system, not known to be flushed. A power cut now could lose it.",
  memory: "In this page's memory only. It is gone when the page is gone.",
  replicated: "Also kept on another device.",
};

export function stampText({ level, mode, persisted, at }) {
  const promise = persisted === undefined ? "" : persisted ? " The browser has promised not to evict this site's data." : " The browser may evict this site's data when the disk is short; Settings → Keep my data asks it not to.";
  return `${MEANING[level] ?? level}${mode === "relaxed" ? " (Relaxed mode.)" : ""}${promise} Acknowledged ${clock(at)}.`;
}

/** The word with a tooltip. The tooltip's text is also the accessible description. */
export function Stamp({ durability }) {
  return (
    <span className={`stamp ${durability.level}`} title={stampText(durability)} data-testid="stamp">
      <span className="stamp-dot" aria-hidden="true" />{durability.level}
    </span>
  );
}
