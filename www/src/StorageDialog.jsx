// Who answers, and what the store and the browser say about the data: how much, how safe, and whether it is whole.
import { useCallback, useEffect, useState } from "react";
import { useTurnmark } from "turnmark/react";
import { Backup } from "./Backup.jsx";
import { Dialog } from "./Dialog.jsx";
import { EndpointSettings } from "./EndpointSettings.jsx";
import { explain } from "./errors.js";
import { age, bytes, plural } from "./format.js";
import { Icon } from "./icons.jsx";
import { useSessionList } from "./sessionList.jsx";

const LEVELS = {
  disk: "A checkpoint counts as saved when the browser reports it flushed to disk.",
  os: "Written, but not known to be flushed.",
  memory: "In memory only: gone with this page.",
};

export function StorageDialog({ onClose, open }) {
  const { store } = useTurnmark();
  const [status, setStatus] = useState(null);
  const [error, setError] = useState(null);
  const [asked, setAsked] = useState(null);
  const [report, setReport] = useState(null);
  const [repaired, setRepaired] = useState(null);
  const [busy, setBusy] = useState(null);

  const read = useCallback(() => store.status().then(setStatus, (cause) => setError(explain(cause))), [store]);
  useEffect(() => {
    read();
  }, [read]);

  const run = async (name, task) => {
    setBusy(name);
    setError(null);
    try {
      await task();
    } catch (cause) {
      setError(explain(cause));
    } finally {
      setBusy(null);
    }
  };
  const persist = () => run("persist", async () => {
    setAsked(await store.persist());
    await read();
  });
  const verify = () => run("verify", async () => {
    setRepaired(null);
    setReport(await store.verify());
  });
  const repair = () => run("repair", async () => {
    setRepaired(await store.repair());
    setReport(await store.verify());
    await read();
  });

  return (
    <Dialog title="Settings" onClose={onClose} testId="storage-dialog" actions={<button type="button" className="button primary" onClick={onClose}>Done</button>}>
      <EndpointSettings />
      <h3 className="settings-head">Storage</h3>
      {error && <p className="panel failed" role="alert"><strong>{error.title} <code className="error-code">{error.code}</code></strong> {error.text} {error.todo}</p>}
      {status === null ? <p className="empty">Reading…</p> : (
        <>
          <div className="figures" data-testid="storage-counts">
            <Figure number={status.counts.sessions} name="chat" />
            <Figure number={status.counts.checkpoints} name="checkpoint" />
            <Figure number={status.counts.messageRows} name="message row" />
            <Figure number={status.counts.objects} name="object" />
          </div>
          {status.quota && <Quota {...status.quota} />}
          <dl className="facts">
            <dt>Durability</dt>
            <dd data-testid="storage-durability"><span className={`stamp ${status.level}`} data-testid="storage-level"><span className="stamp-dot" aria-hidden="true" />{status.level}</span> <strong>{status.durability}</strong>. {LEVELS[status.level]}</dd>
            <dt>Persistence</dt>
            <dd data-testid="storage-persisted">
              {persistedText(status.persisted, asked)}
              {status.persisted === false && <button type="button" className="button small" disabled={busy !== null} onClick={persist} data-testid="persist">Keep my data</button>}
            </dd>
            <dt>Second copy</dt>
            <dd data-testid="storage-mirror"><SecondCopy mirror={status.mirror} /></dd>
            <dt>Backup</dt>
            <dd data-testid="storage-backup"><Backup /></dd>
            <dt>Integrity</dt>
            <dd>
              <Verified report={report} />
              <button type="button" className="button small" disabled={busy !== null} onClick={verify} data-testid="verify">{busy === "verify" ? "Verifying…" : "Verify"}</button>
              {report?.ok === false && repaired === null && <button type="button" className="button small" disabled={busy !== null} onClick={repair} data-testid="repair">{busy === "repair" ? "Repairing…" : "Repair"}</button>}
              {repaired && <span role="status" data-testid="repaired"> {plural(repaired.actions.length, "record")} set right, {repaired.lost.length === 0 ? "nothing stays lost" : `${plural(repaired.lost.length, "record")} stay lost`}.</span>}
            </dd>
            <dt>Answers</dt>
            <dd data-testid="storage-runs">
              {plural(status.runs.length, "answer")} being written, {status.interrupted.length} interrupted.
              {status.interrupted.map(({ sessionId, since }) => <Interrupted key={sessionId} sessionId={sessionId} since={since} open={() => { onClose(); open(sessionId); }} />)}
            </dd>
            <dt>Store</dt>
            <dd>{status.name} / {status.scope}, {status.backend}, schema {status.schemaVersion}, Turnmark {status.version}, connection {status.connection}</dd>
            <dt>Device</dt>
            <dd><code className="breakable">{status.deviceId}</code></dd>
            <dt>Console</dt>
            <dd><code>__HARNESS_DEVTOOLS__.help()</code> shows all of this and more.</dd>
          </dl>
          {status.dataLost && <p className="panel failed" role="alert">The browser threw this store's data away before it was opened.</p>}
        </>
      )}
    </Dialog>
  );
}

const Figure = ({ number, name }) => <div className="figure"><strong>{number.toLocaleString("en")}</strong><span>{number === 1 ? name : `${name}s`}</span></div>;

function Interrupted({ sessionId, since, open }) {
  const { sessions } = useSessionList();
  const title = sessions.find(({ id }) => id === sessionId)?.title ?? "Untitled chat";
  return <button type="button" className="button small" onClick={open} data-testid="storage-interrupted"><Icon name="warning" size={16} /><span className="clip">{title}</span> · {age(since)}</button>;
}

function Quota({ usage, quota }) {
  const share = quota > 0 ? usage / quota : 0;
  return (
    <div className="quota" data-testid="storage-quota">
      <p><span>{bytes(usage)} used</span><span>of {bytes(quota)} this browser allows</span></p>
      <meter min={0} max={1} low={0.7} high={0.9} optimum={0} value={share} aria-label="Share of the quota in use">{Math.round(share * 100)}%</meter>
    </div>
  );
}

function SecondCopy({ mirror }) {
  if (mirror === null) return "This browser gives the page no files to keep one in.";
  const { sessions, bytes: used, budget, full, recoverable } = mirror;
  const words = `The newest checkpoints of ${plural(sessions, "chat")} in files beside the database, ${bytes(used)} of ${bytes(budget)}. `;
  return <>{words}{full && "There was no room for all of them. "}{recoverable.length > 0 && <strong>{plural(recoverable.length, "chat")} can come back from there.</strong>}</>;
}

function persistedText(persisted, asked) {
  if (persisted === true) return <><Icon name="check" size={16} /> The browser has promised to keep this data. </>;
  if (persisted === null) return "This browser does not say. ";
  return asked === false ? "The browser said no: it decides by how this site is used. The data is kept unless the disk gets short. " : "The browser may delete this data when the disk gets short. ";
}

function Verified({ report }) {
  if (report === null) return "Every record can be read and checked against its hash. ";
  const { checked, faults } = report;
  const words = `${plural(checked.checkpoints, "checkpoint")}, ${plural(checked.messages, "message")} and ${plural(checked.objects, "object")} checked. `;
  return (
    <span data-testid="verify-report" data-ok={report.ok} role="status">
      {report.ok ? <><Icon name="check" size={16} /> <strong>Whole.</strong> {words}</> : <><Icon name="warning" size={16} /> <strong>{plural(faults.length, "fault")}.</strong> {words}</>}
      {faults.length > 0 && <span className="faults">{faults.slice(0, 20).map(({ record, fault, message }) => <span key={`${record} ${fault}`}><code>{fault}</code> {record}: {message}</span>)}</span>}
    </span>
  );
}
