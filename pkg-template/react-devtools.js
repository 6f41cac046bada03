// The hook that puts a provider's store on the console.

import { useContext, useEffect, useRef, useSyncExternalStore } from "react";
import { Connection } from "./react-context.js";
import { mountedStores } from "./react-sources.js";

const noStore = () => null;

/**
 * Installs `window.__HARNESS_DEVTOOLS__` while the component is mounted. Takes the provider's store or, called outside
 * of one, that of the newest provider on the page. The devtools are imported only here and only when enabled.
 */
export function useHarnessDevTools({ enabled = true, store, ...options } = {}) {
  const connection = useContext(Connection);
  const newest = useSyncExternalStore(mountedStores.subscribe, mountedStores.newest, noStore);
  const target = enabled ? (store ?? (connection ? connection.snapshot.store : newest)) : null;

  const latest = useRef(options);
  useEffect(() => {
    latest.current = options;
  });
  const { globalName, name, sessionId } = options;

  useEffect(() => {
    if (!target) return undefined;
    let uninstall = null;
    let gone = false;
    const tools = () => {
      const given = latest.current.tools;
      return typeof given === "function" ? given() : given;
    };
    import("./devtools.js")
      .then(({ installDevTools }) => {
        if (!gone) uninstall = installDevTools(target, { ...latest.current, ...(latest.current.tools && { tools }) });
      })
      // No error of the application's: it works as it does without devtools.
      .catch((error) => (latest.current.console ?? console).warn("%s", "turnmark: the devtools could not be installed:", error));
    return () => {
      gone = true;
      uninstall?.();
    };
  }, [target, globalName, name, sessionId]);
}
