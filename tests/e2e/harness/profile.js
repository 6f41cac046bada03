// A browser profile whose browser is killed, with everything it runs, and what its pages were told is stored. The server that hears of it is
// outside of the browser.
import assert from "node:assert/strict";
import { appendFileSync, existsSync, readFileSync, readdirSync, rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import { temporary } from "./chromium.js";
import { LEVELDB } from "./engines.js";
import { PAGES, PKG } from "./paths.js";
import { bodyOf, serve } from "./server.js";

const DEADLINE_MS = 60_000;
/** How long a browser may take until it asks for its page. One that was killed in its start does not always come up the next time. */
const START_MS = 15_000;

/** What is drawn at random is drawn from this. */
export const SEED = Number(process.env.TURNMARK_SEED ?? Date.now() % 1_000_000);

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

/** Asks a browser to end, as its user does who closes the last window. */
export async function quit(child) {
  process.kill(child.pid, "SIGTERM");
  await Promise.race([child.ended, sleep(5000)]);
  await kill(child);
}

// Where no test runner is, the end of the process does it.
if (process.env.NODE_TEST_CONTEXT) after(() => Promise.all([...alive].map(kill)));
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
  /**
   * With where LevelDB's log ended then, and whether the page has heard since that it is lost (without sessions, or where the loss is total: all is).
   *
   * @type {Map<string, { session: string, hash: string, provisional: boolean, level: string, end: object | null, isToldLost?: boolean }>}
   */
  acknowledged = new Map();
  /** How many were acknowledged since the browser was started, and how many of them are on the disk. */
  fresh = 0;
  freshOnDisk = 0;
  falseStarts = 0;
  /** What the pages told of healing, and what their writes were refused with. */
  healings = [];
  refusals = [];
  /** What they told of losses. */
  losses = [];
  /** Hashes of what was acknowledged and lost, by checkpoint; and how many of them the mirror has brought back. */
  gone = new Map();
  broughtBack = 0;
  /** How the page is to behave, as part of its address. */
  query = "";
  #waiting = new Map();
  #server;
  #requested = [];
  #life = 0;
  /** The last life that ended with a power cut. */
  #cutOff = -1;

  /** A profile of a browser, in a folder of its own if none is named. */
  static async create({ engine = LEVELDB, folder = temporary("crash") } = {}) {
    const profile = new Profile();
    Object.assign(profile, { engine, folder });
    const hears = (event, note = () => {}) => async (request, response) => {
      const body = JSON.parse(await bodyOf(request));
      // What a browser said that is dead by now is true all the same, but nobody waits for it.
      const life = Number(new URL(request.url, "http://127.0.0.1").searchParams.get("life"));
      const isLate = life !== profile.#life;
      // What is told of a life whose power is cut already, nobody outside would have heard: a flush that was under way may have succeeded in vain.
      if (event === "acknowledged" && life <= profile.#cutOff) return void response.end();
      note(body, isLate);
      if (!isLate) profile.#tell(event, body);
      response.end(event === "report" ? JSON.stringify(profile.orders) : undefined);
    };
    const { origin, close } = await serve({
      mounts: { "/": PAGES, "/pkg/": PKG },
      routes: {
        "/report": hears("report"),
        "/acknowledged": hears("acknowledged", (one, isLate) => {
          profile.acknowledged.set(one.id, { ...one, end: profile.end });
          if (isLate) return;
          profile.fresh += 1;
          if (one.level === "disk") profile.freshOnDisk += 1;
        }),
        "/healed": hears("healed", (event) => profile.healings.push(event)),
        "/refused": hears("refused", (error) => profile.refusals.push(error)),
        "/lost": hears("lost", (event) => {
          profile.losses.push(event);
          const concerns = ({ session }) => event.sessions.length === 0 || event.message.startsWith("total") || event.sessions.some(({ sessionId }) => sessionId === session);
          for (const one of profile.acknowledged.values()) if (concerns(one)) one.isToldLost = true;
        }),
        "/back": hears("back", ({ sessions }) => {
          for (const { id, hash } of sessions.flatMap(({ checkpoints }) => checkpoints)) {
            if (profile.gone.get(id) !== hash) continue;
            profile.gone.delete(id);
            profile.broughtBack += 1;
          }
        }),
        "/closed": hears("closed"),
        "/failed": hears("failed", ({ error }, isLate) => isLate || profile.#fail(new Error(`the page failed: ${error}`))),
      },
      onRequest: (path) => {
        profile.#requested.push(path);
        profile.#tell("asked");
      },
    });
    profile.#server = { origin, close };
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
      const timer = setTimeout(() => {
        reject(new Error(`the page was silent for ${DEADLINE_MS} ms ("${event}" was expected); it had asked for ${this.#requested.join(" ")}`));
      }, DEADLINE_MS);
      const settle = (end) => (value) => {
        clearTimeout(timer);
        end(value);
      };
      this.#waiting.set(event, { test, resolve: settle(resolve), reject: settle(reject) });
    });
  }

  /** The disk below is about to lose its power. */
  cutOff() {
    this.#cutOff = this.#life;
  }

  get address() {
    return `${this.#server.origin}/crash.html?life=${this.#life}&${this.query}`;
  }

  /** What the page that is loaded next is answered when it has reported. */
  expect(orders) {
    this.orders = orders;
    this.#life += 1;
    this.fresh = 0;
    this.freshOnDisk = 0;
    this.#requested = [];
  }

  /** Starts a browser on the page; once more if it does not come up. */
  async start(orders) {
    for (let left = 2; ; left -= 1) {
      this.expect(orders);
      const asked = this.hears("asked").then(() => true, () => false);
      const child = this.engine.start(this.folder, this.address);
      child.ended = new Promise((resolve) => { child.once("exit", resolve); });
      alive.add(child);
      if (left === 0 || (await Promise.race([asked, sleep(START_MS)]))) return child;
      this.falseStarts += 1;
      await kill(child);
    }
  }

  /** Where LevelDB is. */
  get database() {
    const folder = join(this.folder, "Default/IndexedDB");
    const [name] = existsSync(folder) ? readdirSync(folder).filter((entry) => entry.endsWith(".leveldb")) : [];
    return name && join(folder, name);
  }

  /** The newest of LevelDB's logs, and how long it is. */
  get end() {
    const folder = this.engine === LEVELDB && this.database;
    if (!folder) return null;
    const logs = readdirSync(folder).filter((name) => /^\d+\.log$/.test(name)).sort();
    return logs.length === 0 ? null : { log: logs.at(-1), size: statSync(join(folder, logs.at(-1))).size };
  }

  /** Cuts so many bytes off the end of LevelDB's log, and tells where it ends now. */
  cut(bytes) {
    const { log, size } = this.end;
    const end = { log, size: Math.max(0, size - bytes) };
    truncateSync(join(this.database, log), end.size);
    return end;
  }

  /** Leaves the beginning of a record at the end of LevelDB's log, as a browser does that is killed while it writes one. */
  tear(length = 100) {
    const newest = join(this.database, this.end.log);
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
  // By session too: one that came back beside another of its id has the same checkpoints.
  const name = (session, id) => `${session} ${id}`;
  const stored = new Map(report.sessions.flatMap(({ id: session, checkpoints }) => checkpoints.map((checkpoint) => [name(session, checkpoint.id), checkpoint])));
  const lost = [];
  const changed = [];
  for (const [id, { hash, provisional, session }] of profile.acknowledged) {
    const now = stored.get(name(session, id));
    tally.checked += 1;
    if (now) {
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
  tally.unacknowledgedSeen += [...stored.values()].filter(({ id }) => !profile.acknowledged.has(id)).length;
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
 * acknowledged (`onDisk`: stamped so), and, with `heals`, until a store that is suspect is healed; `pause` milliseconds later `end` ends it. Without `seed` it only reports; then, or with `closes` after
 * it has written, it closes its store first.
 */
export async function life(profile, { seed, enough = 0, onDisk = 0, pause = 0, heals = false, closes = false, stubborn = false, look = () => {}, then = () => {}, end = kill }) {
  const goes = seed !== undefined;
  const reported = profile.hears("report");
  const isEnough = () => profile.fresh >= enough && profile.freshOnDisk >= onDisk;
  const written = goes && !closes && (enough > 0 || onDisk > 0) ? profile.hears("acknowledged", isEnough) : null;
  const closed = goes && !closes ? null : profile.hears("closed");
  const healed = heals ? profile.hears("healed") : null;
  for (const promise of [reported, written, closed, healed]) promise?.catch(() => {});
  const browser = await profile.start({ seed, go: goes, until: closes ? enough : null, stubborn });
  let ending = kill;
  try {
    const report = await reported;
    look(report);
    if (report.suspect !== null) await healed;
    await written;
    await closed;
    if (pause > 0) await sleep(pause);
    await then(browser);
    ending = end;
  } finally {
    await ending(browser);
  }
}
