// What changed between two texts, word by word.

/** Beyond this many comparisons the middle is shown as replaced whole. */
const MOST_CELLS = 4_000_000;

const words = (text) => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];

/** Runs of `{ type: "same" | "removed" | "added", text }` that make `before` and `after`. */
export function wordDiff(before, after) {
  const a = words(before);
  const b = words(after);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;

  const runs = [];
  const push = (type, text) => {
    if (text === "") return;
    if (runs.at(-1)?.type === type) runs.at(-1).text += text;
    else runs.push({ type, text });
  };
  push("same", a.slice(0, start).join(""));
  middle(a.slice(start, a.length - end), b.slice(start, b.length - end), push);
  push("same", a.slice(a.length - end).join(""));
  return runs;
}

/** Longest common subsequence of two lists of words, told as runs. */
function middle(a, b, push) {
  const width = b.length + 1;
  if ((a.length + 1) * width > MOST_CELLS) {
    push("removed", a.join(""));
    push("added", b.join(""));
    return;
  }
  const longest = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const at = i * width + j;
      longest[at] = a[i] === b[j] ? longest[at + width + 1] + 1 : Math.max(longest[at + width], longest[at + 1]);
    }
  }
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const at = i * width + j;
    if (i < a.length && j < b.length && a[i] === b[j]) {
      push("same", a[i]);
      i += 1;
      j += 1;
    } else if (i < a.length && (j === b.length || longest[at + width] >= longest[at + 1])) {
      push("removed", a[i]);
      i += 1;
    } else {
      push("added", b[j]);
      j += 1;
    }
  }
}
