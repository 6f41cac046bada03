// The "safe to send" view of a chat: what a model accepts of messages that were cut off. Pure; not an entry of the package.

const INTERRUPTED = "The tool call was interrupted before it gave a result.";
const NOT_APPROVED = "The tool call was not approved before the conversation went on.";

const isTool = ({ type }) => type === "dynamic-tool" || (typeof type === "string" && type.startsWith("tool-"));
/** Of no use without something after it: models refuse a thought that leads to nothing. */
const leadsOn = ({ type }) => type === "reasoning" || type === "reasoning-file";

/** A tool call without a result, as one that failed: a call and its result are sent together or not at all. */
function failed(part, errorText) {
  const { output: _, approval, ...rest } = part;
  return { ...rest, ...(approval?.approved === true ? { approval } : {}), state: "output-error", errorText };
}

/** What is sent of a part: itself, something that completes it, or `null`. */
function safePart(part, last) {
  if (part.type === "reasoning" && part.state === "streaming") return null;
  if (!isTool(part)) return part;
  switch (part.state) {
    // Its input is not whole, so no model has asked for this call yet.
    case "input-streaming": return null;
    case "input-available": return failed(part, INTERRUPTED);
    case "approval-requested": return failed(part, NOT_APPROVED);
    // In the last message it can still be acted on. Later on a denial is the result, and a consent came to nothing.
    case "approval-responded":
      if (last) return part;
      return part.approval?.approved === false ? { ...part, state: "output-denied" } : failed(part, INTERRUPTED);
    default: return part;
  }
}

/** Without the thoughts at the end of a step that has lost the rest of it. */
function withoutLooseEnds(parts) {
  let end = parts.length;
  while (end > 0 && leadsOn(parts[end - 1])) end -= 1;
  return parts.slice(0, end);
}

function safeParts(parts, last) {
  const steps = [[]];
  let changed = false;
  let lost = false;
  const close = () => {
    if (lost) steps[steps.length - 1] = withoutLooseEnds(steps.at(-1));
    lost = false;
  };
  for (const part of parts) {
    if (part.type === "step-start") {
      close();
      steps.push([]);
    }
    const safe = safePart(part, last);
    if (safe !== part) changed = true;
    if (safe === null) lost = true;
    else steps.at(-1).push(safe);
  }
  close();
  return changed ? steps.flat() : parts;
}

/**
 * The messages as a model accepts them, for `prepareSendMessagesRequest` or `convertToModelMessages`: a tool call that was cut off
 * is completed with an error, or left out when not even its input is whole; a message of which nothing is left is left out.
 * Changes nothing: what was received stays in the store. What needs no change is the same object, the list included.
 */
export function safeToSend(messages) {
  const safe = [];
  messages.forEach((message, index) => {
    if (message.role !== "assistant" || !Array.isArray(message.parts)) return void safe.push(message);
    const parts = safeParts(message.parts, index === messages.length - 1);
    if (parts.every(({ type }) => type === "step-start")) return undefined;
    return void safe.push(parts === message.parts ? message : { ...message, parts });
  });
  return safe.length === messages.length && safe.every((message, index) => message === messages[index]) ? messages : safe;
}
