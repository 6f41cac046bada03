// The turn a session is in, as React sees it.
import { useSyncExternalStore } from "react";

export const useTurn = (turns, sessionId) => useSyncExternalStore(turns.subscribe, () => turns.get(sessionId));
