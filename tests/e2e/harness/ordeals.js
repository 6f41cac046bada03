// What browsers are put through with a store open, as often as is asked for, and what came of it: `make test` does each a few times, `make torture` often.
import assert from "node:assert/strict";
import { join } from "node:path";
import { launch } from "./chromium.js";
import { Disk } from "./disk.js";
import { LEVELDB } from "./engines.js";
import { Profile, compare, isConsistent, kill, life, quit, random, sleep } from "./profile.js";

/** What is counted. */
export const counts = () => ({
  done: 0, acknowledged: 0, checked: 0, intact: 0, replaced: 0, unacknowledgedSeen: 0,
  /** Acknowledged and gone: in all, of these stamped "disk", and of those of which the library said nothing. */
  lost: 0, lostOnDisk: 0, unreported: 0,
  /** Starts that found something gone and said so, if only of some sessions: the witness may be a second behind. */
  told: 0,
  /** Of what was lost, what the mirror has brought back. */
  broughtBack: 0,
  /** Gone with the end of a log that was cut off, or with the power and never called safe: these had to go. */
  excused: 0,
  /** Records, heads, turns by halves, and acknowledged checkpoints that came back different. */
  halves: 0,
  /** Killed again before the store was healed, and what was lost after that (in `lost` too). */
  unhealed: 0, lostUnhealed: 0,
  /** Writes that were refused; browsers that ended by themselves on a full disk, such that did not go on when there was space again; and such that had to be started twice. */
  refused: 0, crashed: 0, stuck: 0, falseStarts: 0, healings: [], evidence: [],
});

/** Judges one start of a profile. `isExcused` says which checkpoints had to go, `wasHealed` whether the store was when its browser ended. */
function judge(profile, report, tally, { isExcused = () => false, wasHealed = true, after = "" } = {}) {
  try {
    isConsistent(report);
  } catch (error) {
    tally.halves += 1;
    tally.evidence.push(error.message);
  }
  const { lost, changed } = compare(profile, report, tally);
  tally.halves += changed.length;
  if (changed.length > 0) tally.evidence.push(`came back different: ${changed.join(" ")}`);
  const gone = lost.map((id) => profile.acknowledged.get(id)).filter((one) => !isExcused(one));
  tally.excused += lost.length - gone.length;
  tally.lost += gone.length;
  if (!wasHealed) tally.lostUnhealed += gone.length;
  const onDisk = gone.filter(({ level }) => level === "disk");
  tally.lostOnDisk += onDisk.length;
  tally.unreported += onDisk.filter(({ isToldLost }) => !isToldLost).length;
  if (gone.length > 0) {
    if (report.dataLost) tally.told += 1;
    tally.evidence.push(
      `${after}${gone.length} of ${profile.acknowledged.size} acknowledged checkpoints are gone, ${onDisk.length} of them stamped "disk"; the store was ${wasHealed ? "" : "not "}healed when its browser ended; `
      + `upgrade events: ${JSON.stringify(report.dataLoss)}; the library said: ${JSON.stringify({ dataLost: report.dataLost, lost: report.lost, told: profile.losses, refused: profile.refusals })}\n${profile.diary()}`,
    );
  }
  for (const { id, hash } of gone) profile.gone.set(id, hash);
  for (const id of lost) profile.acknowledged.delete(id);
}

/** Two at a time does each of these, and the first error of any is thrown. */
async function twoAtATime(works) {
  const waiting = [...works];
  const worker = async () => {
    for (let work = waiting.shift(); work; work = waiting.shift()) await work();
  };
  const outcomes = await Promise.allSettled([worker(), worker()]);
  for (const { reason } of outcomes) if (reason) throw reason;
}

/** So many of them, dealt to groups of at most `size`. */
const groups = (total, size) => Array.from({ length: Math.ceil(total / size) }, (_, i) => Math.min(size, total - i * size));

/** An ordeal on profiles of an engine, two at a time, with `onDisk` each on a disk of its own. `each` does `size` of what is to be done on one. */
async function onProfiles({ engine = LEVELDB, total, size, seed, onDisk = false }, each) {
  const tally = counts();
  await twoAtATime(groups(total, size).map((part, i) => async () => {
    const disk = onDisk ? new Disk() : null;
    const profile = await Profile.create({ engine, ...(disk && { folder: join(disk.folder, "profile") }) });
    try {
      await each({ profile, size: part, index: i, next: random(seed + i), tally, disk });
      tally.healings.push(...profile.healings.map(({ milliseconds }) => milliseconds));
      tally.refused += profile.refusals.length;
      tally.falseStarts += profile.falseStarts;
      tally.broughtBack += profile.broughtBack;
    } finally {
      await profile.close();
      await disk?.close();
    }
  }));
  return tally;
}

/** Lives of a profile, each judged; counts what they acknowledged. */
const living = (profile, tally) => async (options, about) => {
  await life(profile, { look: (report) => judge(profile, report, tally, about), ...options });
  tally.acknowledged += profile.fresh;
};

/** SIGKILLs at random instants. */
export function kills({ total, size = 10, ...rest }) {
  return onProfiles({ total, size, ...rest }, async ({ profile, size: rounds, next, tally }) => {
    let [wasHealed, suspect, healings] = [true, false, 0];
    const look = (report) => {
      judge(profile, report, tally, { wasHealed });
      [suspect, healings] = [report.suspect !== null, profile.healings.length];
    };
    const lives = living(profile, tally);
    for (let round = 0; round < rounds; round += 1) {
      await lives({ seed: next(1e9), enough: next(8) === 0 ? 0 : 1 + next(30), pause: next(250), look });
      tally.done += 1;
      // Killed once more before it was healed, Chromium may find the damage of the first kill: nothing in the page can prevent that.
      wasHealed = !suspect || profile.healings.length > healings;
      if (!wasHealed) tally.unhealed += 1;
    }
    await lives({ look });
  });
}

/** Power cuts at the n-th acknowledgement. With `query` "relaxed" all that was acknowledged is stamped "os". */
export function powerCuts({ total, size = 5, query = "", ...rest }) {
  return onProfiles({ total, size, onDisk: true, ...rest }, async ({ profile, size: rounds, next, tally, disk }) => {
    profile.query = query;
    const lives = living(profile, tally);
    // What was never called safe may go, and is counted apart.
    const about = { isExcused: ({ level }) => level !== "disk" };
    const end = async (browser) => {
      profile.cutOff();
      disk.shutDown();
      await kill(browser);
      await disk.restart();
    };
    for (let round = 0; round < rounds; round += 1) {
      const many = 1 + next(30);
      await lives({ seed: next(1e9), ...(query ? { enough: many } : { onDisk: many }), end }, about);
      tally.done += 1;
    }
    await lives({}, about);
  });
}

/** What LevelDB's log may have gone through when its browser is started again. */
const KILLED_AND_CUT = { isKilled: true, isCut: true };
const KILLED_AND_TORN = { isKilled: true, isCut: false };
const CLOSED_AND_CUT = { isKilled: false, isCut: true };
const CLOSED_AND_TORN = { isKilled: false, isCut: false };

/** One log of each kind after the other. Two sessions write behind the damage, and two more look. */
function logs(kinds, { total, query = "", heals = true, ...rest }) {
  return onProfiles({ total, size: 1, ...rest }, async ({ profile, index, next, tally }) => {
    const { isKilled, isCut } = kinds[index % kinds.length];
    profile.query = query;
    const lives = living(profile, tally);
    if (isKilled) await lives({ seed: next(1e9), enough: 15 });
    else await lives({ seed: next(1e9), enough: 15, closes: true, end: quit });
    // Most often in the last record or the one before.
    const bytes = 1 + next([50, 500, 5000][next(3)]);
    const end = isCut ? profile.cut(bytes) : profile.tear(bytes);
    const after = `${isKilled ? "killed" : "closed"}, ${isCut ? `${bytes} bytes cut off` : `torn after ${bytes} bytes`}: `;
    // What was acknowledged of the part that was cut off had to go.
    const isExcused = ({ end: then }) => isCut && then?.log === end.log && then.size > end.size;
    await lives({ seed: next(1e9), enough: 20, pause: 50, heals: heals && isKilled }, { after, isExcused });
    await lives({ seed: next(1e9), enough: 20, pause: 50, heals }, { after });
    await lives({ heals }, { after });
    await lives({}, { after });
    tally.done += 1;
  });
}

/** Logs of LevelDB's that are torn in the midst of what was written last: cut off after a kill or a clean end, or with half a record added after a kill. */
export const tornLogs = (options) => logs([KILLED_AND_CUT, CLOSED_AND_CUT, KILLED_AND_TORN], options);

/** Logs that get half a record after the store was closed well. Another database of the origin whose writer is killed can do that. */
export const tornWhileClosed = (options) => logs([CLOSED_AND_TORN], options);

/** The disk runs full under the writing page. */
export function fullDisks({ total, ...rest }) {
  return onProfiles({ total, size: 1, onDisk: true, ...rest }, async ({ profile, index, next, tally, disk }) => {
    const isKilled = index % 2 === 0;
    const lives = living(profile, tally);
    const then = async (browser) => {
      const ended = browser.ended.then(() => "crashed");
      const within = (promise, milliseconds) => Promise.race([promise.catch(() => "silent"), ended, sleep(milliseconds).then(() => "silent")]);
      const full = profile.hears("refused", () => profile.refusals.length >= 3);
      disk.fill();
      let outcome = await within(full, 10_000);
      await sleep(next(300));
      if (!isKilled && outcome !== "crashed") {
        // The space is back while the page still writes.
        const goal = profile.fresh + 20;
        const onward = profile.hears("acknowledged", () => profile.fresh >= goal);
        disk.clear();
        outcome = await within(onward, 10_000);
      }
      if (outcome === "crashed") tally.crashed += 1;
      if (outcome === "silent") tally.stuck += 1;
    };
    await lives({ seed: next(1e9), enough: 5 + next(20), stubborn: true, then });
    disk.clear();
    await lives({ seed: next(1e9), enough: 15, pause: 50, heals: profile.engine.heals });
    await lives({ heals: profile.engine.heals });
    await lives({});
    tally.done += 1;
  });
}

/** The page's process dies while its browser lives on. Only in Chromium, which can be asked for it. */
export function rendererCrashes({ total, size = 10, ...rest }) {
  return onProfiles({ total, size, ...rest }, async ({ profile, size: rounds, next, tally }) => {
    const context = await launch({ profile: profile.folder });
    try {
      for (let round = 0; round < rounds; round += 1) {
        const many = 1 + next(30);
        profile.expect({ seed: next(1e9), go: true, until: null });
        const reported = profile.hears("report");
        const written = profile.hears("acknowledged", () => profile.fresh >= many);
        const page = await context.newPage();
        const crashed = page.waitForEvent("crash");
        await page.goto(profile.address);
        judge(profile, await reported, tally);
        await written;
        const session = await context.newCDPSession(page);
        session.send("Page.crash").catch(() => {});
        await crashed;
        await page.close();
        tally.done += 1;
        tally.acknowledged += profile.fresh;
      }
    } finally {
      await context.close();
    }
    await living(profile, tally)({});
  });
}

/** The origin's quota is used up while the page writes, and given back. */
export function quotas({ total, ...rest }) {
  return onProfiles({ total, size: 1, ...rest }, async ({ profile, next, tally }) => {
    const context = await launch({ profile: profile.folder });
    try {
      const page = await context.newPage();
      const session = await context.newCDPSession(page);
      const { origin } = new URL(profile.address);
      // Before its first write: the browser asks for the quota every half a minute only.
      await session.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: 300_000 + next(700_000) });
      profile.expect({ seed: next(1e9), go: true, until: null, stubborn: true });
      const reported = profile.hears("report");
      const refused = profile.hears("refused", () => profile.refusals.length >= 3);
      await page.goto(profile.address);
      judge(profile, await reported, tally);
      await refused;
      tally.acknowledged += profile.fresh;
    } finally {
      await context.close();
    }
    const lives = living(profile, tally);
    await lives({ seed: next(1e9), enough: 15 });
    await lives({});
    tally.done += 1;
  });
}

/** Fails where anything is there by halves, or something stamped "disk" is lost and nothing is said of it. */
export function nothingIsSilentlyLost(tally) {
  const said = tally.evidence.join("\n");
  assert.equal(tally.halves, 0, `there are halves: ${said}`);
  assert.equal(tally.unreported, 0, `checkpoints stamped "disk" are gone, and nothing is said of it: ${said}`);
  assert.ok(tally.intact > tally.done, "hardly anything was acknowledged: this proves nothing");
}

/** Fails also where anything that was acknowledged is lost at all; `butUnhealed`: but for what was killed again before it was healed. */
export function nothingIsLost(tally, { butUnhealed = false } = {}) {
  nothingIsSilentlyLost(tally);
  assert.equal(tally.lost - (butUnhealed ? tally.lostUnhealed : 0), 0, `acknowledged checkpoints are gone: ${tally.evidence.join("\n")}`);
}

/** A tally as one line. */
export function summary({ evidence, healings, ...tally }) {
  const sorted = healings.toSorted((a, b) => a - b);
  return JSON.stringify({ ...tally, healings: healings.length, medianHealing: sorted[sorted.length >> 1] ?? null });
}
