#!/usr/bin/env bash
# The benchmarks of the packed library, in a real browser.
set -euo pipefail
"$(dirname "$0")/setup.sh" wasm tools browser node
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/env.sh"
cd "$ROOT"
scripts/build.sh
npm --prefix tests/bench run bench || die "the benchmarks failed" "see the error above"
