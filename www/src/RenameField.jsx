import { useRef } from "react";

/** Enter and leaving the field keep the new title, Escape the old one (`done(null)`). */
export function RenameField({ title, done }) {
  const settled = useRef(false);
  const settle = (value) => {
    if (settled.current) return;
    settled.current = true;
    done(value);
  };
  const onKeyDown = (event) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter") settle(event.currentTarget.value.trim());
    if (event.key === "Escape") settle(null);
  };
  return (
    <input
      className="field rename" aria-label="New title" defaultValue={title} maxLength={300} autoFocus
      onFocus={(event) => event.currentTarget.select()} onKeyDown={onKeyDown} onBlur={(event) => settle(event.currentTarget.value.trim())} data-testid="rename-field"
    />
  );
}
