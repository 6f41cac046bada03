// Sums the tests that a log reports, for the runners this project uses: prints "PASSED FAILED".
import { readFileSync } from "node:fs";

const log = readFileSync(process.argv[2], "utf8").replace(/\x1b\[[0-9;]*m/g, "");
let passed = 0;
let failed = 0;

// cargo test and wasm-bindgen-test
for (const [, ok, bad] of log.matchAll(/^test result: \S+ (\d+) passed; (\d+) failed;/gm)) {
  passed += Number(ok);
  failed += Number(bad);
}
// node --test, whose two reporters differ in the mark only; a cancelled test is one that did not pass
for (const [, word, count] of log.matchAll(/^(?:#|ℹ) (pass|fail|cancelled) (\d+)$/gm)) {
  if (word === "pass") passed += Number(count);
  else failed += Number(count);
}

console.log(passed, failed);
