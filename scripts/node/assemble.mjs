// Puts the npm package together: assemble.mjs OUT WASM_DIR CARGO_VERSION. Run by scripts/build.sh.
import { cpSync, existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const [out, wasmDir, version] = process.argv.slice(2);

rmSync(out, { recursive: true, force: true });
cpSync(wasmDir, join(out, "wasm"), { recursive: true });

// Tools that help to write the overlay are not part of it.
const notOurs = new Set(["node_modules", "package-lock.json", ".npmrc"]);
cpSync("pkg-template", out, { recursive: true, filter: (path) => !notOurs.has(basename(path)) });

for (const name of readdirSync(".")) {
  if (/^(README\.md|LICENSE.*)$/.test(name) && !existsSync(join(out, name))) cpSync(name, join(out, name));
}

const manifest = JSON.parse(readFileSync("pkg-template/package.json", "utf8"));
writeFileSync(join(out, "package.json"), `${JSON.stringify({ ...manifest, version }, null, 2)}\n`);

// For bundlers that leave a `new URL("x.wasm", import.meta.url)` alone and then serve no such file.
const wasm = readFileSync(join(wasmDir, "turnmark_bg.wasm")).toString("base64");
writeFileSync(
  join(out, "inline-wasm.js"),
  `// Generated: wasm/turnmark_bg.wasm in base64.\nexport default "${wasm}";\n`,
);
