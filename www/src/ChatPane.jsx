// The middle pane: the messages of one chat, and where the next one is written.
import { useCallback, useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from "react";
import { useChatHistory, useTurnmark } from "turnmark/react";
import { SUGGESTED } from "./assistant.js";
import { keptImages } from "./attachments.js";
import { ChatHeader } from "./ChatHeader.jsx";
import { Composer } from "./Composer.jsx";
import { excerpt, textOf } from "./format.js";
import { Icon, Mark } from "./icons.jsx";
import { Message } from "./Message.jsx";
import { useNotices, useReported } from "./notices.jsx";
import { Preview } from "./Preview.jsx";
import { takeBack } from "./useActions.js";

/** A chat that does not exist yet: shows nothing, and is never written to. */
const NEW = "a new chat";
/** Versions are looked up for so many of the newest answers. */
const RECENT = 40;

export function ChatPane({ sessionId, select, turns, showTimeline, undo, redo }) {
  const { store } = useTurnmark();
  const notices = useNotices();
  const chat = useChatHistory({ sessionId: sessionId ?? NEW });
  useReported(chat.error?.code === "ActiveRun" ? null : chat.error);
  const unsaved = useSyncExternalStore(turns.subscribe, () => turns.isUnsaved(sessionId));
  const { messages, head, streaming, interrupted, status } = chat;
  const loading = status === "loading";
  const answering = streaming?.mine ?? false;
  const busy = streaming !== null || unsaved || interrupted !== null;
  const [draft, setDraft] = useState(null);
  const [preview, setPreview] = useState(false);

  // For callbacks that must not make every message render again.
  const latest = useRef(null);
  latest.current = { chat, messages, head, sessionId };

  /** Runs an action that a running answer forbids; it can be stopped for it. */
  const guarded = useCallback(async (action) => {
    try {
      return await action();
    } catch (error) {
      if (error?.code === "ActiveRun") notices.fail(error, [{ label: "Stop it and go on", run: () => action({ abortRun: true }).catch(notices.fail) }]);
      else notices.fail(error);
      return null;
    }
  }, [notices]);
  /** The way back from something that was restored. */
  const undoing = useCallback((id, done) => ({ label: "Undo", run: () => guarded((options) => takeBack(store, id, done, options)) }), [guarded, store]);
  const goBack = useCallback((message, edit) => guarded(async (options) => {
    const { chat: { restore, edit: editFrom }, sessionId: id } = latest.current;
    const done = await (edit ? editFrom : restore)(message.id, options);
    // The images that were beside the prompt come back with either; its words only with Edit.
    const images = keptImages(done.ui);
    if (edit || images.length > 0) setDraft({ text: edit ? (done.rawPrompt ?? textOf(message)) : null, images, key: done.checkpoint.id });
    const count = done.removedMessageIds.length;
    const files = done.matchedCheckpointId === null ? " No checkpoint was taken before it, so only the chat went back." : "";
    notices.say(`Went back to before “${excerpt(textOf(message), 40)}”: ${count} ${count === 1 ? "message" : "messages"} taken away.${files}`, [undoing(id, done)]);
    return done;
  }), [guarded, notices, undoing]);
  const regenerate = useCallback((index) => {
    const { chat: now, messages: list } = latest.current;
    const question = list.slice(0, index).findLast(({ role }) => role === "user");
    return turns.regenerate(now, question, list[index] === undefined ? 0 : (list[index].variant ?? 0) + 1);
  }, [turns]);
  const show = useCallback((list, at) => guarded(async (options) => {
    const { chat: now, sessionId: id } = latest.current;
    const done = await now.show(list[at], options);
    notices.say(`Answer ${at + 1} of ${list.length} is shown, with what followed it.`, [undoing(id, done)], "versions");
  }), [guarded, notices, undoing]);
  const versions = useCallback((id) => latest.current.chat.versions(id), []);

  // A first message makes the session it is sent in, which seals the one before.
  const pending = useRef(null);
  const send = (text, images) => turns.send(chat, { text, images, parent: head?.id ?? null, isFirst: messages.length === 0 }).then((begun) => {
    if (!begun) setDraft({ text, images, key: Date.now() });
  });
  const left = useRef(null);
  if (sessionId !== null) left.current = sessionId;
  const begin = async (text, images = []) => {
    if (sessionId !== null) return send(text, images);
    const made = await guarded(async (options) => {
      const found = await sealing(store, left.current, options);
      // It was refused first, and put back into the message field.
      if (options?.abortRun) setDraft({ text: "", images: [], key: Date.now() });
      pending.current = { sessionId: found.sessionId, text, images };
      select(found.sessionId);
      if (found.sealed) notices.say(`Session ${found.number} has begun. The one before is sealed.`, [{ label: "Back to it", run: () => select(found.sealed.sessionId) }]);
      return found;
    });
    if (made === null) setDraft({ text, images, key: Date.now() });
  };
  useEffect(() => {
    if (loading || pending.current?.sessionId !== sessionId) return;
    const { text, images } = pending.current;
    pending.current = null;
    send(text, images);
  });

  const recover = (options) => guarded(async () => {
    const done = await chat.recover(options);
    if (done) notices.say(done.action === "dropped" ? "Discarded what had arrived of the answer, for good." : "Kept what had arrived. The answer stays marked as interrupted.");
  });
  const stop = () => (turns.stop(sessionId) ? undefined : guarded(() => chat.abortRun()));
  const end = messages.at(-1);
  const unanswered = !busy && !loading && end?.role === "user";
  const log = useStickToEnd(sessionId, messages);

  return (
    <main className="pane chat" data-testid="chat-pane">
      <ChatHeader sessionId={sessionId} session={chat} select={select} answering={answering} showTimeline={showTimeline} undo={undo} redo={redo} busy={busy} togglePreview={() => setPreview(!preview)} preview={preview} />
      {preview && <Preview reloadKey={chat.reloadKey} />}
      <div className="messages" ref={log} role="log" aria-live="off" aria-label="Messages" aria-busy={loading || answering} tabIndex={0} data-testid="messages">
        {messages.length === 0 && !loading && <Welcome send={begin} />}
        {chat.error && messages.length === 0 && status === "error" && <p className="empty">This chat cannot be read: {chat.error.message}</p>}
        {messages.map((message, index) => (
          <Message
            key={keyOf(messages, index)} message={message} index={index} last={index === messages.length - 1} busy={busy} locked={unsaved || interrupted !== null}
            streaming={streaming !== null && (message.id === streaming.messageId)} goBack={goBack} regenerate={regenerate}
            asked={message.role === "assistant" && messages.length - index <= RECENT ? (messages[index - 1]?.id ?? null) : null} versions={versions} show={show} head={head?.id ?? null}
          />
        ))}
        {interrupted && (
          <div className="resume" role="group" aria-label="Interrupted answer" data-testid="interrupted">
            <p><Icon name="warning" /><span><strong>Interrupted.</strong> The page that was writing this answer is gone. What had arrived by then is here.</span></p>
            <button type="button" className="button primary small" onClick={() => recover()} data-testid="keep">Keep it</button>
            <button type="button" className="button small" title="What had arrived is deleted: this cannot be undone" onClick={() => recover({ drop: true })} data-testid="discard">Discard it</button>
          </div>
        )}
        {unanswered && (
          <div className="resume plain" role="group" aria-label="Question without an answer" data-testid="unanswered">
            <p>This question has no answer yet.</p>
            <button type="button" className="button primary small" onClick={() => regenerate(messages.length)} data-testid="answer">Answer it</button>
          </div>
        )}
        {unsaved && (
          <div className="resume failed" role="group" aria-label="Unsaved answer" data-testid="unsaved">
            <p><Icon name="warning" /><span><strong>Not saved.</strong> The end of this answer is only on your screen.</span></p>
            <button type="button" className="button primary small" onClick={() => turns.retry(sessionId)} data-testid="save-again">Save again</button>
            <button type="button" className="button small" onClick={() => turns.discard(sessionId)}>Discard</button>
          </div>
        )}
      </div>
      <Composer
        sessionId={sessionId} answering={streaming !== null} disabled={unsaved || loading || interrupted !== null} send={begin} stop={stop} draft={draft}
        hint={streaming && !streaming.mine ? "Another tab is writing an answer here. You can stop it." : null}
      />
    </main>
  );
}

/** The versions of an answer are one place on the page: whoever goes from one to the next keeps the focus. */
function keyOf(messages, index) {
  const [before, { role, id }] = [messages[index - 1], messages[index]];
  return role === "assistant" && before?.role === "user" && before.id !== undefined ? `after ${before.id}` : (id ?? index);
}

/** A new session after the one that was shown here, which need not be the one that another tab made the active one. */
async function sealing(store, from, options) {
  try {
    return await store.newSession({ ...(from !== null && { from }), ...options });
  } catch (error) {
    if (error?.code !== "UnknownSession") throw error;
    return store.newSession(options);
  }
}

function Welcome({ send }) {
  return (
    <div className="welcome" data-testid="welcome">
      <Mark size={52} />
      <h2>A chat that keeps every turn</h2>
      <p>Each turn becomes a checkpoint in this browser, stamped with how durable it really is. Restore, edit, answer again, fork, compare and undo. Nothing leaves this page unless you connect a model in Settings.</p>
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
