// Ctrl+Z and Ctrl+Shift+Z (and their like on a Mac) for the chat, wherever they are not about text being edited.
import { useEffect } from "react";

function editsText(element) {
  if (element?.isContentEditable) return true;
  const field = element?.closest?.("textarea, input:not([type=checkbox], [type=radio], [type=file])");
  // In an empty composer there is no text to undo.
  return field ? field.value !== "" || !field.matches("[data-testid=composer]") : false;
}

export function useShortcuts({ undo, redo }) {
  useEffect(() => {
    const onKeyDown = (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.isComposing) return;
      const key = event.key.toLowerCase();
      const wantsRedo = (key === "z" && event.shiftKey) || (key === "y" && event.ctrlKey);
      if ((key !== "z" && !wantsRedo) || editsText(document.activeElement) || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      if (wantsRedo) redo();
      else undo();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [undo, redo]);
}
