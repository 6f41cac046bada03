// Files dropped anywhere on the page.
import { useEffect, useState } from "react";

const hasFile = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");

/** Whether a file is being dragged over the page. */
export function useDrop(onFiles) {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const onDragOver = (event) => {
      if (!hasFile(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const onDragLeave = (event) => event.relatedTarget === null && setOver(false);
    const onDrop = (event) => {
      if (!hasFile(event)) return;
      event.preventDefault();
      setOver(false);
      onFiles([...event.dataTransfer.files]);
    };
    addEventListener("dragover", onDragOver);
    addEventListener("dragleave", onDragLeave);
    addEventListener("drop", onDrop);
    return () => {
      removeEventListener("dragover", onDragOver);
      removeEventListener("dragleave", onDragLeave);
      removeEventListener("drop", onDrop);
    };
  }, [onFiles]);
  return over;
}
