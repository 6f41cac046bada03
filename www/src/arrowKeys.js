// Up and down, Home and End move between the rows of a list; Tab goes on to what a row offers.

export function onArrowKeys(event) {
  const keys = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };
  const step = keys[event.key];
  if (step === undefined || event.target.closest("input, textarea, select")) return;
  const rows = [...event.currentTarget.querySelectorAll("[data-row]")];
  const at = rows.findIndex((row) => row === document.activeElement || row.parentElement.contains(document.activeElement));
  const next = rows[Math.max(0, Math.min(rows.length - 1, at + step))];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
