// Reads a file that was chosen or dropped, and tells the two kinds apart.
import { parseChatGPTExport } from "turnmark/chatgpt";

/** Files beyond this are refused before they are read. */
const MOST_BYTES = 500_000_000;

function problem(message) {
  return Object.assign(new Error(message), { name: "TurnmarkError", code: "BadBundle" });
}

/** A bundle of ours is one object that is not a tree; its text is checked whole by the store. */
function looksLikeBundle(data) {
  return typeof data === "object" && data !== null && !Array.isArray(data) && !("mapping" in data) && !("conversations" in data);
}

/** `{ kind: "chatgpt", parsed }` or `{ kind: "bundle", text }`. */
export async function readImport(file) {
  if (file.size > MOST_BYTES) throw problem(`"${file.name}" is larger than ${MOST_BYTES / 1e6} MB. Split it first.`);
  let text;
  try {
    text = await file.text();
  } catch (cause) {
    throw Object.assign(problem(`"${file.name}" could not be read. It may have been moved or changed; choose it again.`), { cause });
  }
  let data;
  try {
    data = JSON.parse(text);
  } catch {
    // Not JSON at all: the reader below says what to choose instead.
    return { kind: "chatgpt", parsed: parseChatGPTExport(text) };
  }
  return looksLikeBundle(data) ? { kind: "bundle", text } : { kind: "chatgpt", parsed: parseChatGPTExport(data) };
}

/** Offers a text as a file to download. */
export function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(URL.revokeObjectURL, 60_000, url);
}
