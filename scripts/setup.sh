#!/usr/bin/env bash
# Installs what this project needs and the machine lacks. Run it as often as you like: what is there is left alone.
#
#   scripts/setup.sh [wasm] [tools] [browser] [firefox] [webkit] [node | node:FOLDER]      no part named: all but webkit
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/env.sh"

ALL_PARTS=(wasm tools browser firefox node)

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

require_root() {
  [ "$(id -u)" = 0 ] || { have sudo && sudo -n true 2>/dev/null; } ||
    die "root is needed for: $1" "run it yourself with sudo, then start again"
}

# apt_install WHAT-FOR PACKAGE...
apt_install() {
  local why=$1
  shift
  have apt-get || die "no apt-get here to install $* ($why)" "install the equivalent by hand, then start again"
  require_root "apt-get install $*"
  say "installing $* ($why)"
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@")
  # An out-of-date package list is the usual cause of a first failure.
  as_root "${install[@]}" >/dev/null 2>&1 || { as_root apt-get update -qq && as_root "${install[@]}" >/dev/null; } ||
    die "apt-get could not install $*" "read the error above; 'apt-get install $*' must work"
}

# --- wasm: a compiler, a standard library and a linker for wasm32 -------------------------------------------------

setup_wasm() {
  need cargo "install Rust with rustup, or your distribution's rustc and cargo"
  if ! distro_std_is_stale && wasm_rustc >/dev/null; then return; fi
  add_rustup_target || build_distro_std
  wasm_rustc >/dev/null || die "still no standard library for $WASM_TARGET" "see the messages above"
}

# Off the registries rustup may hang instead of failing, hence the limit.
add_rustup_target() {
  have rustup || return 1
  say "rustup target add $WASM_TARGET (the standard library for WebAssembly)"
  local limit=()
  have timeout && limit=(timeout 300)
  ${limit[@]+"${limit[@]}"} rustup target add "$WASM_TARGET" >/dev/null 2>&1 && has_wasm_std rustc && return
  say "rustup cannot fetch it here: using the distribution's compiler and building its standard library once"
  return 1
}

distro_std_dir() { printf '%s/lib/rustlib/%s/lib' "$("$DISTRO_RUSTC" --print sysroot)" "$WASM_TARGET"; }

# An upgraded compiler refuses libraries that its predecessor built.
distro_std_is_stale() {
  [ "$(wasm_rustc)" = "$DISTRO_RUSTC" ] || return 1
  local made_by
  made_by=$(distro_std_dir)/made-by
  [ -f "$made_by" ] && [ "$(cat "$made_by")" != "$("$DISTRO_RUSTC" --version)" ]
}

build_distro_std() {
  apt_install "a Rust compiler whose sources are at hand, and its linter" \
    rustc-web cargo-web rust-web-src rust-web-clippy
  wasm_linker >/dev/null || apt_install "a linker for WebAssembly" lld
  require_root "installing the standard library into $(distro_std_dir)"
  say "building the standard library for $WASM_TARGET (about a minute)"
  local scratch
  scratch=$(mktemp -d)
  make_empty_crate "$scratch"
  (
    cd "$scratch"
    # -Zbuild-std is a nightly option; this variable lets a released compiler take it, for this one build only.
    export RUSTC_BOOTSTRAP=1 RUSTC=$DISTRO_RUSTC CARGO_TARGET_DIR=$scratch/target
    "${DISTRO_RUSTC%/*}/cargo" build --quiet --release --target "$WASM_TARGET" -Zbuild-std=std,panic_abort,proc_macro,test
  ) || die "the standard library did not build" "read the compiler's error above"
  install_distro_std "$scratch/target/$WASM_TARGET/release/deps"
  rm -rf "$scratch"
}

make_empty_crate() {
  mkdir -p "$1/src"
  printf '[package]\nname = "empty"\nversion = "0.0.0"\nedition = "2021"\n' >"$1/Cargo.toml"
  printf '#![no_std]\n' >"$1/src/lib.rs"
}

# Moved into place whole: a copy cut short must not look like a standard library.
install_distro_std() {
  local to new
  to=$(distro_std_dir)
  new=$to.new
  rm -f "$1"/libempty-*
  "$DISTRO_RUSTC" --version >"$1/made-by"
  as_root rm -rf "$new" "$to"
  as_root mkdir -p "$new"
  as_root cp "$1"/*.rlib "$1/made-by" "$new"
  as_root mv "$new" "$to"
}

# --- tools: wasm-pack and wasm-bindgen ----------------------------------------------------------------------------

setup_tools() {
  local bindgen
  bindgen=$(locked_bindgen_version)
  [ -n "$bindgen" ] || die "Cargo.lock does not say which wasm-bindgen to use" "run: cargo generate-lockfile"
  cargo_tool wasm-pack wasm-pack "$WASM_PACK_VERSION"
  # Without default features it needs no TLS, hence no C compiler's half minute.
  cargo_tool wasm-bindgen-cli wasm-bindgen "$bindgen" --no-default-features
}

# cargo_tool CRATE COMMAND VERSION [OPTION...]
cargo_tool() {
  local crate=$1 command=$2 version=$3 dir
  shift 3
  [ "$(PATH=$(tool_path) "$command" --version 2>/dev/null)" = "$command $version" ] && return
  dir=$(tool_dir "$crate" "$version")
  say "building $crate $version into $dir (once; about a minute)"
  mkdir -p "$CACHE"
  # Unoptimized: it halves the wait here and costs well under a second in each run.
  # Not --locked: the lock files that these crates ship can name versions that an index no longer serves.
  (
    cd "$CACHE"
    export CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=256
    export CARGO_PROFILE_RELEASE_DEBUG=false CARGO_TARGET_DIR=$CACHE/build
    cargo install --quiet "$crate" --version "$version" --root "$dir" "$@"
  ) || die "cargo install $crate --version $version failed" "read the error above; crates.io must be reachable once"
}

# --- browser: Chromium and its driver ------------------------------------------------------------------------------

setup_browser() {
  if [ -z "${CHROME:-}" ] || [ -z "${CHROMEDRIVER:-}" ]; then
    have apt-get || die "no Chrome with a chromedriver found" \
      "install both, or point CHROME and CHROMEDRIVER at them"
    apt_install "the browser that runs the tests, and its driver" chromium chromium-driver
    CHROME=$(find_chrome) CHROMEDRIVER=$(find_chromedriver) ||
      die "chromium was installed but is not on PATH" "point CHROME and CHROMEDRIVER at it"
  fi
  require_matching_driver
}

# A driver refuses a browser of another major version, with an error that does not say so plainly.
require_matching_driver() {
  local seen=$CACHE/browser-pair pair
  # Asking a browser for its version takes longer than all else here: ask again only when a file changed.
  pair=$(ls -lL "$CHROME" "$CHROMEDRIVER" 2>/dev/null) ||
    die "no such browser or driver: $CHROME, $CHROMEDRIVER" "correct CHROME and CHROMEDRIVER, or unset them"
  [ "$(cat "$seen" 2>/dev/null)" = "$pair" ] && return
  local browser driver
  browser=$(major_version "$CHROME") || die "$CHROME does not start" "try: $CHROME --version"
  driver=$(major_version "$CHROMEDRIVER") || die "$CHROMEDRIVER does not start" "try: $CHROMEDRIVER --version"
  [ "$browser" = "$driver" ] ||
    die "$CHROME is version $browser, but $CHROMEDRIVER is version $driver" \
      "point CHROME and CHROMEDRIVER at a pair of one version"
  mkdir -p "$CACHE"
  printf '%s\n' "$pair" >"$seen"
}

major_version() { "$1" --version 2>/dev/null | grep -oE '[0-9]+\.' | head -n1 | tr -d .; }

# --- firefox: the second browser and its driver --------------------------------------------------------------------

setup_firefox() {
  if [ -n "${TURNMARK_NO_FIREFOX:-}" ]; then return; fi
  if [ -z "${FIREFOX:-}" ]; then
    # In a shell of its own, so that the remedies below are told after those of apt-get.
    (apt_install "the second browser that runs the tests" firefox-esr) || die "no Firefox found" \
      "install it, or point FIREFOX at it" "or leave it out: TURNMARK_NO_FIREFOX=1 make test"
    FIREFOX=$(find_firefox) || die "firefox-esr was installed but is not on PATH" "point FIREFOX at it"
  fi
  "$FIREFOX" --version >/dev/null 2>&1 || die "$FIREFOX does not start" "try: $FIREFOX --version"
  [ -n "${GECKODRIVER:-}" ] || cargo_tool geckodriver geckodriver "$GECKODRIVER_VERSION"
}

# --- webkit: the third browser, which only torture asks for ----------------------------------------------------------

# Without it the rest is done all the same.
setup_webkit() {
  compgen -G "/usr/lib/*/webkit2gtk-4.1/MiniBrowser" >/dev/null && have Xvfb && return
  (apt_install "WebKitGTK, and a screen for it" webkit2gtk-driver xvfb) || say "no WebKitGTK: it is left out"
}

# --- node: the packages of each folder that locks some -------------------------------------------------------------

setup_node() {
  local lock
  while IFS= read -r lock; do
    install_node_packages "$(dirname "$lock")"
  done < <(find "$ROOT" \( -name node_modules -o -name target -o -path "$ROOT/pkg" -o -name .git \) -prune \
    -o -name package-lock.json -print | sort)
}

# The stamp is the lock file itself, copied once npm is through: an install cut short is done again.
install_node_packages() {
  local dir=$1 stamp=$1/node_modules/.installed-lock.json errors
  cmp -s "$dir/package-lock.json" "$stamp" && return
  need npm "install Node.js 20 or newer, with npm"
  say "npm ci in ${dir#"$ROOT"/}"
  errors=$(cd "$dir" && npm ci --no-audit --no-fund --loglevel=error 2>&1 >/dev/null) || {
    # Without the manual that npm adds.
    sed '/Clean install a project/,$d' <<<"$errors" >&2
    die "npm ci failed in ${dir#"$ROOT"/}" "read the error above; after editing package.json, run npm install there"
  }
  mkdir -p "$dir/node_modules"
  cp "$dir/package-lock.json" "$stamp"
}

# --------------------------------------------------------------------------------------------------------------------

# Two runs at once would install into each other's folders.
wait_for_other_setup() {
  have flock || return 0
  mkdir -p "$CACHE"
  exec 9>"$CACHE/setup.lock"
  flock -n 9 || { say "another setup is running: waiting for it"; flock 9; }
}

main() {
  local part parts=("$@")
  [ $# -gt 0 ] || parts=("${ALL_PARTS[@]}")
  wait_for_other_setup
  for part in "${parts[@]}"; do
    case $part in
      wasm | tools | browser | firefox | webkit | node) "setup_$part" ;;
      node:*) install_node_packages "$ROOT/${part#node:}" ;;
      *) die "unknown part '$part'" "parts: ${ALL_PARTS[*]} webkit node:FOLDER" ;;
    esac
  done
  rm -rf "$CACHE/build"
  say "ready (${parts[*]})"
}

main "$@"
