"use client";

import { useSession } from "turnmark/react";

export function Chat() {
  const { messages, append, loading, head } = useSession("chat");
  const n = messages.length;
  const say = () => append([{ id: `u${n}`, role: "user", content: `question ${n}` }, { id: `a${n}`, role: "assistant", content: `answer ${n}` }]);
  return (
    <section data-testid="chat" data-loading={loading} data-level={head?._durability.level}>
      <ul data-testid="messages">{messages.map(({ id, content }) => <li key={id}>{content}</li>)}</ul>
      <button data-testid="say" onClick={say}>say</button>
    </section>
  );
}
