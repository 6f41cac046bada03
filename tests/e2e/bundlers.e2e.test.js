// The packed package under the tools that README.md lists: a small application is built with each, and used in the browser.
import assert from "node:assert/strict";
import { cpSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { nodeResolve } from "@rollup/plugin-node-resolve";
import { rspack } from "@rspack/core";
import * as esbuild from "esbuild";
import { rollup } from "rollup";
import * as vite8 from "vite";
import * as vite7 from "vite-7";
import webpack from "webpack";
import { freePort, install, pack, ran, started } from "./harness/application.js";
import { launch, openPage, temporary } from "./harness/chromium.js";
import { APPS, E2E } from "./harness/paths.js";
import { serve } from "./harness/server.js";

const work = temporary("bundlers");
const LIMIT = { timeout: 120_000 };
let packed;
let app;
let context;

before(async () => {
  packed = await pack(work);
  // Only the package: the tools are the suite's own, and find it in the application.
  app = await install(packed, join(work, "app"), ["bundled"]);
  context = await launch();
});
after(() => context?.close());

/** Serves folders for one test. */
async function served(t, mounts) {
  const { origin, close } = await serve({ mounts });
  t.after(close);
  return origin;
}

/** How many module files a page has fetched. */
const filesOf = (page) => page.evaluate(() => performance.getEntriesByType("resource").filter(({ name }) => name.includes(".wasm")).length);

/** Opens a page of apps/bundled twice; what it did the first time is there the second time. */
async function tours(t, address, options) {
  const page = await openPage(t, context, address, options);
  const outcome = async () => JSON.parse(await page.waitForFunction(() => document.body.dataset.outcome).then((handle) => handle.jsonValue()));
  const outcomes = [await outcome()];
  await page.reload();
  outcomes.push(await outcome());
  return { outcomes, files: await filesOf(page) };
}

const TOURED = [0, 2].map((before) => ({ value: { level: "disk", back: 1, undone: 2, before, ok: true } }));
/** With the module fetched as a file of its own, or carried along. */
const FETCHED = { outcomes: TOURED, files: 1 };
const INLINED = { outcomes: TOURED, files: 0 };

// --- bundlers ---------------------------------------------------------------------------------------------------------

/** Makes the page of the application load an entry of it, for the tools that start from a page. */
const write = (entry) => writeFileSync(join(app, "index.html"), readFileSync(join(APPS, "page.html"), "utf8").replace("main.js", entry));

const packedBy = (tool) => async (entry, path) => {
  const stats = await promisify(tool)({ mode: "production", context: app, entry: `./${entry}`, output: { path, filename: "main.js", publicPath: "auto" }, performance: false });
  assert.ok(!stats.hasErrors() && !stats.hasWarnings(), stats.toString());
};

const builtBy = (vite) => async (entry, outDir) => {
  write(entry);
  await vite.build({ configFile: false, root: app, build: { outDir }, logLevel: "error" });
};

const TOOLS = [
  { tool: "webpack 5", build: packedBy(webpack) },
  { tool: "rspack 2", build: packedBy(rspack) },
  { tool: "Vite 7", build: builtBy(vite7) },
  { tool: "Vite 8", build: builtBy(vite8) },
  {
    tool: "Parcel 2",
    async build(entry, output) {
      write(entry);
      await ran(join(E2E, "node_modules/.bin/parcel"), ["build", "index.html", "--dist-dir", output, "--no-cache", "--no-source-maps"], { cwd: app });
    },
  },
  {
    tool: "esbuild",
    leavesFile: true,
    async build(entry, output) {
      const { warnings } = await esbuild.build({ absWorkingDir: app, entryPoints: [entry], bundle: true, format: "esm", outfile: join(output, "main.js"), logLevel: "silent" });
      assert.deepEqual(warnings, []);
    },
  },
  {
    tool: "Rollup 4",
    leavesFile: true,
    async build(entry, output) {
      const bundle = await rollup({ input: join(app, entry), plugins: [nodeResolve()], onwarn: (warning) => assert.fail(warning.message) });
      await bundle.write({ file: join(output, "main.js"), format: "es" });
    },
  },
  {
    tool: "Bun 1",
    leavesFile: true,
    async build(entry, output) {
      // The command in .bin is put there by an install script, and none runs here.
      const bun = join(E2E, "node_modules/@oven", readdirSync(join(E2E, "node_modules/@oven"))[0], "bin/bun");
      await ran(bun, ["build", entry, "--production", "--outfile", join(output, "main.js")], { cwd: app });
    },
  },
];

for (const { tool, build, leavesFile } of TOOLS) {
  /** The folder of what the tool makes of an entry. */
  const built = async (entry) => {
    const output = join(app, "built", tool, entry);
    await build(entry, output);
    // What was started from a page has one.
    cpSync(join(APPS, "page.html"), join(output, "index.html"), { force: false });
    return output;
  };
  const toured = async (t, output, options) => tours(t, `${await served(t, { "/": `${output}/` })}/`, options);

  test(`a page built by ${tool} works with turnmark/inline`, LIMIT, async (t) => {
    assert.deepEqual(await toured(t, await built("inline.js")), INLINED);
  });

  if (!leavesFile) {
    test(`a page built by ${tool} works, the module being a file of its own`, LIMIT, async (t) => {
      assert.deepEqual(await toured(t, await built("main.js")), FETCHED);
    });
    continue;
  }

  test(`a page built by ${tool} without turnmark/inline fails with an error that names it`, LIMIT, async (t) => {
    // build, then 404 at run time.
    const { outcomes } = await toured(t, await built("main.js"), { expected: [/404/] });
    for (const { error } of outcomes) assert.match(error, /^WasmFailed: .*status 404.*"turnmark\/inline".*init\(url\)/s);
  });

  test(`a page built by ${tool} works with the module file copied beside it and init(url)`, LIMIT, async (t) => {
    const output = await built("copied.js");
    cpSync(join(app, "node_modules/turnmark/wasm/turnmark_bg.wasm"), join(output, "turnmark_bg.wasm"));
    assert.deepEqual(await toured(t, output), FETCHED);
  });
}

// --- Vite's development server ----------------------------------------------------------------------------------------

/** What the page does in the development server. */
async function developed(t, vite, entry, optimizeDeps) {
  write(entry);
  const port = await freePort();
  // The pages that were built above are none of the application's.
  const server = await vite.createServer({
    configFile: false, root: app, logLevel: "error", server: { host: "127.0.0.1", port, strictPort: true }, optimizeDeps: { entries: "index.html", ...optimizeDeps },
  });
  t.after(() => server.close());
  await server.listen();
  return tours(t, `http://127.0.0.1:${port}/`);
}

test("in Vite 7's development server the package fails with an error that names the setting", LIMIT, async (t) => {
  const { outcomes } = await developed(t, vite7, "main.js");
  for (const { error } of outcomes) assert.match(error, /^WasmFailed: .*expected magic word 00 61 73 6d, found 3c 21 64 6f.*optimizeDeps: \{ exclude: \["turnmark"\] \}/s);
});

test("in Vite 7's development server the package works with that setting", LIMIT, async (t) => {
  assert.deepEqual(await developed(t, vite7, "main.js", { exclude: ["turnmark"] }), FETCHED);
});

test("in Vite 8's development server the package works as it is", LIMIT, async (t) => {
  assert.deepEqual(await developed(t, vite8, "main.js"), FETCHED);
});

for (const [version, vite] of [[7, vite7], [8, vite8]]) {
  test(`in Vite ${version}'s development server turnmark/inline works`, LIMIT, async (t) => {
    assert.deepEqual(await developed(t, vite, "inline.js"), INLINED);
  });
}

// --- no bundler -------------------------------------------------------------------------------------------------------

for (const [entry, expected] of [["index.js", FETCHED], ["inline.js", INLINED]]) {
  test(`a plain module script works with ${entry}, with no bundler at all`, LIMIT, async (t) => {
    const folder = join(app, `plain-${entry}`);
    cpSync(join(APPS, "plain"), folder, { recursive: true });
    cpSync(join(APPS, "bundled/tour.js"), join(folder, "tour.js"));
    const page = readFileSync(join(folder, "index.html"), "utf8");
    writeFileSync(join(folder, "index.html"), page.replace("turnmark/index.js", `turnmark/${entry}`));
    const origin = await served(t, { "/": `${folder}/`, "/node_modules/": join(app, "node_modules/") });
    assert.deepEqual(await tours(t, `${origin}/`), expected);
  });
}

// --- servers ----------------------------------------------------------------------------------------------------------

test("a server that is bundled into one file runs the engine over memory", LIMIT, async () => {
  const outfile = join(work, "server.mjs");
  await esbuild.build({
    stdin: { contents: 'import { onServer } from "./server.js"; console.log(await onServer());', resolveDir: join(APPS, "next/app") },
    nodePaths: [join(app, "node_modules")], bundle: true, platform: "node", format: "esm", outfile, logLevel: "error",
  });
  assert.equal((await ran(process.execPath, [outfile])).trim(), "memory Unavailable");
});

// --- Next.js ----------------------------------------------------------------------------------------------------------

/** Installed by the first test that needs it: it is large. */
let installing;
const nextApp = () => (installing ??= install(packed, join(work, "next"), ["next"], ["next", "react", "react-dom"]));

const NEXT = "node_modules/next/dist/bin/next";
/** Its builds take long on a busy machine. */
const LONG = { timeout: 300_000 };
const QUIET = { ...process.env, NEXT_TELEMETRY_DISABLED: "1" };

/** A chat on a page that the server has rendered: in the HTML, and after a turn and a reload in the browser. */
async function chats(t, address, files) {
  const html = await (await fetch(address)).text();
  assert.equal(/data-testid="server">([^<]*)/.exec(html)?.[1], "memory Unavailable");
  assert.ok(html.includes('data-testid="chat" data-loading="true"'), "the hooks are not in the HTML");

  const page = await openPage(t, context, address);
  const loaded = (count) => page.waitForFunction((wanted) => document.querySelector("[data-testid=chat][data-loading=false]")?.querySelectorAll("li").length === wanted, count);
  await loaded(0);
  await page.getByTestId("say").click();
  await page.locator("[data-testid=chat][data-level=disk]").waitFor();
  await page.reload();
  await loaded(2);
  assert.deepEqual(await page.locator("[data-testid=chat] li").allTextContents(), ["question 0", "answer 0"]);
  assert.equal(await filesOf(page), files);
}

async function chatsUnderNext(t, command, ready) {
  const args = (port) => [NEXT, command, "--hostname", "127.0.0.1", "--port", String(port)];
  const origin = await started(t, args, ready, { cwd: await nextApp(), env: QUIET });
  await t.test("in the App Router", (s) => chats(s, `${origin}/`, 1));
  await t.test("in the Pages Router", (s) => chats(s, `${origin}/pages-router`, 1));
  await t.test("with turnmark/inline", (s) => chats(s, `${origin}/pages-router?inline`, 0));
}

for (const [bundler, options] of [["Turbopack", []], ["webpack", ["--webpack"]]]) {
  test(`a Next 16 application built with ${bundler} works, on the server and in the browser`, LONG, async (t) => {
    const cwd = await nextApp();
    await ran(process.execPath, [NEXT, "build", ...options], { cwd, env: QUIET });
    await chatsUnderNext(t, "start", /Ready/);
  });
}

test("a Next 16 application works in the development server", LONG, (t) => chatsUnderNext(t, "dev", /Ready/));
