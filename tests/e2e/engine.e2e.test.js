// The built package on the real IndexedDB of a real Chromium: a blank page, a worker, two tabs, and what a browser does
// to a database behind its back.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { after, before, test } from "node:test";
import { devtools, launch, openPage, SQLITE, temporary } from "./harness/chromium.js";
import { PAGES, PKG, README } from "./harness/paths.js";
import { serve } from "./harness/server.js";

const MOUNTS = { "/": PAGES, "/pkg/": PKG };
const closing = [];
let context;
let origin;
let names = 0;

/** A database that no other test uses. */
const fresh = (name) => `${name}-${(names += 1)}`;

async function server(options = {}) {
  const started = await serve({ mounts: MOUNTS, ...options });
  closing.unshift(started.close);
  return started;
}

async function browser(options) {
  const started = await launch(options);
  closing.unshift(() => started.close());
  return started;
}

before(async () => {
  ({ origin } = await server());
  context = await browser();
});
after(() => Promise.all(closing.map((close) => close())));

/** A page with the package as `turnmark` and the helpers of pages/kit.js as `kit`. */
async function blank(t, { at = origin, on = context, ...options } = {}) {
  const page = await openPage(t, on, `${at}/blank.html`, options);
  await page.waitForFunction(() => globalThis.kit);
  return page;
}

async function reload(page) {
  await page.reload();
  await page.waitForFunction(() => globalThis.kit);
}

// --- what is stored ---------------------------------------------------------------------------------------------------

test("every write asks IndexedDB for strict durability, and is stamped disk only after its transaction is complete", async (t) => {
  // P-06, P-07; instantdb#2548: acknowledged before the transaction committed.
  const page = await blank(t, {
    init: () => {
      globalThis.transactions = [];
      const { transaction } = IDBDatabase.prototype;
      IDBDatabase.prototype.transaction = function (...args) {
        const made = transaction.apply(this, args);
        if (made.mode === "readwrite") {
          const record = { durability: made.durability, completed: null };
          globalThis.transactions.push(record);
          made.addEventListener("complete", () => { record.completed = performance.now(); });
        }
        return made;
      };
    },
  });
  const seen = await page.evaluate(async (name) => {
    const store = await turnmark.open({ name });
    const session = await store.session("s");
    const acknowledged = [];
    for (let i = 0; i < 5; i += 1) {
      transactions.length = 0;
      const stamp = (await session.append([kit.user(`m${i}`)]))._durability;
      acknowledged.push({ stamp, first: transactions[0]?.completed, now: performance.now(), durabilities: transactions.map(({ durability }) => durability) });
    }
    const [restored, read] = [await session.undo(), await session.get()];
    return { acknowledged, restored: restored.checkpoint._durability, read: read.checkpoint._durability, status: await store.status() };
  }, fresh("strict"));
  for (const { stamp, first, now, durabilities } of seen.acknowledged) {
    assert.equal(stamp.level, "disk");
    assert.equal(stamp.mode, "strict");
    assert.ok(durabilities.length > 0 && durabilities.every((durability) => durability === "strict"), String(durabilities));
    assert.ok(first !== null && first <= now, "the promise resolved before the transaction was complete");
  }
  assert.deepEqual([seen.restored.level, seen.read.level, seen.status.level, seen.status.durability], ["disk", "disk", "disk", "strict"]);
});

test("a store that was opened relaxed says so, and never calls its stamps disk", async (t) => {
  // P-06, P-08, a relaxed write is `os`, the level below `disk`.
  const page = await blank(t);
  const [stamp, read, status] = await page.evaluate(async (name) => {
    const store = await turnmark.open({ name, durability: "relaxed" });
    const session = await store.session("s");
    const { _durability } = await session.append([kit.user("a")]);
    return [_durability, (await session.get()).checkpoint._durability, await store.status()];
  }, fresh("relaxed"));
  assert.deepEqual([stamp.level, stamp.mode, read.level, status.level, status.durability], ["os", "relaxed", "os", "os", "relaxed"]);
});

/** Writes one of every kind of value in every place that takes some; `check` compares them after a reload. */
async function keepsRichValues(page, name) {
  await page.evaluate(async (database) => {
    const store = await turnmark.open({ name: database });
    const session = await store.session("rich");
    await session.put({ messages: [{ id: "m", role: "user", content: "all", ...kit.richValues() }], channel: kit.richValues(), nothing: undefined }, { source: "message", note: "kept" });
    await store.saver().putWrites("rich", [["w", kit.richValues()]], "task");
    await session.setTitle("\u202e<b>title</b>");
  }, name);
  await reload(page);
  return page.evaluate(async (database) => {
    const store = await turnmark.open({ name: database });
    const { state, pendingWrites, metadata } = await (await store.session("rich")).get();
    const expected = kit.richValues();
    return {
      message: await kit.difference({ id: "m", role: "user", content: "all", ...expected }, state.messages[0]),
      channel: await kit.difference(expected, state.channel),
      write: await kit.difference(expected, pendingWrites[0][2]),
      nothing: "nothing" in state && state.nothing === undefined,
      polluted: ({}).polluted ?? null,
      note: metadata.note,
      title: (await (await store.session("rich")).summary()).title,
      verified: await store.verify(),
    };
  }, name);
}

const RICH_KEPT = { message: null, channel: null, write: null, nothing: true, polluted: null, note: "kept", title: "\u202e<b>title</b>" };

test("a reload brings back every kind of value equal: dates, maps, sets, big integers, binaries, files, NaN, -0, undefined, lone surrogates, __proto__ keys", async (t) => {
  // P-07, R12; pubkey/rxdb#3787: all data gone after reload.
  const { verified, ...kept } = await keepsRichValues(await blank(t), fresh("rich"));
  assert.deepEqual(kept, RICH_KEPT);
  assert.ok(verified.ok, JSON.stringify(verified.faults));
});

test("a value that cannot be kept exactly is refused with its place, and nothing of its command is stored", async (t) => {
  // refused, naming its path, before anything is written; a put() that throws does not abort.
  const page = await blank(t);
  const seen = await page.evaluate(async (name) => {
    const store = await turnmark.open({ name });
    const session = await store.session("s");
    await session.append([kit.user("a")]);
    const before = JSON.stringify(await kit.rawRows(name));
    const cyclic = { parts: [{}] };
    cyclic.parts[0].back = cyclic;
    const bad = [() => {}, Symbol("s"), document.body, new Error("e"), new (class Own {})(), [1, , 3], cyclic, Promise.resolve(), new WeakMap()];
    const failures = [];
    for (const value of bad) failures.push(await kit.failure(session.append([kit.user("b"), { id: "c", role: "user", parts: [{ value }] }])));
    return { failures: failures.map(({ code, path }) => [code, path]), same: before === JSON.stringify(await kit.rawRows(name)) };
  }, fresh("refused"));
  for (const [code, path] of seen.failures) {
    assert.equal(code, "NotStorable");
    assert.match(path, /^messages\[1\]\.parts\[0\]\.value/);
  }
  assert.ok(seen.same, "a refused write changed the database");
});

test("undo and redo go on after a reload where they were", async (t) => {
  // R4, P-13.
  const page = await blank(t);
  const name = fresh("undo");
  const ids = (list) => list.map(({ id }) => id).join("");
  await page.evaluate(async (database) => {
    const session = await (await turnmark.open({ name: database })).session("s");
    for (const id of "abcd") await session.append([kit.user(id)]);
    const [, , third] = (await kit.collect(session.checkpoints())).reverse();
    await session.rollback(third.id);
    await session.undo();
  }, name);
  const steps = [];
  for (const step of ["undo", "undo", "redo", "redo", "redo"]) {
    await reload(page);
    steps.push([step, ids(await page.evaluate(async ([database, direction]) => {
      const session = await (await turnmark.open({ name: database })).session("s");
      return (await session[direction]()).state.messages;
    }, [name, step]))]);
  }
  // After the rollback was undone: redo brings the rollback back only if nothing else was undone since.
  assert.deepEqual(steps, [["undo", "abc"], ["undo", "ab"], ["redo", "abc"], ["redo", "abcd"], ["redo", "abc"]]);
  const end = await page.evaluate(async (database) => {
    const store = await turnmark.open({ name: database });
    return { redo: await kit.failure(store.redo("s")), verified: (await store.verify()).ok };
  }, name);
  assert.equal(end.redo.code, "NothingToRedo");
  assert.ok(end.verified);
});

test("leaving the page in the middle of writes loses nothing that was acknowledged, and leaves nothing half-written", async (t) => {
  // dexie/Dexie.js#124, a page that is unloaded aborts; a write is whole or absent.
  const page = await blank(t);
  const name = fresh("leave");
  for (let round = 0; round < 6; round += 1) {
    await page.evaluate(async ([database, delay]) => {
      const session = await (await turnmark.open({ name: database })).session("s");
      const length = (await session.messages()).length;
      const write = (i) => session.append([kit.user(`m${length + i}`, kit.noise(60_000, i + 1)), kit.assistant(`n${length + i}`)])
        .then(({ id }) => { sessionStorage.setItem(id, "acknowledged"); }, () => {});
      for (let i = 0; i < 8; i += 1) write(i);
      setTimeout(() => location.reload(), delay);
    }, [name, round * 9]);
    await page.waitForEvent("load");
    await page.waitForFunction(() => globalThis.kit);
    const seen = await page.evaluate(async (database) => {
      const store = await turnmark.open({ name: database });
      const session = await store.session("s");
      const stored = new Set((await kit.collect(session.checkpoints())).map(({ id }) => id));
      const messages = await session.messages();
      const whole = messages.every(({ id }, i) => id[0] === "mn"[i % 2] && id.slice(1) === messages[i - (i % 2)].id.slice(1)) && messages.length % 2 === 0;
      return { missing: Object.keys(sessionStorage).filter((id) => !stored.has(id)), whole, verified: await store.verify(), acknowledged: sessionStorage.length };
    }, name);
    assert.deepEqual(seen.missing, []);
    assert.ok(seen.whole, "half of a turn was stored");
    assert.ok(seen.verified.ok, JSON.stringify(seen.verified.faults));
  }
});

test("the twenty lines of the README run as they are printed, and do what their comments say", async (t) => {
  const page = await blank(t);
  const [, printed] = readFileSync(README, "utf8").match(/```js\n(import \{ open \} from "turnmark";\n[^]*?)```/);
  const seen = await page.evaluate(async ([code, last]) => {
    // The page has an open store of another name, so "turnmark", the default, is the tour's own.
    const AsyncFunction = (async () => {}).constructor;
    const run = new AsyncFunction("turnmark", `${code.replace('import { open } from "turnmark";', "const { open } = turnmark;")}; return { ${last} };`);
    const { saved, back, chat, other, store } = await run(turnmark);
    return {
      stamp: saved._durability, back: [back.state.messages.length, "plan" in back.state], undone: await chat.state(),
      other: (await other.messages()).length, forked: (await other.summary()).forkedFrom, saved: saved.id, verified: (await store.verify()).ok,
    };
  }, [printed, "saved, back, chat, other, store"]);
  assert.deepEqual([seen.stamp.level, seen.stamp.mode], ["disk", "strict"]);
  assert.deepEqual([seen.back, seen.undone.messages.length, seen.undone.plan, seen.other, seen.verified], [[2, false], 2, { days: 7 }, 2, true]);
  assert.deepEqual(seen.forked, { sessionId: "chat-1", checkpointId: seen.saved });
});

// --- the contract -----------------------------------------------------------------------------------------------------

for (const saver of ["IndexedDBSaver", "MemorySaver"]) {
  test(`the conformance suite of turnmark/testing holds for ${saver} in the browser`, async (t) => {
    // P-01 to P-20 as turnmark/testing names them, in the cases' own words; matrix-rust-sdk#5420.
    const page = await blank(t);
    const results = await page.evaluate(async (kind) => {
      const { checkpointerSuite } = await import("/pkg/testing.js");
      let count = 0;
      const suite = checkpointerSuite({ create: () => new turnmark[kind]({ name: `suite-${(count += 1)}` }) });
      return (await suite.run()).map(({ error, ...result }) => ({ ...result, error: error && String(error.stack) }));
    }, saver);
    assert.ok(results.length > 20, `only ${results.length} cases`);
    for (const { name, ok, skipped, error } of results) {
      await t.test(`${saver}: ${name}`, () => {
        assert.ok(ok, error);
        assert.equal(skipped, undefined);
      });
    }
  });
}

// --- two tabs ---------------------------------------------------------------------------------------------------------

/** Two pages on one database, both with the store open as `store` and session "s" as `session`. */
async function twoTabs(t, name) {
  const tabs = [await blank(t), await blank(t)];
  for (const page of tabs) {
    await page.evaluate(async (database) => {
      globalThis.store = await turnmark.open({ name: database });
      globalThis.session = await store.session("s");
    }, name);
  }
  return tabs;
}

test("another tab hears of every committed change, with the whole checkpoint, and can read it at once", async (t) => {
  // P-10.
  const [a, b] = await twoTabs(t, fresh("events"));
  await b.evaluate(() => {
    globalThis.log = [];
    globalThis.reads = [];
    for (const event of ["checkpoint.created", "session.changed", "session.deleted", "restored"]) store.on(event, (payload) => log.push([event, payload]));
    store.on("checkpoint.created", ({ checkpoint }) => reads.push(session.get(checkpoint.id).then((tuple) => tuple?.state.messages.length)));
  });
  const made = await a.evaluate(async () => {
    const first = await session.append([kit.user("a"), kit.assistant("b")], { metadata: { tokens: 7 } });
    const second = await session.append([kit.user("c")]);
    const { checkpoint } = await session.rollback(first.id);
    await session.setTitle("renamed");
    await (await session.fork(second.id, "forked")).delete();
    return { first, second, checkpoint };
  });
  await b.waitForFunction(() => log.some(([event]) => event === "session.deleted"));
  const { log, reads } = await b.evaluate(async () => ({ log, reads: await Promise.all(reads) }));
  assert.ok(log.every(([, { origin: from }]) => from === "remote"));
  const created = log.filter(([event]) => event === "checkpoint.created").map(([, { checkpoint }]) => checkpoint);
  const same = ({ _durability, ...checkpoint }) => checkpoint;
  assert.deepEqual(created.map(same).filter(({ id }) => id === made.first.id), [same(made.first)]);
  assert.deepEqual(created.find(({ id }) => id === made.second.id).messageIds, ["a", "b", "c"]);
  assert.equal(created.find(({ id }) => id === made.first.id)._durability.level, "disk");
  assert.deepEqual(reads.slice(0, 2), [2, 3]);
  const restored = log.find(([event]) => event === "restored")[1];
  assert.deepEqual([restored.checkpointId, restored.targetCheckpointId], [made.checkpoint.id, made.first.id]);
  assert.ok(log.some(([event, { sessionId, reason }]) => event === "session.changed" && sessionId === "s" && /title/.test(reason)), JSON.stringify(log.map(([event, { reason }]) => [event, reason])));
  assert.equal(log.find(([event]) => event === "session.deleted")[1].sessionId, "forked");
});

test("of two tabs that append at the same instant exactly one wins, and the work of the other is kept in the branch that its error names", async (t) => {
  // R9; Nozbe/WatermelonDB#827, electric-sql/pglite#323.
  const tabs = await twoTabs(t, fresh("race"));
  const rounds = 12;
  let length = 1;
  await tabs[0].evaluate(() => session.append([kit.user("start")]));
  for (let round = 0; round < rounds; round += 1) {
    await Promise.all(tabs.map((page) => page.evaluate(() => session.messages())));
    const at = Date.now() + 60;
    const outcomes = await Promise.all(tabs.map((page, tab) => page.evaluate(async ([who, start]) => {
      while (Date.now() < start);
      const messages = [kit.user(who, `said by ${who}`)];
      return session.append(messages).then(({ id }) => ({ who, id }), (error) => ({ who, error: kit.described(error) }));
    }, [`r${round}t${tab}`, at])));
    const [winner, ...others] = outcomes.filter(({ id }) => id);
    assert.ok(winner && others.length === 0, `round ${round}: ${JSON.stringify(outcomes)}`);
    const { who, error } = outcomes.find((outcome) => outcome !== winner);
    assert.equal(error.code, "Conflict");
    const kept = await tabs[0].evaluate(async ({ sessionId, checkpointId }) => {
      const branch = await store.session(sessionId);
      const { checkpoint, state } = await branch.get();
      return { messages: state.messages, newest: checkpoint.id === checkpointId, of: (await branch.summary()).conflictOf, main: await session.messages() };
    }, error.branch);
    length += 1;
    assert.ok(kept.newest);
    assert.equal(kept.of, "s");
    assert.deepEqual([kept.main.length, kept.main.at(-1).id], [length, winner.who]);
    assert.deepEqual(kept.messages, [...kept.main.slice(0, -1), { id: who, role: "user", content: `said by ${who}` }]);
  }
  const end = await tabs[1].evaluate(async () => ({ verified: await store.verify(), sessions: (await kit.collect(store.sessions())).length }));
  assert.ok(end.verified.ok, JSON.stringify(end.verified.faults));
  assert.equal(end.sessions, 1 + rounds);
});

test("a stale tab overwrites nothing: its append and its put become branches, and its undo is refused", async (t) => {
  // oobabooga/textgen#5136, zewish/redux-remember#29, conduit#443.
  const [a, b] = await twoTabs(t, fresh("stale"));
  const newest = await a.evaluate(async () => {
    await session.append([kit.user("1")]);
    return (await session.append([kit.assistant("2")])).id;
  });
  await b.evaluate(() => session.messages());
  await a.evaluate(async () => {
    for (const id of "345") await session.append([kit.user(id)]);
  });
  const seen = await b.evaluate(async () => {
    const failures = [
      await kit.failure(session.append([kit.user("late")])),
      await kit.failure(session.put({ messages: [kit.user("only")] })),
      await kit.failure(session.undo()),
    ];
    const branches = [];
    for (const { branch } of failures.slice(0, 2)) branches.push((await (await store.session(branch.sessionId)).messages()).map(({ id }) => id).join(""));
    return { failures, branches };
  });
  assert.deepEqual(seen.failures.map(({ code }) => code), ["Conflict", "Conflict", "Conflict"]);
  assert.deepEqual(seen.branches, ["12late", "only"]);
  const main = await a.evaluate(() => session.messages());
  assert.equal(main.map(({ id }) => id).join(""), "12345");
  // Once it has looked, it may write, and go back to what it saw before.
  const later = await b.evaluate(async (id) => {
    await session.messages();
    await session.append([kit.user("6")]);
    return (await session.rollback(id)).state.messages.length;
  }, newest);
  assert.equal(later, 2);
});

test("a session that holds something is not written before it has been read", async (t) => {
  // A-36, R10; pmndrs/zustand#458 and #562, tabwrangler#241, SillyTavern#737, rt2zz/redux-persist#1105.
  const page = await blank(t);
  const name = fresh("unread");
  await page.evaluate(async (database) => (await (await turnmark.open({ name: database })).session("s")).append([kit.user("a")]), name);
  await reload(page);
  const seen = await page.evaluate(async (database) => {
    const store = await turnmark.open({ name: database });
    const session = await store.session("s");
    const before = JSON.stringify(await kit.rawRows(database));
    const failures = [
      await kit.failure(session.append([kit.user("b")])),
      await kit.failure(session.put({ messages: [kit.user("z")] })),
      await kit.failure(new turnmark.IndexedDBSaver({ name: database }).put("s", { messages: [kit.user("c")] }, { source: "message" })),
    ];
    const same = before === JSON.stringify(await kit.rawRows(database));
    await session.messages();
    const empty = await kit.failure(session.put({ messages: [] }));
    await session.append([kit.user("b")]);
    return { codes: failures.map(({ code }) => code), same, empty: empty.code, ids: (await session.messages()).map(({ id }) => id) };
  }, name);
  assert.deepEqual(seen, { codes: ["NotLoaded", "NotLoaded", "NotLoaded"], same: true, empty: "EmptyOverNonEmpty", ids: ["a", "b"] });
});

test("an answer whose tab crashed is reported as interrupted, not before, and recover() finishes it with every word that had arrived", async (t) => {
  // E-34; firebase-js-sdk#511: a lock that dies with its holder.
  const [writer, other] = await twoTabs(t, fresh("crash"));
  await writer.evaluate(async () => {
    await session.append([kit.user("q")]);
    for (const content of ["one", "one two", "one two three"]) {
      await session.put({ messages: [kit.user("q"), kit.assistant("a", content)] }, { source: "message", provisional: true });
    }
  });
  const alive = await other.evaluate(async () => ({ status: await store.status(), recovered: await store.recover() }));
  assert.deepEqual([alive.status.interrupted, alive.recovered], [[], []], "a run that another tab is writing was called interrupted");
  const session = await devtools(t, writer);
  session.send("Page.crash").catch(() => {});
  await writer.waitForEvent("crash");
  // A promise given to waitForFunction counts as true at once.
  await other.evaluate(async () => {
    while ((await store.status()).interrupted.length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  });
  const after = await other.evaluate(async () => {
    const { interrupted } = await store.status();
    const recovered = await store.recover();
    const { checkpoint, state } = await session.get();
    return { interrupted, recovered, checkpoint, said: state.messages.at(-1).content, left: (await store.status()).interrupted, ok: (await store.verify()).ok };
  });
  assert.equal(after.interrupted[0].sessionId, "s");
  assert.deepEqual(after.recovered.map(({ sessionId, action }) => [sessionId, action]), [["s", "finalized"]]);
  assert.deepEqual([after.checkpoint.provisional, after.said, after.left, after.ok], [false, "one two three", [], true]);
});

// --- elsewhere --------------------------------------------------------------------------------------------------------

test("an export of one profile is imported in another, equal in every message, checkpoint and undo", async (t) => {
  // ggml-org/llama.cpp#13552 and #19372, lobehub#8238; R3.
  const source = await blank(t);
  const other = await browser();
  const target = await blank(t, { on: other });
  const bundle = await source.evaluate(async (name) => {
    const store = await turnmark.open({ name });
    const session = await store.session("moved");
    await session.append([{ id: "r", role: "user", ...kit.richValues() }]);
    const mark = await session.append([kit.user("x"), kit.assistant("y")], { channels: { plan: new Map([["a", 1n]]) } });
    await session.append([kit.user("z")]);
    await session.rollback(mark.id);
    await store.checkpoints.pin("moved", mark.id);
    await session.setTitle("Moved");
    await session.fork(mark.id, "its fork");
    return store.export();
  }, fresh("export"));
  const seen = await target.evaluate(async (text) => {
    const store = await turnmark.open({ name: "import" });
    const report = await store.import(text);
    const session = await store.session("moved");
    const state = await session.state();
    const rich = await kit.difference({ id: "r", role: "user", ...kit.richValues() }, state.messages[0]);
    const checkpoints = await kit.collect(session.checkpoints());
    const exported = JSON.parse(await store.export());
    const undone = (await session.undo()).state.messages.map(({ id }) => id).join("");
    const again = await kit.failure(store.import(text));
    const broken = await kit.failure(store.import(text.replace("question x", "question !"), { onExisting: "rename" }));
    return { report, rich, plan: state.plan instanceof Map && state.plan.get("a") === 1n, checkpoints, exported, undone, again, broken, verified: await store.verify(), count: (await kit.collect(store.sessions())).length };
  }, bundle);
  assert.deepEqual(seen.report.sessions.map(({ id, importedAs }) => [id, importedAs]).sort(), [["its fork", "its fork"], ["moved", "moved"]]);
  assert.equal(seen.rich, null);
  assert.ok(seen.plan);
  assert.equal(seen.undone, "rxyz");
  assert.equal(seen.again.code, "AlreadyExists");
  assert.equal(seen.broken.code, "BadBundle");
  assert.equal(seen.count, 2);
  assert.ok(seen.verified.ok, JSON.stringify(seen.verified.faults));
  const original = await source.evaluate(async (text) => {
    const store = await turnmark.open({ name: "again", backend: "memory" });
    await store.import(text);
    return kit.collect((await store.session("moved")).checkpoints());
  }, bundle);
  const plain = ({ _durability, ...summary }) => summary;
  assert.deepEqual(seen.checkpoints.map(plain), original.map(plain));
});

test("a module worker uses the package as a page does, beside a page, and after it was terminated", async (t) => {
  // usable from a Worker; rxdb#5138, vm0#32143.
  const page = await blank(t);
  const name = fresh("worker");
  const seen = await page.evaluate(async (database) => {
    const ask = (worker, texts) => new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
      worker.postMessage({ name: database, session: "s", texts });
    });
    const store = await turnmark.open({ name: database });
    const session = await store.session("s");
    const remote = kit.heard(store, "checkpoint.created", ({ origin: from }) => from === "remote");
    let worker = new Worker("/worker.js", { type: "module" });
    const first = await ask(worker, ["one", "two"]);
    worker.terminate();
    worker = new Worker("/worker.js", { type: "module" });
    await session.messages();
    await session.append([kit.user("page")]);
    const second = await ask(worker, ["three"]);
    worker.terminate();
    return { first, second, remote: (await remote).checkpoint.sessionId, messages: (await session.messages()).map(({ content }) => content) };
  }, name);
  assert.deepEqual([seen.first.error, seen.second.error], [undefined, undefined]);
  assert.deepEqual([seen.first.level, seen.first.ok, seen.second.ok], ["disk", true, true]);
  assert.deepEqual(seen.messages, ["one", "two", "question page", "three"]);
  assert.equal(seen.remote, "s");
});

test("status() tells the browser's own estimate and its promise to keep the data, and persist() asks for that promise", async (t) => {
  // localForage#1078 (warn from estimate).
  const page = await blank(t);
  const session = await devtools(t, page);
  const name = fresh("persist");
  const ask = (grant) => page.evaluate(async ([database, granted]) => {
    const store = await turnmark.open({ name: database });
    const answer = await store.persist();
    const { persisted, quota } = await store.status();
    const estimate = await navigator.storage.estimate();
    const written = await (await store.session(`granted ${granted}`)).append([kit.user("a")]);
    return { answer, persisted, browser: await navigator.storage.persisted(), stamp: written._durability.persisted, quota, estimate };
  }, [name, grant]);
  const plain = await ask(false);
  assert.deepEqual([plain.answer, plain.persisted, plain.stamp], [plain.browser, plain.browser, plain.browser]);
  assert.ok(Math.abs(plain.quota.quota - plain.estimate.quota) < plain.estimate.quota / 100, JSON.stringify(plain));
  assert.ok(plain.quota.usage > 0 && plain.quota.usage <= plain.quota.quota);
  await session.send("Browser.grantPermissions", { origin, permissions: ["durableStorage"] });
  t.after(() => session.send("Browser.resetPermissions").catch(() => {}));
  const granted = await ask(true);
  assert.deepEqual([granted.answer, granted.persisted, granted.browser, granted.stamp], [true, true, true, true]);
});

// --- what browsers do to a database -----------------------------------------------------------------------------------

for (const [how, command] of [
  ["deletes the database behind an open store", (at, name) => ["IndexedDB.deleteDatabase", { securityOrigin: at, databaseName: name }]],
  ["clears the site's data behind an open store", (at) => ["Storage.clearDataForOrigin", { origin: at, storageTypes: "indexeddb" }]],
]) {
  test(`when the browser ${how}, every write under way settles, the loss is told, and the next call works`, async (t) => {
    // rocicorp/replicache#973, matrix-js-sdk#4433, dexie/Dexie.js#2186 and #613, classic-jazz#3530, idb-keyval#175.
    const own = await server();
    const page = await blank(t, { at: own.origin });
    const session = await devtools(t, page);
    const name = fresh("wiped");
    await page.evaluate(async (database) => {
      globalThis.store = await turnmark.open({ name: database });
      globalThis.log = [];
      for (const event of ["connection", "data.lost"]) store.on(event, (payload) => log.push([event, payload.state ?? payload.message]));
      const old = await store.session("old");
      await old.append([kit.user("gone")]);
      globalThis.flight = Promise.all(Array.from({ length: 12 }, async (_, i) => {
        const one = await store.session(`flight ${i}`);
        return one.append([kit.user("f", kit.noise(50_000, i + 1))]).then(({ id }) => ({ id }), kit.described);
      }));
      // So that they are under way. Chromium loses the answer of a call that ends right before so much work.
      await new Promise((resolve) => { setTimeout(resolve); });
    }, name);
    await session.send(...command(own.origin, name));
    const seen = await page.evaluate(async () => {
      const outcomes = await Promise.race([flight, new Promise((resolve) => { setTimeout(resolve, 15_000, "a write never settled"); })]);
      const next = await store.session("next");
      const written = await next.append([kit.user("a")]).then(({ _durability }) => _durability.level, kit.described);
      const old = (await store.session("old"));
      return { outcomes, written, old: await old.messages(), next: await next.messages(), status: await store.status(), verified: await store.verify(), log };
    });
    assert.ok(Array.isArray(seen.outcomes), seen.outcomes);
    for (const outcome of seen.outcomes) assert.ok(outcome.id || (outcome.typed && outcome.code !== "Internal"), JSON.stringify(outcome));
    assert.ok(seen.log.some(([event, state]) => event === "connection" && (state === "lost" || state === "closed")), JSON.stringify(seen.log));
    assert.ok(seen.log.some(([event, state]) => event === "connection" && state === "open"), JSON.stringify(seen.log));
    // a suspect store is not called disk until it is healed.
    assert.match(seen.written, /^(os|disk)$/);
    assert.deepEqual([seen.old.length, seen.next.length, seen.verified.ok, seen.status.connection], [0, 1, true, "open"]);
    assert.equal(seen.status.dataLost, true);
    assert.ok(seen.log.some(([event]) => event === "data.lost"), `the loss was not told: ${JSON.stringify(seen.log)}`);
  });
}

test("over the quota a write fails with QuotaExceeded, nothing of it is stored, pruning and deleting still work, and so do writes once there is room", async (t) => {
  // dexie/Dexie.js#776, #840 and #1794, localForage#822, idb#23, pouchdb#4637 and #7025, CherryHQ/cherry-studio#15423.
  const own = await server();
  const page = await blank(t, { at: own.origin });
  const session = await devtools(t, page);
  // On the page's session and before its first write: Chromium remembers the quota for 30 seconds.
  await session.send("Storage.overrideQuotaForOrigin", { origin: own.origin, quotaSize: 3_000_000 });
  const name = fresh("quota");
  const full = await page.evaluate(async (database) => {
    globalThis.store = await turnmark.open({ name: database });
    globalThis.chat = await store.session("s");
    await (await store.session("doomed")).append([kit.user("d")]);
    let error = null;
    for (let i = 0; i < 200 && !error; i += 1) {
      await chat.append([kit.user(`m${i}`, kit.noise(50_000, i + 1))], { channels: { at: i } }).catch((thrown) => { error = kit.described(thrown); });
    }
    const state = await chat.state();
    const before = JSON.stringify(await kit.rawRows(database));
    const others = [
      await kit.failure(chat.put({ messages: [...state.messages, kit.user("more", kit.noise(90_000, 500))] })),
      await kit.failure((await store.session("new")).append([kit.user("n", kit.noise(90_000, 501))])),
    ];
    return {
      error, others, same: before === JSON.stringify(await kit.rawRows(database)), messages: state.messages.length, at: state.at,
      checkpoints: (await chat.summary()).checkpointCount, verified: await store.verify(), sessions: (await kit.collect(store.sessions())).length,
    };
  }, name);
  assert.equal(full.error.code, "QuotaExceeded");
  assert.ok(full.error.typed);
  assert.match(full.error.cause, /Quota/);
  assert.deepEqual(full.others.map(({ code }) => code), ["QuotaExceeded", "QuotaExceeded"]);
  assert.ok(full.same, "a refused write changed the database");
  assert.deepEqual([full.at, full.checkpoints, full.sessions], [full.messages - 1, full.messages, 2]);
  assert.ok(full.verified.ok, JSON.stringify(full.verified.faults));

  const freed = await page.evaluate(async () => {
    const outcome = (promise) => promise.then((value) => value ?? "done", kit.described);
    const oldest = (await kit.collect(chat.checkpoints())).at(-1).id;
    return {
      deleted: await outcome(store.checkpoints.delete("s", oldest)),
      pruned: await outcome(store.checkpoints.prune("s", 5)),
      session: await outcome((await store.session("doomed")).delete()),
      left: (await kit.collect(chat.checkpoints())).length,
      sessions: (await kit.collect(store.sessions())).length,
      messages: (await chat.messages()).length,
      verified: await store.verify(),
    };
  });
  const { verified, ...rest } = freed;
  assert.deepEqual(rest, { deleted: "done", pruned: full.messages - 6, session: "done", left: 5, sessions: 1, messages: full.messages });
  assert.ok(verified.ok, JSON.stringify(verified.faults));

  await session.send("Storage.overrideQuotaForOrigin", { origin: own.origin });
  const again = await page.evaluate(async () => {
    // Its cache may outlive the change by half a minute.
    for (let left = 35; ; left -= 1) {
      const result = await chat.append([kit.user("after", kit.noise(90_000, 999))]).then(({ _durability }) => _durability.level, kit.described);
      if (typeof result === "string" || left === 0) return { result, verified: await store.verify(), messages: (await chat.messages()).length };
      await new Promise((resolve) => { setTimeout(resolve, 1000); });
    }
  });
  assert.deepEqual([again.result, again.messages, again.verified.ok], ["disk", full.messages + 1, true]);
});

test("a whole database can be deleted while it is over the quota", async (t) => {
  // pouchdb#4637 and #6050: deleteDatabase works without a successful open and without a write before it.
  const own = await server();
  const page = await blank(t, { at: own.origin });
  const session = await devtools(t, page);
  await session.send("Storage.overrideQuotaForOrigin", { origin: own.origin, quotaSize: 400_000 });
  const seen = await page.evaluate(async (name) => {
    const store = await turnmark.open({ name });
    const chat = await store.session("s");
    for (let i = 0; i < 60; i += 1) await chat.append([kit.user(`m${i}`, kit.noise(40_000, i + 1))]).catch(() => {});
    await turnmark.deleteDatabase(name);
    return (await indexedDB.databases()).map(({ name: found }) => found);
  }, fresh("deleted"));
  assert.deepEqual(seen, []);
});

test("a database of a newer release is refused and left untouched", async (t) => {
  // electric-sql/pglite#874, lobehub#5277: SchemaTooNew, version read first.
  const page = await blank(t);
  const seen = await page.evaluate(async (name) => {
    const request = indexedDB.open(name, 10_000);
    request.onupgradeneeded = () => {
      for (const store of ["meta", "sessions", "future"]) request.result.createObjectStore(store).put({ from: "the future" }, [1]);
    };
    (await kit.done(request)).close();
    const before = JSON.stringify(await kit.rawRows(name));
    const failures = [await kit.failure(turnmark.open({ name })), await kit.failure(new turnmark.IndexedDBSaver({ name }).get("s")), await kit.failure(turnmark.open({ name, fallbackToMemory: true }))];
    return { failures: failures.map(({ code, message }) => [code, message]), same: before === JSON.stringify(await kit.rawRows(name)) };
  }, fresh("newer"));
  for (const [code, message] of seen.failures) {
    assert.equal(code, "SchemaTooNew");
    assert.match(message, /newer release/);
  }
  assert.ok(seen.same, "the newer database was changed");
});

test("a database that is not ours, or lacks a store, is refused by name and left untouched", async (t) => {
  // jakearchibald/idb#212, formbricks: the shape is verified after opening.
  const page = await blank(t);
  const seen = await page.evaluate(async (name) => {
    const request = indexedDB.open(name, 100);
    request.onupgradeneeded = () => request.result.createObjectStore("theirs").put("mine", 1);
    (await kit.done(request)).close();
    const { code } = await kit.failure(turnmark.open({ name }));
    return [code, (await kit.rawRows(name)).rows.theirs[1]];
  }, fresh("foreign"));
  assert.deepEqual(seen, ["SchemaMismatch", ["mine"]]);
});

/** Holds a database of an older version open in another tab, as a page does that knows nothing of us. */
async function held(t, name) {
  const [old, page] = [await blank(t), await blank(t)];
  await old.evaluate(async (database) => {
    globalThis.connection = await kit.done(indexedDB.open(database, 1));
  }, name);
  return [old, page];
}

test("while an old connection in another tab blocks the upgrade a listener is told, and opening goes on when it closes", async (t) => {
  // carouselbot#42 (continues when the old tab closes), vm0#19770, dexie/Dexie.js#17.
  const name = fresh("blocked");
  const [old, page] = await held(t, name);
  const told = await page.evaluate(async (database) => {
    const saver = new turnmark.IndexedDBSaver({ name: database });
    const event = kit.heard(saver, "blocked").then(({ message }) => message, String);
    globalThis.opening = saver.put("s", { messages: [kit.user("a")] }, { source: "message" }).then(({ _durability }) => _durability.level, kit.described);
    return event;
  }, name);
  assert.match(told, /another tab/);
  await old.evaluate(() => connection.close());
  assert.equal(await page.evaluate(() => opening), "disk");
});

test("an upgrade that stays blocked fails in time with Blocked, each time it is tried", async (t) => {
  // firebase-js-sdk#4076 (a time limit), carouselbot#42 (a message that says what to do).
  const name = fresh("blocked");
  const [old, page] = await held(t, name);
  const seen = await page.evaluate(async (database) => {
    const attempts = [];
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const start = performance.now();
      const { code, message } = await kit.failure(turnmark.open({ name: database, timeout: 700 }));
      attempts.push({ code, message, took: performance.now() - start });
    }
    return attempts;
  }, name);
  for (const { took, message } of seen) {
    assert.ok(took < 5000, `${took} ms`);
    assert.match(message, /tab/);
  }
  assert.deepEqual(seen.map(({ code }) => code), ["Blocked", "Blocked"]);
  await old.evaluate(() => connection.close());
  const later = await page.evaluate(async (database) => (await (await (await turnmark.open({ name: database })).session("s")).append([kit.user("a")]))._durability.level, name);
  assert.equal(later, "disk");
});

test("deleting a database that another tab holds open is reported, finishes when that tab lets go, and open stores let go by themselves", async (t) => {
  // dexie/Dexie.js#17, repc#161, close on versionchange.
  const [other, page] = [await blank(t), await blank(t)];
  const name = fresh("let-go");
  await other.evaluate(async (database) => {
    globalThis.store = await turnmark.open({ name: database });
    globalThis.states = [];
    store.on("connection", ({ state }) => states.push(state));
    await (await store.session("s")).append([kit.user("a")]);
  }, name);
  const left = await page.evaluate(async (database) => {
    await turnmark.deleteDatabase(database);
    return (await indexedDB.databases()).some(({ name: found }) => found === database);
  }, name);
  assert.equal(left, false);
  const seen = await other.evaluate(async () => {
    const fresh = await store.session("again");
    await fresh.append([kit.user("b")]);
    return { states, messages: (await fresh.messages()).length, status: await store.status() };
  });
  assert.ok(seen.states.includes("closed"), String(seen.states));
  assert.deepEqual([seen.messages, seen.status.connection, seen.status.dataLost], [1, "open", true]);
});

// --- where something is missing ---------------------------------------------------------------------------------------

test("without IndexedDB opening fails with Unavailable, and uses memory only when told to, with honest stamps", async (t) => {
  // element-web#21098 and #33183, matrix-js-sdk#2386.
  const page = await blank(t, { init: () => Object.defineProperty(globalThis, "indexedDB", { value: undefined }) });
  const seen = await page.evaluate(async () => {
    const failures = [await kit.failure(turnmark.open({ name: "x" })), await kit.failure(new turnmark.IndexedDBSaver({ name: "x" }).get("s")), await kit.failure(turnmark.deleteDatabase("x"))];
    const store = await turnmark.open({ name: "x", fallbackToMemory: true });
    const { _durability } = await (await store.session("s")).append([kit.user("a")]);
    return { failures, stamp: _durability, status: await store.status() };
  });
  assert.deepEqual(seen.failures.map(({ code }) => code), ["Unavailable", "Unavailable", "Unavailable"]);
  assert.match(seen.failures[0].message, /memory/);
  assert.deepEqual([seen.stamp.level, seen.stamp.mode, seen.status.backend, seen.status.level, seen.status.durability], ["memory", undefined, "memory", "memory", "none"]);
});

test("in a sandboxed frame, where the browser forbids storage, opening fails with Unavailable", async (t) => {
  // element-web#21098; platform: SecurityError.
  const page = await blank(t);
  const seen = await page.evaluate(() => new Promise((resolve) => {
    addEventListener("message", ({ data }) => resolve(data), { once: true });
    const frame = document.createElement("iframe");
    frame.sandbox = "allow-scripts";
    // Its origin is opaque, so a module script of ours cannot be loaded from it by address: it comes as text.
    frame.srcdoc = "<script>try { indexedDB.open('x'); parent.postMessage('usable', '*'); } catch (error) { parent.postMessage(error.name, '*'); }<\/script>";
    document.body.append(frame);
  }));
  assert.equal(seen, "SecurityError", "the browser changed: this test proves nothing any more");
  // The same refusal, on a page of ours.
  const refused = await blank(t, { init: () => {
    IDBFactory.prototype.open = () => { throw new DOMException("Access to the Indexed Database API is denied in this context.", "SecurityError"); };
  } });
  const failures = await refused.evaluate(async () => {
    const first = await kit.failure(turnmark.open({ name: "x" }));
    const store = await turnmark.open({ name: "x", fallbackToMemory: true });
    return { first, level: (await (await store.session("s")).append([kit.user("a")]))._durability.level };
  });
  assert.deepEqual([failures.first.code, failures.level], ["Unavailable", "memory"]);
});

test("a content security policy that forbids WebAssembly fails with WasmFailed and names what to add, and with that added all is well, under Trusted Types too", async (t) => {
  // apps need `wasm-unsafe-eval` in a strict CSP: detect it and say so.
  const outcome = async (policy) => {
    const own = await server({ headers: { "Content-Security-Policy": policy } });
    const page = await openPage(t, context, `${own.origin}/csp.html`, { expected: [/Content.Security.Policy|wasm-unsafe-eval|CSP|'TrustedHTML' assignment/i] });
    const session = await devtools(t, page);
    const { result } = await session.send("Runtime.evaluate", {
      expression: `(async () => {
        const attempts = [];
        const { open } = await import("/pkg/index.js");
        const isEnforced = (() => { try { document.body.innerHTML = "<p>"; return false; } catch { return true; } })();
        if (isEnforced !== ${policy.includes("require-trusted-types-for")}) return ["Trusted Types: " + isEnforced];
        // Again, after a failure: it is not remembered.
        for (const name of ["one", "two"]) {
          attempts.push(await open({ name }).then(async (store) => (await (await store.session("s")).append([{ id: "a", role: "user" }]))._durability.level, ({ code, message }) => code + ": " + message));
        }
        return attempts;
      })()`,
      awaitPromise: true,
      returnByValue: true,
    });
    return result.value;
  };
  // Trusted Types: a script is made of no text at all.
  for (const more of ["", "; require-trusted-types-for 'script'; trusted-types 'none'"]) {
    const refused = await outcome(`default-src 'self'; script-src 'self'; img-src data:${more}`);
    assert.equal(refused.length, 2);
    for (const text of refused) assert.match(text, /^WasmFailed: .*Content-Security-Policy.*'wasm-unsafe-eval'/s);
    assert.deepEqual(await outcome(`default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src data:${more}`), ["disk", "disk"]);
  }
});

test("a module file that is missing, or an HTML page in its place, fails with WasmFailed and says what to do, and a later call can succeed", async (t) => {
  // the text a search finds; cleared on failure.
  const page = await blank(t, { expected: [/404/] });
  const seen = await page.evaluate(async () => {
    const html = new Blob(["<!doctype html>"], { type: "text/html" });
    const failures = [await kit.failure(turnmark.init("/pkg/wasm/gone.wasm")), await kit.failure(turnmark.init(URL.createObjectURL(html)))];
    await turnmark.init();
    return failures.map(({ code, message }) => `${code}: ${message}`);
  });
  assert.match(seen[0], /^WasmFailed: .*404.*turnmark\/inline/s);
  assert.match(seen[1], /^WasmFailed: .*magic word.*optimizeDeps/s);
});

// --- the other backend ------------------------------------------------------------------------------------------------

test("all of it holds on Chromium's SQLite backend of IndexedDB too", async (t) => {
  // being rolled out; test both.
  const profile = temporary("sqlite");
  const other = await browser({ profile, args: [SQLITE] });
  const page = await blank(t, { on: other });
  const { verified, ...kept } = await keepsRichValues(page, "sqlite");
  assert.deepEqual(kept, RICH_KEPT);
  assert.ok(verified.ok, JSON.stringify(verified.faults));
  const seen = await page.evaluate(async () => {
    const { checkpointerSuite } = await import("/pkg/testing.js");
    let count = 0;
    const suite = await checkpointerSuite({ create: () => new turnmark.IndexedDBSaver({ name: `suite-${(count += 1)}` }) }).run();
    return suite.filter(({ ok }) => !ok).map(({ name, error }) => `${name}: ${error}`);
  });
  assert.deepEqual(seen, []);
  const files = readdirSync(profile, { recursive: true }).map(String).filter((path) => path.includes("IndexedDB"));
  assert.ok(files.length > 0 && !files.some((path) => path.includes(".leveldb")), `this was not the SQLite backend: ${files}`);
});
