// The browser's own modal dialog: it keeps the focus inside, closes with Escape and gives the focus back.
import { useId, useLayoutEffect, useRef } from "react";
import { Icon } from "./icons.jsx";

export function Dialog({ title, onClose, children, actions, wide = false, testId }) {
  const ref = useRef(null);
  const heading = useId();
  // A layout effect: the dialog must be closed while it is still in the page, or it cannot give the focus back.
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog.showModal();
    dialog.querySelector("[data-focus]")?.focus();
    return () => dialog.close();
  }, []);
  const onBackdrop = (event) => event.target === ref.current && onClose();
  return (
    <dialog ref={ref} className={wide ? "dialog wide" : "dialog"} aria-labelledby={heading} onCancel={(event) => { event.preventDefault(); onClose(); }} onMouseDown={onBackdrop} data-testid={testId}>
      <header className="dialog-head">
        <h2 id={heading}>{title}</h2>
        <button type="button" className="icon-button" aria-label="Close" onClick={onClose} data-testid="dialog-close"><Icon name="close" /></button>
      </header>
      <div className="dialog-body">{children}</div>
      {actions && <footer className="dialog-actions">{actions}</footer>}
    </dialog>
  );
}
