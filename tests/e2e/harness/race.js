// Tabs that write the same sessions as fast as they can. Whoever is first wins, and whoever is not finds its work in a branch: nothing is lost,
// and each session is the sum of what won, in the order of its checkpoints.
import assert from "node:assert/strict";
import { openPage } from "./chromium.js";

const SESSIONS = ["one", "two", "three"];

/** What one tab does: writes, and tells what became of each. Every third write knows an old head. */
async function write({ tab, each, sessions }) {
  const store = await turnmark.open({ name: "racing" });
  const won = [];
  const lost = [];
  for (let i = 0; i < each; i += 1) {
    const session = await store.session(sessions[(i * 7 + tab) % sessions.length]);
    if (i % 3 !== 2 || i < sessions.length) await session.state();
    const id = `${tab}-${i}`;
    try {
      const checkpoint = i % 10 === 9
        ? await (await session.begin({ raw: id })).end([{ id, role: "user", content: id }])
        : await session.append([{ id, role: "user", content: id }]);
      won.push({ session: session.id, checkpoint: checkpoint.id, id });
    } catch (error) {
      if (error.code !== "Conflict" && error.code !== "ActiveRun") throw error;
      // A turn that began in a branch goes on there.
      const end = error.turn && (await error.turn.end([{ id, role: "user", content: id }]));
      if (error.code === "Conflict") lost.push({ branch: end ? { sessionId: end.sessionId, checkpointId: end.id } : error.branch, id });
    }
  }
  await store.close();
  return { won, lost };
}

/** What is there in the end, and whether everything is whole. */
async function find({ sessions, lost, won }) {
  const store = await turnmark.open({ name: "racing" });
  const ids = ({ messages = [] }) => messages.map(({ id }) => id);
  const found = {};
  for (const id of sessions) {
    const session = await store.session(id);
    const order = [];
    for await (const { id: checkpoint, seq } of session.checkpoints()) order.push([checkpoint, seq]);
    found[id] = { live: ids(await session.state()), order: Object.fromEntries(order) };
  }
  const holds = async (sessionId, checkpointId, id) => ids((await store.checkpoints.get(sessionId, checkpointId)).state).at(-1) === id;
  const missing = [];
  for (const { session, checkpoint, id } of won) if (!(await holds(session, checkpoint, id))) missing.push(id);
  for (const { branch, id } of lost) if (!(await holds(branch.sessionId, branch.checkpointId, id))) missing.push(id);
  const { ok, faults } = await store.verify();
  const { interrupted, runs } = await store.status();
  return { found, missing, ok, faults, unfinished: [...interrupted, ...runs] };
}

/** So many tabs of a browser, of so many writes each. Gives how many were first, and how many are in branches. */
export async function race(t, context, address, { tabs, each }) {
  const pages = await Promise.all(Array.from({ length: tabs }, async () => {
    const page = await openPage(t, context, address);
    await page.waitForFunction(() => globalThis.turnmark);
    return page;
  }));
  const told = await Promise.all(pages.map((page, tab) => page.evaluate(write, { tab, each, sessions: SESSIONS })));
  const [won, lost] = [told.flatMap((one) => one.won), told.flatMap((one) => one.lost)];
  const result = await pages[0].evaluate(find, { sessions: SESSIONS, won, lost });
  assert.deepEqual([result.missing, result.ok, result.faults, result.unfinished], [[], true, [], []]);
  for (const session of SESSIONS) {
    const { live, order } = result.found[session];
    const sum = won.filter((one) => one.session === session).sort((a, b) => order[a.checkpoint] - order[b.checkpoint]).map(({ id }) => id);
    assert.deepEqual(live, sum, `session ${session} is not the sum of what won`);
  }
  assert.ok(lost.length > (tabs * each) / 20, "hardly any race: this proves nothing");
  assert.ok(won.length > (tabs * each) / 4);
  return { won: won.length, lost: lost.length };
}
