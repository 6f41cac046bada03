// Turns in a real Chromium, of two tabs that want the same chat, or of one that goes to another.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Lab, interrupted, rows } from "./harness/tabs.js";

let lab;
before(async () => { lab = await Lab.start(); });
after(() => lab.close());

/** Two tabs on one database. */
const twoTabs = async (t, name, settings) => [await lab.tab(t, name, { settings }), await lab.tab(t, name, { settings })];

/** A chat of two turns, made the active one by the first tab, and read by both. */
async function twoChatting(t, name) {
  const [a, b] = await twoTabs(t, name);
  await a.evaluate(async () => {
    await store.newSession({ id: "chat" });
    await exchange(1);
    globalThis.first = (await session.get()).checkpoint.id;
    await exchange(2);
  });
  await b.evaluate(() => session.get());
  return [a, b];
}

test("while one tab answers, the other's restore, edit, undo, redo, rollback, show and new session are refused with ActiveRun and change nothing", async (t) => {
  // B5; issue 3, part 5.
  const name = lab.fresh("busy");
  const [a, b] = await twoChatting(t, name);
  const runId = await a.evaluate(async () => {
    globalThis.turn = await growing(3, "being said");
    return turn.runId;
  });
  const before = await rows(b, name);
  const seen = await b.evaluate(async () => {
    await session.get();
    const [newest] = await kit.collect(session.checkpoints());
    const [version] = await session.versions("q1");
    const calls = {
      restore: session.restore("q1"), edit: session.edit("q1"), undo: session.undo(), redo: session.redo(), rollback: session.rollback(newest.id),
      show: session.show(version), newSession: store.newSession(),
    };
    const codes = {};
    for (const [call, promise] of Object.entries(calls)) codes[call] = (await kit.failure(promise)).code;
    return { codes, runs: (await store.status()).runs, interrupted: (await store.status()).interrupted };
  });
  assert.equal(await rows(b, name), before, "a refused call changed the database");
  assert.deepEqual([...new Set(Object.values(seen.codes))], ["ActiveRun"], JSON.stringify(seen.codes));
  assert.deepEqual(seen.runs.map(({ sessionId, runId: run, mine }) => [sessionId, run, mine]), [["chat", runId, false]]);
  assert.deepEqual(seen.interrupted, []);
  // A look is no restore, and nobody recovers what is alive.
  const looked = await b.evaluate(async () => [await session.recover(), await store.recover({ drop: true }), (await store.openSession("chat")).streaming.message.content]);
  assert.deepEqual(looked, [null, [], "being said"]);
  const own = await a.evaluate(async () => {
    const { runs } = await store.status();
    const codes = [];
    for (const call of [() => session.restore("q1"), () => session.undo(), () => store.newSession(), () => session.begin()]) codes.push((await kit.failure(call())).code);
    await turn.end();
    return { mine: runs.map(({ mine }) => mine), codes, messages: ids(await session.messages()), after: (await store.status()).runs };
  });
  assert.deepEqual(own, { mine: [true], codes: ["ActiveRun", "ActiveRun", "ActiveRun", "ActiveRun"], messages: "q1 a1 q2 a2 q3 a3", after: [] });
});

test("with abortRun the other tab's turn is told to stop, ends, and the restore goes on; what was said is kept and comes back with undo", async (t) => {
  // B5; issue 3, part 5: "or asks to abort it".
  const [a, b] = await twoChatting(t, lab.fresh("abort"));
  await a.evaluate(async () => {
    globalThis.turn = await growing(3, "half an ");
    globalThis.stopped = new Promise((resolve) => {
      turn.signal.addEventListener("abort", () => {
        turn.stream(kit.assistant("a3", "half an answer"));
        const { code } = turn.signal.reason;
        resolve(turn.abort().then(({ metadata }) => ({ code, aborted: metadata.aborted })));
      });
    });
  });
  const seen = await b.evaluate(async () => {
    const { removedMessageIds, state } = await session.restore("q2", { abortRun: true });
    const left = ids(state.messages);
    const { state: undone } = await session.undo();
    return { removedMessageIds, left, undone: undone.messages, runs: (await store.status()).runs };
  });
  assert.deepEqual(seen.removedMessageIds, ["q2", "a2", "q3", "a3"]);
  assert.deepEqual([seen.left, seen.runs], ["q1 a1", []]);
  assert.deepEqual(seen.undone.at(-1), { id: "a3", role: "assistant", content: "half an answer" });
  assert.deepEqual(await a.evaluate(() => stopped), { code: "Aborted", aborted: true });
  assert.deepEqual(await a.evaluate(() => [turn.ended, turn.signal.aborted]), [true, true]);

  await a.evaluate(async () => {
    await session.get();
    globalThis.turn = await growing(4, "again");
    turn.signal.addEventListener("abort", () => turn.abort());
  });
  const made = await b.evaluate(async () => {
    const { sealed, number } = await store.newSession({ abortRun: true });
    return { sealed: ids((await session.get(sealed.checkpointId)).state.messages), number };
  });
  assert.deepEqual(made, { sealed: "q1 a1 q2 a2 q3 a3 q4 a4", number: 2 });
});

test("a tab that has not looked since the other began to answer is refused with ActiveRun as well, not with Conflict", async (t) => {
  const [a, b] = await twoChatting(t, lab.fresh("unseen"));
  await a.evaluate(() => growing(3, "being said"));
  const codes = await b.evaluate(async () => [(await kit.failure(session.restore("q2"))).code, (await kit.failure(session.undo())).code]);
  assert.deepEqual(codes, ["ActiveRun", "ActiveRun"]);
});

test("a turn that does not stop when it is told to keeps its session: abortRun ends with ActiveRun after five seconds", async (t) => {
  const [a, b] = await twoChatting(t, lab.fresh("deaf"));
  await a.evaluate(async () => { globalThis.turn = await growing(3, "no"); });
  const seen = await b.evaluate(async () => {
    await session.get();
    const start = performance.now();
    const [restored, asked, made] = await Promise.all([
      kit.failure(session.restore("q2", { abortRun: true })), session.abortRun(), kit.failure(store.newSession({ abortRun: true })),
    ]);
    return { codes: [restored.code, asked, made.code], took: performance.now() - start };
  });
  assert.deepEqual(seen.codes, ["ActiveRun", false, "ActiveRun"]);
  assert.ok(seen.took > 4_900 && seen.took < 9_000, `${seen.took} ms`);
  assert.deepEqual(await a.evaluate(async () => [(await turn.end()).messageIds.join(" "), turn.signal.aborted]), ["q1 a1 q2 a2 q3 a3", true]);
});

test("when the answering tab dies the other may restore at once, and what had been said is kept behind the restore point", async (t) => {
  // Issue 3, part 5; firebase-js-sdk#511: a lock that dies with its holder.
  const [a, b] = await twoChatting(t, lab.fresh("died"));
  await a.evaluate(() => growing(3, "last words"));
  await b.evaluate(() => session.get());
  await a.close();
  await interrupted(b, 1);
  const seen = await b.evaluate(async () => {
    const { removedMessageIds, state, restorePointId } = await session.restore("q2");
    const kept = (await session.get(restorePointId)).state.messages;
    const undone = (await session.undo()).state.messages;
    return { removedMessageIds, left: ids(state.messages), kept, undone, status: await store.status(), verified: (await store.verify()).ok };
  });
  assert.deepEqual([seen.left, seen.removedMessageIds], ["q1 a1", ["q2", "a2", "q3", "a3"]]);
  assert.deepEqual(seen.kept.at(-1), { id: "a3", role: "assistant", content: "last words" });
  assert.deepEqual(seen.undone, seen.kept);
  assert.deepEqual([seen.status.interrupted, seen.status.runs, seen.verified], [[], [], true]);
});

test("a turn that another tab begins beside a stream goes on in a branch, and the stream lands in its own session untouched", async (t) => {
  // Issue 3, part 5: "racing sends lose nothing (a branch is kept and named)".
  const [a, b] = await twoChatting(t, lab.fresh("beside"));
  await a.evaluate(async () => { globalThis.turn = await growing(3, "first "); });
  const seen = await b.evaluate(async () => {
    await session.get();
    const error = await refusal(session.begin({ raw: "typed beside" }));
    const { code, branch, turn } = error;
    const prompt = (await (await store.session(branch.sessionId)).get()).prompt;
    await turn.append([kit.user("qb")]);
    turn.stream(kit.assistant("ab", "beside"));
    await turn.flush();
    const { runs } = await store.status();
    await turn.end();
    const kept = await store.session(branch.sessionId);
    const of = (await kept.summary()).conflictOf;
    return { code, branch, of, prompt, at: turn.sessionId, runs: runs.map(({ sessionId, mine }) => [sessionId, mine]), messages: ids(await kept.messages()) };
  });
  assert.deepEqual([seen.code, seen.of, seen.at, seen.prompt.raw], ["Conflict", "chat", seen.branch.sessionId, "typed beside"]);
  assert.deepEqual(seen.runs.sort(), [["chat", false], [seen.branch.sessionId, true]].sort());
  assert.equal(seen.messages, "q1 a1 q2 a2 q3 qb ab");
  const main = await a.evaluate(async () => {
    const aborted = turn.signal.aborted;
    turn.stream(kit.assistant("a3", "first and last"));
    const { messageIds } = await turn.end();
    const [said, sessions] = [(await session.messages()).at(-1).content, (await kit.collect(store.sessions())).length];
    return { aborted, messageIds: messageIds.join(" "), said, sessions, verified: (await store.verify()).ok };
  });
  assert.deepEqual(main, { aborted: false, messageIds: "q1 a1 q2 a2 q3 a3", said: "first and last", sessions: 2, verified: true });
});

test("a turn whose session another tab has written to goes on in a branch, whole; in its session nothing of it is called interrupted, and no half of it comes up", async (t) => {
  const [a, b] = await twoChatting(t, lab.fresh("written-to"));
  await a.evaluate(async () => { globalThis.turn = await growing(3, "being sai"); });
  await b.evaluate(async () => {
    await session.get();
    await session.append([kit.user("noted")]);
  });
  const seen = await a.evaluate(async () => {
    const { code, branch } = await refusal(turn.end([kit.assistant("a3", "being said")]));
    await session.get();
    const { interrupted, runs } = await store.status();
    const aside = await (await store.session(branch.sessionId)).messages();
    await exchange(4);
    return { code, ended: turn.ended, interrupted, runs, aside: aside.slice(-2).map(({ content }) => content), main: ids(await session.messages()) };
  });
  assert.deepEqual([seen.code, seen.ended, seen.aside], ["Conflict", true, ["question q3", "being said"]]);
  assert.deepEqual([seen.interrupted, seen.runs, seen.main], [[], [], "q1 a1 q2 a2 q3 noted q4 a4"]);
});

test("two tabs that send on one head at the same instant lose nothing: one answer is in the chat, the other in one branch that names it", async (t) => {
  // R9; issue 3, part 5.
  const tabs = await twoChatting(t, lab.fresh("instant"));
  const rounds = 6;
  for (let round = 0; round < rounds; round += 1) {
    await Promise.all(tabs.map((page) => page.evaluate(() => session.get())));
    const at = Date.now() + 50;
    const outcomes = await Promise.all(tabs.map((page, tab) => page.evaluate(async ([id, start]) => {
      while (Date.now() < start);
      const aside = await session.begin({ raw: id }).then((turn) => ({ turn, code: null }), ({ code, turn, branch }) => ({ turn, code, branch }));
      await aside.turn.append([kit.user(`q${id}`)]);
      aside.turn.stream(kit.assistant(`a${id}`, "grows"));
      await aside.turn.flush();
      await aside.turn.end();
      return { id, code: aside.code, at: aside.turn.sessionId, branch: aside.branch };
    }, [`${round}${"AB"[tab]}`, at])));
    const [winner] = outcomes.filter(({ code }) => code === null);
    const [loser] = outcomes.filter(({ code }) => code === "Conflict");
    assert.ok(winner && loser, JSON.stringify(outcomes));
    const kept = await tabs[0].evaluate(async ({ branch }) => {
      const aside = await store.session(branch.sessionId);
      return { of: (await aside.summary()).conflictOf, there: ids((await aside.messages()).slice(-2)), main: ids((await session.messages()).slice(-2)) };
    }, loser);
    assert.deepEqual(kept, { of: "chat", there: `q${loser.id} a${loser.id}`, main: `q${winner.id} a${winner.id}` });
    assert.deepEqual([winner.at, loser.at], ["chat", loser.branch.sessionId]);
  }
  const end = await tabs[1].evaluate(async () => ({
    messages: (await session.messages()).length, sessions: (await kit.collect(store.sessions())).length, status: await store.status(), verified: await store.verify(),
  }));
  assert.deepEqual([end.messages, end.sessions, end.status.runs, end.status.interrupted], [4 + 2 * rounds, 1 + rounds, [], []]);
  assert.ok(end.verified.ok, JSON.stringify(end.verified.faults));
});

test("a stale tab that sends on an old head gets a branch of what it saw, and after a look it sends in the chat again", async (t) => {
  // R9; issue 3, part 5.
  const [a, b] = await twoChatting(t, lab.fresh("stale"));
  await a.evaluate(() => exchange(3));
  const seen = await b.evaluate(async () => {
    const { code, branch, turn } = await refusal(session.begin({ raw: "late" }));
    await turn.append([kit.user("late")]);
    await turn.end([kit.assistant("answer")]);
    const aside = await store.session(branch.sessionId);
    const main = ids(await session.messages());
    await exchange(4);
    return { code, of: (await aside.summary()).conflictOf, there: ids(await aside.messages()), main, now: ids(await session.messages()) };
  });
  assert.equal(seen.code, "Conflict");
  assert.deepEqual([seen.of, seen.there], ["chat", "q1 a1 q2 a2 late answer"]);
  assert.deepEqual([seen.main, seen.now], ["q1 a1 q2 a2 q3 a3", "q1 a1 q2 a2 q3 a3 q4 a4"]);
});

test("each tab hears of the other's checkpoints, of runs that start and end, of text that grows, and of turns that ended", async (t) => {
  // P-10; issue 3, part 5: "each sees the other's committed turns without reload".
  const tabs = await twoChatting(t, lab.fresh("hear"));
  for (const [talks, listens] of [tabs, [...tabs].reverse()]) {
    await listens.evaluate(() => {
      globalThis.log = [];
      for (const type of ["checkpoint.created", "run.started", "run.ended", "turn.ended", "stream", "stream.failed"]) store.on(type, (event) => log.push({ type, ...event }));
      // Only now does it know which messages there are.
      return session.get();
    });
    const said = await talks.evaluate(async () => {
      await session.get();
      const n = (await session.messages()).length;
      const turn = await growing(`x${n}`, "words");
      const end = await turn.end();
      return { runId: turn.runId, turnId: turn.id, end, prompt: turn.checkpoint.id };
    });
    await listens.waitForFunction(() => log.some(({ type }) => type === "turn.ended"));
    const { log, read } = await listens.evaluate(async () => ({ log, read: (await session.get()).checkpoint }));
    assert.ok(log.every(({ origin }) => origin === "remote"));
    const of = (wanted) => log.filter(({ type }) => type === wanted);
    assert.deepEqual(of("run.started").map(({ sessionId, runId }) => [sessionId, runId]), [["chat", said.runId]]);
    assert.deepEqual(of("run.ended").map(({ sessionId, runId }) => [sessionId, runId]), [["chat", said.runId]]);
    assert.ok(of("stream").length >= 1 && of("stream").every(({ runId }) => runId === said.runId));
    assert.deepEqual(of("turn.ended").map(({ turnId, checkpointId }) => [turnId, checkpointId]), [[said.turnId, said.end.id]]);
    assert.ok(of("turn.ended")[0].reloadKey >= 1);
    const created = of("checkpoint.created").map(({ checkpoint }) => checkpoint);
    assert.deepEqual([created[0].id, created.length, created[2].id, created[2].messageIds], [said.prompt, 3, said.end.id, said.end.messageIds]);
    assert.equal(read.id, said.end.id);
    // The events of this turn only.
    await listens.evaluate(() => { log.length = 0; });
  }
});

test("switching chats in the middle of an answer puts no text into the other chat", async (t) => {
  // Issue 3, part 4: "a stream belongs to the session and parent it started on"; A-13.
  const name = lab.fresh("switch");
  const page = await lab.tab(t, name, { settings: { streamInterval: 16 } });
  const seen = await page.evaluate(async () => {
    const two = (await store.newSession({ id: "two" })).session;
    await exchange(1, undefined, two);
    await store.newSession({ id: "chat" });
    const turn = await growing("c", "begun ");
    const opened = await store.openSession("two");
    for (const content of ["begun and ", "begun and gone ", "begun and gone on"]) {
      turn.stream(kit.assistant("ac", content));
      await turn.flush();
    }
    const between = { two: await whole(two), chat: await whole() };
    const beside = await growing("d", "another", two);
    const runs = (await store.status()).runs.map(({ sessionId, mine }) => [sessionId, mine]);
    await beside.end();
    await turn.end();
    const active = (await store.activeSession()).id;
    const back = await store.openSession("chat");
    return {
      opened: [opened.previousSessionId, opened.streaming, ids(opened.state.messages)], between, runs, active, two: await two.messages(), chat: await session.messages(),
      back: [back.previousSessionId, ids(back.state.messages)], verified: (await store.verify()).ok,
    };
  });
  assert.deepEqual(seen.opened, ["chat", null, "q1 a1"]);
  assert.deepEqual([seen.between.two.messages.map(({ id }) => id), seen.between.two.streaming], [["q1", "a1"], null]);
  assert.equal(seen.between.chat.streaming.message.content, "begun and gone on");
  assert.deepEqual(seen.runs.sort(), [["chat", true], ["two", true]]);
  assert.deepEqual(seen.two.map(({ content }) => content), ["question q1", "answer a1", "question qd", "another"]);
  assert.deepEqual(seen.chat.map(({ content }) => content), ["question qc", "begun and gone on"]);
  assert.deepEqual([seen.active, seen.back, seen.verified], ["two", ["two", "qc ac"], true]);
});
