import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { MOST, imagesOf, isImage } from "./attachments.js";
import { useEndpoint } from "./EndpointSettings.jsx";
import { Icon } from "./icons.jsx";
import { useNotices } from "./notices.jsx";
import { useDrop } from "./useDrop.js";

/** Where the next message is written. Its draft belongs to the chat it was begun in. */
export function Composer({ sessionId, answering, disabled, send, stop, hint, draft }) {
  const drafts = useRef(new Map());
  const field = useRef(null);
  const picker = useRef(null);
  const notices = useNotices();
  const model = useEndpoint();
  const [text, setText] = useState("");
  const [images, setImages] = useState([]);

  useEffect(() => {
    setText(drafts.current.get(sessionId) ?? "");
    setImages([]);
    if (matchMedia("(hover: hover)").matches && !document.querySelector("dialog[open]")) field.current.focus();
  }, [sessionId]);
  // What is to be written anew.
  useEffect(() => {
    if (!draft) return;
    // Without a text, what is being typed stays.
    if (draft.text !== null) {
      drafts.current.set(sessionId, draft.text);
      setText(draft.text);
    }
    setImages(draft.images ?? []);
    field.current.focus();
  }, [draft]);
  useLayoutEffect(() => {
    field.current.style.height = "auto";
    field.current.style.height = `${field.current.scrollHeight}px`;
  }, [text]);

  const write = (value) => {
    drafts.current.set(sessionId, value);
    setText(value);
  };
  const submit = (event) => {
    event?.preventDefault();
    if (text.trim() === "" || answering || disabled) return;
    write("");
    setImages([]);
    send(text.trim(), images);
  };
  const attach = async (files) => {
    try {
      const { images: added, refused } = await imagesOf(files, MOST - images.length);
      setImages((list) => [...list, ...added].slice(0, MOST));
      if (refused) notices.say(`Not attached: ${refused}.`);
    } catch (error) {
      notices.fail(error);
    }
  };
  useDrop((files) => files.some(isImage) && attach(files.filter(isImage)));
  const onPaste = (event) => {
    if (event.clipboardData.files.length === 0) return;
    event.preventDefault();
    attach(event.clipboardData.files);
  };
  const onKeyDown = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };

  return (
    <form className="composer" onSubmit={submit}>
      {hint && <p className="composer-hint" data-testid="composer-hint">{hint}</p>}
      {images.length > 0 && (
        <ul className="attachments" aria-label="Images that go with the message" data-testid="attachments">
          {images.map((image) => (
            <li key={image.id}>
              <img src={image.dataUrl} alt={image.filename ?? "Attached image"} />
              <button type="button" className="icon-button" aria-label={`Remove ${image.filename ?? "the image"}`} onClick={() => setImages(images.filter(({ id }) => id !== image.id))}><Icon name="close" size={14} /></button>
            </li>
          ))}
        </ul>
      )}
      <div className="composer-box">
        <input ref={picker} type="file" accept="image/*" multiple hidden onChange={(event) => { attach(event.target.files); event.target.value = ""; }} data-testid="attach-file" />
        <button type="button" className="icon-button" aria-label="Attach images" title="Attach images: they are kept with the prompt" disabled={images.length >= MOST} onClick={() => picker.current.click()} data-testid="attach"><Icon name="image" /></button>
        <textarea
          id="composer" ref={field} rows={1} value={text} placeholder={model ? `Ask ${model.model}` : "Ask the built-in assistant"} aria-label="Message" aria-describedby="composer-keys"
          onChange={(event) => write(event.target.value)} onKeyDown={onKeyDown} onPaste={onPaste} data-testid="composer"
        />
        {answering
          ? <button key="stop" type="button" className="send stop" aria-label="Stop answering" title="Stop" onClick={stop} data-testid="stop"><Icon name="stop" /></button>
          : <button key="send" type="submit" className="send" aria-label="Send" title="Send" disabled={text.trim() === "" || disabled} data-testid="send"><Icon name="send" /></button>}
      </div>
      <p id="composer-keys" className="composer-keys">{model ? `What you send goes to ${model.host}.` : "A small script answers, in this page."} <kbd>Enter</kbd> sends, <kbd>Shift</kbd>+<kbd>Enter</kbd> makes a new line.</p>
    </form>
  );
}
