// What an application did to its chat, judged by the messages before and after. Pure; not an entry of the package.

/** Whether two lists hold the very same messages. The AI SDK replaces a message that changes and keeps every other. */
export const sameItems = (a, b) => a === b || (a.length === b.length && a.every((item, index) => Object.is(item, b[index])));

export const isBusy = (status) => status === "submitted" || status === "streaming";

const isUser = ({ role }) => role === "user";

/** Whether a message stopped in the middle of a part. */
export const isUnfinished = ({ role, parts = [] }) => role === "assistant" && parts.some(({ state }) => state === "streaming" || state === "input-streaming");

/** What was typed, for a message that says nothing else about it. */
export const textOf = ({ text, parts = [] }) => text ?? parts.filter(({ type }) => type === "text").map((part) => part.text).join("\n");

/**
 * How the stored list became the chat's, as one of
 * `same`: nothing happened;
 * `send`: the message at `at` is new and asks for an answer, or (`edited`) is asked once more in other words;
 * `regenerate`: the user message at `at` gets another answer;
 * `resume`: the answer that was cut off, the last of `saved`, is delivered once more, under whatever id;
 * `continue`: the last answer grows on; `edit`: anything else.
 */
export function judge(saved, now, busy, interrupted) {
  let kept = 0;
  while (kept < saved.length && kept < now.length && Object.is(saved[kept], now[kept])) kept += 1;
  const tail = now.slice(kept);
  const users = tail.filter(isUser);
  if (users.length > 0) {
    const at = now.lastIndexOf(users.at(-1));
    if (busy) return { kind: "send", at, edited: at === kept && saved[kept]?.id === now[at].id };
    // An answer so fast that nobody saw it being written.
    const sent = kept === saved.length && users.length === 1 && tail[0] === users[0];
    return sent ? { kind: "send", at, edited: false } : { kind: "edit" };
  }

  const at = now.findLastIndex(isUser);
  const last = saved.at(-1);
  if (busy && at >= 0 && last?.role === "assistant" && kept >= saved.length - 1 && (interrupted || isUnfinished(last))) {
    const aside = kept === saved.length || tail.length > 0;
    if (aside) return { kind: "resume", at };
  }
  const replaced = kept < saved.length && tail.length > 0 && tail[0].id !== saved[kept].id;
  const cut = busy && kept < saved.length && tail.length === 0;
  const again = busy && kept === saved.length && last !== undefined && isUser(last);
  if (at >= 0 && (replaced || cut || again)) return { kind: "regenerate", at };
  if (busy) return { kind: "continue" };
  return kept === saved.length && tail.length === 0 ? { kind: "same" } : { kind: "edit" };
}
