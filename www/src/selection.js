// Which session is open: the part of the address after "#", so that a reload, a second tab and the back button agree.
import { useCallback, useSyncExternalStore } from "react";

const LONGEST = 256;

function read() {
  try {
    const id = decodeURIComponent(location.hash.slice(1));
    return id.length > 0 && id.length <= LONGEST ? id : null;
  } catch {
    return null;
  }
}

function subscribe(listener) {
  addEventListener("hashchange", listener);
  return () => removeEventListener("hashchange", listener);
}

/** `[id, select]`; `null` is a new chat that does not exist yet. */
export function useSelection() {
  const id = useSyncExternalStore(subscribe, read);
  const select = useCallback((next) => {
    if (next !== read()) location.hash = next === null ? "" : encodeURIComponent(next);
  }, []);
  return [id, select];
}
