// The package as a user gets it: packed, installed into a fresh React application, type-checked, built and run.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { install, pack, ran, started } from "./harness/application.js";
import { launch, openPage, temporary } from "./harness/chromium.js";
import { APPS, PKG } from "./harness/paths.js";
import { serve } from "./harness/server.js";

const run = promisify(execFile);
const work = temporary("package");
const closing = [];
let packed;
let app;
let context;

const bin = (name) => join(app, "node_modules/.bin", name);

before(async () => {
  packed = await pack(work);
  app = await install(packed, join(work, "app"), ["react-vite"], ["react", "react-dom", "@types/react", "@types/react-dom", "typescript", "vite", "@vitejs/plugin-react"]);
  context = await launch();
  closing.unshift(() => context.close());
});
after(() => Promise.all(closing.map((close) => close())));

// --- the tarball ------------------------------------------------------------------------------------------------------

test("the packed package holds the WebAssembly module and everything its exports and imports name, and nothing else", () => {
  // the .gitignore that wasm-pack writes makes `npm pack` drop the module silently.
  const { files } = packed;
  const allowed = /^(package\.json|README\.md|LICENSE[\w.-]*|[a-z][a-z-]*\.(js|d\.ts)|wasm\/turnmark(_bg\.wasm|\.js)|wasm\/snippets\/turnmark-[0-9a-f]+\/src\/browser\/checksum\.js)$/;
  assert.deepEqual(files.filter((file) => !allowed.test(file)), [], "files that are none of the package's");
  const { exports, main, module, types } = JSON.parse(readFileSync(join(PKG, "package.json"), "utf8"));
  const named = [main, module, types, ...Object.values(exports).flatMap((target) => (typeof target === "string" ? [target] : Object.values(target)))];
  const missing = (list) => list.map((path) => posix.normalize(path)).filter((path) => !files.includes(path));
  assert.deepEqual(missing(named), [], "exports that lead nowhere");
  for (const file of ["wasm/turnmark_bg.wasm", "README.md", "LICENSE"]) assert.ok(files.includes(file), `${file} is not packed`);
  for (const file of files.filter((path) => path.endsWith(".js"))) {
    const text = readFileSync(join(PKG, file), "utf8");
    const imported = [...text.matchAll(/(?:from|import|import\()\s*"(\.[^"]+)"/g)].map(([, path]) => posix.join(posix.dirname(file), path));
    assert.deepEqual(missing(imported), [], `${file} imports what is not packed`);
  }
});

test("the installed package brings no other package with it, and asks for React only where it is used", () => {
  // one package; what it works with is an optional peer.
  const manifest = JSON.parse(readFileSync(join(app, "node_modules/turnmark/package.json"), "utf8"));
  assert.equal(manifest.dependencies, undefined);
  const optional = { optional: true };
  assert.deepEqual(manifest.peerDependenciesMeta, { "@ai-sdk/react": optional, "@assistant-ui/react": optional, ai: optional, react: optional });
  assert.equal(manifest.scripts, undefined);
});

// --- TypeScript and React ---------------------------------------------------------------------------------------------

test("a strict TypeScript application type-checks against the installed package, library declarations included", { timeout: 120_000 }, async () => {
  await ran(bin("tsc"), ["--noEmit", "-p", app]);
});

test("a mistake in the use of the package is a type error, so the check above means something", { timeout: 120_000 }, async () => {
  const folder = join(app, "wrong");
  mkdirSync(folder);
  writeFileSync(join(folder, "wrong.ts"), 'import { open } from "turnmark";\nconst store = await open({ nam: "x" });\nawait store.checkpoints.rollback(1);\nexport {};\n');
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ extends: "../tsconfig.json", include: ["."] }));
  const error = await run(bin("tsc"), ["--noEmit", "-p", folder]).catch((failed) => failed);
  assert.match(String(error.stdout), /wrong\.ts\(2,/);
  assert.match(String(error.stdout), /wrong\.ts\(3,/);
});

const texts = (page, list = "messages") => page.getByTestId(list).locator("li").allTextContents();

/** Waits until a list shows so many entries. */
const shows = (page, count, list = "messages") => page.waitForFunction(
  ([id, wanted]) => document.querySelector(`[data-testid=${id}]`)?.children.length === wanted, [list, count],
);

const WRONG_ID = /No checkpoint "cp_ffffffff"/;

/** The whole application, as a person and as a developer at the console use it. */
async function useApplication(t, address) {
  const page = await openPage(t, context, address, { expected: [WRONG_ID] });
  const told = [];
  page.on("console", (message) => told.push(message.text()));
  await page.getByTestId("ready").waitFor();
  await shows(page, 0);
  assert.ok(await page.getByTestId("undo").isDisabled());

  await page.getByTestId("say").click();
  await shows(page, 2);
  await page.getByTestId("say").click();
  await shows(page, 4);
  assert.deepEqual(await texts(page), ["question 0", "answer 0", "question 2", "answer 2"]);
  assert.deepEqual(await texts(page, "quiet"), await texts(page));
  assert.deepEqual([...new Set(await texts(page, "checkpoints"))], ["turn-after disk"]);

  await page.getByTestId("rollback").click();
  await shows(page, 1);
  await page.getByTestId("undo").click();
  await shows(page, 4);
  await page.getByTestId("redo").click();
  await shows(page, 1);
  await page.getByTestId("undo").click();
  await shows(page, 4);
  await page.getByTestId("fork").click();
  await page.waitForFunction(() => document.querySelector("[data-testid=sessions]").textContent === "chat:4 forked:4");

  // What fails is shown and told once, and is never an unhandled rejection: openPage would fail this test for one.
  await page.getByTestId("fail").click();
  await page.locator("[data-testid=chat][data-error=NotStorable]").waitFor();
  await page.getByTestId("gone").click();
  await page.locator("[data-testid=chat][data-error=UnknownCheckpoint]").waitFor();
  assert.deepEqual(told.filter((text) => text.startsWith("reported")), ["reported NotStorable", "reported UnknownCheckpoint"]);

  await page.reload();
  await page.getByTestId("ready").waitFor();
  await shows(page, 4);
  await useConsole(page);
  assert.equal(told.filter((text) => WRONG_ID.test(text)).length, 1, "a mistake at the console is told once");

  // Unmounting takes the console's global away and closes the store a moment later; mounting again brings both back.
  await page.getByTestId("toggle").click();
  await page.waitForFunction(() => !("__HARNESS_DEVTOOLS__" in window) && !document.querySelector("[data-testid=chat]"));
  await page.waitForTimeout(1300);
  await page.getByTestId("toggle").click();
  await page.getByTestId("ready").waitFor();
  await shows(page, 4);
  await page.getByTestId("say").click();
  await shows(page, 6);
  return page;
}

/** The console's commands, with real values at once and promises where something is done. */
async function useConsole(page) {
  await page.waitForFunction(() => window.__HARNESS_DEVTOOLS__?.checkpoints().length > 0);
  const seen = await page.evaluate(async () => {
    const tools = window.__HARNESS_DEVTOOLS__;
    const summaries = tools.checkpoints();
    const ids = () => tools.session.messages.map(({ id }) => id).join(" ");
    const out = { list: Array.isArray(summaries), full: ids(), tools: tools.tools().length, sync: tools.syncStatus().enabled, sessions: tools.sessions().map(({ id }) => id).sort() };
    // A copy: what is done to it is done to nothing else.
    tools.session.messages.length = 0;
    const oldest = summaries.at(-1);
    const prefix = [...oldest.id].map((_, i) => oldest.id.slice(0, i + 1)).find((text) => summaries.filter(({ id }) => id.startsWith(text)).length === 1);
    const promise = tools.rollback(prefix);
    out.promise = promise instanceof Promise;
    out.target = (await promise).targetCheckpointId === oldest.id;
    out.one = ids();
    await tools.undo();
    out.undone = ids();
    const second = tools.checkpoints()[1].id;
    out.second = (await tools.rollback(-2)).targetCheckpointId === second;
    await tools.undo();
    out.again = ids();
    out.wrong = await tools.rollback("cp_ffffffff").catch(({ code, message }) => `${code}: ${message}`);
    out.verified = (await tools.verify()).ok;
    out.level = (await tools.status()).level;
    return out;
  });
  const all = "u0 a0 u2 a2";
  assert.deepEqual(
    [seen.list, seen.full, seen.promise, seen.target, seen.one, seen.undone, seen.second, seen.again, seen.verified, seen.level],
    [true, all, true, true, "u0", all, true, all, true, "disk"],
  );
  assert.match(seen.wrong, /^UnknownCheckpoint: /);
  assert.deepEqual([seen.tools, seen.sync, seen.sessions], [1, false, ["chat", "forked"]]);
  await shows(page, 4);
}

const VITE = "node_modules/vite/bin/vite.js";

test("under React's StrictMode in Vite's development server the hooks, the console and unmounting work", { timeout: 120_000 }, async (t) => {
  // y-indexeddb#13 (hot reload).
  const args = (port) => [VITE, "--host", "127.0.0.1", "--port", String(port), "--strictPort"];
  await useApplication(t, `${await started(t, args, /Local/, { cwd: app })}/`);
});

test("the same application built by Vite works, and the module is served as a file of its own", { timeout: 120_000 }, async (t) => {
  await ran(process.execPath, [VITE, "build"], { cwd: app });
  const { origin, close } = await serve({ mounts: { "/": join(app, "dist/") } });
  t.after(close);
  const modules = [];
  context.on("response", (response) => response.url().endsWith(".wasm") && modules.push(`${response.status()} ${response.headers()["content-type"]}`));
  await useApplication(t, `${origin}/`);
  assert.ok(modules.length > 0 && modules.every((text) => text === "200 application/wasm"), String(modules));
});

// --- servers ----------------------------------------------------------------------------------------------------------

test("on a server every entry can be imported and a provider rendered, and nothing is opened or left on globalThis", async () => {
  // importable on a server without touching `window`.
  cpSync(join(APPS, "ssr"), app, { recursive: true });
  const seen = JSON.parse(await ran(process.execPath, ["ssr.mjs"], { cwd: app }));
  assert.deepEqual(seen, { html: "<p>opening true 0 0 0</p>", waiting: "<i>wait</i>", opened: 0, refused: "Unavailable", levels: ["memory", "memory"] });
});
