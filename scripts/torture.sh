#!/usr/bin/env bash
# What `make test` does to browsers a few times, done often and on every backend of IndexedDB there is: kills, power cuts, full disks, torn logs, races.
# About 40 minutes on two cores. Power cuts and full disks take root, for loop mounts; where those are not allowed they are skipped, and said to be.
set -euo pipefail
"$(dirname "$0")/setup.sh" wasm tools browser firefox webkit node
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/env.sh"
cd "$ROOT"
scripts/build.sh
npm --prefix tests/e2e run torture || die "something was lost, or a test broke off" "see FAILED above; TURNMARK_SEED=n repeats a run"
