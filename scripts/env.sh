#!/usr/bin/env bash
# The environment of everything that compiles to or runs as WebAssembly.
#
#   source scripts/env.sh; wasm_env cargo check --target wasm32-unknown-unknown
#   scripts/env.sh cargo check --target wasm32-unknown-unknown      # the same, from a prompt
#
# Only commands given to wasm_env see it: native cargo test, clippy and fmt keep the user's own toolchain.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

WASM_TARGET=wasm32-unknown-unknown
WASM_PACK_VERSION=0.15.1
GECKODRIVER_VERSION=0.37.1
DISTRO_RUSTC=/usr/bin/rustc

# wasm-bindgen's command line tool must be the very version of the crate.
locked_bindgen_version() {
  [ -f "$ROOT/Cargo.lock" ] || return 0
  awk '$0 == "name = \"wasm-bindgen\"" { getline; gsub(/version = |"/, ""); print; exit }' "$ROOT/Cargo.lock"
}

# One folder for each version: checkouts that lock different ones do not fight over a shared bin.
tool_dir() { printf '%s/%s-%s' "$CACHE" "$1" "$2"; }

has_wasm_std() {
  local sysroot
  have "$1" && sysroot=$("$1" --print sysroot 2>/dev/null) || return 1
  compgen -G "$sysroot/lib/rustlib/$WASM_TARGET/lib/libstd-*.rlib" >/dev/null
}

# The compiler that has a standard library for wasm32: the user's own, else the distribution's.
wasm_rustc() {
  if has_wasm_std rustc; then
    command -v rustc
  elif has_wasm_std "$DISTRO_RUSTC"; then
    printf '%s\n' "$DISTRO_RUSTC"
  else
    return 1
  fi
}

# The distribution's rustc carries no linker for wasm32; the one inside a rustup toolchain serves it as well.
wasm_linker() {
  local lld
  for lld in "$(rustc --print sysroot 2>/dev/null)"/lib/rustlib/*/bin/rust-lld; do
    [ -x "$lld" ] && { printf '%s\n' "$lld"; return; }
  done
  command -v rust-lld || command -v wasm-ld
}

first_command() {
  local name
  for name in "$@"; do command -v "$name" && return; done
  return 1
}

# Chromium comes first because a distribution's chromedriver belongs to its chromium.
find_chrome() {
  if [ -n "${CHROME:-}" ]; then printf '%s\n' "$CHROME"; return; fi
  first_command chromium chromium-browser google-chrome google-chrome-stable
}

find_chromedriver() {
  if [ -n "${CHROMEDRIVER:-}" ]; then printf '%s\n' "$CHROMEDRIVER"; return; fi
  first_command ${CHROMEWEBDRIVER:+"$CHROMEWEBDRIVER/chromedriver"} chromedriver
}

# A snap by its inner path, as geckodriver does: the command that starts it shuts the tests' profiles out.
find_firefox() {
  if [ -n "${FIREFOX:-}" ]; then printf '%s\n' "$FIREFOX"; return; fi
  first_command /snap/firefox/current/usr/lib/firefox/firefox firefox firefox-esr
}

find_geckodriver() {
  if [ -n "${GECKODRIVER:-}" ]; then printf '%s\n' "$GECKODRIVER"; return; fi
  first_command ${GECKOWEBDRIVER:+"$GECKOWEBDRIVER/geckodriver"} geckodriver \
    "$(tool_dir geckodriver "$GECKODRIVER_VERSION")/bin/geckodriver"
}

tool_path() {
  local bindgen dir path=$PATH
  bindgen=$(locked_bindgen_version)
  for dir in "$(tool_dir wasm-bindgen-cli "$bindgen")/bin" "$(tool_dir wasm-pack "$WASM_PACK_VERSION")/bin"; do
    [ -d "$dir" ] && path=$dir:$path
  done
  printf '%s' "$path"
}

# wasm_env COMMAND...: runs one command in that environment, leaving the shell as it was.
wasm_env() (
  rustc=$(wasm_rustc) || die "no Rust compiler here can build for $WASM_TARGET" "run: scripts/setup.sh wasm"
  if [ "$rustc" = "$DISTRO_RUSTC" ]; then
    # The linker first: behind the next line, `rustc` no longer names the toolchain that may hold one.
    : "${CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER:=$(wasm_linker)}"
    export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER
    export RUSTC=$rustc PATH=${rustc%/*}:$PATH
  fi
  PATH=$(tool_path)
  exec "$@"
)

# Browser tests of every kind find the browsers by these.
if CHROME=$(find_chrome); then export CHROME; else unset CHROME; fi
if CHROMEDRIVER=$(find_chromedriver); then export CHROMEDRIVER; else unset CHROMEDRIVER; fi
if FIREFOX=$(find_firefox); then export FIREFOX; else unset FIREFOX; fi
# Not exported: the runner of the tests in Chromium would prefer it.
GECKODRIVER=$(find_geckodriver) || unset GECKODRIVER
export -n GECKODRIVER

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  [ $# -gt 0 ] || die "no command given" "usage: scripts/env.sh COMMAND..."
  wasm_env "$@"
fi
