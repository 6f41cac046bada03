// Copies that users hold, by a real browser: as a download, and in a folder; read again after everything is gone.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { launch, openPage, temporary } from "./harness/chromium.js";
import { PAGES, PKG } from "./harness/paths.js";
import { serve } from "./harness/server.js";

test("a copy brings every chat back: from a download, and from the folder that is written into by one tab", { timeout: 60_000 }, async (t) => {
  const server = await serve({ mounts: { "/": PAGES, "/pkg/": PKG } });
  t.after(() => server.close());
  const context = await launch({ profile: temporary("backup") });
  t.after(() => context.close());
  const page = await openPage(t, context, `${server.origin}/blank.html`);
  const other = await openPage(t, context, `${server.origin}/blank.html`);
  const prepare = async (on) => on.evaluate(async () => {
    const { open, deleteDatabase } = await import("/pkg/index.js");
    const { createBackup, saveCopy } = await import("/pkg/backup.js");
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("backups", { create: true });
    Object.assign(globalThis, { open, deleteDatabase, saveCopy, folder, saved: [] });
    globalThis.store = await open({ name: "b" });
    globalThis.backup = createBackup(store, { folder, every: 1000, onSaved: (copy) => saved.push(copy) });
    // There is nobody to ask in a headless browser.
    delete globalThis.showSaveFilePicker;
  });
  await prepare(page);
  await prepare(other);
  await page.evaluate(async () => {
    const session = await store.session("s");
    await session.append([{ id: "u", role: "user", content: "naïve ✓", when: new Date(5), file: new Blob([new Uint8Array(70_000)]) }]);
  });
  const bundle = await page.evaluate(() => store.export());
  await page.evaluate(async (text) => {
    for (let left = 200; left > 0; left -= 1) {
      for await (const file of folder.values()) if ((await (await file.getFile()).text()) === text) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error("no copy in 20 s");
  }, bundle);
  const both = (await Promise.all([page, other].map((on) => on.evaluate(() => saved.map(({ fileName }) => fileName))))).flat();
  assert.ok(both.length > 0 && new Set(both).size === both.length, "no copy is written by both");
  const downloading = page.waitForEvent("download");
  const told = await page.evaluate(() => saveCopy(store));
  const download = await downloading;
  assert.equal(download.suggestedFilename(), told.fileName);
  const text = readFileSync(await download.path(), "utf8");
  const result = await page.evaluate(async (copy) => {
    const names = [];
    for await (const name of folder.keys()) names.push(name);
    const inFolder = await (await (await folder.getFileHandle(names.sort().at(-1))).getFile()).text();
    const same = inFolder === copy;
    await store.close();
    await deleteDatabase("b");
    const anew = await open({ name: "b" });
    await anew.import(inFolder);
    const [{ content, when, file }] = await (await anew.session("s")).messages();
    await anew.close();
    return { same, content, when: when.getTime(), size: file.size, names: names.length };
  }, text);
  assert.deepEqual({ ...result, names: result.names > 0 }, { same: true, content: "naïve ✓", when: 5, size: 70_000, names: true });
});
