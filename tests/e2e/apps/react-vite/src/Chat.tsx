import { useRef } from "react";
import { useCheckpoints, useHarnessDevTools, useMessages, useSession, useSessions, useTurnmark } from "turnmark/react";

export function Chat({ sessionId, quiet = false }: { sessionId: string; quiet?: boolean }) {
  const { store, status } = useTurnmark();
  const { append, put, rollback, undo, redo, fork, head, canUndo, canRedo, loading, error } = useSession(sessionId);
  const { messages } = useMessages(sessionId);
  const { checkpoints } = useCheckpoints(sessionId, { limit: 20 });
  const { sessions } = useSessions();
  useHarnessDevTools({ enabled: !quiet, sessionId, tools: [{ name: "echo" }] });
  const renders = useRef(0);
  renders.current += 1;

  if (quiet) return <ul data-testid="quiet">{messages.map((message) => <li key={message.id}>{String(message.content)}</li>)}</ul>;

  // Two at once, as a click handler would: the second must not overtake the first.
  const say = () => {
    const n = messages.length;
    void append([{ id: `u${n}`, role: "user", content: `question ${n}` }]);
    void append([{ id: `a${n}`, role: "assistant", content: `answer ${n}` }], { metadata: { source: "job_complete" }, channels: { turns: n } });
  };
  const oldest = checkpoints.at(-1);
  return (
    <main data-testid="chat" data-status={status} data-loading={loading} data-error={error?.code} data-head={head?.id} data-renders={renders.current}>
      <ul data-testid="messages">{messages.map((message) => <li key={message.id}>{String(message.content)}</li>)}</ul>
      <ol data-testid="checkpoints">{checkpoints.map(({ id, kind, _durability: { level } }) => <li key={id} data-id={id}>{kind} {level}</li>)}</ol>
      <p data-testid="sessions">{sessions.map(({ id, messageCount }) => `${id}:${messageCount}`).sort().join(" ")}</p>
      <button data-testid="say" onClick={say}>say</button>
      <button data-testid="rollback" disabled={!oldest} onClick={() => void (oldest && rollback(oldest.id))}>to the oldest</button>
      <button data-testid="undo" disabled={!canUndo} onClick={() => void undo()}>undo</button>
      <button data-testid="redo" disabled={!canRedo} onClick={() => void redo()}>redo</button>
      <button data-testid="fork" onClick={() => void fork(head?.id, "forked")}>fork</button>
      <button data-testid="fail" onClick={() => void put({ messages: [{ id: "f", role: "user", content: () => 1 }] })}>fail</button>
      <button data-testid="gone" onClick={() => void rollback("cp_none")}>unknown</button>
      <p data-testid="ready">{store?.name}</p>
    </main>
  );
}
