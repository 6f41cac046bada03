// An application as a user has it: the packed package installed into a folder of its own, and what builds and serves it.
import { execFile, spawn } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { APPS, E2E, PKG } from "./paths.js";

const run = promisify(execFile);
const pins = JSON.parse(readFileSync(join(E2E, "package.json"), "utf8")).devDependencies;

/** Runs a command; what it printed is the reason when it fails. */
export async function ran(command, args, options) {
  try {
    return (await run(command, args, { maxBuffer: 64e6, ...options })).stdout;
  } catch (error) {
    throw new Error(`${command} ${args.join(" ")} failed:\n${error.stdout}\n${error.stderr}`);
  }
}

/** The tarball that would be published, and the files in it. */
export async function pack(folder) {
  const [{ filename, files }] = JSON.parse(await ran("npm", ["pack", "--json", "--pack-destination", folder], { cwd: PKG }));
  return { path: join(folder, filename), files: files.map(({ path }) => path) };
}

/** An application in `folder`, with the packed package and what the test suite pins of the rest. */
export async function install(packed, folder, templates, dependencies = []) {
  for (const template of templates) cpSync(join(APPS, template), folder, { recursive: true });
  const pinned = Object.fromEntries(dependencies.map((dependency) => [dependency, pins[dependency]]));
  const manifest = { name: "app", private: true, type: "module", dependencies: { turnmark: `file:${packed.path}`, ...pinned } };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  // The suite's own lock, so that everything below the pins is pinned too, and is in the cache already.
  cpSync(join(E2E, "package-lock.json"), join(folder, "package-lock.json"));
  cpSync(join(E2E, ".npmrc"), join(folder, ".npmrc"));
  await ran("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund"], { cwd: folder });
  return folder;
}

export const freePort = () => new Promise((resolve) => {
  const probe = createServer().listen(0, "127.0.0.1", () => {
    const { port } = probe.address();
    probe.close(() => resolve(port));
  });
});

/**
 * A server of the application's own tools, until the test ends: `args(port)` are Node's arguments, `ready` what it prints.
 *
 * @returns {Promise<string>} its origin
 */
export async function started(t, args, ready, options) {
  const port = await freePort();
  const child = spawn(process.execPath, args(port), options);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => { output += text; });
  const ended = new Promise((resolve) => { child.once("exit", resolve); });
  t.after(() => {
    // Not SIGKILL, which would leave alone what it has started itself.
    child.kill();
    return ended;
  });
  for (let left = 300; !ready.test(output); left -= 1) {
    if (left === 0 || child.exitCode !== null) throw new Error(`the server did not start:\n${output}`);
    await new Promise((resolve) => { setTimeout(resolve, 100); });
  }
  return `http://127.0.0.1:${port}`;
}
