import { report } from "./events.js";

/** Gives a class or an object what `await using` and `using` call, where the platform has it. Both close. */
export function disposable(target) {
  const add = (symbol, method) => symbol && Object.defineProperty(target, symbol, { value: method, configurable: true });
  add(Symbol.asyncDispose, function close() {
    return this.close();
  });
  // Nobody waits for this one, so its failure is reported instead.
  add(Symbol.dispose, function close() {
    this.close().catch(report);
  });
}
