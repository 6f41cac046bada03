// What an enemy would pass and import, by a seeded generator, in Node over memory and in real browsers: see tests/hostile. Each case must be
// kept and come back equal, or be refused with a code of the list and leave the store as it was, soon; and all engines must decide alike.
//
// TURNMARK_HOSTILE=20000,5000 asks for so many values and files, TURNMARK_HOSTILE_SEED for others than the usual ones.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { Worker } from "node:worker_threads";
import { launch } from "./harness/chromium.js";
import { LEFT_OUT, launch as launchFirefox } from "./harness/firefox.js";
import { HOSTILE, PAGES, PKG } from "./harness/paths.js";
import { serve } from "./harness/server.js";

const [VALUES, FILES] = (process.env.TURNMARK_HOSTILE ?? "2000,500").split(",").map(Number);
const SEED = Number(process.env.TURNMARK_HOSTILE_SEED ?? 1);
/** Cases at a time: a page that hangs is noticed after so many. */
const CHUNK = 100;
/** Milliseconds in which nothing is heard of a case, or of a chunk of them, before it counts as hanging. */
const SILENCE = 180_000;
const SILENCE_OF_CHUNK = 400_000;

/** Runs all cases in a thread. */
function inNode() {
  const progress = new SharedArrayBuffer(4);
  const told = new Int32Array(progress);
  const worker = new Worker(new URL("node.js", `file://${HOSTILE}`), { workerData: { pkg: `file://${PKG}index.js`, seed: SEED, values: VALUES, files: FILES, progress } });
  return new Promise((resolve, reject) => {
    let last = -1;
    let since = Date.now();
    const watch = setInterval(() => {
      const now = Atomics.load(told, 0);
      if (now !== last) [last, since] = [now, Date.now()];
      else if (Date.now() - since > SILENCE) reject(new Error(`Node hangs: seed ${SEED}, index ${now}`));
    }, 500);
    worker.once("message", resolve);
    worker.once("error", (error) => reject(error ?? new Error("something was thrown that is no error")));
    worker.once("exit", (code) => reject(new Error(`the thread ended with ${code}: seed ${SEED}, index ${Atomics.load(told, 0)}`)));
    worker.once("exit", () => clearInterval(watch));
  }).finally(() => worker.terminate());
}

/** Runs them on a page, chunk by chunk. */
async function onPage(page, name, base) {
  const results = {};
  for (const [kind, count] of [["values", VALUES], ["files", FILES]]) {
    results[kind] = { verdicts: [], failures: [] };
    for (let from = 0; from < count; from += CHUNK) {
      const work = page.evaluate(async ([database, seed, bundle, what, first, last]) => {
        const cases = bench(database, seed, bundle);
        try {
          return await cases[what](first, last);
        } finally {
          await cases.close();
        }
      }, [`${name}-${kind}-${from}`, SEED, base, kind, from, Math.min(from + CHUNK, count)]);
      let timer;
      const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`${name} hangs: seed ${SEED}, ${kind} from index ${from}`)), SILENCE_OF_CHUNK); });
      const { verdicts, failures } = await Promise.race([work, late]).finally(() => clearTimeout(timer));
      results[kind].verdicts.push(...verdicts);
      results[kind].failures.push(...failures);
    }
  }
  return results;
}

const digest = (verdicts) => createHash("sha256").update(verdicts.join("\n")).digest("hex").slice(0, 16);

/** Every bar, for one engine against the first. */
function judge(t, results, first) {
  for (const kind of ["values", "files"]) {
    const { verdicts, failures } = results[kind];
    assert.equal(failures.length, 0, `${failures.length} ${kind}:\n${failures.slice(0, 20).join("\n")}`);
    const at = verdicts.findIndex((verdict, i) => verdict !== first[kind].verdicts[i]);
    assert.equal(at, -1, `seed ${SEED}, ${kind}, index ${at}: "${verdicts[at]}" here, "${first[kind].verdicts[at]}" in Node`);
    assert.equal(verdicts.length, first[kind].verdicts.length);
    t.diagnostic(`${verdicts.length} ${kind}, ${verdicts.filter((verdict) => /: (kept|imported)/.test(verdict)).length} accepted, verdicts ${digest(verdicts)}`);
  }
}

// The two browsers side by side: each has a core.
describe("hostile values and files", { concurrency: true, timeout: 300_000 + (VALUES + FILES) * 600 }, () => {
  let server;
  let first;
  before(async () => {
    // Isolated, because only such pages have a SharedArrayBuffer.
    const headers = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };
    server = await serve({ mounts: { "/": PAGES, "/pkg/": PKG, "/hostile/": HOSTILE }, headers });
    first = await inNode();
  });
  after(() => server.close());

  test("in Node each is kept and comes back equal, or is refused in words and leaves no trace; and enough are of either kind", (t) => {
    // R1, R12, A-22; assistant-ui#1935: dangling ids are rejected at the door.
    judge(t, first, first);
    const accepted = (kind) => first[kind].verdicts.filter((verdict) => /: (kept|imported)/.test(verdict)).length;
    assert.ok(accepted("values") > VALUES / 10 && accepted("values") < VALUES * 0.9, `${accepted("values")} values were accepted`);
    assert.ok(accepted("files") > FILES / 100 && accepted("files") < FILES / 2, `${accepted("files")} files were accepted`);
    const places = new Set(first.values.verdicts.map((verdict) => verdict.split(":")[0]));
    assert.ok(VALUES < 1000 || places.size > 45, `only ${places.size} places were tried`);
  });

  for (const [name, start, skip] of [["Chromium", launch, false], ["Firefox", launchFirefox, LEFT_OUT]]) {
    test(`in ${name} too, on IndexedDB, and every verdict is the same`, { skip }, async (t) => {
      // matrix-org/matrix-rust-sdk#5420.
      const browser = await start();
      t.after(() => browser.close());
      const page = await browser.newPage();
      const faults = [];
      page.on("pageerror", (error) => faults.push(String(error)));
      await page.goto(`${server.origin}/hostile.html`);
      await page.waitForFunction(() => globalThis.bench);
      judge(t, await onPage(page, name, first.base), first);
      assert.deepEqual(faults, []);
    });
  }
});
