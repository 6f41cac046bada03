// A small, safe part of Markdown, as React elements: code blocks, lists, bold, emphasis, code. Text is only ever text:
// there is no HTML, no link and no image in what comes out, whatever goes in.
import { memo } from "react";

const BLOCK = /^```([\w+#-]*)[^\n]*\n?/;

/** `{ type: "code" | "list" | "text", ... }` for each block, in one pass over the lines. */
export function blocks(text) {
  const result = [];
  const lines = text.split("\n");
  let paragraph = [];
  const flush = () => {
    if (paragraph.some((line) => line.trim() !== "")) result.push({ type: "text", text: paragraph.join("\n").trim() });
    paragraph = [];
  };
  for (let i = 0; i < lines.length; i += 1) {
    const line = lines[i];
    const fence = line.match(BLOCK);
    const item = line.match(/^\s{0,3}(?:[-*•]|(\d{1,4})[.)])\s+(.*)$/);
    if (fence) {
      flush();
      let end = i + 1;
      while (end < lines.length && !lines[end].startsWith("```")) end += 1;
      result.push({ type: "code", language: fence[1], text: lines.slice(i + 1, end).join("\n") });
      i = end;
    } else if (item) {
      flush();
      const ordered = item[1] !== undefined;
      const before = result.at(-1);
      if (before?.type === "list" && before.ordered === ordered && before.open) before.items.push(item[2]);
      else result.push({ type: "list", ordered, start: Number(item[1] ?? 1), items: [item[2]], open: true });
      continue;
    } else if (line.trim() === "") flush();
    else paragraph.push(line);
    const list = result.at(-1);
    if (list?.type === "list" && line.trim() !== "") list.open = false;
  }
  flush();
  return result;
}

/** Bold, emphasis and code within a line; unclosed marks stay as they are. */
function inline(text) {
  return text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*|\*[^*\s](?:[^*\n]*[^*\s])?\*)/).map((piece, i) => {
    if (i % 2 === 0) return piece;
    if (piece.startsWith("`")) return <code key={i}>{piece.slice(1, -1)}</code>;
    if (piece.startsWith("**")) return <strong key={i}>{piece.slice(2, -2)}</strong>;
    return <em key={i}>{piece.slice(1, -1)}</em>;
  });
}

export const RichText = memo(function RichText({ text }) {
  return blocks(text).map((block, i) => {
    if (block.type === "code") {
      return <pre key={i} tabIndex={0} aria-label={`Code${block.language ? ` in ${block.language}` : ""}`} data-language={block.language || undefined}><code>{block.text}</code></pre>;
    }
    if (block.type === "text") {
      const heading = block.text.match(/^#{1,6}\s+(.*)$/);
      return <p key={i}>{heading ? <strong>{inline(heading[1])}</strong> : inline(block.text)}</p>;
    }
    const items = block.items.map((item, at) => <li key={at}>{inline(item)}</li>);
    return block.ordered ? <ol key={i} start={block.start}>{items}</ol> : <ul key={i}>{items}</ul>;
  });
});
