// Choosing a file, watching it being written, and reading what became of it.
import { useCallback, useEffect, useRef, useState } from "react";
import { importChatGPT } from "turnmark/chatgpt";
import { useTurnmark } from "turnmark/react";
import { Dialog } from "./Dialog.jsx";
import { explain } from "./errors.js";
import { plural } from "./format.js";
import { Icon } from "./icons.jsx";
import { readImport } from "./importFile.js";
import { useSessionList } from "./sessionList.jsx";

/** `onBusy` hears when writing begins and ends. */
export function ImportDialog({ file, onClose, onBusy, open }) {
  const { store } = useTurnmark();
  const [state, setState] = useState({ step: "choose" });
  const control = useRef(null);

  const start = useCallback(async (chosen, onExisting) => {
    control.current = new AbortController();
    const { signal } = control.current;
    setState({ step: "reading", name: chosen.name });
    try {
      // Let the words above appear before a large file is parsed.
      await new Promise((resolve) => setTimeout(resolve, 30));
      const read = await readImport(chosen);
      if (read.kind === "bundle") {
        setState({ step: "writing", name: chosen.name, progress: null });
        setState({ step: "bundle", report: await store.import(read.text, { onExisting }) });
        return;
      }
      setState({ step: "writing", name: chosen.name, progress: { messages: 0, totalMessages: 1 } });
      const report = await importChatGPT(store, read.parsed, { signal, onProgress: (progress) => setState({ step: "writing", name: chosen.name, progress }) });
      setState({ step: "chatgpt", report });
    } catch (error) {
      setState({ step: "failed", error: explain(error), exists: error?.code === "AlreadyExists" ? chosen : null });
    }
  }, [store]);

  const writing = state.step === "writing" || state.step === "reading";
  useEffect(() => {
    onBusy(writing);
    return () => onBusy(false);
  }, [writing, onBusy]);

  const begun = useRef(null);
  useEffect(() => {
    if (file === null || begun.current === file) return;
    begun.current = file;
    start(file);
  }, [file, start]);

  const close = () => (writing ? control.current.abort() : onClose());
  const actions = writing
    ? <button type="button" className="button" onClick={() => control.current.abort()} disabled={!state.progress} data-testid="import-cancel">Stop</button>
    : <button type="button" className="button primary" onClick={onClose} data-testid="import-done">{state.step === "choose" ? "Close" : "Done"}</button>;

  return (
    <Dialog title="Import" onClose={close} testId="import-dialog" actions={actions}>
      {state.step === "choose" && <Choose start={start} />}
      {writing && <Progress {...state} />}
      {state.step === "failed" && (
        <div className="panel failed" role="alert" data-testid="import-error">
          <strong>{state.error.title} <code className="error-code">{state.error.code}</code></strong>
          <p>{state.error.text} {state.error.todo}</p>
          {state.exists && (
            <p className="button-row">
              <button type="button" className="button small" onClick={() => start(state.exists, "rename")} data-testid="import-rename">Import as copies</button>
              <button type="button" className="button small" onClick={() => start(state.exists, "skip")} data-testid="import-skip">Only what is new</button>
            </p>
          )}
        </div>
      )}
      {state.step === "chatgpt" && <ChatGPTReport report={state.report} open={(id) => { onClose(); open(id); }} />}
      {state.step === "bundle" && <BundleReport report={state.report} open={(id) => { onClose(); open(id); }} />}
    </Dialog>
  );
}

function Choose({ start }) {
  return (
    <>
      <p>Choose <code>conversations.json</code> of a ChatGPT export, or a bundle that was exported here. You can also drop the file anywhere on the page. It is read in this page and sent nowhere.</p>
      <label className="file-field">
        <Icon name="import" size={22} />
        <span>Choose a file</span>
        <input type="file" accept=".json,application/json" onChange={(event) => event.target.files[0] && start(event.target.files[0])} data-testid="import-file" />
      </label>
    </>
  );
}

function Progress({ step, name, progress }) {
  const share = progress ? Math.min(1, progress.messages / Math.max(1, progress.totalMessages)) : undefined;
  return (
    <div className="import-progress" data-testid="import-progress">
      <p role="status">{step === "reading" ? `Reading ${name}…` : progress?.title ? `Writing “${progress.title}”` : `Writing ${name}…`}</p>
      <progress max={1} value={share} aria-label="Import" />
      {progress && <p className="checkpoint-meta">{progress.messages.toLocaleString("en")} of {plural(progress.totalMessages, "message")}{progress.conversations ? `, ${plural(progress.conversations, "conversation")}` : ""}</p>}
    </div>
  );
}

const ACTIONS = { imported: "imported", continued: "continued", existing: "already here" };

function ChatGPTReport({ report, open }) {
  const lines = report.sessions.flatMap((session) => [session, ...session.branches]);
  const fresh = lines.filter(({ action }) => action !== "existing");
  const messages = lines.reduce((sum, line) => sum + line.messages, 0);
  return (
    <div data-testid="import-report">
      <p className="panel ok" role="status" data-testid="import-summary">
        <Icon name="check" /> {fresh.length === 0
          ? "Everything in this file is here already; nothing was written twice."
          : `${plural(messages, "message")} imported into ${plural(fresh.length, "chat")}${lines.length > fresh.length ? `; ${lines.length - fresh.length} were here already` : ""}.`}
      </p>
      <ul className="report">
        {report.sessions.slice(0, 200).map((session) => (
          <li key={session.sessionId}>
            <p className="report-line">
              <button type="button" className="link clip" onClick={() => open(session.sessionId)} data-testid="import-open">{session.title}</button>
              <span className={session.action === "existing" ? "tag" : "tag good"}>{ACTIONS[session.action]}</span>
            </p>
            <p className="checkpoint-meta">
              <span>{plural(session.messages, "message")}</span><span>{plural(session.checkpoints, "checkpoint")}</span>
              {session.branches.length > 0 && <span>{plural(session.branches.length, "branch", "branches")}</span>}
              {session.hidden > 0 && <span>{session.hidden} hidden by ChatGPT, left out</span>}
            </p>
            {session.repairs.length > 0 && <ul className="repairs" data-testid="import-repairs">{session.repairs.map((text) => <li key={text}>{text}</li>)}</ul>}
          </li>
        ))}
      </ul>
      {report.sessions.length > 200 && <p className="empty">And {report.sessions.length - 200} more.</p>}
      <Skipped rows={report.skipped.map(({ title, reason }) => [title ?? "Without a title", reason])} />
    </div>
  );
}

function BundleReport({ report, open }) {
  const { sessions } = useSessionList();
  const titles = new Map(sessions.map(({ id, title }) => [id, title]));
  const nameOf = (id) => titles.get(id) ?? id;
  const imported = report.sessions.length;
  return (
    <div data-testid="import-report">
      <p className="panel ok" role="status" data-testid="import-summary"><Icon name="check" /> {imported === 0 ? "Nothing in this bundle is new." : `${plural(imported, "chat")} imported with the whole history.`}</p>
      <ul className="report">
        {report.sessions.slice(0, 200).map(({ id, importedAs, checkpoints, messages }) => (
          <li key={importedAs}>
            <p className="report-line"><button type="button" className="link clip" onClick={() => open(importedAs)} data-testid="import-open">{nameOf(importedAs)}</button>{importedAs !== id && <span className="tag">copy</span>}</p>
            <p className="checkpoint-meta"><span>{plural(messages, "message")}</span><span>{plural(checkpoints, "checkpoint")}</span></p>
          </li>
        ))}
      </ul>
      <Skipped rows={report.skipped.map(({ id, reason }) => [nameOf(id), reason])} />
    </div>
  );
}

function Skipped({ rows }) {
  if (rows.length === 0) return null;
  return (
    <div className="panel" data-testid="import-skipped">
      <strong>{plural(rows.length, "entry", "entries")} not imported</strong>
      <ul className="repairs">{rows.slice(0, 100).map(([name, reason], i) => <li key={i}>{name}: {reason}.</li>)}</ul>
    </div>
  );
}
