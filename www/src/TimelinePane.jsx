// The right pane: every checkpoint of the chat, newest first.
import { useEffect, useState } from "react";
import { useCheckpoints } from "turnmark/react";
import { onArrowKeys } from "./arrowKeys.js";
import { shortId } from "./format.js";
import { Icon } from "./icons.jsx";
import { useReported } from "./notices.jsx";
import { TimelineEntry } from "./TimelineEntry.jsx";

const PAGE = 40;

export function TimelinePane({ sessionId, actions, close }) {
  const [limit, setLimit] = useState(PAGE);
  const [open, setOpen] = useState(null);
  const [from, setFrom] = useState(null);
  const { checkpoints, loading, error } = useCheckpoints(sessionId, { limit });
  useReported(error);

  useEffect(() => {
    setLimit(PAGE);
    setOpen(null);
    setFrom(null);
  }, [sessionId]);

  const names = new Map(checkpoints.map(({ id, name }) => [id, name]));
  const compare = (checkpoint) => {
    if (from === null) return setFrom(checkpoint);
    if (from.id !== checkpoint.id) actions.compare(...[from, checkpoint].sort((a, b) => a.seq - b.seq));
    return setFrom(null);
  };

  return (
    <aside className="pane timeline" aria-label="Timeline" onKeyDown={(event) => event.key === "Escape" && close()} data-testid="timeline-pane">
      <header className="pane-head">
        <h2>Timeline</h2>
        <button type="button" className="icon-button timeline-close" aria-label="Close the timeline" onClick={close}><Icon name="close" /></button>
      </header>
      {from && (
        <div className="compare-bar" role="status" data-testid="compare-bar">
          <span>Comparing <code>{shortId(from.id)}</code>. Now choose another checkpoint.</span>
          <button type="button" className="button small" onClick={() => setFrom(null)}>Cancel</button>
        </div>
      )}
      <ol className="checkpoints" aria-label="Checkpoints, newest first" aria-busy={loading} onKeyDown={onArrowKeys} data-testid="timeline">
        {checkpoints.map((checkpoint) => (
          <TimelineEntry
            key={checkpoint.id} checkpoint={checkpoint} open={open === checkpoint.id} parentName={names.get(checkpoint.parentCheckpointId)} compareFrom={from?.id === checkpoint.id}
            toggle={() => (from ? compare(checkpoint) : setOpen(open === checkpoint.id ? null : checkpoint.id))} compare={compare} actions={actions}
          />
        ))}
        {!loading && checkpoints.length === 0 && <li className="empty">Checkpoints appear here with your first message.</li>}
      </ol>
      {checkpoints.length === limit && <button type="button" className="button small more" onClick={() => setLimit(limit + PAGE)} data-testid="timeline-more">Show older checkpoints</button>}
      <footer className="pane-foot hint" data-testid="devtools-hint">
        <span>In the console: <code>__HARNESS_DEVTOOLS__.help()</code></span>
      </footer>
    </aside>
  );
}
