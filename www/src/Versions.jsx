// "‹ 2 / 3 ›": the answers that were given to one question.
import { useEffect, useState } from "react";

export function Versions({ asked, head, busy, versions, show }) {
  const [list, setList] = useState([]);
  useEffect(() => {
    let gone = false;
    // A question that was not asked by a turn has none; a chat that has moved on meanwhile is asked again.
    versions(asked).then((found) => !gone && setList(found), () => !gone && setList([]));
    return () => { gone = true; };
  }, [asked, head, versions]);
  const at = list.findIndex(({ live }) => live);
  if (list.length < 2 || at < 0) return null;
  const step = (by, label, sign) => (
    <button type="button" className="icon-button" disabled={busy || list[at + by] === undefined} onClick={() => show(list, at + by)} aria-label={label} title={label} data-testid={by < 0 ? "version-before" : "version-after"}>{sign}</button>
  );
  return (
    <span className="versions" role="group" aria-label="Versions of this answer" data-testid="versions">
      {step(-1, "Show the answer before", "‹")}
      <span>{at + 1} / {list.length}</span>
      {step(1, "Show the next answer", "›")}
    </span>
  );
}
