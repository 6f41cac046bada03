// Damage in the database itself, as a browser leaves it: what is hit is named and put aside, everything else goes on.
import assert from "node:assert/strict";
import { test } from "node:test";
import { launch, openPage } from "./harness/chromium.js";
import { PAGES, PKG } from "./harness/paths.js";
import { serve } from "./harness/server.js";

/** Changes stored rows behind the back of the library, as a bad disk does. */
async function damage(changes) {
  const settled = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const database = await settled(indexedDB.open("damage"));
  for (const { store, key, field, remove } of changes) {
    const rows = database.transaction(store, "readwrite").objectStore(store);
    const row = await settled(rows.get(key));
    if (remove) {
      await settled(rows.delete(key));
      continue;
    }
    row[field] = typeof row[field] === "number" ? row[field] + 1 : `${row[field]}x`;
    await settled(rows.put(row, key));
  }
  database.close();
}

test("a damaged session is named, put aside and rebuilt, and the others never notice", { timeout: 120_000 }, async (t) => {
  // google/leveldb#251, OneKeyHQ/app-monorepo#12827, CherryHQ/cherry-studio#11516
  const server = await serve({ mounts: { "/": PAGES, "/pkg/": PKG } });
  t.after(() => server.close());
  const context = await launch();
  t.after(() => context.close());
  const page = await openPage(t, context, `${server.origin}/blank.html`);
  await page.waitForFunction(() => globalThis.turnmark);
  await page.evaluate(async () => {
    const store = await turnmark.open({ name: "damage" });
    for (const id of ["hit", "sound"]) {
      const session = await store.session(id);
      for (let n = 0; n < 3; n += 1) await session.append([{ id: `${id}${n}`, role: "user", content: `${n}` }]);
    }
    await store.close();
  });
  await page.evaluate(damage, [
    { store: "sessions", key: ["default", "hit"], field: "epoch" },
    { store: "checkpoints", key: ["default", "hit", 1], field: "id" },
  ]);
  const found = await page.evaluate(async () => {
    const store = await turnmark.open({ name: "damage" });
    const listed = [];
    for await (const { id } of store.sessions()) listed.push(id);
    const { unreadable } = await store.status();
    const { omitted } = JSON.parse(await store.export());
    const faults = (await store.verify()).faults.map(({ fault, record }) => [fault, record]);
    const refused = await (await store.session("hit")).messages().catch(({ code }) => code);
    const dry = await store.repair({ dryRun: true });
    const done = await store.repair();
    const verified = await store.verify();
    const hit = await store.session("hit");
    const messages = (await hit.messages()).map(({ id }) => id);
    const parents = [];
    for await (const { id, parentCheckpointId } of hit.checkpoints()) parents.push([id, parentCheckpointId]);
    await hit.append([{ id: "on", role: "user", content: "on" }]);
    const again = await store.repair();
    const { counts } = await store.status();
    const sound = (await (await store.session("sound")).messages()).map(({ id }) => id);
    const wrong = await store.repair({ dryRun: "yes" }).catch(({ code }) => code);
    await store.close();
    return { listed, unreadable, omitted, faults, refused, dry, done, verified, messages, parents, again, counts, sound, wrong };
  });
  assert.deepEqual([found.listed, found.unreadable], [["sound"], ['sessions ["default", "hit"]']]);
  assert.deepEqual(found.omitted.map(([id]) => id), ["hit"]);
  assert.equal(found.refused, "RecordUnreadable");
  for (const record of ['sessions ["default", "hit"]', 'checkpoints ["default", "hit", 1]']) {
    assert.ok(found.faults.some(([fault, name]) => fault === "unreadable" && name === record), JSON.stringify(found.faults));
  }
  assert.deepEqual({ ...found.dry, dryRun: false }, found.done);
  assert.deepEqual(found.done.lost, []);
  assert.deepEqual(found.done.actions.map(({ action }) => action).sort(), ["bridge", "quarantine", "quarantine", "rebuild"]);
  assert.deepEqual([found.verified.ok, found.verified.quarantined, found.counts.quarantined], [true, 2, 2]);
  assert.deepEqual(found.messages, ["hit0", "hit1", "hit2"]);
  assert.deepEqual(found.parents, [[found.parents[0][0], found.parents[1][0]], [found.parents[1][0], null]]);
  assert.deepEqual([found.again.actions, found.again.lost], [[], []]);
  assert.deepEqual(found.sound, ["sound0", "sound1", "sound2"]);
  assert.equal(found.wrong, "InvalidArgument");
});
