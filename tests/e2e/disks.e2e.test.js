// Disks that lose their power, or run full, under a page that writes. `make torture` does the same more often, on more backends.
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { missing } from "./harness/disk.js";
import { LEVELDB, SQLITE_BACKEND } from "./harness/engines.js";
import { fullDisks, nothingIsLost, nothingIsSilentlyLost, powerCuts, summary } from "./harness/ordeals.js";
import { SEED } from "./harness/profile.js";

const LEFT_OUT = await missing();
if (LEFT_OUT) before(() => console.log(LEFT_OUT));

describe("a disk", { skip: LEFT_OUT, timeout: 300_000 }, () => {
  test("that loses its power costs nothing that was stamped \"disk\", and leaves nothing half-written", async (t) => {
    // R2, P-06.
    for (const [engine, total] of [[LEVELDB, 6], [SQLITE_BACKEND, 2]]) {
      const tally = await powerCuts({ engine, total, size: 3, seed: SEED });
      t.diagnostic(`seed ${SEED}; ${summary(tally)}`);
      nothingIsLost(tally);
    }
  });

  test("that loses its power costs what was written with relaxed durability, which is why that is stamped \"os\": the cuts are real", async (t) => {
    const tally = await powerCuts({ total: 1, seed: SEED, query: "relaxed" });
    t.diagnostic(`seed ${SEED}; ${summary(tally)}`);
    assert.deepEqual([tally.halves, tally.lostOnDisk], [0, 0]);
    assert.ok(tally.excused > 0, "nothing was lost: the power was not cut");
  });

  test("that runs full refuses writes; what was acknowledged is there afterwards, or is told to be lost", async (t) => {
    // CherryHQ/cherry-studio#15423. LevelDB may throw its database away when it is written to on a full disk; the others do not.
    for (const [engine, judged] of [[LEVELDB, nothingIsSilentlyLost], [SQLITE_BACKEND, nothingIsLost]]) {
      const tally = await fullDisks({ engine, total: 2, seed: SEED });
      t.diagnostic(`${engine.name}, seed ${SEED}; ${summary(tally)}`);
      judged(tally);
      assert.ok(tally.refused + tally.crashed >= 2, "the disk was not full");
    }
  });
});
