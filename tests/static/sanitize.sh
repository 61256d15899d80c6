#!/usr/bin/env bash
# Builds test binaries in a sanitizer preset and runs them, as many at a time as there are cores.
# usage: sanitize.sh PRESET TEST-BINARY...
set -euo pipefail
cd "$(dirname "$0")/../.."
export preset=$1
shift
deploy/build.sh "$preset" "$@"

# run BINARY : one line if it passes, the end of its output if it does not
run() {
  local log=build/$preset/$1.log status=0
  timeout 900 "build/$preset/bin/$1" >"$log" 2>&1 || status=$?
  [ $status != 124 ] || echo "$1: no end after 15 minutes; the last lines name the test that hangs"
  [ $status = 0 ] || { tail -n 60 "$log"; return 1; }
  echo "$1: $(tail -n 1 "$log") ($SECONDS s)"
}
export -f run
printf '%s\n' "$@" | xargs -P "$(nproc)" -I BINARY bash -c 'run BINARY'
