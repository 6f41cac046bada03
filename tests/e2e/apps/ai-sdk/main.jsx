// A chat on the AI SDK whose history turnmark/ai-sdk keeps. The address says which session: `#a`. The model is a transport in this page:
// it says "answer N to TEXT" word by word, and waits after `window.holdAfter` words. Asked to "look", it calls a tool of the page first.
import { StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { useChat } from "@ai-sdk/react";
import { lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { safeToSend, useDurableChat } from "turnmark/ai-sdk";
import { open } from "turnmark/inline";
import { TurnmarkProvider, useTurnmark } from "turnmark/react";

const textOf = ({ parts }) => parts.filter(({ type }) => type === "text").map(({ text }) => text).join("");
const sleep = (time) => new Promise((resolve) => { setTimeout(resolve, time); });
window.holdAfter = Infinity;
window.failures = [];
window.branches = [];
window.sent = [];
let answers = 0;

const transport = {
  async sendMessages({ messages, abortSignal }) {
    window.sent.push(safeToSend(messages));
    if (messages.at(-1).role === "user" && /^look/.test(textOf(messages.at(-1)))) {
      const call = { type: "tool-input-available", toolCallId: `call-${messages.length}`, toolName: "look", input: { at: "sea" } };
      return new ReadableStream({
        start(controller) {
          for (const chunk of [{ type: "start" }, { type: "start-step" }, call, { type: "finish-step" }, { type: "finish" }]) controller.enqueue(chunk);
          controller.close();
        },
      });
    }
    answers += 1;
    const words = `answer ${answers} to ${textOf(messages.findLast(({ role }) => role === "user"))} and a few more words`.match(/\s*\S+/g);
    return new ReadableStream({
      async start(controller) {
        controller.enqueue({ type: "start" });
        controller.enqueue({ type: "start-step" });
        controller.enqueue({ type: "reasoning-start", id: "r" });
        controller.enqueue({ type: "reasoning-delta", id: "r", delta: "thinking" });
        controller.enqueue({ type: "reasoning-end", id: "r" });
        controller.enqueue({ type: "text-start", id: "t" });
        for (const [spoken, word] of words.entries()) {
          if (abortSignal?.aborted) break;
          controller.enqueue({ type: "text-delta", id: "t", delta: word });
          do await sleep(10); while (spoken + 1 >= window.holdAfter && !abortSignal?.aborted);
        }
        controller.enqueue({ type: "text-end", id: "t" });
        controller.enqueue({ type: "finish-step" });
        controller.enqueue({ type: "finish" });
        controller.close();
      },
    });
  },
  reconnectToStream: async () => null,
};

function Chat({ sessionId }) {
  const { store } = useTurnmark();
  const chat = useChat({ id: sessionId, transport, sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls });
  const history = useDurableChat(chat, {
    sessionId,
    onError: (error) => window.failures.push(`${error.code}: ${error.message}`),
    onConflict: ({ branch }) => {
      window.branches.push(branch.sessionId);
      if (window.follow) location.hash = branch.sessionId;
    },
  });
  useEffect(() => {
    Object.assign(window, { chat, durable: history, store });
  });
  return (
    <main data-testid="chat" data-ready={history.ready} data-status={chat.status}>
      {history.messages.map((message) => <p key={message.id} data-testid="message" data-role={message.role}>{textOf(message)}</p>)}
      {history.interrupted && <p data-testid="interrupted">interrupted</p>}
    </main>
  );
}

function App() {
  const [sessionId, setSessionId] = useState(location.hash.slice(1) || "a");
  useEffect(() => {
    const listener = () => setSessionId(location.hash.slice(1) || "a");
    addEventListener("hashchange", listener);
    return () => removeEventListener("hashchange", listener);
  }, []);
  return <Chat sessionId={sessionId} />;
}

createRoot(document.getElementById("root")).render(
  <StrictMode>
    <TurnmarkProvider open={open} options={{ name: "ai-sdk" }} fallback={null}><App /></TurnmarkProvider>
  </StrictMode>,
);
