// A chat on the AI SDK whose history turnmark/ai-sdk keeps. The address says which session: `#a`. The model is a transport in this page:
// it says "answer N to TEXT" word by word, and waits after `window.holdAfter` words.
import { StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { useChat } from "@ai-sdk/react";
import { useDurableChat } from "turnmark/ai-sdk";
import { open } from "turnmark/inline";
import { TurnmarkProvider, useTurnmark } from "turnmark/react";

const textOf = ({ parts }) => parts.filter(({ type }) => type === "text").map(({ text }) => text).join("");
const sleep = (time) => new Promise((resolve) => { setTimeout(resolve, time); });
window.holdAfter = Infinity;
window.failures = [];
let answers = 0;

const transport = {
  async sendMessages({ messages, abortSignal }) {
    answers += 1;
    const words = `answer ${answers} to ${textOf(messages.findLast(({ role }) => role === "user"))} and a few more words`.match(/\s*\S+/g);
    return new ReadableStream({
      async start(controller) {
        controller.enqueue({ type: "start" });
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
        controller.enqueue({ type: "finish" });
        controller.close();
      },
    });
  },
  reconnectToStream: async () => null,
};

function Chat({ sessionId }) {
  const { store } = useTurnmark();
  const chat = useChat({ id: sessionId, transport });
  const history = useDurableChat(chat, { sessionId, onError: (error) => window.failures.push(`${error.code}: ${error.message}`) });
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
