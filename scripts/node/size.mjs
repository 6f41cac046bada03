// The size of the core entry as an application ships it: its JavaScript, bundled and minified, and the WebAssembly module.
//
//   node scripts/node/size.mjs             prints it
//   node scripts/node/size.mjs --check     ... and fails when it is over scripts/size-budget.json
//   node scripts/node/size.mjs --accept    ... and makes it the budget; commit that file with the reason
//   node scripts/node/size.mjs --json      the total and the bar it is meant to reach, for the benchmarks
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import { buildSync } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));
const pkg = join(root, "pkg");
const budgetFile = join(root, "scripts/size-budget.json");

const kilobytes = (bytes) => `${(bytes / 1024).toFixed(1)} KB`;

/** Follows `import` and `default`, whatever conditions stand around them. */
function target(entry) {
  return typeof entry === "string" ? entry : target(entry.browser ?? entry.import ?? entry.default);
}

/** The entry as an application ships it: bundled and minified; the module stays a file of its own. */
function bundle(entry) {
  const { outputFiles } = buildSync({
    entryPoints: [entry], bundle: true, minify: true, format: "esm", platform: "browser", write: false, logLevel: "error",
  });
  return Buffer.from(outputFiles[0].contents);
}

const size = (content) => ({ raw: content.length, brotli: brotliCompressSync(content).length });

function print(name, { raw, brotli }) {
  console.log(`  ${name.padEnd(32)} ${kilobytes(raw).padStart(9)}   brotli ${kilobytes(brotli).padStart(9)}`);
}

const { exports } = JSON.parse(readFileSync(join(pkg, "package.json"), "utf8"));
const script = size(bundle(join(pkg, target(exports["."]))));
const wasm = size(readFileSync(join(pkg, "wasm/turnmark_bg.wasm")));
const total = { raw: script.raw + wasm.raw, brotli: script.brotli + wasm.brotli };
const { coreEntryBrotliBytes: budget, barBytes: bar } = JSON.parse(readFileSync(budgetFile, "utf8"));
if (process.argv.includes("--json")) {
  console.log(JSON.stringify({ brotli: total.brotli, bar }));
} else {
  print("WebAssembly", wasm);
  print("JavaScript, bundled and minified", script);
  print("core entry", total);
}

if (process.argv.includes("--accept")) {
  const accepted = Math.ceil(total.brotli / 1024) * 1024;
  writeFileSync(budgetFile, `${JSON.stringify({ coreEntryBrotliBytes: accepted, barBytes: bar }, null, 2)}\n`);
  console.log(`budget is now ${kilobytes(accepted)}`);
} else if (process.argv.includes("--check")) {
  if (total.brotli > budget) {
    console.error(`the core entry is ${kilobytes(total.brotli)}, its budget ${kilobytes(budget)}`);
    console.error("make it smaller, or accept it: node scripts/node/size.mjs --accept");
    process.exit(1);
  }
}
