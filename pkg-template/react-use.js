// How every hook looks at a source of the provider's store.

import { useCallback, useEffect, useMemo, useSyncExternalStore } from "react";
import { useConnection } from "./react-context.js";
import { peek, sourceOf } from "./react-sources.js";

const nothing = () => {};

/** What a source of the provider's store shows. `id` is `null` where there is nothing to look at (yet). */
export function useSource(hook, kind, id, limit) {
  const { snapshot, report } = useConnection(hook);
  const { store, error } = snapshot;
  const blank = useMemo(() => {
    if (error) return { ...kind.blank, loading: false, error };
    return id === null ? { ...kind.blank, loading: false } : kind.blank;
  }, [kind, id === null, error]);
  const watched = store && id !== null;

  const subscribe = useCallback((listener) => (watched ? sourceOf(store, kind, id, limit).subscribe(listener) : nothing), [store, watched, kind, id, limit]);
  const get = () => (watched ? peek(store, kind, id, limit) : blank);
  const content = useSyncExternalStore(subscribe, get, () => (id === null ? blank : kind.blank));

  useEffect(() => {
    if (content.error) report(content.error);
  }, [content.error, report]);
  return content;
}
