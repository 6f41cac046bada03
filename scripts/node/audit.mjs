// What this project depends on: under which licences, from where, and what is known against it. Run by scripts/check.sh in the root of the
// repository. Fails with one line for each fault; where no one can be asked about advisories, one line says so.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

/** Of what becomes part of the package. */
const SHIPPED = ["MIT", "MIT-0", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "CC0-1.0", "Unlicense", "0BSD", "Unicode-3.0"];
/** Of tools as well, which nobody is given. */
const TOOLS = [...SHIPPED, "BlueOak-1.0.0", "MPL-2.0", "LGPL-3.0-or-later", "CC-BY-4.0"];
/** npm packages whose install script may run: each fetches or builds its own native part. */
const INSTALL_SCRIPTS = ["@parcel/watcher", "@swc/core", "bun", "esbuild", "lmdb", "msgpackr-extract"];
const CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index";
const NPM_FOLDERS = ["scripts/node", "tests/unit", "tests/e2e", "tests/bench", "www"];

/** Whether an SPDX expression can be satisfied with licences of a list. Old crates write "/" for OR. */
export function allows(expression, list) {
  const words = String(expression ?? "").replaceAll("/", " OR ").replace(/ WITH /g, "+WITH+").match(/[()]|[^\s()]+/g) ?? [];
  const known = list.map((name) => name.replace(" WITH ", "+WITH+"));
  const take = (word) => words[0] === word && words.shift() !== undefined;
  let isWhole = true;
  const term = () => {
    isWhole &&= words.length > 0;
    if (!take("(")) return known.includes(words.shift());
    const inner = either();
    isWhole &&= take(")");
    return inner;
  };
  const both = () => {
    let all = term();
    while (take("AND")) all = term() && all;
    return all;
  };
  const either = () => {
    let any = both();
    while (take("OR")) any = both() || any;
    return any;
  };
  return either() && isWhole && words.length === 0;
}

/** What is wrong with the crates: `metadata` as `cargo metadata` tells them, `lock` the text of Cargo.lock. */
export function crateFaults({ packages }, lock) {
  const faults = packages.filter(({ license }) => !allows(license, SHIPPED)).map(({ name, license }) => `crate ${name} has the licence ${license ?? "(none)"}`);
  const own = packages.filter(({ source }) => source === null).map(({ name }) => name);
  for (const block of lock.split("[[package]]").slice(1)) {
    const field = (key) => block.match(new RegExp(`^${key} = "(.*)"$`, "m"))?.[1];
    const name = field("name");
    if (own.includes(name) && field("source") === undefined) continue;
    if (field("source") !== CRATES_IO) faults.push(`crate ${name} comes from ${field("source") ?? "nowhere known"}`);
    if (!/^[0-9a-f]{64}$/.test(field("checksum") ?? "")) faults.push(`crate ${name} has no checksum in Cargo.lock`);
  }
  return faults;
}

/** What is wrong with the npm packages of one lock file. */
export function packageFaults(lock, folder) {
  const faults = [];
  for (const [path, entry] of Object.entries(lock.packages)) {
    // The folder itself, and our own package beside it.
    if (path === "" || path === "../pkg" || (entry.link && entry.resolved === "../pkg")) continue;
    const name = `${folder}: ${path.replace(/^.*node_modules\//, "")}`;
    if (!allows(entry.license, TOOLS)) faults.push(`${name} has the licence ${entry.license ?? "(none)"}`);
    if (!/^sha512-/.test(entry.integrity ?? "")) faults.push(`${name} has no sha512 hash`);
    if (entry.hasInstallScript && !INSTALL_SCRIPTS.includes(path.replace(/^.*node_modules\//, ""))) faults.push(`${name} runs an install script`);
  }
  return faults;
}

/** A dependency of the package would come to every user. Peers are the user's own. */
export function manifestFaults(manifest) {
  const kinds = ["dependencies", "optionalDependencies", "bundleDependencies", "bundledDependencies"].filter((kind) => Object.keys(manifest[kind] ?? {}).length > 0);
  const scripts = ["preinstall", "install", "postinstall", "prepare"].filter((name) => manifest.scripts?.[name]);
  return [...kinds.map((kind) => `the package has ${kind}`), ...scripts.map((name) => `the package runs a script at ${name}`)];
}

/** What an advisory service answered: `{ faults }`, or `{ unchecked }`, the reason why nothing is known. */
export const verdict = {
  npm(answer) {
    const report = parsed(answer);
    if (typeof report?.vulnerabilities !== "object") return { unchecked: report?.message || report?.error?.summary || answer.trim().split("\n")[0] || "no answer" };
    const severe = Object.values(report.vulnerabilities).filter(({ severity }) => ["high", "critical"].includes(severity));
    return { faults: severe.map(({ name, severity, via = [] }) => `${name}: ${severity}: ${via.map((one) => one.title ?? one).join(", ")}`) };
  },
  /** Of `cargo audit`, which knows no severity of most: any vulnerability counts. */
  cargo(answer) {
    const list = parsed(answer)?.vulnerabilities?.list;
    if (!Array.isArray(list)) return { unchecked: answer.trim().split("\n")[0] || "no answer" };
    return { faults: list.map(({ advisory, package: { name, version } }) => `${name} ${version}: ${advisory.id}: ${advisory.title}`) };
  },
};

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** What a command prints, also when it fails: finding something is a failure for them. */
function printed(command, args, options) {
  try {
    return execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 64e6, timeout: 120_000, ...options });
  } catch (error) {
    return error.stdout || error.stderr || String(error.message);
  }
}

function cargoAudit() {
  const help = printed("cargo", ["audit", "--version"]);
  return /^cargo-audit/.test(help) ? verdict.cargo(printed("cargo", ["audit", "--json"])) : { unchecked: "cargo audit is not installed" };
}

/** All answers together: their findings as faults, and one line where there were none. */
export function summary(answers) {
  const silent = new Map();
  for (const [what, { unchecked }] of answers) if (unchecked) silent.set(unchecked, [...(silent.get(unchecked) ?? []), what]);
  const reasons = [...silent].map(([reason, whats]) => `${whats.join(", ")} (${reason})`);
  return {
    faults: answers.flatMap(([what, { faults = [] }]) => faults.map((fault) => `${what}: ${fault}`)),
    note: reasons.length > 0 ? `NOTE advisories NOT checked: ${reasons.join("; ")}` : null,
  };
}

function advisories() {
  const npm = (cwd) => verdict.npm(printed("npm", ["audit", "--json", "--package-lock-only"], { cwd }));
  const { faults, note } = summary([["crates", cargoAudit()], ...NPM_FOLDERS.map((folder) => [folder, npm(folder)])]);
  if (note) console.log(note);
  return faults;
}

const PARTS = {
  dependencies: () => [
    ...crateFaults(JSON.parse(printed("cargo", ["metadata", "--locked", "--format-version", "1"])), readFileSync("Cargo.lock", "utf8")),
    ...NPM_FOLDERS.flatMap((folder) => packageFaults(JSON.parse(readFileSync(`${folder}/package-lock.json`, "utf8")), folder)),
    ...manifestFaults(JSON.parse(readFileSync("pkg-template/package.json", "utf8"))),
  ],
  advisories,
};

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const faults = PARTS[process.argv[2]]();
  for (const fault of faults) console.log(fault);
  process.exitCode = faults.length > 0 ? 1 : 0;
}
