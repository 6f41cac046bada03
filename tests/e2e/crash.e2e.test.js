// Browsers are killed, with everything they run, at random instants of a page's writing. Whatever the page was told is
// stored must be there at the next start, byte for byte, and nothing of what was not may be there by halves.
//
// Chromium itself throws an origin's IndexedDB away after some such kills, unless the store is healed at its next start
// (healing.e2e.test.js shows that it is), before it is killed again. `make torture` does the same more often, on more backends.
import { test } from "node:test";
import { SQLITE_BACKEND } from "./harness/engines.js";
import { kills, nothingIsLost, summary } from "./harness/ordeals.js";
import { SEED } from "./harness/profile.js";

async function killing(t, { butUnhealed = false, ...options }) {
  const tally = await kills(options);
  t.diagnostic(`seed ${options.seed}; ${summary(tally)}`);
  nothingIsLost(tally, { butUnhealed });
}

test("60 kills of the whole browser at random instants lose nothing that was acknowledged, and leave nothing half-written", { timeout: 300_000 }, async (t) => {
  // R2, P-07, google/leveldb#1287, dexie/Dexie.js#613, automerge-repo#60.
  await killing(t, { total: 60, seed: SEED, butUnhealed: true });
});

test("the same holds on Chromium's SQLite backend of IndexedDB", { timeout: 120_000 }, async (t) => {
  await killing(t, { engine: SQLITE_BACKEND, total: 8, size: 4, seed: SEED + 1000 });
});
