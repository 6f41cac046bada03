// The audit of what the project depends on, on samples of what it has to notice.
import assert from "node:assert/strict";
import { test } from "node:test";
import { allows, crateFaults, manifestFaults, packageFaults, summary, verdict } from "../../scripts/node/audit.mjs";

const LIST = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"];

test("a licence is allowed where its expression can be satisfied with what is on the list, and by nothing else", () => {
  const good = ["MIT", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR Apache-2.0) AND Unicode-3.0", "GPL-2.0 OR (MIT AND Apache-2.0)", "Apache-2.0 WITH LLVM-exception", "CC0-1.0 OR Apache-2.0 WITH LLVM-exception", "GPL-3.0 AND MIT OR MIT"];
  const bad = ["GPL-3.0", "GPL-3.0 AND MIT", "MIT AND GPL-3.0", "MIT AND (GPL-3.0 OR LGPL-2.1)", "MIT WITH Classpath-exception-2.0", "(MIT", "MIT OR", "MIT MIT", "", undefined, "UNLICENSED", "SEE LICENSE IN LICENSE"];
  assert.deepEqual(good.filter((expression) => !allows(expression, LIST)), []);
  assert.deepEqual(bad.filter((expression) => allows(expression, LIST)), []);
});

const CHECKSUM = "0123456789abcdef".repeat(4);
const crate = (name, { source = "registry+https://github.com/rust-lang/crates.io-index", checksum = CHECKSUM } = {}) =>
  [`[[package]]`, `name = "${name}"`, `version = "1.0.0"`, source && `source = "${source}"`, checksum && `checksum = "${checksum}"`].filter(Boolean).join("\n");

test("a crate of another licence, from another place, or without a checksum is told", () => {
  const own = { name: "turnmark", license: "MIT OR Apache-2.0", source: null };
  const faults = (others, ...crates) => crateFaults({ packages: [own, ...others] }, ["version = 4", crate("turnmark", { source: null, checksum: null }), ...crates].join("\n\n"));
  assert.deepEqual(faults([{ name: "good", license: "MIT", source: "registry" }], crate("good")), []);
  assert.deepEqual(faults([{ name: "bad", license: "GPL-3.0", source: "registry" }], crate("bad")), ["crate bad has the licence GPL-3.0"]);
  assert.deepEqual(faults([], crate("forked", { source: "git+https://example.com/forked#abc" })), ["crate forked comes from git+https://example.com/forked#abc"]);
  assert.deepEqual(faults([], crate("bare", { checksum: null })), ["crate bare has no checksum in Cargo.lock"]);
  assert.deepEqual(faults([], crate("beside", { source: null, checksum: null })), ["crate beside comes from nowhere known", "crate beside has no checksum in Cargo.lock"]);
});

test("an npm package of another licence, without a hash, or with an install script of its own is told", () => {
  const faults = (entry, path = "node_modules/x") => packageFaults({ packages: { "": {}, [path]: { license: "MIT", integrity: "sha512-abc=", ...entry } } }, "www");
  assert.deepEqual(faults({}), []);
  assert.deepEqual(faults({ license: "AGPL-3.0" }), ["www: x has the licence AGPL-3.0"]);
  assert.deepEqual(faults({ integrity: undefined }), ["www: x has no sha512 hash"]);
  assert.deepEqual(faults({ integrity: "sha1-abc=" }), ["www: x has no sha512 hash"]);
  assert.deepEqual(faults({ hasInstallScript: true }, "node_modules/a/node_modules/@b/c"), ["www: @b/c runs an install script"]);
  assert.deepEqual(faults({ hasInstallScript: true }, "node_modules/a/node_modules/esbuild"), []);
  assert.deepEqual(packageFaults({ packages: { "../pkg": {}, "node_modules/turnmark": { link: true, resolved: "../pkg" } } }, "www"), []);
  assert.deepEqual(packageFaults({ packages: { "node_modules/other": { link: true, resolved: "../elsewhere" } } }, "www").length, 2);
});

test("a package with a dependency or an install script of its own is told; peers are none", () => {
  assert.deepEqual(manifestFaults({ peerDependencies: { react: ">=18" }, dependencies: {} }), []);
  assert.deepEqual(manifestFaults({ dependencies: { left: "1" }, scripts: { postinstall: "x" } }), ["the package has dependencies", "the package runs a script at postinstall"]);
});

test("findings of severity high or worse are faults, lesser ones are none, and no answer is told as such", () => {
  const found = (severity) => verdict.npm(JSON.stringify({ auditReportVersion: 2, vulnerabilities: { x: { name: "x", severity, via: ["y", { title: "Prototype pollution" }] } } }));
  assert.deepEqual(found("critical"), { faults: ["x: critical: y, Prototype pollution"] });
  assert.deepEqual(found("high").faults.length, 1);
  assert.deepEqual(found("moderate"), { faults: [] });
  assert.deepEqual(verdict.npm('{"auditReportVersion":2,"vulnerabilities":{}}'), { faults: [] });
  assert.deepEqual(verdict.npm('{"message":"405 Method Not Allowed","error":{"summary":"","detail":""}}'), { unchecked: "405 Method Not Allowed" });
  assert.deepEqual(verdict.npm('{"error":{"code":"ENOTFOUND","summary":"no network"}}'), { unchecked: "no network" });
  assert.deepEqual(verdict.npm("spawn npm ENOENT"), { unchecked: "spawn npm ENOENT" });
  assert.deepEqual(verdict.npm(""), { unchecked: "no answer" });

  const list = [{ advisory: { id: "RUSTSEC-2026-0001", title: "Use after free" }, package: { name: "x", version: "1.0.0" } }];
  assert.deepEqual(verdict.cargo(JSON.stringify({ vulnerabilities: { found: true, count: 1, list } })), { faults: ["x 1.0.0: RUSTSEC-2026-0001: Use after free"] });
  assert.deepEqual(verdict.cargo(JSON.stringify({ vulnerabilities: { found: false, count: 0, list: [] } })), { faults: [] });
  assert.deepEqual(verdict.cargo("error: couldn't fetch advisory database"), { unchecked: "error: couldn't fetch advisory database" });
});

test("what was not checked is one line, and hides no finding of the others", () => {
  const sum = summary([["crates", { unchecked: "not installed" }], ["a", { unchecked: "405" }], ["b", { unchecked: "405" }], ["c", { faults: ["x: high: y"] }], ["d", { faults: [] }]]);
  assert.deepEqual(sum, { faults: ["c: x: high: y"], note: "NOTE advisories NOT checked: crates (not installed); a, b (405)" });
  assert.deepEqual(summary([["a", { faults: [] }]]), { faults: [], note: null });
});
