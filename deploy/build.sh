#!/usr/bin/env bash
# Configures (once) and builds a preset. Progress goes to the terminal, or to a few lines where there is none.
# usage: build.sh PRESET [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift

if [ ! -f "build/$preset/build.ninja" ]; then
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  cmake --preset "$preset" >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
  }
fi
if [ -t 1 ]; then
  cmake --build "build/$preset" --target "${@:-all}"
else
  echo "Building $preset: ${*:-all}"
  NINJA_STATUS='[%f/%t] ' cmake --build "build/$preset" --target "${@:-all}" |
    awk '!/^\[[0-9]+\/[0-9]+\]/ || NR % 25 == 0'
fi
