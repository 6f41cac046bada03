// A browser profile whose browser is killed, with everything it runs, and what its pages were told is stored. The server that hears of it is
// outside of the browser.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import { CHROME, FLAGS, temporary } from "./chromium.js";
import { PAGES, PKG } from "./paths.js";
import { bodyOf, serve } from "./server.js";

const DEADLINE_MS = 30_000;

const alive = new Set();

/** SIGKILL for a browser and every process of its group. */
export function kill(child) {
  alive.delete(child);
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
  return child.ended;
}

after(() => Promise.all([...alive].map(kill)));
process.once("exit", () => alive.forEach(kill));

export function random(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

export const sleep = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });

/** One browser profile. */
export class Profile {
  folder = temporary("crash");
  /** @type {Map<string, { session: string, hash: string, provisional: boolean, level: string }>} */
  acknowledged = new Map();
  /** How many were acknowledged since the browser was started. */
  fresh = 0;
  /** What the pages told of healing. */
  healings = [];
  /** What follows the address of the page. */
  query = "";
  #waiting = new Map();
  #server;
  #args;
  deviceId = null;

  static async create(args = []) {
    const profile = new Profile();
    profile.#args = args;
    profile.#server = await serve({
      mounts: { "/": PAGES, "/pkg/": PKG },
      routes: {
        "/report": async (request, response) => {
          const report = JSON.parse(await bodyOf(request));
          profile.#tell("report", report);
          response.end(JSON.stringify(await profile.orders));
        },
        "/acknowledged": async (request, response) => {
          const one = JSON.parse(await bodyOf(request));
          profile.acknowledged.set(one.id, one);
          profile.fresh += 1;
          response.end();
          profile.#tell("acknowledged", profile.fresh);
        },
        "/healed": async (request, response) => {
          profile.healings.push(JSON.parse(await bodyOf(request)));
          response.end();
          profile.#tell("healed");
        },
        "/closed": (request, response) => {
          response.end();
          profile.#tell("closed");
        },
        "/failed": async (request, response) => {
          profile.#fail(new Error(`the page failed: ${JSON.parse(await bodyOf(request)).error}`));
          response.end();
        },
      },
    });
    return profile;
  }

  close() {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
    return this.#server.close();
  }

  #tell(event, value) {
    const waiter = this.#waiting.get(event);
    if (!waiter || !waiter.test(value)) return;
    this.#waiting.delete(event);
    waiter.resolve(value);
  }

  #fail(error) {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  /** Resolves when the page says so. */
  hears(event, test = () => true) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(reject, DEADLINE_MS, new Error(`the page was silent for ${DEADLINE_MS} ms ("${event}" was expected)`));
      const settle = (end) => (value) => {
        clearTimeout(timer);
        end(value);
      };
      this.#waiting.set(event, { test, resolve: settle(resolve), reject: settle(reject) });
    });
  }

  /** Starts a browser on the page. `orders` is what the page is answered when it has reported. */
  start(orders) {
    this.orders = orders;
    this.fresh = 0;
    // What the dead browser left: a lock that names its process.
    for (const name of ["SingletonLock", "SingletonCookie", "SingletonSocket"]) rmSync(join(this.folder, name), { force: true });
    const child = spawn(CHROME, [
      ...FLAGS, ...this.#args, "--headless=new", "--no-default-browser-check", "--disable-extensions", "--disable-breakpad", "--password-store=basic",
      "--use-mock-keychain", "--disable-dev-shm-usage", "--disable-features=Translate,OptimizationHints,MediaRouter", `--user-data-dir=${this.folder}`, `${this.#server.origin}/crash.html${this.query}`,
    ], { detached: true, stdio: "ignore" });
    child.ended = new Promise((resolve) => { child.once("exit", resolve); });
    alive.add(child);
    return child;
  }

  /** Where LevelDB is. */
  get database() {
    const folder = join(this.folder, "Default/IndexedDB");
    const [name] = existsSync(folder) ? readdirSync(folder).filter((entry) => entry.endsWith(".leveldb")) : [];
    return name && join(folder, name);
  }

  /** Leaves the beginning of a record at the end of LevelDB's log, as a browser does that is killed while it writes one. */
  tear(length = 100) {
    const logs = readdirSync(this.database).filter((name) => name.endsWith(".log")).map((name) => join(this.database, name));
    const [newest] = logs.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
    // No record of LevelDB's crosses a block of its log. Where one ends too soon, zeros fill it up, as LevelDB does.
    const BLOCK = 32_768;
    let room = BLOCK - (statSync(newest).size % BLOCK);
    if (room < length + 16) {
      appendFileSync(newest, new Uint8Array(room));
      room = BLOCK;
    }
    // Checksum, length (more than follows), and that it is whole.
    const claimed = room - 7;
    const header = [0x12, 0x34, 0x56, 0x78, claimed & 255, claimed >> 8, 0x01];
    appendFileSync(newest, Uint8Array.from({ length: 7 + length }, (_, at) => header[at] ?? (at * 31) & 255));
  }

  /** What LevelDB wrote down about itself. */
  diary() {
    const folder = this.database;
    if (!folder) return "(there is no LevelDB)";
    const read = (name) => (existsSync(join(folder, name)) ? readFileSync(join(folder, name), "utf8") : "");
    return `${read("LOG.old").split("\n").slice(-12).join("\n")}\n--\n${read("LOG")}\n${readdirSync(folder).join(" ")}`;
  }
}

/**
 * Compares what a page found with what the pages before it were told. A provisional checkpoint may be gone when a newer
 * one of its session has taken its place.
 */
export function compare(profile, report, tally) {
  const stored = new Map(report.sessions.flatMap(({ id: session, checkpoints }) => checkpoints.map((checkpoint, age) => [checkpoint.id, { ...checkpoint, session, age }])));
  const lost = [];
  const changed = [];
  for (const [id, { hash, provisional, session }] of profile.acknowledged) {
    const now = stored.get(id);
    tally.checked += 1;
    if (now && now.session === session) {
      if (now.hash === hash) tally.intact += 1;
      else changed.push(id);
      continue;
    }
    const followed = report.sessions.find((one) => one.id === session)?.checkpoints.some((checkpoint) => checkpoint.id > id);
    if (provisional && followed) {
      tally.replaced += 1;
      profile.acknowledged.delete(id);
    } else {
      lost.push(id);
    }
  }
  tally.unacknowledgedSeen += [...stored.keys()].filter((id) => !profile.acknowledged.has(id)).length;
  return { lost, changed };
}

/** Nothing by halves: every record whole, every head what its listing says, every message what its id says. */
export function isConsistent(report) {
  assert.ok(report.verified.ok, `verify() found ${JSON.stringify(report.verified.faults)}`);
  for (const { id, head, live, counted, checkpoints, broken } of report.sessions) {
    assert.equal(broken, null, `a message of session ${id} is not whole`);
    assert.ok(counted, `session ${id} counts other messages than it has`);
    assert.equal(checkpoints[0]?.id ?? null, head, `the head of session ${id} is not its newest checkpoint`);
    assert.equal(checkpoints[0]?.hash ?? live, live, `the live state of session ${id} is not its newest checkpoint's`);
    assert.deepEqual(checkpoints.filter((checkpoint) => checkpoint.odd), [], "half of a turn is visible");
    const unfinished = checkpoints.filter(({ provisional }) => provisional).map(({ id: checkpoint }) => checkpoint);
    assert.deepEqual(unfinished, report.interrupted.filter(({ sessionId }) => sessionId === id).map(({ checkpointId }) => checkpointId));
  }
}

/**
 * One life of a browser: it reports what it finds, `look` judges that, the page writes until so many checkpoints are
 * acknowledged (and, with `heals`, until the store is healed), and a moment later everything is killed. Without `seed` it only reports, closes its store, and is killed.
 */
export async function life(profile, { seed, enough = 0, pause = 0, heals = false, look = () => {} }) {
  const reported = profile.hears("report");
  const written = seed !== undefined && enough > 0 ? profile.hears("acknowledged", (count) => count >= enough) : null;
  const closed = seed === undefined ? profile.hears("closed") : null;
  const healed = heals ? profile.hears("healed") : null;
  for (const promise of [reported, written, closed, healed]) promise?.catch(() => {});
  const browser = profile.start({ seed, go: seed !== undefined });
  try {
    look(await reported);
    await healed;
    await written;
    await closed;
    await sleep(pause);
  } finally {
    await kill(browser);
  }
}
