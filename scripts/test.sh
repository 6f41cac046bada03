#!/usr/bin/env bash
# All tests, in stages. The last line sums them, alone: "N passed, N failed".
set -euo pipefail
# First, so that what it installs is found by the next line.
"$(dirname "$0")/setup.sh"
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/env.sh"
cd "$ROOT"

PASSED=0
FAILED=0

# stage NAME COMMAND...: runs it in sight and counts what it reports. One that breaks, or runs no test, is a failure.
stage() {
  local name=$1 log=$WORK/test-$1.log status=0 passed failed
  shift
  printf '\n== %s\n' "$name"
  "$@" </dev/null 2>&1 | tee "$log" || status=$?
  read -r passed failed < <(node scripts/node/count.mjs "$log")
  if [ "$failed" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$passed" -eq 0 ]; }; then
    say "'$name' ended with status $status after $passed tests: counted as one failure"
    failed=1
  fi
  PASSED=$((PASSED + passed))
  FAILED=$((FAILED + failed))
}

native_tests() { cargo test --no-fail-fast; }

# wasm_tests BROWSER-OPTION...
# Targets are named to leave out the examples in the documentation, which the native stage has run.
wasm_tests() {
  WASM_BINDGEN_TEST_TIMEOUT=240 wasm_env wasm-pack test --headless "$@" --mode no-install -- --lib --test '*'
}

browser_tests() { wasm_tests --chrome; }

firefox_tests() { GECKODRIVER_ARGS="--binary '$FIREFOX'" wasm_tests --firefox --geckodriver "$GECKODRIVER"; }

build_package() {
  printf '\n== build\n'
  scripts/build.sh </dev/null || { say "the build broke: counted as one failure"; FAILED=$((FAILED + 1)); }
}

npm_tests() {
  [ -f "$1/package.json" ] || { say "$1/package.json is missing"; return 1; }
  npm --prefix "$1" test
}

main() {
  mkdir -p "$WORK"
  stage native native_tests
  stage browser browser_tests
  [ -n "${TURNMARK_NO_FIREFOX:-}" ] || stage firefox firefox_tests
  build_package
  stage unit npm_tests tests/unit
  stage end-to-end npm_tests tests/e2e
  [ -z "${TURNMARK_NO_FIREFOX:-}" ] || printf '\nFirefox was left out (TURNMARK_NO_FIREFOX)\n'
  printf '\n%d passed, %d failed\n' "$PASSED" "$FAILED"
  [ "$FAILED" -eq 0 ]
}

main
