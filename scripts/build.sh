#!/usr/bin/env bash
# Makes the npm package in pkg/: the WebAssembly module, optimized, under the JavaScript of pkg-template/.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/env.sh"
cd "$ROOT"

WASM_DIR=$WORK/wasm
STAMP=$WORK/build.stamp
WASM_OPT=$ROOT/scripts/node/node_modules/.bin/wasm-opt

# What every engine that runs the package understands, and rustc may emit.
WASM_FEATURES=(
  --enable-bulk-memory --enable-bulk-memory-opt --enable-call-indirect-overlong --enable-multivalue
  --enable-mutable-globals --enable-nontrapping-float-to-int --enable-reference-types --enable-sign-ext --enable-simd
)

# One hash of all that decides what pkg/ will hold.
inputs_hash() {
  local files
  files=$(find Cargo.toml Cargo.lock src pkg-template scripts/build.sh scripts/env.sh scripts/node ./README* ./LICENSE* \
    -name node_modules -prune -o -type f -print 2>/dev/null | LC_ALL=C sort || true)
  { printf '%s\n' "$files"; git hash-object --stdin-paths <<<"$files"; wasm_env rustc -vV; } | git hash-object --stdin
}

# Panic messages carry source paths: those of the machine that built it are nobody's business, and longer.
remapped_paths() {
  local dir
  for dir in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*; do printf -- '--remap-path-prefix=%s=crates\x1f' "$dir"; done
  printf -- '--remap-path-prefix=%s=turnmark' "$ROOT"
}

compile() {
  rm -rf "$WASM_DIR"
  # Fetched first, so that the folders whose names are hidden exist.
  wasm_env cargo fetch --quiet --target "$WASM_TARGET" || die "cargo could not fetch the crates" "see its error above"
  CARGO_ENCODED_RUSTFLAGS=$(remapped_paths)
  export CARGO_ENCODED_RUSTFLAGS
  # --no-gitignore: the one it writes would make `npm pack` leave out the module. --no-opt: ours is pinned.
  wasm_env wasm-pack build --target web --no-pack --no-gitignore --no-opt --release --mode no-install \
    --out-dir "$WASM_DIR" --out-name turnmark || die "wasm-pack build failed" "see the compiler's error above"
}

optimize() {
  local module=$WASM_DIR/turnmark_bg.wasm
  # A function with one caller is not inlined: many small functions compress a tenth better than few huge ones.
  "$WASM_OPT" -Oz --one-caller-inline-max-function-size=0 "${WASM_FEATURES[@]}" --strip-producers "$module" -o "$module.opt" ||
    die "wasm-opt failed" "if it names a feature, rustc emits a new one: add it to WASM_FEATURES in scripts/build.sh"
  mv "$module.opt" "$module"
}

# Assembled aside and moved: a half-made pkg/ must never look like a package.
assemble() {
  local version
  version=$(cargo metadata --no-deps --format-version 1 |
    node -pe 'JSON.parse(require("fs").readFileSync(0)).packages.find((p) => p.name === "turnmark").version')
  node scripts/node/assemble.mjs "$WORK/pkg" "$WASM_DIR" "$version" || die "the package could not be put together"
  rm -rf pkg
  mv "$WORK/pkg" pkg
}

main() {
  scripts/setup.sh wasm tools node:scripts/node
  local hash
  hash=$(inputs_hash)
  if [ -f pkg/wasm/turnmark_bg.wasm ] && [ "$(cat "$STAMP" 2>/dev/null)" = "$hash" ]; then
    say "pkg/ is up to date"
  else
    rm -f "$STAMP"
    mkdir -p "$WORK"
    compile
    optimize
    assemble
    printf '%s\n' "$hash" >"$STAMP"
    say "made pkg/"
  fi
  node scripts/node/size.mjs
}

main
