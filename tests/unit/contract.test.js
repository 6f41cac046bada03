// What is written down in more than one place is the same everywhere.
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import test from "node:test";
import { ERROR_CODES, TurnmarkError } from "../../pkg-template/errors.js";
import { VERSION } from "../../pkg-template/version.js";

const file = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const manifest = JSON.parse(file("pkg-template/package.json"));
const modules = readdirSync(new URL("../../pkg-template/", import.meta.url)).filter((name) => name.endsWith(".js"));

test("the release is the same in the code, the package and the crate", () => {
  assert.equal(VERSION, manifest.version);
  assert.equal(VERSION, file("Cargo.toml").match(/^version = "(.+)"$/m)[1]);
});

test("the error codes are the same in the code, the declarations and the engine", () => {
  const declared = file("pkg-template/index.d.ts").match(/export type ErrorCode =([^;]+);/)[1].match(/\w+/g);
  assert.deepEqual(declared, [...ERROR_CODES]);
  const rust = file("src/error.rs").match(/pub enum Code \{([^}]+)\}/)[1].replaceAll(/\/\/.*$/gm, "").match(/\w+/g);
  // The one failure that comes before there is an engine.
  assert.deepEqual(rust, ERROR_CODES.filter((code) => code !== "WasmFailed"));
});

const readme = ["pkg-template/README.md", "README.md"].find((path) => existsSync(new URL(`../../${path}`, import.meta.url)));

test("the README's table of error codes is the list", { skip: !readme && "there is no README yet" }, () => {
  const rows = [...file(readme).matchAll(/^\| `(\w+)` \|/gm)].map(([, code]) => code).filter((code) => ERROR_CODES.includes(code));
  assert.deepEqual(rows, [...ERROR_CODES]);
});

test("an error is an Error with a code, and carries what it was given", () => {
  const error = new TurnmarkError("Conflict", "another tab was first", { branch: { sessionId: "s", checkpointId: "c" } });
  assert.ok(error instanceof Error);
  assert.equal(String(error), "TurnmarkError: another tab was first");
  assert.deepEqual(Object.keys(error), ["code", "branch"]);
  assert.equal("cause" in error, false);
  assert.ok(Object.isFrozen(ERROR_CODES));
});

test("every entry of the package exists, with its types", () => {
  for (const [entry, target] of Object.entries(manifest.exports)) {
    if (entry.endsWith(".wasm") || entry.endsWith(".json")) continue;
    for (const path of Object.values(target)) assert.ok(existsSync(new URL(`../../pkg-template/${path}`, import.meta.url)), `${entry}: ${path}`);
  }
});

/** Files reached by static imports from one of them. */
function importedBy(start, seen = new Set()) {
  if (seen.has(start) || !modules.includes(start)) return seen;
  seen.add(start);
  for (const [, path] of file(`pkg-template/${start}`).matchAll(/from "\.\/([\w-]+\.js)"/g)) importedBy(path, seen);
  return seen;
}

test("nothing that turnmark/inline imports refers to a file beside it", () => {
  for (const name of importedBy("inline.js")) assert.doesNotMatch(file(`pkg-template/${name}`), /import\.meta|new URL\(/, name);
  assert.match(file("pkg-template/index.js"), /new URL\("\.\/wasm\/turnmark_bg\.wasm", import\.meta\.url\)/);
});

test("no module of ours is longer than 450 lines, and none imports anything but its neighbours and its peer", () => {
  for (const name of modules) {
    const text = file(`pkg-template/${name}`);
    assert.ok(text.split("\n").length <= 450, `${name} is too long`);
    for (const [, specifier] of text.matchAll(/^(?:import|export) .*from "([^"]+)"/gm)) assert.match(specifier, /^\.\/|^react$/, name);
  }
});
