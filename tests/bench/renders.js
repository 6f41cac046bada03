// What renders in a React application with useChatHistory: nothing of the list while somebody types, one message for a token that arrives.
import { createElement as h, memo, useState } from "react";
import { createRoot } from "react-dom/client";
import { flushSync } from "react-dom";
import { open } from "turnmark";
import { TurnmarkProvider, useChatHistory } from "turnmark/react";

const TIMES = 20;
const frames = async (count) => {
  for (let i = 0; i < count; i += 1) await new Promise(requestAnimationFrame);
};
const until = async (test) => {
  while (!test()) await frames(1);
};

/** Renders of lists and messages for each letter that is typed and for each token, in a chat of 100 messages. */
globalThis.renders = async () => {
  const store = await open({ name: "renders" });
  const { session } = await store.newSession();
  await session.append(Array.from({ length: 100 }, (_, i) => ({ id: `m${i}`, role: i % 2 ? "assistant" : "user", content: `message ${i}` })));
  const count = { lists: 0, messages: 0 };
  const Message = memo(function Message({ message }) {
    count.messages += 1;
    return h("p", null, message.content);
  });
  const List = memo(function List({ messages }) {
    count.lists += 1;
    return messages.map((message) => h(Message, { key: message.id, message }));
  });
  let chat;
  let type;
  function App() {
    const [input, setInput] = useState("");
    chat = useChatHistory();
    type = setInput;
    return h("main", null, h("input", { value: input, readOnly: true }), h(List, { messages: chat.messages }));
  }
  const root = createRoot(document.body.appendChild(document.createElement("div")));
  root.render(h(TurnmarkProvider, { store }, h(App)));
  await until(() => chat?.messages.length === 100);

  Object.assign(count, { lists: 0, messages: 0 });
  for (let i = 1; i <= TIMES; i += 1) flushSync(() => type("x".repeat(i)));
  const typed = { ...count };

  const turn = await chat.begin({ raw: "q" });
  await turn.append([{ id: "q", role: "user", content: "q" }]);
  let content = "word";
  turn.stream({ id: "a", role: "assistant", content });
  await until(() => chat.messages.at(-1).content === content);
  await frames(30);
  Object.assign(count, { lists: 0, messages: 0 });
  for (let i = 0; i < TIMES; i += 1) {
    content += ` word ${i}`;
    turn.stream({ id: "a", role: "assistant", content });
    await until(() => document.body.textContent.includes(content));
    await frames(2);
  }
  const streamed = { ...count };
  await turn.end();
  root.unmount();
  return { typed: (typed.lists + typed.messages) / TIMES, streamed: streamed.messages / TIMES };
};
