// Turns in a real Chromium: what the field has lost chats by, replayed, and every way back to before a message.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { devtools, openPage } from "./harness/chromium.js";
import { Lab, enter, interrupted, reload, rows } from "./harness/tabs.js";

let lab;
before(async () => { lab = await Lab.start(); });
after(() => lab.close());

// --- timelines --------------------------------------------------------------------------------------------------------

test("a sidebar that loaded four messages, and then saves its four with a pin, takes nothing from the panel that has saved five", async (t) => {
  // Issue 3, part 5; R10.
  const name = lab.fresh("sidebar");
  const [sidebar, panel] = [await lab.tab(t, name), await lab.tab(t, name)];
  await panel.evaluate(async () => {
    await exchange(1);
    await exchange(2);
  });
  await sidebar.evaluate(async () => { globalThis.loaded = await session.state(); });
  await panel.evaluate(async () => {
    const state = await session.state();
    await session.put({ ...state, messages: [...state.messages, kit.user("q3")] });
  });
  const seen = await sidebar.evaluate(async () => {
    const { code, branch } = await refusal(session.put({ ...loaded, pinned: true }));
    const aside = await (await store.session(branch.sessionId)).get();
    const of = (await (await store.session(branch.sessionId)).summary()).conflictOf;
    const main = await session.state();
    // After a look it may.
    await session.put({ ...main, pinned: true });
    return { code, of, aside: [ids(aside.state.messages), aside.state.pinned], main: [ids(main.messages), main.pinned ?? null], sessions: (await kit.collect(store.sessions())).length };
  });
  assert.deepEqual(seen, { code: "Conflict", of: "chat", aside: ["q1 a1 q2 a2", true], main: ["q1 a1 q2 a2 q3", null], sessions: 2 });
  const end = await panel.evaluate(async () => {
    const { messages, pinned } = await session.state();
    return [ids(messages), pinned, (await store.verify()).ok];
  });
  assert.deepEqual(end, ["q1 a1 q2 a2 q3", true, true]);
});

test("a prompt that is sent before the chat has been read is refused with NotLoaded, and writes nothing", async (t) => {
  // A-36; issue 3, part 5: "sending before hydration has finished".
  const name = lab.fresh("early");
  const page = await lab.tab(t, name);
  await page.evaluate(() => exchange(1));
  await reload(page, name);
  const before = await rows(page, name);
  const code = await page.evaluate(async () => (await kit.failure(session.begin({ raw: "early" }))).code);
  assert.equal(code, "NotLoaded");
  assert.equal(await rows(page, name), before, "a refused prompt changed the database");
  const seen = await page.evaluate(async () => {
    const { runs, interrupted } = await store.status();
    // Hydration that is under way is waited for: calls on a session go in order.
    const hydrated = session.messages();
    const turn = await session.begin({ raw: "typed 2" });
    await turn.end([kit.user("q2"), kit.assistant("a2")]);
    return { runs, interrupted, hydrated: ids(await hydrated), now: ids(await session.messages()), verified: (await store.verify()).ok };
  });
  assert.deepEqual(seen, { runs: [], interrupted: [], hydrated: "q1 a1", now: "q1 a1 q2 a2", verified: true });
});

test("a page that is refreshed again and again while it loads, saves what it has loaded and sends, takes nothing from the chat", async (t) => {
  // Issue 3, part 5: "refresh two or three times during load"; A-36.
  const name = lab.fresh("refresh");
  const page = await lab.tab(t, name);
  await page.evaluate(async () => {
    for (let n = 1; n <= 20; n += 1) await exchange(n);
  });
  const known = Array.from({ length: 20 }, (_, i) => `q${i + 1} a${i + 1}`).join(" ");
  for (const wait of [0, 4, 15, 40, 90]) {
    await page.reload({ waitUntil: "commit" });
    await page.waitForFunction(() => globalThis.kit);
    await page.evaluate(async ([database, delay]) => {
      const load = async () => {
        const session = await (await turnmark.open({ name: database })).session("chat");
        // An app that saves what it shows, as soon as it shows something.
        const state = await session.state();
        await session.put({ ...state, visits: (state.visits ?? 0) + 1 });
        await (await session.begin({ raw: "sent at once" })).append([kit.user(`r${delay}`)]);
      };
      load().catch(() => {});
      await new Promise((resolve) => { setTimeout(resolve, delay); });
    }, [name, wait]);
  }
  await reload(page, name);
  const seen = await page.evaluate(async () => {
    const messages = ids(await session.messages());
    const branches = [];
    for await (const { id, conflictOf } of store.sessions()) if (conflictOf) branches.push(ids(await (await store.session(id)).messages()));
    return { messages, branches, verified: await store.verify() };
  });
  for (const text of [seen.messages, ...seen.branches]) assert.match(text, new RegExp(`^${known}( r\\d+)*$`));
  assert.ok(seen.verified.ok, JSON.stringify(seen.verified.faults));
});

test("an answer that is asked for once more after a reload leaves the old one among the versions, from where it comes back, and goes again", async (t) => {
  // Issue 3, part 5: "regenerate after a reload"; part 7: "2 / 3".
  const name = lab.fresh("versions");
  const page = await lab.tab(t, name);
  await page.evaluate(async () => {
    await exchange(1);
    await exchange(2);
  });
  for (const version of ["second", "third"]) {
    await reload(page, name);
    await page.evaluate(async (id) => {
      await session.get();
      const turn = await session.begin({ regenerate: "q2" });
      turn.stream(kit.assistant(id));
      await turn.end();
    }, version);
  }
  await reload(page, name);
  const seen = await page.evaluate(async () => {
    const versions = await session.versions("q2");
    const live = ids(await session.messages());
    const shown = [];
    for (const version of versions) {
      await session.show(version);
      shown.push([ids(await session.messages()), (await session.versions("q2")).map(({ live: is }) => is).indexOf(true)]);
    }
    const undone = ids((await session.undo()).state.messages);
    return { versions: versions.map(({ live: is, messageCount }) => [is, messageCount]), live, shown, undone, verified: (await store.verify()).ok };
  });
  assert.deepEqual(seen.versions, [[false, 4], [false, 4], [true, 4]]);
  assert.deepEqual([seen.live, seen.undone, seen.verified], ["q1 a1 q2 third", "q1 a1 q2 second", true]);
  assert.deepEqual(seen.shown, [["q1 a1 q2 a2", 0], ["q1 a1 q2 second", 1], ["q1 a1 q2 third", 2]]);
});

test("an answer that grows beyond the quota is told to the app, nothing earlier is touched, and what was saved before is there after a reload", async (t) => {
  // Issue 3, part 5: "a quota error in the middle of a turn (the app is told, nothing earlier is touched)".
  const own = await lab.server();
  const name = lab.fresh("quota");
  const page = await openPage(t, lab.context, `${own.origin}/blank.html`);
  const session = await devtools(t, page);
  // On the page's session and before its first write, which opening is: Chromium remembers the quota for 30 seconds.
  await session.send("Storage.overrideQuotaForOrigin", { origin: own.origin, quotaSize: 2_000_000 });
  await enter(page, name);
  const full = await page.evaluate(async () => {
    globalThis.told = [];
    store.on("stream.failed", ({ sessionId, runId, error }) => told.push({ sessionId, runId, code: error.code }));
    await exchange(1);
    const turn = await session.begin({ raw: "typed 2" });
    await turn.append([kit.user("q2")]);
    let content = "";
    let stored = "";
    let error = null;
    for (let n = 1; n < 100 && !error; n += 1) {
      content += kit.noise(60_000, n);
      turn.stream(kit.assistant("a2", content));
      await turn.flush().then(() => { stored = content; }, (thrown) => { error = kit.described(thrown); });
    }
    const ends = [await kit.failure(turn.append([kit.assistant("a2", content)])), await kit.failure(turn.end()), await kit.failure(turn.touch())].map(({ code }) => code);
    const { messages, streaming } = await whole();
    const same = streaming.message.content === stored;
    return { error, ends, told, runId: turn.runId, ended: turn.ended, messages: ids(messages), same, length: stored.length, verified: await store.verify() };
  });
  assert.deepEqual([full.error.code, full.error.typed], ["QuotaExceeded", true]);
  assert.deepEqual(full.told, [{ sessionId: "chat", runId: full.runId, code: "QuotaExceeded" }]);
  assert.deepEqual([full.ends, full.ended], [["QuotaExceeded", "QuotaExceeded", "QuotaExceeded"], false]);
  assert.deepEqual([full.messages, full.same], ["q1 a1 q2", true]);
  assert.ok(full.length > 0);
  assert.ok(full.verified.ok, JSON.stringify(full.verified.faults));
  await reload(page, name);
  await interrupted(page, 1);
  const after = await page.evaluate(async () => {
    // There is no room to make a message of it either: that is told as well, and takes nothing.
    const recovered = (await kit.failure(session.recover())).code;
    const { messages, streaming } = await whole();
    return { recovered, messages: ids(messages), length: streaming.message.content.length, verified: (await store.verify()).ok };
  });
  assert.deepEqual(after, { recovered: "QuotaExceeded", messages: "q1 a1 q2", length: full.length, verified: true });
});

// --- going back -------------------------------------------------------------------------------------------------------

test("removed messages never come back: not after a reload, not from a tab that still shows them, not with the next answer", async (t) => {
  //
  const name = lab.fresh("removed");
  const [page, other] = [await lab.tab(t, name), await lab.tab(t, name)];
  await page.evaluate(async () => {
    for (const n of [1, 2, 3]) await exchange(n, { ui: { shown: n } });
  });
  await other.evaluate(async () => { globalThis.shown = await session.state(); });
  const seen = await page.evaluate(async () => {
    const { removedMessageIds, state, ui, prompt, rawPrompt, rawPromptFrom, matchedCheckpointId } = await session.edit("q2");
    const match = await session.get(matchedCheckpointId);
    const matched = [match.checkpoint.name, match.checkpoint.messageIds.join(" ")];
    return { removedMessageIds, left: ids(state.messages), ui, prompt: prompt.raw, rawPrompt, rawPromptFrom, matched };
  });
  assert.deepEqual(seen, {
    removedMessageIds: ["q2", "a2", "q3", "a3"], left: "q1 a1", ui: { shown: 2 }, prompt: "typed 2", rawPrompt: "typed 2", rawPromptFrom: "prompt", matched: ["Prompt 2", "q1 a1"],
  });
  const stale = await other.evaluate(async () => (await kit.failure(session.put(shown))).code);
  assert.equal(stale, "Conflict");
  for (const tab of [page, other]) {
    await reload(tab, name);
    assert.equal(await tab.evaluate(async () => ids(await session.messages())), "q1 a1");
  }
  const later = await page.evaluate(async () => {
    await exchange(4);
    return ids(await session.messages());
  });
  await reload(page, name);
  assert.deepEqual([later, await page.evaluate(async () => ids(await session.messages()))], ["q1 a1 q4 a4", "q1 a1 q4 a4"]);
});

/** A store with a host that keeps its own files, of which the page logs what is asked. */
const withFiles = (page, name) => page.evaluate(async (database) => {
  globalThis.disk = { now: "f0", log: [], refuses: false };
  globalThis.files = {
    snapshot: async () => disk.now,
    restore: async (reference) => {
      disk.log.push(reference);
      if (disk.refuses) return false;
      disk.now = reference;
      return true;
    },
  };
  globalThis.store = await turnmark.open({ name: database, files });
  globalThis.session = await store.session("chat");
  await session.get();
}, name);

test("the host's files come back first, and go back again when the chat's part then fails, at whichever write it does", async (t) => {
  // a failed restore changes nothing, here or there.
  const name = lab.fresh("files");
  const page = await lab.tab(t, name);
  await withFiles(page, name);
  await page.evaluate(async () => {
    for (const n of [1, 2, 3]) {
      disk.now = `f${n}`;
      await exchange(n);
    }
    disk.now = "f-now";
  });
  const failed = await page.evaluate(async (database) => {
    const stored = async () => JSON.stringify(await kit.rawRows(database));
    const { put, add } = IDBObjectStore.prototype;
    const outcomes = [];
    for (const how of ["throws", "aborts"]) {
      for (let at = 1; ; at += 1) {
        let calls = 0;
        let hit = false;
        const fail = (original) => function (...args) {
          calls += 1;
          // The host's part is done by now.
          const mine = calls === at && disk.log.length > 0;
          hit ||= mine;
          if (mine && how === "throws") throw new DOMException("injected", "DataError");
          const request = original.apply(this, args);
          if (mine) this.transaction.abort();
          return request;
        };
        Object.assign(IDBObjectStore.prototype, { put: fail(put), add: fail(add) });
        disk.log.length = 0;
        const before = await stored();
        const error = await session.restore("q2").then(() => null, kit.described);
        Object.assign(IDBObjectStore.prototype, { put, add });
        if (!hit) {
          outcomes.push({ how, writes: at - 1, error });
          break;
        }
        outcomes.push({ how, typed: error?.typed ?? false, log: [...disk.log], now: disk.now, same: before === (await stored()) });
        if (error === null) break;
      }
      if (outcomes.at(-1).error === null) await session.undo();
      disk.now = "f-now";
    }
    return outcomes;
  }, name);
  const [refused, done] = [failed.filter(({ writes }) => writes === undefined), failed.filter(({ writes }) => writes !== undefined)];
  assert.deepEqual(done.map(({ how, error }) => [how, error]), [["throws", null], ["aborts", null]]);
  assert.ok(done.every(({ writes }) => writes >= 2), JSON.stringify(done));
  for (const outcome of refused) {
    assert.deepEqual({ ...outcome, how: null }, { how: null, typed: true, log: ["f2", "f-now"], now: "f-now", same: true });
  }

  const back = await page.evaluate(async () => {
    disk.log.length = 0;
    const { files: restored, filesReason, commitHash, state } = await session.restore("q3");
    return { restored, filesReason, commitHash, left: ids(state.messages), log: disk.log, now: disk.now, verified: (await store.verify()).ok };
  });
  assert.deepEqual(back, { restored: "restored", filesReason: null, commitHash: "f3", left: "q1 a1 q2 a2", log: ["f3"], now: "f3", verified: true });
});

test("files that are not brought back are reported with the reason, and the chat is cut all the same", async (t) => {
  //
  const name = lab.fresh("no-files");
  const page = await lab.tab(t, name);
  await withFiles(page, name);
  const seen = await page.evaluate(async () => {
    const answers = {};
    const told = ({ files: outcome, filesReason, matchedCheckpointId, state, removedMessageIds }) =>
      [outcome, filesReason, matchedCheckpointId !== null, ids(state.messages), removedMessageIds.join(" "), disk.log.splice(0).join(" ")];
    await session.append([kit.user("alone"), kit.assistant("echo")]);
    answers.noMatch = told(await session.restore("alone"));
    await session.undo();
    await exchange(1, { commitHash: null });
    answers.noSnapshot = told(await session.restore("q1"));
    disk.now = "f2";
    await exchange(2);
    disk.refuses = true;
    answers.refused = told(await session.restore("q2"));
    await session.undo();
    const plain = await (await turnmark.open({ name: store.name })).session("chat");
    await plain.get();
    answers.noHost = told(await plain.edit("q2"));
    return answers;
  });
  assert.deepEqual(seen, {
    noMatch: ["not-restored", "no-match", false, "", "alone echo", ""],
    noSnapshot: ["not-restored", "no-snapshot", true, "alone echo", "q1 a1", ""],
    refused: ["not-restored", "host-refused", true, "alone echo", "q2 a2", "f2"],
    noHost: ["not-restored", "no-host", true, "alone echo", "q2 a2", ""],
  });
});

test("a screenshot that is passed in as a data URL comes back equal after a reload and with each restore, and is stored once for all turns", async (t) => {
  // A-05; B3: upstream writes every screenshot anew with every checkpoint.
  const name = lab.fresh("screenshot");
  const page = await lab.tab(t, name);
  const seen = await page.evaluate(async () => {
    const dataUrl = `data:image/png;base64,${btoa(kit.noise(120_000, 7))}`;
    const ui = (n) => ({ targets: [{ selector: `#t${n}` }], screenshots: [{ id: "s", dataUrl, serverPath: "", source: "inspector" }] });
    const counts = [];
    for (const n of [1, 2, 3, 4, 5, 6]) {
      await exchange(n, { ui: ui(n) });
      counts.push((await store.status()).counts.objects);
    }
    return { dataUrl, counts, texts: JSON.stringify((await kit.rawRows(store.name)).rows).includes(dataUrl.slice(30, 200)) };
  });
  await reload(page, name);
  const after = await page.evaluate(async () => {
    const { ui } = await session.get();
    const { ui: back } = await session.restore("q3");
    const { rows: stored } = await kit.rawRows(store.name);
    // A large binary is cut into several objects.
    const bytes = stored.objects[1].reduce((sum, { content }) => sum + (content.bytes?.byteLength ?? 0), 0);
    return { ui, back, bytes, verified: await store.verify() };
  });
  const expected = (n) => ({ targets: [{ selector: `#t${n}` }], screenshots: [{ id: "s", dataUrl: seen.dataUrl, serverPath: "", source: "inspector" }] });
  assert.deepEqual(after.ui, expected(6));
  assert.deepEqual(after.back, expected(3));
  assert.equal(seen.texts, false, "the screenshot is stored as text");
  // What each further turn adds is its own target and prompt, never the picture.
  const added = seen.counts.slice(1).map((count, i) => count - seen.counts[i]);
  assert.ok(added.every((count) => count === added[0]), String(seen.counts));
  assert.equal(after.bytes, 120_000);
  assert.ok(after.verified.ok, JSON.stringify(after.verified.faults));
});

test("sessions follow each other with sealed boundaries that never change, and the history lists them eight a page, newest first", async (t) => {
  // B1.
  const name = lab.fresh("history");
  const page = await lab.tab(t, name);
  const made = await page.evaluate(async () => {
    const sessions = [];
    for (let n = 1; n <= 10; n += 1) {
      const { session: chat, number, sealed } = await store.newSession({ id: `s${n}`, commitHash: `h${n}` });
      await exchange(n, undefined, chat);
      sessions.push({ number, sealed });
    }
    const summary = await (await store.session("s2")).summary();
    return { sessions, parent: summary.parentSessionId, remote: summary.remoteSessionId, remoteId: await (await store.session("s2")).remoteSession() };
  });
  assert.deepEqual(made.sessions.map(({ number, sealed }) => [number, sealed?.sessionId ?? null]), Array.from({ length: 10 }, (_, i) => [i + 1, i === 0 ? null : `s${i}`]));
  assert.deepEqual([made.parent, made.remote, made.remoteId], ["s1", "reserved:s2", null]);
  await reload(page, name);
  const seen = await page.evaluate(async () => {
    const pages = [];
    for (const number of [1, 2, 3]) pages.push(await store.history({ page: number }));
    const s4 = await store.session("s4");
    const { boundaryId } = await s4.summary();
    const sealed = await s4.get(boundaryId);
    const opened = await store.openSession("s4");
    await exchange("later", undefined, s4);
    await s4.restore("q4");
    await s4.setRemoteSession("agent 4");
    await store.newSession({ id: "s11" });
    await store.openSession("s4");
    await exchange("last", undefined, s4);
    const again = await s4.get(boundaryId);
    const first = await store.history({ pageSize: 2 });
    return {
      pages: pages.map(({ entries, page: number, pages: of, total }) => ({ names: entries.map(({ name: shown }) => shown).join(", "), number, of, total })),
      line: pages[1].entries[0], active: pages[0].entries.filter(({ active }) => active).map(({ sessionId }) => sessionId), previous: opened.previousSessionId,
      opened: ids(opened.state.messages), hash: opened.commitHash,
      sealed: { messages: sealed.state.messages, checkpoint: { ...sealed.checkpoint, _durability: null }, ui: sealed.ui },
      again: { messages: again.state.messages, checkpoint: { ...again.checkpoint, _durability: null }, ui: again.ui },
      deleted: (await kit.failure(store.checkpoints.delete("s4", boundaryId))).code, live: ids(await s4.messages()), remote: await s4.remoteSession(),
      first: first.entries.map(({ sessionId }) => sessionId), of: first.pages, verified: (await store.verify()).ok,
    };
  });
  assert.deepEqual(seen.pages, [
    { names: "Session 10, Session 9, Session 8, Session 7, Session 6, Session 5, Session 4, Session 3", number: 1, of: 2, total: 10 },
    { names: "Session 2, Session 1", number: 2, of: 2, total: 10 },
    { names: "Session 2, Session 1", number: 2, of: 2, total: 10 },
  ]);
  assert.deepEqual([seen.line.messageCount, seen.line.sealed, seen.line.active, seen.line.interrupted], [2, true, false, false]);
  assert.deepEqual([seen.active, seen.previous, seen.opened], [["s10"], "s10", "q4 a4"]);
  assert.deepEqual(seen.sealed.messages.map(({ id }) => id), ["q4", "a4"]);
  assert.deepEqual([seen.sealed.checkpoint.sealed, seen.sealed.checkpoint.kind, seen.sealed.checkpoint.commitHash, seen.hash], [true, "session-boundary", "h5", "h5"]);
  assert.deepEqual(seen.again, seen.sealed, "a sealed boundary has changed");
  assert.deepEqual([seen.deleted, seen.live, seen.remote], ["Protected", "qlast alast", "agent 4"]);
  assert.deepEqual([seen.first, seen.of, seen.verified], [["s4", "s11"], 6, true]);
});
