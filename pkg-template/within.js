import { TurnmarkError } from "./errors.js";

/** Settles as `promise` does, unless that takes longer. */
export function within(milliseconds, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    const message = `${what} took longer than ${milliseconds} ms; try again, or pass a larger timeout`;
    timer = setTimeout(() => reject(new TurnmarkError("TimedOut", message)), milliseconds);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
