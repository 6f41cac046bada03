// Whether a provisional checkpoint has lost its writer. Only the store knows: another tab may be writing it.
import { useEffect, useState } from "react";
import { useTurnmark } from "turnmark/react";

/** A writer that dies fires no event. */
const ASK_EVERY_MS = 2500;

/** `true`, `false`, or `null` while it is not known. */
export function useInterrupted(sessionId, provisional) {
  const { store } = useTurnmark();
  const [answer, setAnswer] = useState({ sessionId: null, interrupted: null });

  useEffect(() => {
    if (!provisional) {
      setAnswer({ sessionId: null, interrupted: null });
      return undefined;
    }
    let gone = false;
    const ask = async () => {
      try {
        const status = await store.status();
        if (!gone) setAnswer({ sessionId, interrupted: status.interrupted.some((entry) => entry.sessionId === sessionId) });
      } catch {
        // Asked again soon; what fails for longer is told by whatever else uses the store.
      }
    };
    ask();
    const timer = setInterval(ask, ASK_EVERY_MS);
    return () => {
      gone = true;
      clearInterval(timer);
    };
  }, [store, sessionId, provisional]);

  return answer.sessionId === sessionId ? answer.interrupted : null;
}
