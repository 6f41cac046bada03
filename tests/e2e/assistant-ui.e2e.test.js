// turnmark/assistant-ui with the real @assistant-ui/react: installed from the tarball, bundled, and used as a person does.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { launch, openPage, temporary } from "./harness/chromium.js";
import { APPS, E2E, PKG } from "./harness/paths.js";
import { serve } from "./harness/server.js";

const run = promisify(execFile);
const work = temporary("assistant-ui");
const app = join(work, "app");
const pins = JSON.parse(readFileSync(join(E2E, "package.json"), "utf8")).devDependencies;
const closing = [];

/** Runs a command; what it printed is the reason when it fails. */
async function ran(command, args, options) {
  try {
    return (await run(command, args, { maxBuffer: 64e6, ...options })).stdout;
  } catch (error) {
    throw new Error(`${command} ${args.join(" ")} failed:\n${error.stdout}\n${error.stderr}`);
  }
}

before(async () => {
  const [{ filename }] = JSON.parse(await ran("npm", ["pack", "--json", "--pack-destination", work], { cwd: PKG }));
  cpSync(join(APPS, "assistant-ui"), app, { recursive: true });
  const needed = ["@assistant-ui/react", "@types/react", "@types/react-dom", "esbuild", "react", "react-dom", "typescript"];
  const pinned = Object.fromEntries(needed.map((name) => [name, pins[name]]));
  writeFileSync(join(app, "package.json"), JSON.stringify({ name: "app", private: true, type: "module", dependencies: { turnmark: `file:${join(work, filename)}`, ...pinned } }));
  // The suite's own lock, so that everything below the pins is pinned too, and is in the cache already.
  for (const file of ["package-lock.json", ".npmrc"]) cpSync(join(E2E, file), join(app, file));
  await ran("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund"], { cwd: app });
  const { build } = await import(`${join(app, "node_modules/esbuild/lib/main.js")}`);
  await build({
    absWorkingDir: app, entryPoints: ["main.tsx"], bundle: true, format: "esm", outfile: "built/main.js", jsx: "automatic", logLevel: "error",
    define: { "process.env.NODE_ENV": '"development"' },
  });
  cpSync(join(app, "index.html"), join(app, "built/index.html"));
});
after(() => Promise.all(closing.map((close) => close())));

/** The application in a browser of its own. */
async function opened(t) {
  const context = await launch();
  t.after(() => context.close());
  const server = await serve({ mounts: { "/": `${join(app, "built")}/` } });
  t.after(server.close);
  return { context, page: await openPage(t, context, `${server.origin}/`), address: `${server.origin}/` };
}

const shown = (page) => page.getByTestId("text").allTextContents();

/** Waits until a line of messages is shown whole. A model's answer is counted per page. */
const shows = (page, line) => page.waitForFunction(
  (wanted) => JSON.stringify([...document.querySelectorAll("[data-testid=text]")].map((node) => node.textContent)) === JSON.stringify(wanted), line, { timeout: 10_000 },
).catch(async (error) => assert.deepEqual(await shown(page), line, String(error)));

/** Waits until the store holds what is shown, and gives the whole tree as the runtime knows it. */
async function saved(page) {
  return page.evaluate(async () => {
    const tree = () => window.runtime.thread.export();
    const line = () => window.runtime.thread.getState().messages;
    const session = await (await window.store).session("chat");
    for (let left = 200; ; left -= 1) {
      const stored = await session.messages();
      const done = stored.length === line().length && stored.every(({ id, status }, i) => id === line()[i].id && status?.type === line()[i].status?.type);
      if (done) return tree();
      if (left === 0) throw new Error(`stored ${JSON.stringify(stored)}\nshown ${JSON.stringify(line())}`);
      await new Promise((resolve) => { setTimeout(resolve, 25); });
    }
  });
}

async function send(page, text) {
  await page.getByTestId("composer").getByRole("textbox").fill(text);
  await page.getByTestId("composer").getByRole("button", { name: "send" }).click();
}

async function edit(page, index, text) {
  await page.getByTestId("user").nth(index).getByRole("button", { name: "edit" }).click();
  await page.getByTestId("editor").getByRole("textbox").fill(text);
  await page.getByTestId("editor").getByRole("button", { name: "save" }).click();
}

const branches = (page) => page.getByTestId("branch").allTextContents();
const failures = (page) => page.evaluate(() => window.failures);

test("a strict TypeScript application type-checks against the adapter and the real library", { timeout: 120_000 }, async () => {
  await ran(join(app, "node_modules/.bin/tsc"), ["--noEmit", "-p", app]);
});

test("sent, edited and regenerated messages are there after a reload, with every branch in its place", { timeout: 120_000 }, async (t) => {
  // assistant-ui/assistant-ui#4774: the tree is restored exactly.
  const { page } = await opened(t);
  await send(page, "hello");
  await shows(page, ["hello", "answer 1 to hello"]);
  await send(page, "more");
  const first = ["hello", "answer 1 to hello", "more", "answer 2 to more"];
  await shows(page, first);
  await edit(page, 0, "hi");
  await shows(page, ["hi", "answer 3 to hi"]);
  await page.getByTestId("assistant").getByRole("button", { name: "reload" }).click();
  const second = ["hi", "answer 4 to hi"];
  await shows(page, second);
  assert.deepEqual(await branches(page), ["2 / 2", "2 / 2"]);

  const before = await saved(page);
  assert.equal(before.messages.length, 7);
  await page.reload();
  await shows(page, second);
  assert.deepEqual(await branches(page), ["2 / 2", "2 / 2"]);
  const after = await saved(page);
  assert.deepEqual(after, before);
  assert.ok(after.messages.every(({ message: { createdAt } }) => createdAt instanceof Date));

  // The other branch is whole, and going on from it makes it the line that the next reload shows.
  await page.getByTestId("user").getByRole("button", { name: "previous" }).click();
  await shows(page, first);
  await send(page, "on");
  await shows(page, [...first, "on", "answer 1 to on"]);
  const gone = await saved(page);
  await page.reload();
  await shows(page, [...first, "on", "answer 1 to on"]);
  assert.deepEqual(await saved(page), gone);
  assert.deepEqual(await branches(page), ["1 / 2", "1 / 1", "1 / 1", "1 / 1", "1 / 1", "1 / 1"]);
  assert.deepEqual(await failures(page), []);
});

test("a rollback of the session takes the thread back, branches and all, once it is mounted anew; undo takes that back", { timeout: 120_000 }, async (t) => {
  const { page } = await opened(t);
  await send(page, "hello");
  await shows(page, ["hello", "answer 1 to hello"]);
  await saved(page);
  await edit(page, 0, "hi");
  await shows(page, ["hi", "answer 2 to hi"]);
  await saved(page);
  await page.evaluate(async () => {
    const session = await (await window.store).session("chat");
    const list = [];
    for await (const checkpoint of session.checkpoints()) list.push(checkpoint);
    await session.rollback(list.findLast(({ messageCount }) => messageCount === 2).id);
  });
  await page.getByTestId("remount").click();
  await shows(page, ["hello", "answer 1 to hello"]);
  assert.deepEqual(await branches(page), ["1 / 1", "1 / 1"]);
  await page.evaluate(async () => (await (await window.store).session("chat")).undo());
  await page.getByTestId("remount").click();
  await shows(page, ["hi", "answer 2 to hi"]);
  assert.deepEqual(await branches(page), ["2 / 2", "1 / 1"]);
  assert.ok(await page.evaluate(async () => (await (await window.store).verify()).ok));
});

test("an attached file is still a file after a reload", { timeout: 120_000 }, async (t) => {
  const { page } = await opened(t);
  await page.evaluate(async () => {
    await window.runtime.thread.composer.addAttachment(new File(["the plan"], "plan.txt", { type: "text/plain", lastModified: 5 }));
  });
  await send(page, "see");
  await shows(page, ["see", "answer 1 to see"]);
  await saved(page);
  await page.reload();
  await shows(page, ["see", "answer 1 to see"]);
  const back = await page.evaluate(async () => {
    const [{ file, name, content }] = window.runtime.thread.getState().messages[0].attachments;
    return [name, file instanceof File, file.lastModified, await file.text(), content[0].text.includes("the plan")];
  });
  assert.deepEqual(back, ["plan.txt", true, 5, "the plan", true]);
});

test("two tabs that go on from the same message: both lines are branches of the thread after a reload", { timeout: 120_000 }, async (t) => {
  const { context, page, address } = await opened(t);
  await send(page, "hello");
  const start = ["hello", "answer 1 to hello"];
  await shows(page, start);
  await saved(page);
  const other = await openPage(t, context, address);
  await shows(other, start);
  await send(page, "here");
  await shows(page, [...start, "here", "answer 2 to here"]);
  await saved(page);
  await send(other, "there");
  await shows(other, [...start, "there", "answer 1 to there"]);
  await saved(other);
  await page.reload();
  await shows(page, [...start, "there", "answer 1 to there"]);
  assert.deepEqual(await branches(page), ["1 / 1", "1 / 1", "2 / 2", "1 / 1"]);
  await page.getByTestId("user").nth(1).getByRole("button", { name: "previous" }).click();
  await shows(page, [...start, "here", "answer 2 to here"]);
  assert.deepEqual([await failures(page), await failures(other)], [[], []]);
  assert.deepEqual(await page.evaluate(async () => {
    const ids = [];
    for await (const { id } of (await window.store).sessions()) ids.push(id);
    return ids;
  }), ["chat"]);
});
