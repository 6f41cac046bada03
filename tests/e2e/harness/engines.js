// The backends of IndexedDB that are put to torture, each as a browser that is started on a profile and an address and that nothing drives: the page
// connects back.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHROME, FLAGS, SQLITE, installed } from "./chromium.js";

/** A process group of its own, so that all of it can be killed at once. */
const started = (command, args, env = {}) => spawn(command, args, { detached: true, stdio: "ignore", env: { ...process.env, ...env } });

/** Its name and number, without what a start script may say besides. */
const versionOf = (command) => execFileSync(command, ["--version"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).match(/[A-Z][\w ]*?\d+(?:\.\d+)+/)[0];

const CHROMIUM_FLAGS = [
  ...FLAGS, "--headless=new", "--no-default-browser-check", "--disable-extensions", "--disable-breakpad", "--password-store=basic", "--use-mock-keychain",
  "--disable-dev-shm-usage", "--disable-features=Translate,OptimizationHints,MediaRouter",
];

function chromium(backend, args) {
  return {
    name: `Chromium, ${backend}`,
    heals: backend === "LevelDB",
    version: () => versionOf(CHROME),
    start(folder, address) {
      // What the dead browser left: a lock that names its process.
      for (const name of ["SingletonLock", "SingletonCookie", "SingletonSocket"]) rmSync(join(folder, name), { force: true });
      return started(CHROME, [...CHROMIUM_FLAGS, ...args, `--user-data-dir=${folder}`, address]);
    },
  };
}

export const LEVELDB = chromium("LevelDB", []);
export const SQLITE_BACKEND = chromium("SQLite", [SQLITE]);

const PREFERENCES = {
  // Its thumbnailer would load the page a second time, beside the storage of the first.
  "browser.pagethumbnails.capturing_disabled": true,
  // After some crashes it would ask whether to start at all, and what to show.
  "toolkit.startup.max_resumed_crashes": -1,
  "browser.sessionstore.resume_from_crash": false,
  "browser.aboutwelcome.enabled": false,
  "browser.shell.checkDefaultBrowser": false,
  "browser.startup.homepage_override.mstone": "ignore",
  "datareporting.policy.dataSubmissionEnabled": false,
  "app.update.enabled": false,
  "network.captive-portal-service.enabled": false,
};

const firefox = () => installed("FIREFOX", "firefox", "firefox-esr");

export const FIREFOX = {
  name: "Firefox",
  heals: false,
  version: () => versionOf(firefox()),
  start(folder, address) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "user.js"), Object.entries(PREFERENCES).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});\n`).join(""));
    return started(firefox(), ["--headless", "--no-remote", "--profile", folder, address]);
  },
};

/** MiniBrowser, which the distribution's driver comes with. Driven by that it would keep everything in memory. */
function miniBrowser() {
  const libraries = "/usr/lib";
  const folders = [libraries, ...readdirSync(libraries).filter((name) => name.endsWith("-linux-gnu")).map((name) => join(libraries, name))];
  return folders.map((folder) => join(folder, "webkit2gtk-4.1/MiniBrowser")).find(existsSync);
}

let display = null;

/** A screen that nobody sees, for as long as this process runs. */
function screen() {
  if (display === null) {
    display = `:${90 + (process.pid % 900)}`;
    const server = spawn("Xvfb", [display, "-screen", "0", "800x600x24", "-nolisten", "tcp"], { stdio: "ignore" });
    server.unref();
    process.once("exit", () => server.kill());
  }
  return display;
}

export const WEBKIT = {
  name: "WebKitGTK",
  heals: false,
  // It would need a screen to say its version itself.
  version: () => `WebKitGTK ${execFileSync("dpkg-query", ["-W", "-f", "${Version}", "webkit2gtk-driver"], { encoding: "utf8" }).split("-")[0]}`,
  isThere: () => miniBrowser() !== undefined,
  start(folder, address) {
    const data = Object.fromEntries(["DATA", "CACHE", "CONFIG", "STATE"].map((kind) => [`XDG_${kind}_HOME`, join(folder, kind.toLowerCase())]));
    for (const path of Object.values(data)) mkdirSync(path, { recursive: true });
    return started(miniBrowser(), [address], {
      ...data, HOME: folder, DISPLAY: screen(), WEBKIT_DISABLE_COMPOSITING_MODE: "1", WEBKIT_DISABLE_DMABUF_RENDERER: "1", LIBGL_ALWAYS_SOFTWARE: "1", NO_AT_BRIDGE: "1",
      DBUS_SESSION_BUS_ADDRESS: "disabled:",
    });
  },
};
