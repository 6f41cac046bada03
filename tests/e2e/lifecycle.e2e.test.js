// What pages and browsers do while a store is being opened, upgraded, closed and opened again; in Chromium and in Firefox.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { launch as launchChromium, openPage } from "./harness/chromium.js";
import { LEFT_OUT, launch as launchFirefox } from "./harness/firefox.js";
import { Lab, enter } from "./harness/tabs.js";

/** A database as the first release made it, with a row in it. */
function makeOld(name) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 100);
    request.onupgradeneeded = () => {
      for (const store of ["meta", "sessions", "messages", "references", "checkpoints", "objects", "writes"]) {
        const made = request.result.createObjectStore(store);
        if (store === "checkpoints") made.createIndex("id", ["scope", "session", "id"], { unique: true });
        if (store === "objects") made.put({ of: 1, content: { text: "kept" } }, ["00", 0]);
      }
    };
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      request.result.close();
      resolve();
    };
  });
}

for (const [browser, launch, skip] of [["Chromium", launchChromium, false], ["Firefox", launchFirefox, LEFT_OUT]]) {
  describe(`opening and closing in ${browser}`, { skip, timeout: 300_000 }, () => {
    let lab;
    before(async () => { lab = await Lab.start(launch); });
    after(() => lab.close());

    /** A page on which nothing is open. */
    async function blank(t, options) {
      const page = await openPage(t, lab.context, `${lab.origin}/blank.html`, options);
      await page.waitForFunction(() => globalThis.kit);
      return page;
    }

    test("a page that ends in the middle of an upgrade leaves the old version whole, and the next one upgrades it with everything in it", async (t) => {
      // apache/pouchdb#3971, trezor/trezor-suite#32522, lobehub#5277.
      const name = lab.fresh("upgrade");
      const [page, next] = [await blank(t), await blank(t)];
      await page.evaluate(makeOld, name);
      const before = await next.evaluate((database) => kit.rawRows(database), name);
      await page.evaluate((database) => {
        const { createObjectStore } = IDBDatabase.prototype;
        globalThis.steps = 0;
        // The first change is made, and the upgrade goes on for ever.
        IDBDatabase.prototype.createObjectStore = function (...args) {
          const made = createObjectStore.apply(this, args);
          const again = () => {
            globalThis.steps += 1;
            made.count().onsuccess = again;
          };
          again();
          return made;
        };
        turnmark.open({ name: database }).catch(() => {});
      }, name);
      await page.waitForFunction(() => globalThis.steps > 10);
      await page.close();
      assert.deepEqual(await next.evaluate((database) => kit.rawRows(database), name), before);
      const seen = await next.evaluate(async (database) => {
        const store = await turnmark.open({ name: database });
        await (await store.session("s")).append([kit.user("a")]);
        await store.close();
        const { version, rows } = await kit.rawRows(database);
        return { version, kept: rows.objects[1].some(({ content }) => content.text === "kept") };
      }, name);
      assert.ok(seen.version > before.version);
      assert.ok(seen.kept, "a row of the old version is gone");
    });

    test("a page that is refreshed in the middle of its first open can open the store then", async (t) => {
      // apache/pouchdb#3971: it could never be opened again.
      for (const delay of [0, 2, 5, 10, 20, 40, 80]) {
        const name = lab.fresh("refreshed");
        const page = await blank(t);
        await page.evaluate((database) => { turnmark.open({ name: database }).catch(() => {}); }, name);
        await sleep(delay);
        await page.reload();
        await enter(page, name);
        const seen = await page.evaluate(async () => [(await session.append([kit.user("a")])).messageCount, (await store.verify()).ok]);
        assert.deepEqual(seen, [1, true], `after ${delay} ms`);
        await page.close();
      }
    });

    test("a store that is closed and opened at once, as hot reloading does, goes on where it was each time", async (t) => {
      // yjs/y-indexeddb#13.
      const page = await blank(t);
      const seen = await page.evaluate(async (name) => {
        const closing = [];
        for (let i = 0; i < 20; i += 1) {
          const { open } = await import(`/pkg/index.js?hot=${i}`);
          const store = await open({ name });
          const session = await store.session("s");
          await session.get();
          // Neither is waited for: what was called before the close is done.
          const written = session.append([kit.user(`m${i}`)]);
          closing.push(written, store.close());
        }
        await Promise.all(closing);
        const store = await turnmark.open({ name });
        return { ids: (await (await store.session("s")).messages()).map(({ id }) => id), verified: (await store.verify()).ok, lost: (await store.status()).dataLost };
      }, lab.fresh("hot"));
      assert.deepEqual(seen, { ids: Array.from({ length: 20 }, (_, i) => `m${i}`), verified: true, lost: false });
    });

    test("a database of a newer release is refused with SchemaTooNew, also where memory may take its place, and nothing in it is touched", async (t) => {
      // electric-sql/pglite#874.
      const page = await blank(t);
      const seen = await page.evaluate(async (name) => {
        const store = await turnmark.open({ name });
        await (await store.session("s")).append([kit.user("a")]);
        await store.close();
        const { version } = await kit.rawRows(name);
        const request = indexedDB.open(name, version + 100);
        request.onupgradeneeded = () => request.result.createObjectStore("of the future").put("kept", 1);
        (await kit.done(request)).close();
        const before = JSON.stringify(await kit.rawRows(name));
        const failures = [];
        for (const options of [{}, { fallbackToMemory: true }, { scope: "other" }]) failures.push((await kit.failure(turnmark.open({ name, ...options }))).code);
        failures.push((await kit.failure(new turnmark.IndexedDBSaver({ name }).get("s"))).code);
        return { failures, same: before === JSON.stringify(await kit.rawRows(name)) };
      }, lab.fresh("newer"));
      assert.deepEqual(seen, { failures: ["SchemaTooNew", "SchemaTooNew", "SchemaTooNew", "SchemaTooNew"], same: true });
    });

    test("whatever the clock says, backwards, far in the future or no time at all, order is that of the writes, also after a reload", async (t) => {
      // firebase-js-sdk#3852.
      const name = lab.fresh("clock");
      const page = await lab.tab(t, name);
      const times = [5e12, 4e12, 1000, 0, -1e12, NaN, 8.64e15, 1e17, Infinity, -Infinity, 1.7e12, 1.6e12];
      const read = () => page.evaluate(async () => {
        const list = await kit.collect(session.checkpoints());
        return {
          ids: ids(await session.messages()), newestFirst: list.every(({ seq }, i) => i === 0 || seq < list[i - 1].seq), finite: list.every(({ createdAt }) => Number.isFinite(createdAt)),
          log: (await session.log()).length, verified: (await store.verify()).ok,
        };
      });
      const wanted = times.flatMap((_, i) => [`q${i}`, `a${i}`]).join(" ");
      await page.evaluate(async (clock) => {
        const { now } = Date;
        for (const [i, time] of clock.entries()) {
          Date.now = () => Number(time);
          await exchange(i);
        }
        Date.now = () => 1;
        await session.undo();
        await session.redo();
        Date.now = now;
      }, times.map(String));
      const before = await read();
      assert.deepEqual([before.ids, before.newestFirst, before.finite, before.verified], [wanted, true, true, true]);
      await page.reload();
      await enter(page, name);
      assert.deepEqual(await read(), before);
      assert.equal(await page.evaluate(async () => {
        await session.undo();
        return ids(await session.messages());
      }), wanted.replace(/ q11 a11$/, ""));
    });

    test("an engine that loses its transaction between two requests, as iOS does, is asked once more, and no call stays half done", async (t) => {
      // idb-keyval#171, rxdb#8496, Expensify/App#87864, dexie/Dexie.js#1660 and #2296.
      const page = await lab.tab(t, lab.fresh("ios"));
      const seen = await page.evaluate(async () => {
        await session.append([kit.user("before")], { channels: { plan: 1 } });
        const outcomes = [];
        const words = { get: "Attempt to get a record from database without an in-progress transaction", getAll: "Attempt to get all index records from database without an in-progress transaction",
          put: "Attempt to put a record from database without an in-progress transaction", delete: "Attempt to delete range from database without an in-progress transaction" };
        for (const [method, message] of Object.entries(words)) {
          const original = IDBObjectStore.prototype[method];
          for (const [what, call] of [["read", () => session.messages()], ["write", () => session.append([kit.user(`${method} ${outcomes.length}`)])], ["prune", () => store.checkpoints.prune("chat", 1)]]) {
            await session.get();
            const count = (await session.messages()).length;
            let hit = false;
            IDBObjectStore.prototype[method] = function (...args) {
              if (hit) return original.apply(this, args);
              hit = true;
              // The transaction is gone with that.
              this.transaction.abort();
              throw new DOMException(message, "UnknownError");
            };
            const outcome = await Promise.resolve().then(call).then(() => "done", (error) => (error instanceof turnmark.TurnmarkError ? error.code : `untyped ${error}`));
            IDBObjectStore.prototype[method] = original;
            const now = (await session.messages()).length;
            outcomes.push({ method, what, hit, outcome, added: now - count, ok: (await store.verify()).ok });
          }
        }
        return outcomes;
      });
      assert.ok(seen.filter(({ hit }) => hit).length >= 6, JSON.stringify(seen));
      for (const { method, what, outcome, added, ok } of seen) {
        const wanted = what === "write" && outcome === "done" ? 1 : 0;
        assert.deepEqual([added, ok], [wanted, true], `${method} in a ${what}: ${outcome}`);
        assert.match(outcome, /^(done|Aborted|ConnectionLost)$/, `${method} in a ${what}`);
        if (what === "read") assert.equal(outcome, "done", `${method} in a ${what} was not repeated`);
      }
    });

    test("an open that fails now and then succeeds, one that always fails says so, and the database can be deleted all the same", async (t) => {
      // dexie/Dexie.js#271, apache/pouchdb#6050.
      const page = await blank(t);
      const seen = await page.evaluate(async (name) => {
        const { open } = IDBFactory.prototype;
        let failing = 2;
        IDBFactory.prototype.open = function (...args) {
          if (failing <= 0) return open.apply(this, args);
          failing -= 1;
          const request = open.call(this, "a decoy");
          request.addEventListener("success", (event) => {
            event.stopImmediatePropagation();
            request.result.close();
            Object.defineProperty(request, "error", { value: new DOMException("Internal error opening backing store for indexedDB.open.", "UnknownError") });
            request.dispatchEvent(new Event("error"));
          });
          return request;
        };
        const store = await turnmark.open({ name });
        const level = (await (await store.session("s")).append([kit.user("a")]))._durability.level;
        await store.close();
        failing = Infinity;
        const { code, cause } = await kit.failure(turnmark.open({ name }));
        await turnmark.deleteDatabase(name);
        failing = 0;
        return { level, code, cause, left: (await indexedDB.databases()).some(({ name: found }) => found === name) };
      }, lab.fresh("unknown"));
      assert.deepEqual([seen.level, seen.code, seen.left], ["disk", "Unavailable", false]);
      assert.match(seen.cause, /UnknownError/);
    });

    test("when another tab deletes the database behind an open store, every call settles, the loss is told, and the store goes on", async (t) => {
      // rocicorp/repc#161, rocicorp/replicache#973, matrix-js-sdk#4433 and #2386.
      const name = lab.fresh("deleted");
      const [page, other] = [await lab.tab(t, name), await blank(t)];
      await page.evaluate(async () => {
        globalThis.told = [];
        store.on("data.lost", ({ sessions }) => told.push(sessions.map(({ sessionId }) => sessionId).join()));
        await session.append([kit.user("gone")]);
        globalThis.flight = Promise.all(Array.from({ length: 10 }, async (_, i) => (await store.session(`flight ${i}`)).append([kit.user("f")]).then(() => "done", ({ code }) => code)));
      });
      await other.evaluate((database) => kit.done(indexedDB.deleteDatabase(database)), name);
      const seen = await page.evaluate(async () => {
        const outcomes = await Promise.race([flight, new Promise((resolve) => { setTimeout(resolve, 15_000, ["(never settled)"]); })]);
        await session.get();
        const next = await session.append([kit.user("next")]);
        return { outcomes, count: next.messageCount, lost: (await store.status()).dataLost, verified: (await store.verify()).ok, told };
      });
      for (const outcome of seen.outcomes) assert.match(outcome, /^(done|ConnectionLost|Aborted)$/);
      assert.deepEqual([seen.count, seen.lost, seen.verified], [1, true, true]);
      assert.ok(seen.told.length > 0, "the loss was not told");
    });
  });
}
