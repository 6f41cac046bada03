// Copies in a folder, over a folder in memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createBackup, saveCopy } from "../../pkg-template/backup.js";

/** A folder as the File System Access API has it. `spoil` changes what is read back. */
function memoryFolder({ permission = "granted", spoil = (text) => text } = {}) {
  const files = new Map();
  const handle = (name) => ({
    name,
    getFile: async () => ({ text: async () => spoil(files.get(name)) }),
    async createWritable() {
      let text = "";
      return { write: async (part) => void (text += part), close: async () => void files.set(name, text) };
    },
  });
  return {
    name: "Backups",
    files,
    asked: 0,
    queryPermission: async () => permission,
    async requestPermission() {
      this.asked += 1;
      permission = "granted";
      return permission;
    },
    getFileHandle: async (name) => handle(name),
    removeEntry: async (name) => void files.delete(name),
    async *keys() {
      yield* [...files.keys()];
    },
  };
}

function fakeStore({ bundle = () => '{"format":"turnmark-bundle"}', dataLost = () => false, name = "my app" } = {}) {
  const listeners = [];
  return {
    name,
    scope: "default",
    export: async () => bundle(),
    status: async () => ({ dataLost: dataLost() }),
    on(event, listener) {
      listeners.push(listener);
      return () => void listeners.splice(listeners.indexOf(listener), 1);
    },
    listeners,
    change: () => listeners.forEach((listener) => listener()),
  };
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

test("a copy is written and read back, and the newest are kept, of this store only", async (t) => {
  const folder = memoryFolder();
  const store = fakeStore();
  const backup = createBackup(store, { folder, keep: 2 });
  t.after(() => backup.stop());
  for (const name of ["notes.txt", "turnmark-my_20app-default-20200101-000000.json", "turnmark-my_20app-default-20200102-000000.json", "turnmark-other-default-20200101-000000.json"]) folder.files.set(name, "old");
  const saved = await backup.saveNow();
  assert.match(saved.fileName, /^turnmark-my_20app-default-\d{8}-\d{6}\.json$/);
  assert.equal(folder.files.get(saved.fileName), '{"format":"turnmark-bundle"}');
  assert.deepEqual([...folder.files.keys()].sort(), ["notes.txt", "turnmark-my_20app-default-20200102-000000.json", saved.fileName, "turnmark-other-default-20200101-000000.json"]);
  assert.deepEqual(await backup.state(), { folder: "Backups", permission: "granted" });
});

test("no older copy goes while the newest lacks something", async (t) => {
  const folder = memoryFolder();
  let lost = false;
  let bundle = '{"omitted":[["s","it cannot be read"]]}';
  const backup = createBackup(fakeStore({ bundle: () => bundle, dataLost: () => lost }), { folder, keep: 1 });
  t.after(() => backup.stop());
  folder.files.set("turnmark-my_20app-default-20200101-000000.json", "old");
  await backup.saveNow();
  [bundle, lost] = ["{}", true];
  await backup.saveNow();
  assert.ok(folder.files.has("turnmark-my_20app-default-20200101-000000.json"));
  lost = false;
  await backup.saveNow();
  assert.equal(folder.files.size, 1);
});

test("by itself it writes when something has changed, and asks nobody", async (t) => {
  const folder = memoryFolder();
  let bundle = "[]";
  const store = fakeStore({ bundle: () => bundle });
  const saved = [];
  const backup = createBackup(store, { folder, every: 1000, onSaved: (copy) => saved.push(copy) });
  t.after(() => backup.stop());
  await sleep(1100);
  assert.equal(saved.length, 1, "the first copy");
  await sleep(1000);
  assert.equal(saved.length, 1, "nothing has changed");
  store.change();
  await sleep(1000);
  assert.equal(saved.length, 1, "nothing that another tab has not written");
  bundle = "{}";
  store.change();
  await sleep(1000);
  assert.equal(saved.length, 2);
  backup.stop();
  assert.equal(store.listeners.length, 0);
  const shy = memoryFolder({ permission: "prompt" });
  const other = createBackup(store, { folder: shy, every: 1000 });
  t.after(() => other.stop());
  await sleep(1100);
  assert.deepEqual([shy.asked, shy.files.size], [0, 0]);
  await other.saveNow();
  assert.deepEqual([shy.asked, shy.files.size], [1, 1]);
});

test("a copy that is not what was written is an error, is tried again, and costs no older one", async (t) => {
  const folder = memoryFolder({ spoil: (text) => text.slice(1) });
  folder.files.set("turnmark-my_20app-default-20200101-000000.json", "old");
  const errors = [];
  const backup = createBackup(fakeStore(), { folder, keep: 1, every: 1000, onError: (error) => errors.push(error) });
  t.after(() => backup.stop());
  await assert.rejects(backup.saveNow(), { code: "Unavailable", message: /the folder Backups .*not what is read back/ });
  await sleep(1100);
  assert.equal(errors[0].code, "Unavailable");
  assert.ok(folder.files.has("turnmark-my_20app-default-20200101-000000.json"));
});

test("without a folder, or where a browser has none, it says so", async (t) => {
  const backup = createBackup(fakeStore());
  t.after(() => backup.stop());
  assert.deepEqual(await backup.state(), { folder: null, permission: "none" });
  await assert.rejects(backup.saveNow(), { code: "Unavailable", message: /no folder was picked/ });
  await assert.rejects(backup.pick(), { code: "Unavailable", message: /use saveCopy/ });
  for (const options of [{ every: 5 }, { keep: 0 }, { onError: 1 }, { onSaved: "x" }, 3]) assert.throws(() => createBackup(fakeStore(), options), { code: "InvalidArgument" });
});

test("a copy goes to the file that was chosen, and nowhere when none was", async () => {
  const folder = memoryFolder();
  const suggested = [];
  globalThis.showSaveFilePicker = async ({ suggestedName }) => {
    suggested.push(suggestedName);
    return folder.getFileHandle("chosen.json");
  };
  try {
    assert.deepEqual(await saveCopy(fakeStore(), { fileName: "mine.json" }), { fileName: "chosen.json", characters: 28 });
    assert.deepEqual(suggested, ["mine.json"]);
    globalThis.showSaveFilePicker = async () => { throw new DOMException("no", "AbortError"); };
    assert.equal(await saveCopy(fakeStore()), null);
  } finally {
    delete globalThis.showSaveFilePicker;
  }
  await assert.rejects(saveCopy(fakeStore(), { sessions: "s" }), { code: "InvalidArgument" });
});
