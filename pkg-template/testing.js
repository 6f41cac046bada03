// `turnmark/testing`: the contract of a saver as a suite that any saver can be run through.
import { ok } from "./testing-assert.js";
import { states } from "./testing-states.js";
import { listing } from "./testing-listing.js";
import { writes } from "./testing-writes.js";
import { forks } from "./testing-forks.js";

const CASES = [...states, ...listing, ...writes, ...forks];

/** What a saver may lack: cases that need it are skipped by name. */
export const CAPABILITIES = Object.freeze(["putWrites", "richValues"]);

/**
 * @param {object} options
 * @param {() => Promise<import("./index.js").Checkpointer>} options.create a saver that holds nothing, for one case
 * @param {(saver: any) => unknown} [options.destroy] default: its `close()`, where it has one
 * @param {(name: string, body: (context?: any) => Promise<void>) => unknown} [options.test] a runner's `test`, to register the cases with
 * @param {string[]} [options.lacks] of {@link CAPABILITIES}
 */
export function checkpointerSuite({ create, destroy = (saver) => saver.close?.(), test, lacks = [] }) {
  const unknown = lacks.find((capability) => !CAPABILITIES.includes(capability));
  ok(unknown === undefined, `there is no capability ${JSON.stringify(unknown)}; there are ${CAPABILITIES.join(", ")}`);

  /** Runs a case on a saver of its own; resolves to why it was skipped, if it was. */
  async function runCase({ needs = [], body }) {
    const saver = await create();
    try {
      const missing = needs.find((capability) => lacks.includes(capability) || (capability === "putWrites" && typeof saver.putWrites !== "function"));
      if (missing) return `the saver lacks ${missing}`;
      await body(saver);
      return undefined;
    } finally {
      await destroy(saver);
    }
  }

  if (test) {
    for (const entry of CASES) {
      test(entry.name, async (context) => {
        const skipped = await runCase(entry);
        if (skipped) context?.skip?.(skipped);
      });
    }
  }

  return {
    names: CASES.map(({ name }) => name),
    async run() {
      const results = [];
      for (const entry of CASES) {
        try {
          const skipped = await runCase(entry);
          results.push(skipped ? { name: entry.name, ok: true, skipped } : { name: entry.name, ok: true });
        } catch (error) {
          results.push({ name: entry.name, ok: false, error });
        }
      }
      return results;
    },
  };
}
