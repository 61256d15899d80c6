#!/usr/bin/env bash
# Builds test binaries in a sanitizer preset and runs them.
# usage: sanitize.sh PRESET TEST-BINARY...
set -euo pipefail
cd "$(dirname "$0")/../.."
preset=$1
shift
deploy/build.sh "$preset" "$@"
for binary in "$@"; do
  printf '%s: ' "$binary"
  log=build/$preset/$binary.log
  timeout 900 "build/$preset/bin/$binary" >"$log" 2>&1 || {
    status=$?
    [ $status != 124 ] || echo "no end after 15 minutes; the last lines name the test that hangs"
    tail -n 60 "$log"
    exit 1
  }
  tail -n 1 "$log"
done
