#!/usr/bin/env bash
# The demo application, built as a user of the package would build it, and served until Ctrl-C.
set -euo pipefail
# Only what the demo needs: the visitor brings the browser.
"$(dirname "$0")/setup.sh" wasm tools node:scripts/node node:www
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/lib.sh"

START_SECONDS=30

# The address is told only once it answers.
wait_until_served() {
  local address=$1 server=$2 deadline=$((SECONDS + START_SECONDS))
  until node -e 'fetch(process.argv[1]).catch(() => process.exit(1))' "$address" 2>/dev/null; do
    kill -0 "$server" 2>/dev/null || die "the server ended at once" "see its error above"
    [ "$SECONDS" -lt "$deadline" ] || die "no answer from $address within $START_SECONDS seconds"
    sleep 0.2
  done
}

serve() {
  local port address server
  port=$(node "$ROOT/scripts/node/free-port.mjs" 4173)
  address=http://localhost:$port/
  node_modules/.bin/vite preview --port "$port" --strictPort --logLevel warn &
  server=$!
  # shellcheck disable=SC2064
  trap "kill $server 2>/dev/null || true" EXIT
  trap 'echo; say "stopped"; exit 0' INT TERM
  wait_until_served "$address" "$server"
  printf '\nThe demo is running; Ctrl-C stops it. Open\n\n%s\n\n' "$address"
  wait "$server"
}

cd "$ROOT"
scripts/build.sh
cd www
npm run build || die "the demo did not build" "see vite's error above"
serve
