// Seven faults that a chat builder with the same checkpoints had in the field (requirements B1 to B7): here they cannot happen.
import assert from "node:assert/strict";
import { test } from "node:test";

const PKG = new URL(process.env.TURNMARK_PKG ?? "../../pkg/", import.meta.url);
const { open } = await import(new URL("index.js", PKG));
const { createCheckpointStore } = await import(new URL("checkpoint-store.js", PKG));

let names = 0;
async function storeFor(t, options = {}) {
  const store = await open({ backend: "memory", name: `faults-${(names += 1)}`, ...options });
  t.after(store.close);
  return store;
}

const user = (id) => ({ id, role: "user", content: `asked ${id}` });
const answer = (id) => ({ id, role: "assistant", content: `said ${id}` });
const ids = (list) => list.map(({ id }) => id);

/** One whole turn. */
async function ask(session, id, options = {}) {
  const turn = await session.begin({ raw: `asked ${id}`, ...options });
  await turn.append([user(id)]);
  await turn.end([answer(`re-${id}`)]);
  return turn;
}

test("B1: a reply in the new session, or in an old one that goes on, leaves every sealed boundary as it was", async (t) => {
  // ruling 2. There the newest boundary of the list took whatever was said next.
  const store = await storeFor(t);
  const { session: first } = await store.newSession();
  await ask(first, "1");
  const { session: second, sealed } = await store.newSession();
  const before = await first.get(sealed.checkpointId);
  await ask(second, "2");
  await store.openSession(first.id);
  await ask(first, "3");
  const after = await first.get(sealed.checkpointId);
  assert.deepEqual(ids(after.state.messages), ["1", "re-1"]);
  assert.deepEqual(after.state, before.state);
  assert.equal(after.checkpoint.sealed, true);
  assert.deepEqual(ids(await first.messages()), ["1", "re-1", "3", "re-3"]);
  await assert.rejects(store.checkpoints.delete(first.id, sealed.checkpointId), { code: "Protected" });
});

test("B2: what a user typed comes back as typed, whatever marker it holds and whatever was sent instead", async (t) => {
  // There the text that was sent was split at a marker.
  const store = await storeFor(t);
  const session = await store.session("s");
  const raw = "Make it blue.\n\nTarget classnames: keep\nTarget selections JSON: []";
  const turn = await session.begin({ raw, composed: `${raw}\n\nTarget selections JSON: [{"tagName":"div"}]` });
  await turn.append([{ id: "u", role: "user", content: "shown in another way" }]);
  await turn.end([answer("a")]);
  const edited = await session.edit("u");
  assert.equal(edited.rawPrompt, raw);
  assert.equal(edited.rawPromptFrom, "prompt");
  assert.match(edited.prompt.composed, /tagName/);
});

test("B3: a save is known: it resolves when it is stored, and a turn writes its own records and no other", async (t) => {
  // There every change wrote every checkpoint again, with all screenshots, and nobody waited for it.
  const store = await storeFor(t);
  const session = await store.session("s");
  const dataUrl = `data:image/png;base64,${Buffer.alloc(30_000, 7).toString("base64")}`;
  await ask(session, "1", { ui: { screenshots: [{ id: "s1", dataUrl }] } });
  const { counts } = await store.status();
  for (const id of ["2", "3", "4"]) await ask(session, id);
  const later = (await store.status()).counts;
  assert.equal(later.checkpoints - counts.checkpoints, 9, "three for each turn");
  // A prompt each; the screenshot stays the one it is.
  assert.equal(later.objects - counts.objects, 3);
  assert.equal((await session.get()).ui.screenshots[0].dataUrl, dataUrl);
});

test("B4: while another project is being loaded nothing of the one before is written into it", async (t) => {
  // There the mark that said "loaded" was never taken away.
  const name = `faults-${(names += 1)}`;
  // Memory lasts as long as somebody has it open.
  const kept = await open({ backend: "memory", name, scope: "project:one/checkpoint-store", maxCheckpoints: 20 });
  t.after(kept.close);
  const store = createCheckpointStore({ name, projectId: "one", open: (options) => open({ ...options, backend: "memory" }) });
  t.after(() => store.close());
  await store.saveCheckpoint("Prompt 1", []);
  const switching = store.switchProject("two");
  assert.deepEqual([store.loaded, store.checkpoints.length], [false, 0]);
  await switching;
  assert.deepEqual([store.loaded, store.checkpoints.length], [true, 0]);
  await store.switchProject("one");
  assert.deepEqual(store.checkpoints.map((cp) => cp.name), ["Prompt 1"]);
});

test("B5: while a reply is being written nothing goes back under it, unless its writer is asked to stop", async (t) => {
  const store = await storeFor(t);
  const session = await store.session("s");
  await ask(session, "1");
  const turn = await session.begin({ raw: "2" });
  await turn.append([user("2")]);
  turn.stream(answer("re-2"));
  for (const act of [() => session.restore("1"), () => session.edit("1"), () => session.undo(), () => session.rollback(turn.checkpoint.id)]) {
    await assert.rejects(act(), { code: "ActiveRun" });
  }
  turn.signal.addEventListener("abort", () => turn.abort());
  const done = await session.restore("2", { abortRun: true });
  assert.deepEqual(done.removedMessageIds, ["2", "re-2"]);
  assert.equal(turn.ended, true);
});

test("B6: a reference of the host's files is kept as it was given, and never parsed", async (t) => {
  // There a root commit or a detached head gave none.
  const store = await storeFor(t);
  const session = await store.session("s");
  for (const [at, commitHash] of ["[main (root-commit) 1a2b3c4]", "HEAD detached at 1a2b3c4", "snapshot:42/ü"].entries()) {
    await ask(session, `m${at}`, { commitHash });
    assert.equal((await session.restore(`m${at}`)).commitHash, commitHash);
  }
  await assert.rejects(session.begin({ commitHash: "x".repeat(501) }), { code: "TooLarge" });
});

test("B7: a message's checkpoint is the one whose history equals what came before it, never one that holds the message", async (t) => {
  // An older text of that project looked for a checkpoint that includes the message.
  const store = await storeFor(t);
  const session = await store.session("s");
  const first = await ask(session, "1");
  await ask(session, "2");
  const done = await session.restore("1");
  assert.equal(done.matchedCheckpointId, first.checkpoint.id);
  // Appended without a turn, no checkpoint was taken before it; those that hold it do not count.
  await session.append([user("before"), answer("re-before"), user("plain"), answer("re-plain")]);
  const plain = await session.restore("plain");
  assert.deepEqual([plain.matchedCheckpointId, plain.files, plain.filesReason], [null, "not-restored", "no-match"]);
  assert.deepEqual(plain.removedMessageIds, ["plain", "re-plain"]);
  // What came before this one is what came before the first prompt: nothing.
  assert.equal((await session.restore("before")).matchedCheckpointId, first.checkpoint.id);
});

test("every column of a checkpoint's row is kept and can be asked for", async (t) => {
  // run, parent, kind, the agent's session and cursor, files, event.
  const store = await storeFor(t);
  const { session } = await store.newSession();
  assert.equal(await session.remoteSession(), null, "A-10: reserved is none");
  await session.setRemoteSession("agent-7");
  const turn = await session.begin({ raw: "x", runId: "run-1", commitHash: "c0ffee", metadata: { createdByEventId: "event-1", remoteMessageCursor: 12 } });
  await turn.end();
  const found = async (filter) => {
    const list = [];
    for await (const { id } of session.checkpoints({ filter })) list.push(id);
    return list;
  };
  for (const filter of [
    { createdByEventId: "event-1" }, { remoteMessageCursor: 12 }, { commitHash: "c0ffee" }, { kind: "prompt-before" }, { name: "Prompt 1" },
    { runId: "run-1", parentCheckpointId: null }, { turnId: turn.id, kind: "prompt-before" }, { remoteSessionId: "agent-7", name: "Prompt 1" },
  ]) assert.deepEqual(await found(filter), [turn.checkpoint.id], JSON.stringify(filter));
  assert.deepEqual(await found({ commitHash: "other" }), []);
  const { checkpoint } = await session.get(turn.checkpoint.id);
  assert.equal(checkpoint.metadata.runId, "run-1");
  assert.deepEqual([typeof checkpoint.createdAt, checkpoint.scopeId, checkpoint.sessionId], ["number", "default", session.id]);
});

test("more screenshots than the limit are refused before anything is written", async (t) => {
  const store = await storeFor(t);
  const session = await store.session("s");
  const screenshots = Array.from({ length: 6 }, (_, id) => ({ id: `${id}` }));
  await assert.rejects(session.begin({ ui: { screenshots } }), { code: "TooLarge", path: "ui.screenshots" });
  assert.equal(await session.get(), undefined);
  await (await session.begin({ ui: { screenshots: screenshots.slice(1) } })).end();
  assert.equal((await session.get()).ui.screenshots.length, 5);
});
