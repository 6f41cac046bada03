import { TurnmarkError, invalid } from "./errors.js";
import { checkFunction, checkId, checkObject } from "./check.js";
import { freshId } from "./ids.js";

/**
 * How a saver of ours offers to fork in one transaction. Registered, so that it is found across copies of the package.
 */
export const NATIVE_FORK = Symbol.for("turnmark.fork");

/** Channels whose writes have fixed places before all others (LangGraph's negative indexes). */
const SPECIAL = ["__error__", "__scheduled__", "__interrupt__", "__resume__"];

/** Fork over any saver. */
export class TimeTravelAPI {
  #saver;

  constructor(saver) {
    checkObject(saver, "saver");
    for (const method of ["get", "put"]) checkFunction(saver[method], `saver.${method}`);
    this.#saver = saver;
  }

  async fork(source, checkpointId, target = freshId()) {
    checkId(source, "source session id");
    checkId(checkpointId, "checkpoint id");
    checkId(target, "new session id");
    const saver = this.#saver;
    if (saver[NATIVE_FORK]) return saver[NATIVE_FORK](source, checkpointId, target);

    const origin = await saver.get(source, checkpointId);
    if (origin === undefined) {
      const what = `session ${JSON.stringify(source)} has no checkpoint ${JSON.stringify(checkpointId)}`;
      throw new TurnmarkError("UnknownCheckpoint", `${what}; it may have been pruned or deleted`);
    }
    if ((await saver.get(target)) !== undefined) {
      throw new TurnmarkError("AlreadyExists", `session ${JSON.stringify(target)} exists already; fork into another id`);
    }
    if (origin.pendingWrites.length > 0 && typeof saver.putWrites !== "function") {
      throw invalid("the checkpoint has pending writes, and this saver has no putWrites to take them along");
    }
    const checkpoint = await saver.put(target, origin.state, {
      source: "fork",
      kind: "branch-point",
      forkedFrom: { sessionId: source, checkpointId },
    });
    for (const [taskId, writes] of byTask(origin.pendingWrites)) await saver.putWrites(target, writes, taskId);
    return checkpoint;
  }
}

/** Pending writes by task. Special ones go last: an ordinary write's index is its place in the call. */
function byTask(pendingWrites) {
  const tasks = new Map();
  for (const [taskId, channel, value] of pendingWrites) {
    if (!tasks.has(taskId)) tasks.set(taskId, { ordinary: [], special: [] });
    tasks.get(taskId)[SPECIAL.includes(channel) ? "special" : "ordinary"].push([channel, value]);
  }
  return [...tasks].map(([taskId, { ordinary, special }]) => [taskId, [...ordinary, ...special]]);
}
