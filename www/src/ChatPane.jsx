// The middle pane: the messages of one chat, and where the next one is written.
import { useCallback, useEffect, useLayoutEffect, useRef } from "react";
import { useSession } from "turnmark/react";
import { SUGGESTED } from "./assistant.js";
import { ChatHeader } from "./ChatHeader.jsx";
import { Composer } from "./Composer.jsx";
import { Icon, Mark } from "./icons.jsx";
import { Message } from "./Message.jsx";
import { useReported } from "./notices.jsx";
import { useInterrupted } from "./useInterrupted.js";
import { useTurn } from "./useTurn.js";

export function ChatPane({ sessionId, turns, startChat, showTimeline, undo, redo }) {
  const session = useSession(sessionId);
  useReported(session.error);
  const turn = useTurn(turns, sessionId);
  const { head, loading } = session;
  // A finished turn is shown until the store has been read again.
  const settled = turn?.settled && head?.id === turn.settled;
  const messages = turn && !settled ? turn.messages : session.messages;
  const answering = turn?.answering ?? false;
  const provisional = !turn && (head?.provisional ?? false);
  const interrupted = useInterrupted(sessionId, provisional);
  const unsaved = turn?.unsaved ?? false;
  const busy = answering || unsaved || provisional;

  useEffect(() => {
    if (settled) turns.forget(sessionId);
  }, [settled, sessionId, turns]);

  // What a turn is begun on: what is shown and the checkpoint it is from. Another tab replaces an unfinished one all the
  // time; then the turn takes the newest it finds.
  const base = [head === null || (provisional && !interrupted) ? null : head.id, messages];
  // For callbacks that must not make every message render again.
  const latest = useRef(base);
  latest.current = base;
  const edit = useCallback((index, text) => turns.edit(sessionId, ...latest.current, index, text), [turns, sessionId]);
  const regenerate = useCallback((index) => turns.regenerate(sessionId, ...latest.current, index), [turns, sessionId]);
  const send = async (text) => turns.send(sessionId ?? (await startChat()), ...base, text);

  const end = messages.at(-1);
  const unanswered = !turn && !provisional && !loading && end?.role === "user";
  const log = useStickToEnd(sessionId, messages);

  return (
    <main className="pane chat" data-testid="chat-pane">
      <ChatHeader sessionId={sessionId} session={session} answering={answering} showTimeline={showTimeline} undo={undo} redo={redo} busy={busy} />
      <div className="messages" ref={log} role="log" aria-live="off" aria-label="Messages" aria-busy={loading || answering} tabIndex={0} data-testid="messages">
        {messages.length === 0 && !loading && <Welcome send={send} />}
        {session.error && messages.length === 0 && <p className="empty">This chat cannot be read: {session.error.message}</p>}
        {messages.map((message, index) => (
          <Message
            key={message.id ?? index} message={message} index={index} last={index === messages.length - 1} busy={busy}
            streaming={index === messages.length - 1 && message.role === "assistant" && (answering || (provisional && interrupted === false))} edit={edit} regenerate={regenerate}
          />
        ))}
        {provisional && interrupted && (
          <div className="resume" role="group" aria-label="Interrupted answer" data-testid="interrupted">
            <p><Icon name="warning" /><span><strong>Interrupted.</strong> The page that was writing this answer is gone. What had arrived by then is here.</span></p>
            <button type="button" className="button primary small" onClick={() => turns.resume(sessionId, ...base)} data-testid="continue">Continue</button>
            <button type="button" className="button small" onClick={() => turns.dismiss(sessionId, ...base)} data-testid="dismiss">Dismiss</button>
          </div>
        )}
        {unanswered && (
          <div className="resume plain" role="group" aria-label="Question without an answer" data-testid="unanswered">
            <p>This question has no answer yet.</p>
            <button type="button" className="button primary small" onClick={() => regenerate(messages.length)} data-testid="answer">Answer it</button>
          </div>
        )}
        {unsaved && (
          <div className="resume failed" role="group" aria-label="Unsaved turn" data-testid="unsaved">
            <p><Icon name="warning" /><span><strong>Not saved.</strong> This turn is only on your screen.</span></p>
            <button type="button" className="button primary small" onClick={() => turns.retry(sessionId)} data-testid="save-again">Save again</button>
            <button type="button" className="button small" onClick={() => turns.forget(sessionId)}>Discard</button>
          </div>
        )}
      </div>
      <Composer
        sessionId={sessionId} answering={answering} disabled={unsaved || loading} send={send} stop={() => turns.stop(sessionId)}
        hint={provisional && interrupted === false ? "Another tab is writing an answer here. If you send something now, its answer is kept as a branch." : null}
      />
    </main>
  );
}

function Welcome({ send }) {
  return (
    <div className="welcome" data-testid="welcome">
      <Mark size={52} />
      <h2>A chat that keeps every turn</h2>
      <p>Each turn becomes a checkpoint in this browser, stamped with how durable it really is. Roll back, fork, compare and undo from the timeline. Nothing leaves this page.</p>
      <ul className="suggestions">
        {SUGGESTED.map((text) => <li key={text}><button type="button" className="suggestion" onClick={() => send(text)} data-testid="suggestion">{text}</button></li>)}
      </ul>
    </div>
  );
}

/** Keeps the end in view while messages grow, unless the reader has scrolled away from it. */
function useStickToEnd(sessionId, messages) {
  const log = useRef(null);
  const stuck = useRef(true);
  useEffect(() => {
    const element = log.current;
    const onScroll = () => { stuck.current = element.scrollHeight - element.scrollTop - element.clientHeight < 80; };
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => element.removeEventListener("scroll", onScroll);
  }, []);
  const count = useRef(0);
  useLayoutEffect(() => {
    stuck.current = true;
  }, [sessionId]);
  useLayoutEffect(() => {
    // One's own new message is always shown.
    if (messages.length > count.current && messages.at(-1)?.role === "user") stuck.current = true;
    count.current = messages.length;
    if (stuck.current) log.current.scrollTop = log.current.scrollHeight;
  }, [messages]);
  return log;
}
