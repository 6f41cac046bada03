# shellcheck shell=bash disable=SC2034
# Small helpers shared by the scripts in this folder. Sourced, never run.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Everything that is costly to make and not part of one checkout lives here, so that `make clean` keeps it.
CACHE=${TURNMARK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/turnmark}
# Logs and stamps of this checkout.
WORK=$ROOT/target/turnmark

say() { printf '%s: %s\n' "$(basename "$0" .sh)" "$*"; }

# die WHAT [WHAT-TO-DO...]: one line for the failure, one for each remedy.
die() {
  say "FAILED: $1" >&2
  shift
  local remedy
  for remedy in "$@"; do say "  -> $remedy" >&2; done
  exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

need() { have "$1" || die "'$1' is not on PATH" "$2"; }
