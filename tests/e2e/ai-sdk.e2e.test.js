// turnmark/ai-sdk beside the real useChat of the AI SDK, in a real browser, under StrictMode.
import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { build } from "esbuild";
import { launch, openPage, temporary } from "./harness/chromium.js";
import { APPS, E2E, PKG } from "./harness/paths.js";
import { serve } from "./harness/server.js";

const built = temporary("ai-sdk");
const closing = [];
let origin;

before(async () => {
  // The AI SDK is installed where the unit tests drive it too.
  await build({
    entryPoints: [join(APPS, "ai-sdk/main.jsx")], bundle: true, format: "esm", outfile: join(built, "main.js"), jsx: "automatic", logLevel: "error",
    nodePaths: [join(E2E, "../unit/node_modules")],
    alias: {
      ...Object.fromEntries(["inline", "react", "ai-sdk"].map((entry) => [`turnmark/${entry}`, join(PKG, `${entry}.js`)])),
      // One React, whoever asks for it.
      ...Object.fromEntries(["react", "react-dom"].map((name) => [name, join(E2E, "node_modules", name)])),
    },
    define: { "process.env.NODE_ENV": '"development"' },
  });
  cpSync(join(APPS, "ai-sdk/index.html"), join(built, "index.html"));
  const server = await serve({ mounts: { "/": `${built}/` } });
  closing.push(server.close);
  origin = server.origin;
});
after(() => Promise.all(closing.map((close) => close())));

/** The application in a browser of its own. */
async function opened(t, session = "a") {
  const context = await launch();
  t.after(() => context.close());
  const page = await openPage(t, context, `${origin}/#${session}`);
  await ready(page);
  return { context, page };
}

const ready = (page) => page.locator("[data-testid=chat][data-ready=true][data-status=ready]").waitFor({ state: "attached" });
const shown = (page) => page.getByTestId("message").allTextContents();
/** Waits until so many messages are shown and the chat is at rest, all of it stored. */
const settled = (page, count) => page.waitForFunction((wanted) => document.querySelectorAll("[data-testid=message]").length === wanted
  && document.querySelector("[data-testid=chat]").dataset.status === "ready" && !window.durable.saving, count);
const say = (page, text) => page.evaluate((words) => window.durable.sendMessage({ text: words }), text);
const answer = (n, text) => `answer ${n} to ${text} and a few more words`;
const failures = (page) => page.evaluate(() => window.failures);

async function reload(page) {
  await page.reload();
  await ready(page);
}

test("what was said is there after a reload, all kinds of parts included, with a checkpoint before each prompt", async (t) => {
  //
  const { page } = await opened(t);
  await say(page, "one");
  await say(page, "two");
  await settled(page, 4);
  const before = await page.evaluate(() => window.chat.messages);
  await reload(page);
  await settled(page, 4);
  assert.deepEqual(await shown(page), ["one", answer(1, "one"), "two", answer(2, "two")]);
  assert.deepEqual(await page.evaluate(() => window.chat.messages), before);
  assert.ok(before[1].parts.some(({ type }) => type === "reasoning"));
  const kinds = await page.evaluate(async () => {
    const list = [];
    for await (const { kind } of (await window.store.session("a")).checkpoints()) list.push(kind);
    return list.reverse();
  });
  assert.deepEqual(kinds.filter((kind) => kind === "prompt-before").length, 2);
  assert.equal(kinds[0], "prompt-before");
  assert.deepEqual(await failures(page), []);
});

test("a page that is reloaded in mid-answer shows what had arrived, once, and says that it was interrupted", async (t) => {
  // vercel/ai#18457, open-webui#6172.
  const { page } = await opened(t);
  await page.evaluate(() => {
    window.holdAfter = 3;
    window.durable.sendMessage({ text: "long" });
  });
  await page.waitForFunction(() => /answer 1 to/.test(document.querySelectorAll("[data-testid=message]")[1]?.textContent ?? ""));
  await page.waitForTimeout(900);
  const arrived = (await shown(page))[1];
  await reload(page);
  await page.getByTestId("interrupted").waitFor();
  assert.deepEqual(await shown(page), ["long", arrived]);
  await page.evaluate(() => window.durable.recover());
  await page.getByTestId("interrupted").waitFor({ state: "detached" });
  await say(page, "next");
  await settled(page, 4);
  await reload(page);
  assert.deepEqual((await shown(page)).slice(0, 3), ["long", arrived, "next"]);
  assert.deepEqual(await failures(page), []);
});

test("an answer that is given again keeps the old one, which comes back when it is shown", async (t) => {
  const { page } = await opened(t);
  await say(page, "one");
  await settled(page, 2);
  await page.evaluate(() => window.durable.regenerate());
  await settled(page, 2);
  assert.deepEqual(await shown(page), ["one", answer(2, "one")]);
  const versions = await page.evaluate(() => window.durable.versions(window.chat.messages[0].id));
  assert.deepEqual(versions.map(({ live }) => live), [false, true]);
  await page.evaluate((old) => window.durable.show(old), versions[0]);
  await settled(page, 2);
  assert.deepEqual(await shown(page), ["one", answer(1, "one")]);
  await reload(page);
  assert.deepEqual(await shown(page), ["one", answer(1, "one")]);
  assert.deepEqual(await failures(page), []);
});

test("another chat that is opened in mid-answer gets none of it, and what had arrived is in its own", async (t) => {
  // A stream belongs to the session it was begun in.
  const { page } = await opened(t);
  await page.evaluate(() => {
    window.holdAfter = 3;
    window.durable.sendMessage({ text: "mine" });
  });
  await page.waitForFunction(() => document.querySelectorAll("[data-testid=message]").length === 2);
  await page.evaluate(() => { location.hash = "b"; });
  await page.waitForFunction(() => document.querySelectorAll("[data-testid=message]").length === 0);
  await ready(page);
  await page.evaluate(() => { window.holdAfter = Infinity; });
  await say(page, "other");
  await settled(page, 2);
  assert.equal((await shown(page))[0], "other");
  await page.evaluate(() => { location.hash = "a"; });
  await page.waitForFunction(() => document.querySelector("[data-testid=message]")?.textContent === "mine");
  assert.equal((await shown(page)).filter((text) => /other/.test(text)).length, 0);
  assert.match((await shown(page))[1], /^answer( 1( to)?)?$/);
});

test("edit takes a message and what follows away for good, and gives back what was typed", async (t) => {
  //
  const { page } = await opened(t);
  for (const text of ["one", "two"]) await say(page, text);
  await settled(page, 4);
  const { rawPrompt } = await page.evaluate(() => window.durable.edit(window.chat.messages[2].id));
  assert.equal(rawPrompt, "two");
  await settled(page, 2);
  await reload(page);
  assert.deepEqual(await shown(page), ["one", answer(1, "one")]);
  await page.evaluate(() => window.durable.undo());
  await settled(page, 4);
  assert.deepEqual(await failures(page), []);
});

test("a tool's output is stored with the answer that goes on by itself; a call that nobody answered is sent as a failed one", async (t) => {
  const { page } = await opened(t);
  await say(page, "look");
  await settled(page, 2);
  await page.evaluate(() => window.chat.addToolOutput({ tool: "look", toolCallId: "call-1", output: "waves" }));
  await page.waitForFunction(() => /more words$/.test(document.querySelectorAll("[data-testid=message]")[1].textContent));
  await settled(page, 2);
  const calls = (messages) => messages.flatMap(({ parts }) => parts).filter(({ type }) => type === "tool-look").map(({ state }) => state);
  const live = () => page.evaluate(() => window.chat.messages);
  const before = await live();
  assert.deepEqual(calls(before), ["output-available"]);
  await reload(page);
  assert.deepEqual(await live(), before);

  // This time nobody gives the output.
  await say(page, "look again");
  await settled(page, 4);
  await reload(page);
  await settled(page, 4);
  await say(page, "never mind");
  await settled(page, 6);
  assert.deepEqual(calls(await live()), ["output-available", "input-available"], "the chat has what was received");
  assert.deepEqual(calls(await page.evaluate(() => window.sent.at(-1))), ["output-available", "output-error"]);
  assert.deepEqual(await failures(page), []);
});

/** A second tab of the same browser. */
async function tab(t, context) {
  const page = await openPage(t, context, `${origin}/#a`);
  await ready(page);
  return page;
}

test("a turn that another tab has finished is shown without a reload, and the next one goes on top of it", async (t) => {
  const { context, page } = await opened(t);
  const other = await tab(t, context);
  await say(page, "one");
  await settled(other, 2);
  await say(other, "two");
  await settled(page, 4);
  assert.deepEqual(await shown(page), ["one", answer(1, "one"), "two", answer(1, "two")]);
  assert.deepEqual(await shown(other), await shown(page));
  for (const each of [page, other]) assert.deepEqual([await failures(each), await each.evaluate(() => window.branches)], [[], []]);
});

for (const follow of [false, true]) {
  const where = follow ? ", also when its address moves there at once" : "";
  test(`a tab that sends while another one is being answered goes on in a branch, and neither loses anything${where}`, async (t) => {
    const { context, page } = await opened(t);
    await say(page, "one");
    const other = await tab(t, context);
    await settled(other, 2);
    await page.evaluate(() => {
      window.holdAfter = 3;
      window.durable.sendMessage({ text: "first" });
    });
    // The question of a turn that is still being answered is seen by both.
    await other.waitForFunction(() => document.querySelectorAll("[data-testid=message]").length === 3);
    await other.evaluate((moves) => {
      window.follow = moves;
      window.durable.sendMessage({ text: "second" });
    }, follow);
    await settled(other, 5);
    // Told when the answer is stored, a moment after it is shown.
    await other.waitForFunction(() => window.branches.length > 0);
    const [branch, ...more] = await other.evaluate(() => window.branches);
    assert.deepEqual([more, await other.evaluate(() => window.durable.sessionId)], [[], branch]);
    const kept = ["one", answer(1, "one"), "first", "second", answer(1, "second")];
    assert.deepEqual(await shown(other), kept);
    await page.evaluate(() => { window.holdAfter = Infinity; });
    await settled(page, 4);
    assert.deepEqual(await shown(page), ["one", answer(1, "one"), "first", answer(2, "first")]);
    await other.evaluate((id) => { location.hash = id; }, branch);
    await reload(other);
    await settled(other, 5);
    assert.deepEqual(await shown(other), kept);
    for (const each of [page, other]) assert.deepEqual(await failures(each), []);
  });
}
