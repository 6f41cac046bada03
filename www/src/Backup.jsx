// A copy of everything in a folder of the user's, every ten minutes.
import { useEffect, useState } from "react";
import { backupOf } from "./backups.js";
import { explain } from "./errors.js";
import { useTurnmark } from "turnmark/react";

export function Backup() {
  const { store } = useTurnmark();
  const backup = backupOf(store);
  const [state, setState] = useState(null);
  const [saved, setSaved] = useState(null);
  const [error, setError] = useState(null);

  useEffect(() => {
    backup.resume().then(() => backup.state()).then(setState, (cause) => setError(explain(cause)));
  }, [backup]);

  const run = (act) => async () => {
    setError(null);
    try {
      setSaved(await act());
      setState(await backup.state());
    } catch (cause) {
      setError(explain(cause));
    }
  };

  if (typeof showDirectoryPicker !== "function") return "This browser lets no page write into a folder. Export saves everything as a file.";
  return (
    <>
      {state?.folder ? <>Copies go to the folder <strong>{state.folder}</strong> every ten minutes{state.permission === "granted" ? ". " : ", once you allow it again. "}</> : "A folder of yours can get a copy every ten minutes. "}
      {saved && <span role="status">Saved as {saved.fileName}. </span>}
      {error && <span role="alert">{error.text} </span>}
      {state?.folder && <button type="button" className="button small" onClick={run(() => backup.saveNow())} data-testid="backup-now">Save a copy now</button>}
      <button type="button" className="button small" onClick={run(() => backup.pick())} data-testid="backup-pick">{state?.folder ? "Another folder" : "Pick a folder"}</button>
    </>
  );
}
