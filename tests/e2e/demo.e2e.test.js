// The demo application, built as a visitor gets it, used as a visitor uses it.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { devtools, launch, openPage, temporary } from "./harness/chromium.js";
import { DEMO, FIXTURES, PKG, WWW } from "./harness/paths.js";
import { bodyOf, serve } from "./harness/server.js";

const closing = [];
const strangers = [];
/** Servers that a test has typed in as its endpoint. */
const invited = [];
let context;
let folder;
let origin;
let names = 0;

/** Built here, beside nobody's dist/: what is tested is what is in www/ and pkg/ now. */
async function built() {
  if (DEMO) return DEMO;
  const folder = temporary("demo");
  const vite = join(WWW, "node_modules/vite/bin/vite.js");
  if (!existsSync(vite)) throw new Error("the demo's packages are not installed: run scripts/setup.sh node:www");
  await promisify(execFile)(process.execPath, [vite, "build", "--outDir", folder, "--emptyOutDir", "--logLevel", "warn"], { cwd: WWW });
  return `${folder}/`;
}

before(async () => {
  folder = await built();
  const server = await serve({ mounts: { "/": folder } });
  origin = server.origin;
  closing.unshift(server.close);
  context = await launch({ acceptDownloads: true, viewport: { width: 1280, height: 860 } });
  closing.unshift(() => context.close());
  context.on("request", (request) => {
    if (![origin, ...invited].some((known) => request.url().startsWith(`${known}/`)) && !/^(data|blob):/.test(request.url())) strangers.push(request.url());
  });
});
after(() => Promise.all(closing.map((close) => close())));

/** The demo on a database of its own, or on the one named. */
async function demo(t, { db = `demo-${(names += 1)}`, pace = 0, hash = "", at = origin, ...options } = {}) {
  const page = await openPage(t, context, `${at}/?db=${db}&pace=${pace}${hash}`, options);
  page.setDefaultTimeout(15_000);
  await page.getByTestId("chat-pane").waitFor();
  return { page, db };
}

const texts = (page) => page.getByTestId("message-text").allTextContents();
const checkpoints = (page) => page.getByTestId("checkpoint");
const shown = (page, count) => page.waitForFunction((wanted) => document.querySelectorAll("[data-testid=message]").length === wanted, count);
const idle = (page) => page.waitForFunction(() => !document.querySelector("[data-testid=stop]") && document.querySelector("[data-testid=timeline] [data-head]"));

/** Waits until so many messages are shown, and all of them are stored. */
async function stored(page, count) {
  await shown(page, count);
  await page.waitForFunction((wanted) => document.querySelector("[data-testid=chat-status]").textContent.startsWith(`${wanted} message`) && !document.querySelector("[data-testid=stop]"), count);
}

/** Sends a message and waits until the answer is stored. */
async function say(page, text) {
  const before = await page.getByTestId("message").count();
  await page.getByTestId("composer").fill(text);
  await page.getByTestId("composer").press("Enter");
  await stored(page, before + 2);
}

/** A chat of the given questions, each of which the assistant echoes. */
async function chatted(t, words, options) {
  const opened = await demo(t, options);
  for (const word of words) await say(opened.page, `say: ${word}`);
  return opened;
}

const echoed = (...words) => words.flatMap((word) => [`say: ${word}`, word]);

test("two turns are there after a reload, each stamped with the disk", async (t) => {
  // P-07, A-16, pubkey/rxdb#3787.
  const { page } = await chatted(t, ["alpha", "beta"]);
  const address = page.url();
  await page.reload();
  await shown(page, 4);
  assert.equal(page.url(), address);
  assert.deepEqual(await texts(page), echoed("alpha", "beta"));
  assert.equal(await page.getByTestId("chat-title").textContent(), "say: alpha");
  const levels = await checkpoints(page).evaluateAll((rows) => rows.map(({ dataset }) => dataset.level));
  assert.deepEqual([...new Set(levels)], ["disk"]);
  assert.ok(levels.length >= 4);
  await page.getByTestId("open-storage").click();
  await page.getByTestId("verify").click();
  await page.locator("[data-testid=verify-report][data-ok=true]").waitFor();
});

/** Reloads while an answer is being written, and comes back with what had arrived. */
async function interrupted(t) {
  const question = "count from 1 to 400";
  const { page, db } = await demo(t, { pace: 12 });
  await page.getByTestId("composer").fill(question);
  await page.getByTestId("composer").press("Enter");
  await page.waitForFunction(() => /, 60,/.test(document.querySelector("[data-role=assistant] [data-testid=message-text]")?.textContent ?? ""));
  await page.reload();
  await page.getByTestId("interrupted").waitFor();
  const [asked, partial] = await texts(page);
  assert.equal(asked, question);
  assert.match(partial, /^1, 2, 3, .*\d/);
  return { page, db, partial };
}

test("a reload in the middle of an answer keeps the question and the words that had arrived, says so, and lets the question be answered again", async (t) => {
  // open-webui#6172, vercel/ai#18457 (nothing twice).
  const { page, partial } = await interrupted(t);
  const arrived = partial.split(", ").length;
  assert.ok(arrived > 5 && arrived < 400, `${arrived} numbers had arrived`);
  await page.getByTestId("discard").click();
  await page.getByTestId("notice").waitFor();
  assert.match(await page.getByTestId("notice").textContent(), /^Discarded what had arrived.*for good/);
  assert.equal(await page.getByTestId("notice-action").count(), 0, "no way back is offered where there is none");
  await page.getByTestId("answer").click();
  await page.waitForFunction(() => /400 numbers/.test(document.body.textContent));
  await idle(page);
  await page.reload();
  await shown(page, 2);
  const [, whole] = await texts(page);
  assert.deepEqual(whole.match(/\d+/g).slice(0, 400).map(Number), Array.from({ length: 400 }, (_, i) => i + 1));
  assert.equal(await page.getByTestId("interrupted").count(), 0);
});

test("an interrupted answer can be left as it is, and stays marked", async (t) => {
  const { page, partial } = await interrupted(t);
  await page.getByTestId("keep").click();
  await page.getByTestId("interrupted").waitFor({ state: "detached" });
  await page.getByTestId("notice").waitFor();
  assert.match(await page.getByTestId("notice").textContent(), /^Kept what had arrived/);
  await page.reload();
  await page.getByTestId("message-ending").waitFor();
  assert.deepEqual((await texts(page))[1], partial);
});

test("a rollback from the timeline is undone by its notice, and both survive a reload", async (t) => {
  // P-13.
  const { page } = await chatted(t, ["one", "two", "three"]);
  const target = checkpoints(page).filter({ has: page.locator(".checkpoint-name", { hasText: /^one$/ }) });
  await target.hover();
  await target.getByTestId("checkpoint-rollback").click();
  await shown(page, 2);
  await page.reload();
  await shown(page, 2);
  assert.deepEqual(await texts(page), echoed("one"));
  await page.getByTestId("undo").click();
  await shown(page, 6);
  await target.hover();
  await target.getByTestId("checkpoint-rollback").click();
  await shown(page, 2);
  await page.getByTestId("notice-action").click();
  await shown(page, 6);
  assert.deepEqual(await texts(page), echoed("one", "two", "three"));
  await page.reload();
  await shown(page, 6);
});

test("a fork is a chat of its own under the old one, which it leaves untouched, and two checkpoints compare", async (t) => {
  // P-15, llama.cpp#16406, R6.
  const { page } = await chatted(t, ["left", "right"]);
  const target = checkpoints(page).filter({ has: page.locator(".checkpoint-name", { hasText: /^left$/ }) });
  await target.hover();
  await target.getByTestId("checkpoint-fork").click();
  await shown(page, 2);
  await say(page, "say: elsewhere");
  assert.deepEqual(await texts(page), echoed("left", "elsewhere"));
  const rows = page.getByTestId("session-row");
  assert.deepEqual((await rows.evaluateAll((list) => list.map(({ dataset }) => dataset.depth))).sort(), ["0", "1"]);
  await page.locator("[data-testid=session-row][data-depth='0']").getByTestId("session-open").click();
  await shown(page, 4);
  assert.deepEqual(await texts(page), echoed("left", "right"));

  await target.hover();
  await target.getByTestId("checkpoint-compare").click();
  await page.getByTestId("compare-bar").waitFor();
  await page.locator("[data-testid=checkpoint][data-head]").getByTestId("checkpoint-open").click();
  await page.getByTestId("diff-summary").waitFor();
  assert.deepEqual(await page.getByTestId("diff-row").evaluateAll((list) => list.map(({ dataset }) => dataset.change)), ["added", "added"]);
});

test("a question that is asked in other words, and an answer that is given again, leave the old ones reachable", async (t) => {
  // llama.cpp#18115, A-19 (edit), W-01 (alternates), open-webui#11652.
  const { page } = await chatted(t, ["first", "second"]);
  await page.locator("[data-role=user]").first().hover();
  await page.getByTestId("message-edit").first().click();
  await page.waitForFunction(() => document.querySelectorAll("[data-testid=message]").length === 0);
  assert.equal(await page.getByTestId("composer").inputValue(), "say: first", "A-23: as it was typed");
  await page.getByTestId("composer").fill("say: changed");
  await page.getByTestId("composer").press("Enter");
  await shown(page, 2);
  await idle(page);
  assert.deepEqual(await texts(page), echoed("changed"));
  await page.locator("[data-role=assistant]").last().hover();
  await page.getByTestId("message-regenerate").last().click();
  await page.waitForFunction(() => !["changed", "", undefined].includes(document.querySelector("[data-role=assistant] [data-testid=message-text]")?.textContent));
  await idle(page);
  for (let step = 0; step < 6 && (await page.getByTestId("message").count()) !== 4; step += 1) {
    await page.getByTestId("undo").click();
    await page.waitForTimeout(300);
  }
  assert.deepEqual(await texts(page), echoed("first", "second"));
});

test("Restore takes a message and what follows away, says so, and its notice brings everything back", async (t) => {
  //
  const { page } = await chatted(t, ["first", "second", "third"]);
  await page.locator("[data-role=user]").nth(1).hover();
  await page.getByTestId("message-restore").nth(1).click();
  await shown(page, 2);
  assert.match(await page.getByTestId("notice").textContent(), /Went back to before “say: second”: 4 messages taken away\./);
  assert.equal(await page.getByTestId("composer").inputValue(), "", "only Edit writes into the message field");
  await page.reload();
  await shown(page, 2);
  assert.deepEqual(await texts(page), echoed("first"));
  await page.getByTestId("undo").click();
  await shown(page, 6);
  await page.locator("[data-role=user]").nth(2).hover();
  await page.getByTestId("message-restore").nth(2).click();
  await shown(page, 4);
  await page.getByTestId("notice-action").click();
  await shown(page, 6);
  assert.deepEqual(await texts(page), echoed("first", "second", "third"));
});

test("an answer that is given again is version 2 of 2, and each version comes back with what followed it", async (t) => {
  const { page } = await chatted(t, ["one", "two"]);
  const versions = page.getByTestId("versions").first();
  await page.locator("[data-role=assistant]").first().hover();
  await page.getByTestId("message-regenerate").first().click();
  await shown(page, 2);
  await idle(page);
  await versions.waitFor();
  assert.match(await versions.textContent(), /2 \/ 2/);
  await page.getByTestId("version-before").first().click();
  await shown(page, 4);
  assert.deepEqual(await texts(page), echoed("one", "two"));
  await page.waitForFunction(() => /1 \/ 2/.test(document.querySelector("[data-testid=versions]")?.textContent ?? ""));
  await page.getByTestId("version-after").first().click();
  await shown(page, 2);
  await page.reload();
  await shown(page, 2);
  await page.waitForFunction(() => /2 \/ 2/.test(document.querySelector("[data-testid=versions]")?.textContent ?? ""));
});

test("the session history shows eight sessions a page, newest first, and a new session leaves the one before sealed", async (t) => {
  //
  const { page } = await demo(t);
  for (let n = 1; n <= 9; n += 1) {
    await page.getByTestId("new-chat").click();
    await page.waitForFunction(() => location.hash.length <= 1 && document.querySelectorAll("[data-testid=message]").length === 0);
    await say(page, `say: chat ${n}`);
  }
  await page.getByTestId("history").click();
  const entries = page.getByTestId("history-entry");
  await page.waitForFunction(() => document.querySelectorAll("[data-testid=history-entry]").length === 8);
  const names = await entries.locator(".clip").allTextContents();
  assert.equal(names[0], "say: chat 9");
  assert.match(await entries.nth(0).textContent(), /2 messages · open/);
  assert.match(await entries.nth(1).textContent(), /sealed/);
  await page.getByTestId("history-older").click();
  await page.waitForFunction(() => document.querySelectorAll("[data-testid=history-entry]").length === 1);
  assert.equal(await page.getByTestId("history-page").textContent(), "2 / 2");
  await entries.first().click();
  await shown(page, 2);
  assert.deepEqual(await texts(page), echoed("chat 1"));
  await page.getByTestId("history").click();
  await page.keyboard.press("Escape");
  await page.getByTestId("history-list").waitFor({ state: "detached" });
});

test("a second tab shows an answer as it is written, can stop it, and nothing of it is lost", async (t) => {
  const { page: a, db } = await demo(t, { pace: 25 });
  await a.getByTestId("composer").fill("count from 1 to 480");
  await a.getByTestId("composer").press("Enter");
  await a.waitForFunction(() => /, 40,/.test(document.querySelector("[data-role=assistant] [data-testid=message-text]")?.textContent ?? ""));
  const { page: b } = await demo(t, { db, hash: new URL(a.url()).hash });
  await b.waitForFunction(() => /, 60,/.test(document.querySelector("[data-role=assistant] [data-testid=message-text]")?.textContent ?? ""));
  assert.match(await b.getByTestId("composer-hint").textContent(), /Another tab is writing/);
  await b.getByTestId("stop").click();
  await idle(a);
  await a.getByTestId("message-ending").waitFor();
  await b.getByTestId("message-ending").waitFor();
  assert.deepEqual(await texts(b), await texts(a));
  assert.equal(await b.getByTestId("interrupted").count(), 0);
});

test("the preview is loaded anew, by another address, after every answer and every restore", async (t) => {
  //
  const { page } = await chatted(t, ["built"]);
  await page.getByTestId("toggle-preview").click();
  const key = () => page.getByTestId("reload-key").textContent();
  const first = await key();
  await say(page, "say: more");
  const second = await key();
  assert.notEqual(second, first);
  await page.locator("[data-role=user]").last().hover();
  await page.getByTestId("message-restore").last().click();
  await shown(page, 2);
  const third = await key();
  assert.notEqual(third, second);
  await page.frameLocator("[data-testid=preview] iframe").getByText(third).waitFor();
});

test("images beside a prompt are kept with it: Restore and Edit bring them back", async (t) => {
  //
  const { page } = await demo(t);
  const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
  const files = [1, 2, 3, 4, 5, 6].map((n) => ({ name: `shot ${n}.png`, mimeType: "image/png", buffer: Buffer.concat([png, Buffer.alloc(600, n)]) }));
  await page.getByTestId("attach-file").setInputFiles(files);
  await page.getByTestId("notice").getByText("at most 5 images").waitFor();
  const names = () => page.locator("[data-testid=attachments] img").evaluateAll((list) => list.map(({ alt }) => alt));
  assert.deepEqual(await names(), files.slice(0, 5).map(({ name }) => name));
  await say(page, "say: with images");
  assert.equal(await page.getByTestId("attachments").count(), 0);
  assert.match((await texts(page))[0], /shot 1\.png, shot 2\.png/);
  await page.locator("[data-role=user]").hover();
  await page.getByTestId("message-restore").click();
  await shown(page, 0);
  assert.deepEqual([await names(), await page.getByTestId("composer").inputValue()], [files.slice(0, 5).map(({ name }) => name), ""]);
  await page.getByTestId("undo").click();
  await shown(page, 2);
  await page.locator("[data-role=user]").hover();
  await page.getByTestId("message-edit").click();
  await shown(page, 0);
  assert.deepEqual([(await names()).length, await page.getByTestId("composer").inputValue()], [5, "say: with images"]);
});

test("images beside a prompt are compared by their names and sizes, not by their bytes", async (t) => {
  const { page } = await chatted(t, ["plain"]);
  await page.getByTestId("attach-file").setInputFiles({ name: "shot.png", mimeType: "image/png", buffer: Buffer.alloc(3000, 1) });
  await say(page, "say: with an image");
  const before = checkpoints(page).filter({ has: page.locator(".checkpoint-name", { hasText: /^plain$/ }) });
  await before.hover();
  await before.getByTestId("checkpoint-compare").click();
  await page.getByTestId("compare-bar").waitFor();
  await page.locator("[data-testid=checkpoint][data-head]").getByTestId("checkpoint-open").click();
  const row = page.getByTestId("diff-row").filter({ hasText: "beside the prompt: screenshots" });
  const text = await row.textContent();
  assert.match(text, /shot\.png/);
  assert.match(text, /\(image\/png, 3 KB\)/);
  assert.doesNotMatch(text, /base64/);
});

test("Restore in the middle of an answer is refused with the reason, and goes on once the answer is stopped", async (t) => {
  const { page } = await demo(t);
  await say(page, "say: first");
  const address = page.url();
  await page.goto("about:blank");
  await page.goto(address.replace("pace=0", "pace=20"));
  await shown(page, 2);
  await page.getByTestId("composer").fill("count from 1 to 480");
  await page.getByTestId("composer").press("Enter");
  await page.waitForFunction(() => /, 20,/.test([...document.querySelectorAll("[data-testid=message-text]")].at(-1).textContent));
  await page.locator("[data-role=user]").last().hover();
  await page.getByTestId("message-restore").last().click();
  const refused = page.getByTestId("error-notice");
  assert.match(await refused.textContent(), /^An answer is being written ActiveRun.*Nothing was changed/);
  assert.equal(await page.getByTestId("message").count(), 4, "the refused action changed nothing");
  await refused.getByTestId("notice-action").click();
  await shown(page, 2);
  await idle(page);
  assert.deepEqual(await texts(page), echoed("first"));
  await page.getByTestId("notice").getByTestId("notice-action").click();
  await shown(page, 4);
  assert.match((await texts(page))[3], /, 20,/, "what had arrived is not lost");
});

test("a new session while an answer is written is refused, and begins with what was typed once the answer is stopped", async (t) => {
  const { page } = await demo(t, { pace: 20 });
  await page.getByTestId("composer").fill("count from 1 to 480");
  await page.getByTestId("composer").press("Enter");
  await page.waitForFunction(() => /, 20,/.test(document.querySelector("[data-role=assistant] [data-testid=message-text]")?.textContent ?? ""));
  const address = page.url();
  await page.getByTestId("new-chat").click();
  await shown(page, 0);
  await page.getByTestId("composer").fill("say: next");
  await page.getByTestId("composer").press("Enter");
  const refused = page.getByTestId("error-notice");
  await refused.waitFor();
  assert.equal(await page.getByTestId("composer").inputValue(), "say: next", "what was typed is not lost");
  await refused.getByTestId("notice-action").click();
  await stored(page, 2);
  assert.notEqual(page.url(), address);
  assert.deepEqual([await texts(page), await page.getByTestId("composer").inputValue()], [echoed("next"), ""]);
  await page.getByTestId("notice").getByTestId("notice-action").click();
  await page.getByTestId("message-ending").waitFor();
  assert.equal(page.url(), address);
});

test("a new session seals the one that was left in this tab, whatever another tab has opened", async (t) => {
  //
  const { page: a, db } = await chatted(t, ["of a"]);
  const { page: b } = await chatted(t, ["of b"], { db });
  await a.getByTestId("new-chat").click();
  await shown(a, 0);
  await say(a, "say: next of a");
  await a.getByTestId("history").click();
  const marks = () => a.getByTestId("history-entry").evaluateAll((rows) => Object.fromEntries(rows.map((row) => [row.querySelector(".clip").textContent, /sealed/.test(row.textContent)])));
  await a.waitForFunction(() => document.querySelectorAll("[data-testid=history-entry]").length === 3);
  // The second tab's session was begun from nothing, after the first: that has sealed "of a" already. It stays open itself.
  assert.deepEqual(await marks(), { "say: next of a": false, "say: of b": false, "say: of a": true });
  await say(b, "say: more of b");
});

test("the notice of a restore brings back what was left, also when more was said since", async (t) => {
  const { page } = await chatted(t, ["one", "two"]);
  await page.locator("[data-role=user]").last().hover();
  await page.getByTestId("message-restore").last().click();
  await shown(page, 2);
  const back = page.getByTestId("notice").getByTestId("notice-action");
  await back.hover();
  await page.getByTestId("composer").fill("say: three");
  await page.getByTestId("composer").press("Enter");
  await stored(page, 4);
  assert.deepEqual(await texts(page), echoed("one", "three"));
  await back.click();
  await page.waitForFunction(() => [...document.querySelectorAll("[data-testid=message-text]")].at(-1)?.textContent === "two");
  assert.deepEqual(await texts(page), echoed("one", "two"));
});

test("a third answer is version 3 of 3, 2 of 3 is shown and left again, and its notice brings the third back", async (t) => {
  // W-01.
  const { page } = await chatted(t, ["words to turn around"]);
  const count = (text) => page.waitForFunction((wanted) => document.querySelector("[data-testid=versions]")?.textContent.includes(wanted), text);
  const last = async () => (await texts(page)).at(-1);
  const answers = [await last()];
  for (const label of ["2 / 2", "3 / 3"]) {
    await page.getByTestId("message-regenerate").click();
    await count(label);
    await idle(page);
    answers.push(await last());
  }
  assert.equal(new Set(answers).size, 3);
  await page.getByTestId("version-before").click();
  await count("2 / 3");
  assert.equal(await last(), answers[1]);
  await page.getByTestId("notice").getByTestId("notice-action").click();
  await count("3 / 3");
  assert.equal(await last(), answers[2]);
  await page.getByTestId("version-before").focus();
  await page.keyboard.press("Enter");
  await count("2 / 3");
  // The focus is still there.
  await page.keyboard.press("Enter");
  await count("1 / 3");
  assert.equal(await last(), answers[0]);
  await page.getByTestId("version-after").click();
  await count("2 / 3");
  await page.reload();
  await count("2 / 3");
  assert.equal(await last(), answers[1]);
});

test("dropped images go with the message, and a restore that brings images back leaves what is being typed", async (t) => {
  const { page } = await demo(t);
  const drop = await page.evaluateHandle(() => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from([137, 80, 78, 71])], "dropped.png", { type: "image/png" }));
    return data;
  });
  await page.getByTestId("messages").dispatchEvent("drop", { dataTransfer: drop });
  await page.getByTestId("attachments").waitFor();
  assert.equal(await page.getByTestId("import-dialog").count(), 0);
  await say(page, "say: with one");
  assert.equal((await texts(page))[1], "with one", "the script reads what was typed, not what is sent to a model");
  assert.match((await texts(page))[0], /dropped\.png/);
  await page.getByTestId("composer").fill("half a thought");
  await page.locator("[data-role=user]").hover();
  await page.getByTestId("message-restore").click();
  await shown(page, 0);
  await page.getByTestId("attachments").waitFor();
  assert.equal(await page.getByTestId("composer").inputValue(), "half a thought");
});

const KEY = "sk-test-0123456789-never-stored";

/** An endpoint that streams words from another origin, and does as the question says. */
async function fakeEndpoint(t) {
  const asked = [];
  const cors = { "Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "*" };
  const answer = async (request, response) => {
    if (request.method === "OPTIONS") return response.writeHead(204, cors).end();
    const body = JSON.parse(await bodyOf(request));
    asked.push({ key: request.headers.authorization, cookie: request.headers.cookie, referer: request.headers.referer, ...body });
    const question = body.messages.at(-1).content;
    if (question === "refuse") return response.writeHead(401, { ...cors, "Content-Type": "application/json" }).end(JSON.stringify({ error: { message: `wrong key ${KEY}` } }));
    response.writeHead(200, { ...cors, "Content-Type": "text/event-stream" });
    const words = question === "tell me the key" ? ["It is ", KEY.slice(0, 12), KEY.slice(12), "."] : ["Héllo ", "from ", "another ", "server."];
    const all = Buffer.from(words.map((content) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\r\n\r\n`).join(""));
    // Cut inside of a letter of two bytes.
    const cut = all.indexOf(Buffer.from("é")) + 1 || 40;
    response.write(all.subarray(0, cut));
    await new Promise((resolve) => { setTimeout(resolve, 30); });
    response.write(all.subarray(cut));
    if (question === "never end") return response.on("close", () => asked.push("given up"));
    if (question === "break off") return setTimeout(() => response.destroy(), 50);
    return response.end("data: [DONE]\n\n");
  };
  const server = await serve({ routes: { "/v1/chat/completions": answer } });
  t.after(server.close);
  invited.push(server.origin);
  return { asked, address: `${server.origin}/v1`, close: server.close };
}

async function connects(page, address, key = KEY) {
  await page.getByTestId("open-storage").click();
  await page.getByTestId("endpoint-open").click();
  await page.getByTestId("endpoint-address").fill(address);
  await page.getByTestId("endpoint-model").fill("test-model");
  await page.getByTestId("endpoint-key").fill(key);
  await page.getByTestId("endpoint-on").click();
  await page.locator("[data-testid=endpoint-off], [data-testid=endpoint] [role=alert]").waitFor();
}

/** Everything that this origin keeps, as text. */
const kept = (page) => page.evaluate(async () => {
  const asked = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const told = (_, value) => {
    if (value instanceof ArrayBuffer) return new TextDecoder().decode(value);
    if (ArrayBuffer.isView(value)) return new TextDecoder().decode(value);
    return typeof value === "bigint" ? String(value) : value;
  };
  const found = [JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage }), document.cookie, location.href, JSON.stringify(history.state), ...(await caches.keys())];
  for (const { name } of await indexedDB.databases()) {
    const db = await asked(indexedDB.open(name));
    for (const store of db.objectStoreNames) {
      const rows = await asked(db.transaction(store).objectStore(store).getAll());
      found.push(JSON.stringify(rows, told));
    }
    db.close();
  }
  return found.join("\n");
});

test("an endpoint answers only once it is switched on; its key is sent to it and kept nowhere, and a reload switches it off", async (t) => {
  const { asked, address } = await fakeEndpoint(t);
  const { page } = await demo(t, { expected: [/Content Security Policy/] });
  await say(page, "say: here");
  assert.equal(asked.length, 0, "off by default");
  await connects(page, `${address}/`);
  assert.match(await page.getByTestId("endpoint-state").textContent(), /test-model at 127\.0\.0\.1:\d+ answers/);
  await page.getByTestId("dialog-close").click();
  await page.getByTestId("attach-file").setInputFiles({ name: "shot.png", mimeType: "image/png", buffer: Buffer.from("89504e47", "hex") });
  await say(page, "who answers?");
  assert.equal((await texts(page))[3], "Héllo from another server.");
  await say(page, "tell me the key");
  assert.equal((await texts(page))[5], "It is ….", "not even when the endpoint says it");
  const [first] = asked;
  assert.deepEqual(first.messages, [
    { role: "user", content: "say: here" }, { role: "assistant", content: "here" }, { role: "user", content: "who answers?\n\nAttached images: shot.png" },
  ]);
  assert.deepEqual([first.key, first.model, first.stream, first.cookie, first.referer], [`Bearer ${KEY}`, "test-model", true, undefined, undefined]);
  const everything = await kept(page);
  assert.ok(everything.includes("from another server") && everything.includes("test-model"), "the search finds what is stored");
  assert.ok(!everything.includes(KEY), "the key is stored");
  const blocked = await page.evaluate((url) => fetch(url, { method: "POST" }).then(() => "sent", () => "refused"), `${address}/chat/completions`);
  assert.equal(blocked, "refused", "the page itself may connect nowhere");
  const bundle = page.waitForEvent("download");
  await page.getByTestId("export-all").click();
  assert.ok(!readFileSync(await (await bundle).path(), "utf8").includes(KEY));
  await page.reload();
  await shown(page, 6);
  await say(page, "say: here again");
  assert.equal(asked.length, 2, "a reload switches it off");
  await page.getByTestId("open-storage").click();
  await page.getByTestId("endpoint-open").click();
  assert.deepEqual([await page.getByTestId("endpoint-model").inputValue(), await page.getByTestId("endpoint-key").inputValue()], ["test-model", ""]);
});

test("what goes wrong with an endpoint is told, its question can be answered again, and what had arrived is kept and marked", async (t) => {
  const { asked, address, close } = await fakeEndpoint(t);
  const { page } = await demo(t, { expected: [/401/, /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_EMPTY/] });
  await connects(page, "ftp://example.org/");
  assert.match(await page.getByTestId("endpoint").getByRole("alert").textContent(), /must begin with https/);
  await page.getByTestId("endpoint-address").fill(address);
  await page.getByTestId("endpoint-model").fill("  ");
  await page.getByTestId("endpoint-on").click();
  await page.getByText("It needs the name of a model.").waitFor();
  await page.getByTestId("dialog-close").click();
  await connects(page, address);
  await page.getByTestId("dialog-close").click();
  const told = page.getByTestId("error-notice");
  const ask = async (text) => {
    await page.getByTestId("composer").fill(text);
    await page.getByTestId("composer").press("Enter");
    await told.first().waitFor();
    const words = await told.allTextContents();
    await told.first().getByRole("button", { name: "Close this notice" }).click();
    await idle(page);
    return words.join();
  };
  const refused = await ask("refuse");
  assert.match(refused, /401: wrong key …/);
  await shown(page, 1);
  await page.getByTestId("unanswered").waitFor();
  await page.getByTestId("open-storage").click();
  await page.getByTestId("endpoint-off").click();
  await page.getByTestId("dialog-close").click();
  await page.getByTestId("answer").click();
  await stored(page, 2);
  await connects(page, address);
  await page.getByTestId("dialog-close").click();
  assert.match(await ask("break off"), /gave no whole answer/);
  await page.getByTestId("message-ending").waitFor();
  await page.reload();
  await shown(page, 4);
  assert.equal((await texts(page))[3], "Héllo from another server.");
  assert.match(await page.getByTestId("message-ending").textContent(), /broke off/);
  await connects(page, address);
  await page.getByTestId("dialog-close").click();
  await page.getByTestId("composer").fill("never end");
  await page.getByTestId("composer").press("Enter");
  await page.waitForFunction(() => /server/.test([...document.querySelectorAll("[data-testid=message-text]")].at(5)?.textContent ?? ""));
  await page.getByTestId("stop").click();
  await page.getByTestId("message-ending").filter({ hasText: "You stopped" }).waitFor();
  for (let left = 80; asked.at(-1) !== "given up" && left > 0; left -= 1) await page.waitForTimeout(25);
  assert.equal(asked.at(-1), "given up", "the request is not only hidden");
  await close();
  await page.getByTestId("open-storage").click();
  await page.getByTestId("endpoint-off").click();
  await page.getByTestId("dialog-close").click();
  await connects(page, address, "");
  await page.getByTestId("dialog-close").click();
  assert.match(await ask("nobody is there"), /127\.0\.0\.1:\d+ cannot be reached/);
});

test("the settings say how durable the storage is, ask for persistence, and lead to an interrupted answer", async (t) => {
  const { page, db } = await interrupted(t);
  await page.getByTestId("new-chat").click();
  await page.getByTestId("open-storage").click();
  assert.match(await page.getByTestId("storage-durability").textContent(), /^disk strict\./);
  assert.match(await page.getByTestId("storage-counts").textContent(), /1chat\d+checkpoints/);
  assert.match(await page.getByTestId("storage-quota").textContent(), /used.*of .*B this browser allows/);
  assert.match(await page.getByTestId("storage-runs").textContent(), /0 answers being written, 1 interrupted/);
  if (await page.getByTestId("persist").isVisible()) {
    await page.getByTestId("persist").click();
    await page.waitForFunction(() => /promised|said no/.test(document.querySelector("[data-testid=storage-persisted]").textContent));
  }
  await page.getByTestId("storage-interrupted").click();
  await page.getByTestId("interrupted").waitFor();
  assert.equal(await page.getByTestId("storage-dialog").count(), 0);
  const { page: memory } = await demo(t, { db: `${db}-memory`, hash: "&backend=memory" });
  await memory.getByTestId("open-storage").click();
  assert.match(await memory.getByTestId("storage-durability").textContent(), /^memory none\. In memory only/);
});

/** Chooses a file in the import dialog. */
async function chooses(page, name, text) {
  await page.getByTestId("open-import").click();
  await page.getByTestId("import-file").setInputFiles({ name, mimeType: "application/json", buffer: Buffer.from(text) });
}

const EXPORT = readFileSync(join(FIXTURES, "chatgpt-tree.json"), "utf8");

test("an export of ChatGPT is imported with a report, shows the chat it held, and is not imported twice", async (t) => {
  // llama.cpp#19372 (the head after an import), assistant-ui#4774 (branches).
  const { page } = await demo(t);
  await chooses(page, "conversations.json", EXPORT);
  await page.getByTestId("import-report").waitFor();
  assert.match(await page.getByTestId("import-summary").textContent(), /imported into/);
  await page.getByTestId("import-open").first().click();
  await page.waitForFunction(() => document.querySelectorAll("[data-testid=message]").length > 1);
  const [{ title }] = JSON.parse(EXPORT);
  assert.equal(await page.getByTestId("chat-title").textContent(), title);
  const before = [await texts(page), await page.getByTestId("session-row").count()];
  await chooses(page, "conversations.json", EXPORT);
  await page.getByTestId("import-report").waitFor();
  assert.match(await page.getByTestId("import-summary").textContent(), /here already/);
  await page.getByTestId("import-done").click();
  assert.deepEqual([await texts(page), await page.getByTestId("session-row").count()], before);
});

test("a large import shows how far it is, can be stopped, and goes on where it stopped", async (t) => {
  const { page } = await demo(t);
  const [conversation] = JSON.parse(EXPORT);
  const many = Array.from({ length: 60 }, (_, i) => ({ ...conversation, id: `many-${i}`, conversation_id: `many-${i}`, title: `Chat ${i}` }));
  await chooses(page, "conversations.json", JSON.stringify(many));
  await page.getByTestId("import-progress").waitFor();
  await page.waitForFunction(() => Number(document.querySelector("[data-testid=import-progress] progress")?.value) > 0.05);
  await page.getByTestId("import-cancel").click();
  await page.locator("[data-testid=import-error], [data-testid=import-report]").first().waitFor();
  await page.getByTestId("import-done").click();
  const part = await page.getByTestId("session-row").count();
  await chooses(page, "conversations.json", JSON.stringify(many));
  await page.getByTestId("import-report").waitFor({ timeout: 60_000 });
  await page.getByTestId("import-done").click();
  const titles = await page.getByTestId("session-open").locator(".session-title").allTextContents();
  for (let i = 0; i < 60; i += 1) assert.ok(titles.includes(`Chat ${i}`), `Chat ${i} is missing`);
  assert.ok(part < titles.length, "it was not stopped");
});

test("a file that is neither kind of export is refused with what to choose instead, and nothing is imported", async (t) => {
  const { page } = await demo(t);
  for (const text of ["not json", "[]{}", '{"format":"turnmark-bundle","version":99}', '[{"title":"no mapping"}]']) {
    await chooses(page, "wrong.json", text);
    await page.locator("[data-testid=import-error], [data-testid=import-report]").first().waitFor();
    assert.equal(await page.getByTestId("import-open").count(), 0, text);
    await page.getByTestId("import-done").click();
  }
  assert.equal(await page.getByTestId("session-row").count(), 0);
});

test("an export of everything is imported into another database with its whole history, and as copies into the same one", async (t) => {
  // llama.cpp#13552, CherryHQ/cherry-studio#11516, R3.
  const { page } = await chatted(t, ["kept", "moved"]);
  await page.getByTestId("undo").click();
  await shown(page, 2);
  const download = page.waitForEvent("download");
  await page.getByTestId("export-all").click();
  const bundle = readFileSync(await (await download).path(), "utf8");
  const made = await checkpoints(page).count();

  const { page: other } = await demo(t);
  await chooses(other, "turnmark.json", bundle);
  await other.getByTestId("import-report").waitFor();
  await other.getByTestId("import-open").click();
  await shown(other, 2);
  assert.equal(await checkpoints(other).count(), made);
  await other.getByTestId("redo").click();
  await shown(other, 4);
  assert.deepEqual(await texts(other), echoed("kept", "moved"));

  await chooses(other, "turnmark.json", bundle);
  await other.getByTestId("import-error").waitFor();
  await other.getByTestId("import-rename").click();
  await other.getByTestId("import-report").waitFor();
  await other.getByTestId("import-done").click();
  await other.waitForFunction(() => document.querySelectorAll("[data-testid=session-row]").length === 2);
});

test("two tabs see each other's turns, rollbacks, titles and deletions", async (t) => {
  const { page: a, db } = await chatted(t, ["shared"]);
  const { page: b } = await demo(t, { db, hash: new URL(a.url()).hash });
  await shown(b, 2);
  await say(a, "say: from a");
  await shown(b, 4);
  await say(b, "say: from b");
  await shown(a, 6);
  assert.deepEqual(await texts(a), echoed("shared", "from a", "from b"));
  await b.getByTestId("undo").click();
  await shown(b, 4);
  await shown(a, 4);
  await a.getByTestId("chat-title").click();
  await a.getByTestId("rename-field").fill("Named by a");
  await a.getByTestId("rename-field").press("Enter");
  await b.waitForFunction(() => document.querySelector("[data-testid=chat-title]").textContent === "Named by a");
  await b.getByTestId("session-row").hover();
  await b.getByTestId("session-delete").click();
  await b.getByTestId("confirm").click();
  await a.waitForFunction(() => document.querySelectorAll("[data-testid=session-row]").length === 0 && document.querySelectorAll("[data-testid=message]").length === 0);
});

/** Presses Tab until something enabled of that test id has the focus. */
async function tabTo(page, id) {
  for (let presses = 0; presses < 120; presses += 1) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((wanted) => document.activeElement?.dataset.testid === wanted && !document.activeElement.disabled, id)) return;
  }
  assert.fail(`120 presses of Tab did not reach ${id}`);
}

test("by the keyboard alone a message is sent, the chat is rolled back from the timeline, and that is undone", async (t) => {
  const { page } = await demo(t);
  for (const [text, count] of [["say: typed", 2], ["say: again", 4]]) {
    await page.waitForFunction(() => document.activeElement?.dataset.testid === "composer");
    await page.keyboard.type(text);
    await page.keyboard.press("Enter");
    await stored(page, count);
  }
  await tabTo(page, "checkpoint-rollback");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll("[data-testid=message]").length < 4);
  await page.keyboard.press("Control+z");
  await shown(page, 4);
  const focus = await page.evaluate(() => {
    const { outlineStyle, boxShadow } = getComputedStyle(document.activeElement);
    return { where: document.activeElement.tagName, seen: outlineStyle !== "none" || boxShadow !== "none" };
  });
  assert.notEqual(focus.where, "BODY", "the keyboard's place was lost");
  assert.ok(focus.seen, "the focus cannot be seen");
});

/** What is wider than the page, and what can be scrolled sideways, which only code may be. */
const overflowing = (page) => page.evaluate(() => {
  const styleOf = (element) => getComputedStyle(element).overflowX;
  // Cut on purpose, with an ellipsis; what a box merely hides is lost to the visitor.
  const isCut = (element) => element !== null && (getComputedStyle(element).textOverflow === "ellipsis" || element.matches("pre") || isCut(element.parentElement));
  const visible = [...document.body.querySelectorAll("*")].filter((element) => element.checkVisibility() && element.getBoundingClientRect().width > 1 && !element.closest(".sr-only, .skip"));
  const wide = visible.filter((element) => {
    const { left, right } = element.getBoundingClientRect();
    return (right > innerWidth + 1 || left < -1) && !isCut(element.parentElement);
  });
  const sideways = visible.filter((element) => ["auto", "scroll"].includes(styleOf(element)) && element.scrollWidth > element.clientWidth + 1 && !element.matches("pre, textarea"));
  const told = (why) => ({ tagName, className }) => `${tagName}.${className} ${why}`;
  return [
    ...(document.documentElement.scrollWidth > innerWidth ? [`the page is ${document.documentElement.scrollWidth} wide`] : []),
    ...wide.slice(0, 5).map(told("is wider than the screen")), ...sideways.slice(0, 5).map(told("scrolls sideways")),
  ];
});

test("on a screen 375 pixels wide nothing overflows, in any view or dialog, with long words and code", async (t) => {
  const { page } = await demo(t);
  await page.setViewportSize({ width: 375, height: 720 });
  await page.getByTestId("tab-chat").click();
  await say(page, `say: ${"unbroken".repeat(40)}`);
  await say(page, "show me some rust code");
  await say(page, "list 5 animals");
  for (const view of ["chat", "sessions", "timeline"]) {
    await page.getByTestId(`tab-${view}`).click();
    await page.getByTestId(view === "chat" ? "chat-pane" : `${view}-pane`).waitFor();
    assert.deepEqual(await overflowing(page), [], view);
  }
  await checkpoints(page).first().getByTestId("checkpoint-open").click();
  await page.getByTestId("checkpoint-details").waitFor();
  assert.deepEqual(await overflowing(page), [], "the details of a checkpoint");
  await checkpoints(page).last().getByTestId("checkpoint-rollback").click();
  await page.getByTestId("notice").waitFor();
  assert.deepEqual(await overflowing(page), [], "a notice");
  await page.getByTestId("tab-chat").click();
  await page.getByTestId("toggle-preview").click();
  await page.getByTestId("attach-file").setInputFiles(Array.from({ length: 5 }, (_, n) => ({ name: `a rather long name of a screenshot ${n}.png`, mimeType: "image/png", buffer: Buffer.from("89504e47", "hex") })));
  await page.getByTestId("attachments").waitFor();
  await page.getByTestId("history").click();
  await page.getByTestId("history-entry").first().waitFor();
  assert.deepEqual(await overflowing(page), [], "the history, the preview and the attachments");
  await page.keyboard.press("Escape");
  await page.getByTestId("tab-sessions").click();
  for (const opener of ["open-storage", "open-import"]) {
    await page.getByTestId(opener).click();
    await page.getByTestId(opener.replace("open-", "").concat("-dialog")).waitFor();
    assert.deepEqual(await overflowing(page), [], opener);
    await page.keyboard.press("Escape");
  }
});

const MARKUP = '<img src=x onerror="window.pwned=1"><b>bold</b><script>window.pwned=2</script><svg onload="window.pwned=3">[x](javascript:window.pwned=4)';

test("markup in a message, an answer, a title and an imported file stays text", async (t) => {
  const { page } = await demo(t);
  const harmless = async (where) => {
    const seen = await page.evaluate(() => ({
      pwned: window.pwned ?? null,
      elements: document.querySelectorAll("#root img, #root b, #root script, #root iframe, #root svg[onload], #root [onerror]").length,
      links: [...document.querySelectorAll("a[href]")].map(({ protocol }) => protocol).filter((protocol) => !["http:", "https:", "mailto:"].includes(protocol)),
    }));
    assert.deepEqual(seen, { pwned: null, elements: 0, links: [] }, where);
  };
  await say(page, `say: ${MARKUP}`);
  for (const text of await texts(page)) assert.ok(text.includes('<img src=x onerror="window.pwned=1"><b>bold</b><script>window.pwned=2</script>'), text);
  await harmless("a message and its answer");
  await page.getByTestId("chat-title").click();
  await page.getByTestId("rename-field").fill(MARKUP);
  await page.getByTestId("rename-field").press("Enter");
  await page.waitForFunction((markup) => document.querySelector("[data-testid=chat-title]").textContent === markup, MARKUP);
  await harmless("a title");

  const [conversation] = JSON.parse(EXPORT);
  const mapping = Object.fromEntries(Object.entries(conversation.mapping).map(([id, node]) => {
    const parts = node.message?.content?.parts;
    return [id, parts ? { ...node, message: { ...node.message, content: { ...node.message.content, parts: parts.map((part) => (typeof part === "string" ? MARKUP : part)) } } } : node];
  }));
  await chooses(page, "<img src=x onerror=window.pwned=5>.json", JSON.stringify([{ ...conversation, title: MARKUP, mapping }]));
  await page.getByTestId("import-report").waitFor();
  await harmless("the report of an import");
  await page.getByTestId("import-open").first().click();
  await page.waitForFunction(() => document.querySelectorAll("[data-testid=message]").length > 1);
  assert.ok((await texts(page)).some((text) => text.includes("<b>bold</b>")));
  await checkpoints(page).first().getByTestId("checkpoint-open").click();
  await harmless("an imported chat");
  await chooses(page, "wrong.json", JSON.stringify({ format: MARKUP }));
  await page.getByTestId("import-error").waitFor();
  await harmless("an error");
});

/** A file with markup in every string that a file can hold, and numbers that are no times. */
async function hostileBundle() {
  const { open } = await import(`file://${PKG}index.js`);
  const store = await open({ backend: "memory", name: "hostile-bundle" });
  const id = (n) => `${MARKUP.slice(0, 200)}${n}`;
  const session = await store.session(id("session"));
  await session.get();
  const about = { [MARKUP]: MARKUP, name: MARKUP.slice(0, 190), note: `javascript:${MARKUP}` };
  const said = (n, role, more) => ({ id: id(n), role, content: `${n} ${MARKUP}`, createdAt: 1e300, editedAt: MARKUP, status: MARKUP, model: MARKUP, metadata: { author: MARKUP, interrupted: MARKUP }, ...more });
  await session.append([
    said("u1", "user", { images: [MARKUP, { name: MARKUP }] }), said("a1", "assistant", { parts: [{ type: MARKUP, value: MARKUP }, { type: "text", text: MARKUP }, { type: "file", url: `javascript:${MARKUP}` }] }), said("t1", "tool"), said("x1", MARKUP),
  ], { channels: { [MARKUP]: MARKUP }, metadata: about });
  const turn = await session.begin({ raw: MARKUP, name: MARKUP.slice(0, 190), commitHash: MARKUP, ui: { [MARKUP]: MARKUP, targets: [MARKUP], screenshots: [MARKUP, null, { id: "1", dataUrl: `data:text/html,${MARKUP}` }, { id: "2", dataUrl: "data:image/png;base64,iVBORw==", filename: MARKUP }, { id: { html: MARKUP }, dataUrl: "data:image/png;base64,iVBORw==" }] } });
  await turn.append([said("u2", "user")]);
  await turn.end([said("a2", "assistant", { createdAt: -1e300 }), said("a3", "assistant", { createdAt: NaN, content: { type: MARKUP, html: MARKUP } })], { metadata: about });
  await session.setTitle(MARKUP);
  await (await session.fork(undefined, id("fork"))).setTitle(`</title>${MARKUP}`);
  const bundle = await store.export();
  await store.close();
  return bundle;
}

test("under Trusted Types, with markup in every string that a file can hold, nothing of it runs, it is shown as text, and a phone shows it whole", async (t) => {
  // `'none'`: the demo itself makes no script or markup of text either.
  const guarded = await serve({ mounts: { "/": folder }, headers: { "Content-Security-Policy": "require-trusted-types-for 'script'; trusted-types 'none'" } });
  t.after(guarded.close);
  invited.push(guarded.origin);
  const init = () => {
    window.violations = 0;
    addEventListener("securitypolicyviolation", () => { window.violations += 1; });
  };
  const { page } = await demo(t, { at: guarded.origin, init, expected: [/'TrustedHTML' assignment/] });
  assert.equal(await page.evaluate(() => { try { document.body.innerHTML += ""; return "allowed"; } catch (error) { return error.name; } }), "TypeError", "Trusted Types are not in force");
  await page.setViewportSize({ width: 375, height: 720 });
  const harmless = async (where) => {
    const seen = await page.evaluate(() => ({
      violations: window.violations,
      pwned: window.pwned ?? null,
      elements: document.querySelectorAll("#root img:not([src^='data:image/']), #root b, #root script, #root svg[onload], #root [onerror], [href^='javascript:'], [src^='javascript:']").length,
    }));
    // One: the attempt above.
    assert.deepEqual(seen, { violations: 1, pwned: null, elements: 0 }, where);
    assert.deepEqual(await overflowing(page), [], where);
  };
  await page.getByTestId("tab-sessions").click();
  await chooses(page, `${MARKUP}.json`, await hostileBundle());
  await page.getByTestId("import-report").waitFor();
  await harmless("the report of an import");
  await page.getByTestId("import-open").last().click();
  await shown(page, 7);
  const all = await texts(page);
  assert.ok(all.filter((text) => text.includes("<script>window.pwned=2</script>")).length >= 6, all.join("\n"));
  await harmless("a chat");
  for (const part of await page.getByTestId("message-part").all()) await part.locator("summary").click();
  await harmless("the parts of a message");
  await page.getByTestId("history").click();
  await page.getByTestId("history-entry").first().waitFor();
  await harmless("the history");
  await page.keyboard.press("Escape");
  await page.getByTestId("tab-sessions").click();
  await harmless("the sessions");
  await page.getByTestId("tab-timeline").click();
  const rows = await checkpoints(page).count();
  for (let i = 0; i < rows; i += 1) {
    await checkpoints(page).nth(i).getByTestId("checkpoint-open").click();
    await page.getByTestId("checkpoint-details").first().waitFor();
    await harmless(`checkpoint ${i} of the timeline`);
  }
  await page.getByTestId("checkpoint-compare").last().click();
  await page.getByTestId("compare-bar").waitFor();
  await page.locator("[data-testid=checkpoint][data-head]").getByTestId("checkpoint-open").click();
  await page.getByTestId("diff-row").first().waitFor();
  await harmless("a comparison");
  await page.keyboard.press("Escape");
  await page.getByTestId("tab-chat").click();
  await page.getByTestId("message-edit").last().click();
  await page.getByTestId("notice").waitFor();
  await page.waitForFunction((markup) => document.querySelector("[data-testid=composer]").value === markup, MARKUP);
  await harmless("a prompt to be written anew");
  assert.equal(await page.getByTestId("attachments").locator("img").count(), 1, "what is no image is none");
});

test("when the browser throws the data away while the page is open, the page says so", async (t) => {
  // element-web#9109, lobehub#8238, reported, never silent.
  const { page, db } = await chatted(t, ["gone"]);
  const session = await devtools(t, page);
  await session.send("IndexedDB.deleteDatabase", { securityOrigin: origin, databaseName: db });
  await page.getByTestId("new-chat").click();
  await page.getByTestId("composer").fill("say: still here?");
  await page.getByTestId("composer").press("Enter");
  await page.getByTestId("error-notice").first().waitFor();
  await idle(page);
  await page.waitForFunction(() => document.querySelectorAll("[data-testid=session-row]").length === 1);
  assert.match(await page.getByTestId("notices").textContent(), /deleted|lost|threw/i);
});

test("a damaged record is found by Verify and put aside by Repair, and everything else is there", async (t) => {
  // w3c/IndexedDB#423, OneKeyHQ/app-monorepo#12827.
  const { page, db } = await chatted(t, ["say: one", "say: two"]);
  const before = await texts(page);
  await page.evaluate((name) => new Promise((resolve, reject) => {
    indexedDB.open(name).onsuccess = ({ target: { result: database } }) => {
      const transaction = database.transaction("checkpoints", "readwrite");
      transaction.objectStore("checkpoints").openCursor().onsuccess = ({ target: { result: cursor } }) => cursor.update({ ...cursor.value, at: cursor.value.at + 1 });
      transaction.oncomplete = () => resolve(database.close());
      transaction.onabort = () => reject(transaction.error);
    };
  }), db);
  await page.getByTestId("open-storage").click();
  await page.getByTestId("verify").click();
  await page.locator("[data-testid=verify-report][data-ok=false]").waitFor();
  await page.getByTestId("repair").click();
  await page.getByTestId("repaired").filter({ hasText: "nothing stays lost" }).waitFor();
  await page.locator("[data-testid=verify-report][data-ok=true]").waitFor();
  await page.reload();
  await shown(page, before.length);
  assert.deepEqual(await texts(page), before);
});

test("chats that are gone come back from the second copy, by one click", async (t) => {
  const { page, db } = await demo(t);
  await page.getByTestId("composer").fill("Count to 3");
  await page.keyboard.press("Enter");
  await stored(page, 2);
  const before = await texts(page);
  // The mirror is a second behind.
  await page.evaluate(async () => {
    let known = 0;
    for (let left = 200, same = 0; same < 15; left -= 1) {
      if (left === 0) throw new Error("the mirror does not come to rest");
      await new Promise((resolve) => setTimeout(resolve, 100));
      const { mirror } = await window.__HARNESS_DEVTOOLS__.status();
      same = mirror.sessions === 1 && mirror.bytes === known ? same + 1 : 0;
      known = mirror.bytes;
    }
  });
  await page.getByTestId("open-storage").click();
  await page.getByTestId("storage-mirror").filter({ hasText: "checkpoints of 1 chat" }).waitFor();
  // A page of the same origin that holds no store.
  await page.route("**/favicon.ico", (route) => route.fulfill({ status: 204 }));
  await page.goto(await page.evaluate(() => document.querySelector("script[src]").src));
  await page.evaluate((name) => new Promise((resolve) => { indexedDB.deleteDatabase(name).onsuccess = resolve; }), db);
  await page.goto(`${origin}/?db=${db}&pace=0`);
  await page.getByTestId("notice-action").filter({ hasText: "Bring it back" }).click();
  await shown(page, 2);
  assert.deepEqual(await texts(page), before);
  await page.getByTestId("notice").filter({ hasText: "1 chat brought back, whole." }).waitFor();
});

test("no request has left the origin", () => {
  // The demo's own promise: nothing leaves this page. What every test above has asked for is looked at here.
  assert.deepEqual(strangers, []);
});
