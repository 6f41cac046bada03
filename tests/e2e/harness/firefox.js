// Firefox as the tests use it: the installed one, over WebDriver BiDi, which Playwright cannot drive. Its browsers and pages
// have what openPage() and harness/tabs.js ask of them.
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import puppeteer from "puppeteer-core";
import { installed, temporary } from "./chromium.js";

/** Why there is no Firefox here, for `skip`. */
export const LEFT_OUT = process.env.TURNMARK_NO_FIREFOX ? "left out by TURNMARK_NO_FIREFOX" : false;

/**
 * A browser on a profile of its own.
 *
 * @returns {Promise<import("puppeteer-core").Browser>}
 */
export function launch({ profile = temporary("firefox") } = {}) {
  return puppeteer.launch({
    browser: "firefox",
    executablePath: installed("FIREFOX", "firefox", "firefox-esr"),
    headless: true,
    userDataDir: profile,
    // Its thumbnailer would load the page a second time, beside the storage of the first.
    extraPrefsFirefox: { "browser.pagethumbnails.capturing_disabled": true },
  });
}

/** SIGKILL for a browser and every process of its group. */
export async function kill(browser, profile) {
  const child = browser.process();
  const ended = once(child, "exit");
  process.kill(-child.pid, "SIGKILL");
  await ended;
  // Puppeteer now puts back the preferences it found in the profile, and tells nobody when it has: a start before would fail.
  while (["prefs.js", "user.js"].some((name) => existsSync(join(profile, `${name}.puppeteer`)))) await sleep(10);
}
