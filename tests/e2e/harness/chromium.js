// Chromium as the tests use it: real profiles on the disk, because a private window keeps IndexedDB in memory only.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

/** What every start here needs, with or without Playwright. */
export const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

/** The SQLite backend of IndexedDB, which Chromium is changing to. */
export const SQLITE = "--enable-features=IdbSqliteBackingStore";

export const CHROME = installed("CHROME", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable");

/** The browser that a variable names, else the first of these commands that is there. */
export function installed(variable, ...names) {
  if (process.env[variable]) return process.env[variable];
  for (const name of names) {
    try {
      return execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
    } catch {
      // The next one.
    }
  }
  throw new Error(`no ${names[0]} found: source scripts/env.sh, or set ${variable}`);
}

/** A folder for one run, removed when the process ends, however it does. */
export function temporary(name) {
  const folder = mkdtempSync(join(tmpdir(), `turnmark-${name}-`));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

/**
 * A browser on a profile of its own.
 *
 * @returns {Promise<import("playwright-core").BrowserContext>}
 */
export function launch({ profile = temporary("profile"), args = [], ...options } = {}) {
  return chromium.launchPersistentContext(profile, { executablePath: CHROME, headless: true, args: [...FLAGS, ...args], ...options });
}

/**
 * A page that fails its test when something on it went wrong unseen: an error nobody caught, or one on the console.
 * `expected` says which of these the test provokes.
 */
export async function openPage(t, context, address, { expected = [], init } = {}) {
  const page = await context.newPage();
  const faults = [];
  const note = (text) => expected.some((pattern) => pattern.test(text)) || faults.push(text);
  page.on("pageerror", (error) => note(`uncaught: ${error.stack ?? error}`));
  page.on("console", (message) => message.type() === "error" && note(`console: ${message.text()} (${message.location().url})`));
  if (init) await page.addInitScript(init);
  await page.goto(address);
  t.after(async () => {
    if (!page.isClosed()) await page.close();
    if (faults.length > 0) throw new Error(`on ${address}:\n${faults.join("\n")}`);
  });
  return page;
}

/** Speaks the DevTools protocol to a page. */
export async function devtools(t, page) {
  const session = await page.context().newCDPSession(page);
  t.after(() => session.detach().catch(() => {}));
  return session;
}
