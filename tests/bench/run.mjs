// Runs the measurements in a headless browser, prints the table, writes target/bench.json, fails when a bar is missed.
import { createServer } from "node:http";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import path from "node:path";
import { build } from "esbuild";
import { chromium } from "playwright-core";

const root = path.resolve(import.meta.dirname, "../..");
const folders = { pkg: path.join(root, "pkg"), dexie: path.dirname(createRequire(import.meta.url).resolve("dexie/package.json")), bench: import.meta.dirname };
const types = { ".js": "text/javascript", ".mjs": "text/javascript", ".html": "text/html", ".wasm": "application/wasm" };

// React is no module of a browser's; turnmark stays the one that the page loads.
const bundle = await build({
  entryPoints: [path.join(import.meta.dirname, "renders.js")], bundle: true, write: false, format: "esm", logLevel: "error", external: ["turnmark"],
  alias: { "turnmark/react": path.join(root, "pkg/react.js") }, nodePaths: [path.join(import.meta.dirname, "node_modules")], define: { "process.env.NODE_ENV": '"production"' },
});

const server = createServer(async (request, response) => {
  if (request.url === "/renders.js") return response.writeHead(200, { "content-type": types[".js"] }).end(bundle.outputFiles[0].contents);
  const [, folder, ...rest] = new URL(request.url, "http://localhost").pathname.split("/");
  const file = path.join(folders[folder] ?? "/nowhere", ...rest);
  try {
    const body = await readFile(file);
    response.writeHead(200, { "content-type": types[path.extname(file)] ?? "text/plain" }).end(body);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

const browser = await chromium.launch({
  executablePath: process.env.CHROME,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
try {
  const page = await browser.newPage();
  page.on("pageerror", (error) => console.error(error));
  await page.exposeFunction("progress", (line) => console.log(`  ${line}`));
  await page.goto(`http://127.0.0.1:${server.address().port}/bench/page.html`);
  await page.waitForFunction(() => globalThis.bench);
  const results = await page.evaluate(() => globalThis.bench());
  results.push(await work(page), ...(await renders(page)));
  results.push(await size());
  await mkdir(path.join(root, "target"), { recursive: true });
  await writeFile(path.join(root, "target/bench.json"), `${JSON.stringify(results.map(({ detail, ...result }) => result), null, 2)}\n`);
  console.log(`\nChromium ${browser.version()}\n\n| what | value | bar | measured |\n|---|---|---|---|`);
  for (const { name, value, bar, ok, detail } of results) console.log(`| ${name} | ${value.toFixed(2)}${ok ? "" : " **missed**"} | ${bar} | ${detail} |`);
  if (results.some(({ ok }) => !ok)) {
    console.error("\nbench: a bar was missed");
    process.exitCode = 1;
  }
} finally {
  await browser.close();
  server.close();
}

/** What a turn of a chat costs the page's main thread, as the browser itself counts its tasks. */
async function work(page) {
  const turns = 100;
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable");
  const busy = async () => (await cdp.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value * 1000;
  await page.evaluate(() => globalThis.work(20));
  const before = await busy();
  await page.evaluate((count) => globalThis.work(count), turns);
  const value = (await busy()) - before;
  return { name: "main-thread work per turn on 1,000 messages, ms", value: value / turns, bar: "< 8", ok: value / turns < 8, detail: `${(value / turns).toFixed(2)} ms` };
}

/** How much of a React application renders. */
async function renders(page) {
  const { typed, streamed } = await page.evaluate(async () => {
    await import("/renders.js");
    return globalThis.renders();
  });
  return [
    { name: "renders of list and messages per letter typed", value: typed, bar: "0", ok: typed === 0, detail: "100 messages" },
    { name: "messages rendered per streamed token", value: streamed, bar: "<= 1", ok: streamed <= 1, detail: "100 messages" },
  ];
}

async function size() {
  const { stdout } = await promisify(execFile)("node", [path.join(root, "scripts/node/size.mjs"), "--json"]);
  const { brotli, bar } = JSON.parse(stdout);
  return { name: "core entry (wasm + js), brotli KB", value: brotli / 1024, bar: `<= ${bar / 1024}`, ok: brotli <= bar, detail: `${(brotli / 1024).toFixed(1)} KB` };
}
