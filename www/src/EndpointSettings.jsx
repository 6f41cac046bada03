// Lets the visitor connect a model of their own. Off by default, and off again after a reload.
import { useState, useSyncExternalStore } from "react";
import { endpoint } from "./endpoint.js";
import { explain } from "./errors.js";

export const useEndpoint = () => useSyncExternalStore(endpoint.subscribe, endpoint.get);

export function EndpointSettings() {
  const connected = useEndpoint();
  return (
    <section className="settings-part" aria-label="Assistant" data-testid="endpoint">
      <h3 className="settings-head">Assistant</h3>
      {connected ? <Connected {...connected} /> : <Connect />}
    </section>
  );
}

function Connected({ host, model }) {
  return (
    <>
      <p className="panel warned" data-testid="endpoint-state">
        <strong>{model} at {host} answers.</strong> Every question, with the chat before it, is sent there. Images stay here. The key is in this page’s memory only, and gone with a reload.
      </p>
      <button type="button" className="button small" onClick={endpoint.switchOff} data-testid="endpoint-off">Switch off</button>
    </>
  );
}

function Connect() {
  const [fields, setFields] = useState(() => ({ address: "", model: "", ...endpoint.remembered(), key: "" }));
  const [error, setError] = useState(null);
  const write = (name) => (event) => setFields({ ...fields, [name]: event.target.value });
  const submit = async (event) => {
    event.preventDefault();
    try {
      await endpoint.switchOn({ address: fields.address.trim(), model: fields.model.trim(), key: fields.key.trim() });
    } catch (cause) {
      setError(explain(cause));
    }
  };
  return (
    <>
      <p data-testid="endpoint-state">A small script in this page answers. Nothing leaves this page unless you connect an OpenAI-compatible endpoint here.</p>
      <details className="connect">
        <summary data-testid="endpoint-open">Connect an endpoint</summary>
        {error && <p className="panel failed" role="alert"><strong>{error.title}.</strong> {error.text}</p>}
        <form onSubmit={submit}>
          <label>Address<input className="field" type="url" required placeholder="http://localhost:11434/v1" value={fields.address} onChange={write("address")} data-testid="endpoint-address" /></label>
          <label>Model<input className="field" required spellCheck={false} value={fields.model} onChange={write("model")} data-testid="endpoint-model" /></label>
          <label>Key, if it wants one<input className="field" type="password" autoComplete="off" spellCheck={false} value={fields.key} onChange={write("key")} data-testid="endpoint-key" /></label>
          <p className="hint">What you ask, and the chat before it, is then sent to that address. The key is kept in this page’s memory: in no checkpoint, no export and no storage.</p>
          <button type="submit" className="button primary small" data-testid="endpoint-on">Switch on</button>
        </form>
      </details>
    </>
  );
}
