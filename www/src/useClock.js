// The time, for ages: one timer for the whole page, rendering only what shows one.
import { useSyncExternalStore } from "react";

const EVERY_MS = 15_000;
let now = Date.now();
const listeners = new Set();
let timer = null;

function subscribe(listener) {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    listeners.forEach((notify) => notify());
  }, EVERY_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = null;
  };
}

/** Never before `since`: what has just happened is not in the future. */
export const useClock = (since = 0) => Math.max(useSyncExternalStore(subscribe, () => now), since);
