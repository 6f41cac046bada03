// `make torture`: what `make test` does to browsers a few times, done often and on every backend of IndexedDB that there is here. One table says what came of
// it. TURNMARK_SEED=n repeats what was drawn at random, TURNMARK_TORTURE_SCALE=0.1 does a tenth of it, TURNMARK_TORTURE_ONLY=word what has that word in its name.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { launch } from "./harness/chromium.js";
import { missing } from "./harness/disk.js";
import { FIREFOX, LEVELDB, SQLITE_BACKEND, WEBKIT } from "./harness/engines.js";
import { LEFT_OUT as NO_FIREFOX } from "./harness/firefox.js";
import {
  fullDisks, kills, nothingIsLost, nothingIsSilentlyLost, powerCuts, quotas, rendererCrashes, summary, tornLogs, tornWhileClosed,
} from "./harness/ordeals.js";
import { PAGES, PKG, TARGET } from "./harness/paths.js";
import { SEED } from "./harness/profile.js";
import { race } from "./harness/race.js";
import { serve } from "./harness/server.js";

// Every profile has a folder that is removed at the end.
process.setMaxListeners(0);

const SCALE = Number(process.env.TURNMARK_TORTURE_SCALE ?? 1);
const ONLY = process.env.TURNMARK_TORTURE_ONLY ?? "";
const EVERY = [LEVELDB, SQLITE_BACKEND, FIREFOX, WEBKIT];

const noDisk = await missing();
const absent = new Map([[FIREFOX, NO_FIREFOX], [WEBKIT, WEBKIT.isThere() ? false : "skipped: there is no WebKitGTK here"]]);

const on = (what, ordeal, totals, rest = {}) => totals.map(([engine, total]) => ({ what, ordeal, engine, total, ...rest }));
/** Where the engine itself may lose what is there, and that is told. */
const told = { judged: nothingIsSilentlyLost };

const PLAN = [
  ...on("SIGKILL", kills, EVERY.map((engine) => [engine, 100])),
  ...on("power cut", powerCuts, [[LEVELDB, 24], [SQLITE_BACKEND, 12], [FIREFOX, 12], [WEBKIT, 12]], { needsDisk: true }),
  ...on("full disk", fullDisks, [[LEVELDB, 6], [SQLITE_BACKEND, 2], [FIREFOX, 2], [WEBKIT, 2]], { needsDisk: true }),
  ...on("log torn (after a kill or a clean end)", tornLogs, [[LEVELDB, 80]]),
  ...on("log torn behind a clean end", tornWhileClosed, [[LEVELDB, 4]], told),
  ...on("page's process crashed", rendererCrashes, [[LEVELDB, 40]]),
  ...on("quota used up", quotas, [[LEVELDB, 10]]),
];

const rows = [];
const failures = [];
const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];

/** Does one thing and adds its line to the table. A line that was not reached is not there. */
async function undergo({ what, ordeal, engine, total, needsDisk = false, judged = nothingIsLost }) {
  const name = `${what}, ${engine.name}`;
  const why = absent.get(engine) || (needsDisk && noDisk);
  if (!name.includes(ONLY)) return;
  if (why) {
    console.log(`${name}: ${why}`);
    rows.push([what, engine.name, "skipped"]);
    return;
  }
  const start = Date.now();
  try {
    const tally = await ordeal({ engine, total: Math.max(1, Math.round(total * SCALE)), seed: SEED });
    let verdict = "";
    try {
      judged(tally);
    } catch (error) {
      verdict = ", **missed**";
      failures.push(`${name}: ${error.message}`);
    }
    const reported = tally.lostOnDisk - tally.unreported;
    rows.push([what, engine.name, `${tally.done}${verdict}`, tally.acknowledged, tally.lost, tally.lostOnDisk, `${reported} of ${tally.lostOnDisk}`, `${tally.broughtBack} of ${tally.lost}`, tally.halves, tally.healings.length === 0 ? "" : `${median(tally.healings)} ms (${tally.healings.length})`]);
    console.log(`${name}: ${((Date.now() - start) / 1000).toFixed(0)} s; ${summary(tally)}`);
    for (const line of tally.evidence) console.log(`  ${line.slice(0, 2000)}`);
  } catch (error) {
    rows.push([what, engine.name, "**broke off**"]);
    failures.push(`${name} broke off: ${error.stack}`);
    console.log(failures.at(-1));
  }
}

/** Eight tabs on shared sessions. */
async function racing() {
  const server = await serve({ mounts: { "/": PAGES, "/pkg/": PKG } });
  const context = await launch();
  const faults = [];
  const afterwards = [];
  const [tabs, each] = [8, Math.max(50, Math.round(500 * SCALE))];
  try {
    const { won, lost } = await race({ after: (end) => afterwards.push(end) }, context, `${server.origin}/blank.html`, { tabs, each });
    for (const end of afterwards) await end();
    rows.push([`${tabs} tabs race, ${each} writes each (${won} were first, ${lost} are in branches)`, LEVELDB.name, 1, won + lost, 0, 0, "0 of 0", "0 of 0", 0, ""]);
  } catch (error) {
    rows.push([`${tabs} tabs race, ${each} writes each`, LEVELDB.name, "**missed**"]);
    faults.push(`the race of the tabs: ${error.stack}`);
  } finally {
    await context.close();
    await server.close();
  }
  failures.push(...faults);
}

const HEAD = ["what", "backend", "times", "acknowledged", "lost", "of these stamped `disk`", "of these told", "back from the mirror", "halves", "healed in (times)"];

/** The table so far, as text. */
function table() {
  const versions = EVERY.filter((engine) => !absent.get(engine)).map((engine) => engine.version());
  const lines = [HEAD, HEAD.map(() => "---"), ...rows.map((row) => HEAD.map((_, i) => row[i] ?? ""))].map((cells) => `| ${cells.join(" | ")} |`);
  return `${new Date().toISOString().slice(0, 10)}, ${[...new Set(versions)].join(", ")}, seed ${SEED}${SCALE === 1 ? "" : `, scale ${SCALE}`}:\n\n${lines.join("\n")}\n`;
}

mkdirSync(TARGET, { recursive: true });
const file = join(TARGET, "torture.md");
console.log(`seed ${SEED} (TURNMARK_SEED=${SEED} repeats it)`);
if ("race".includes(ONLY)) await racing();
for (const one of PLAN) {
  await undergo(one);
  // A run that is broken off leaves what it has.
  writeFileSync(file, table());
}
console.log(`\n${table()}\n(also in ${file})`);
for (const failure of failures) console.error(`FAILED: ${failure.slice(0, 3000)}`);
process.exit(failures.length === 0 ? 0 : 1);
