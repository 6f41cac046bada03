#!/usr/bin/env bash
# Everything that can be wrong without running the library: one line for each step.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/env.sh"
cd "$ROOT"

NODE_TOOLS=$ROOT/scripts/node/node_modules
PACKED=$WORK/packed
FAILED=()

# step NAME COMMAND...: quiet when all is well; otherwise shows what the command said, and goes on to the next step.
step() {
  local name=$1 output
  shift
  if output=$("$@" 2>&1 </dev/null); then
    printf 'ok  %s\n' "$name"
    # What a step could not do is no failure, and must be seen.
    grep '^NOTE ' <<<"$output" || true
  else
    printf 'FAILED  %s\n%s\n' "$name" "$output"
    FAILED+=("$name")
    return 1
  fi
}

# --- Rust -----------------------------------------------------------------------------------------------------------

lint_rust() {
  step "Cargo.lock is current" cargo metadata --locked --format-version 1 || true
  step "format (cargo fmt mends it)" cargo fmt --all -- --check -l || true
  step "lint, native (clippy)" cargo clippy --quiet --all-targets -- -D warnings || true
  if wasm_env cargo clippy --version >/dev/null 2>&1; then
    step "lint, wasm32 (clippy)" wasm_env cargo clippy --quiet --target "$WASM_TARGET" --all-targets -- -D warnings || true
  else
    step "compile, wasm32 (cargo check: the compiler with a wasm32 library has no clippy here)" check_wasm || true
  fi
}

check_wasm() {
  RUSTFLAGS="-D warnings" wasm_env cargo check --quiet --target "$WASM_TARGET" --all-targets
}

# --- the package ----------------------------------------------------------------------------------------------------

check_package() {
  step "build (pkg/)" scripts/build.sh || return 0
  step "types (tsc $(tsc_version typescript))" check_types typescript || true
  step "types (tsc $(tsc_version typescript-5))" check_types typescript-5 || true
  step "npm pack" pack || return 0
  step "publint" "$NODE_TOOLS/.bin/publint" run "$PACKED"/*.tgz --strict || true
  step "attw (ESM only)" check_resolution || true
  step "size budget" node scripts/node/size.mjs --check || true
}

tsc_version() { node -p "require('$NODE_TOOLS/$1/package.json').version"; }

# Both majors that applications use; a declaration may be an error in one only.
check_types() {
  [ -f tests/types/tsconfig.json ] || { echo "tests/types/tsconfig.json is missing: the types are untested"; return 1; }
  node "$NODE_TOOLS/$1/bin/tsc" --noEmit --project tests/types
}

# What is missing from the tarball is missing from every user's installation, however complete pkg/ is.
pack() {
  local file missing=0 list
  rm -rf "$PACKED" && mkdir -p "$PACKED" &&
    npm pack ./pkg --pack-destination "$PACKED" --loglevel=error && list=$(tar -tzf "$PACKED"/*.tgz) || return 1
  for file in wasm/turnmark_bg.wasm wasm/turnmark.js inline-wasm.js README.md; do
    grep -qx "package/$file" <<<"$list" || { echo "the tarball lacks $file: see \"files\" in pkg-template/package.json"; missing=1; }
  done
  return "$missing"
}

# Entries that are no modules (the .wasm itself) have no types to resolve. The tool would ask a registry for @types.
check_resolution() {
  local others
  others=$(node -p '
    const { exports } = JSON.parse(require("fs").readFileSync("pkg/package.json"));
    Object.keys(exports).filter((key) => /\.(wasm|css)"/.test(JSON.stringify(exports[key]))).join(" ")') || return 1
  # shellcheck disable=SC2086
  "$NODE_TOOLS/.bin/attw" "$PACKED"/*.tgz --profile esm-only --no-definitely-typed --no-emoji --no-color --format ascii \
    ${others:+--exclude-entrypoints $others}
}

# --- what it depends on ---------------------------------------------------------------------------------------------

check_dependencies() {
  step "licences, sources, hashes and install scripts of what is depended on" node scripts/node/audit.mjs dependencies || true
  step "advisories against what is depended on" node scripts/node/audit.mjs advisories || true
}

# --- the repository -------------------------------------------------------------------------------------------------

check_repository() {
  step "no registry address in a lock file" no_registry_addresses || true
  step "no path of one machine in a file" no_machine_paths || true
  step "no file in src/ over $MAX_LINES lines" no_long_sources || true
}

MAX_LINES=450

project_files() { git ls-files --cached --others --exclude-standard -- "$@"; }

# found TEXT: fails when there is any, and shows it.
found() { [ -z "$1" ] || { printf '%s\n' "$1"; return 1; }; }

no_registry_addresses() {
  found "$(project_files '*package-lock.json' '*.npmrc' | xargs grep -nE '"resolved": *"https?:|^registry *=' /dev/null | head)" ||
    { echo 'npm install with omit-lockfile-registry-resolved=true in .npmrc leaves them out'; return 1; }
}

# Written so that these patterns do not find themselves.
no_machine_paths() {
  found "$(project_files | xargs grep -InE '(^|[^A-Za-z0-9_.~-])/([r]oot|[w]ork|[h]ome/[a-z]+|[U]sers/[A-Za-z]+)/' /dev/null | cut -c1-160 | head)"
}

no_long_sources() {
  found "$(project_files src | while IFS= read -r file; do
    lines=$(wc -l <"$file")
    [ "$lines" -le "$MAX_LINES" ] || echo "$file has $lines lines"
  done)"
}

main() {
  scripts/setup.sh wasm tools node:scripts/node
  lint_rust
  check_package
  check_dependencies
  check_repository
  [ ${#FAILED[@]} -eq 0 ] || die "$(printf '%s; ' "${FAILED[@]}")each is explained above"
  say "all is well"
}

main
