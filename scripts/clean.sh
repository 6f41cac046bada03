#!/usr/bin/env bash
# Removes all that was built or installed inside this checkout. The tools in the cache stay.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/lib.sh"
cd "$ROOT"
rm -rf target pkg
find . -name .git -prune -o \( -name node_modules -o -name dist \) -type d -prune -exec rm -rf {} +
say "done (the tools in $CACHE stay)"
