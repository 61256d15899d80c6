#!/usr/bin/env bash
# Configures (where needed) and builds a preset. Progress goes to the terminal, or to a few lines where there is none.
# usage: build.sh PRESET [-DOPTION=VALUE...] [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."
export CCACHE_DEPEND=1  # the compiler says what it has read, so that ccache need not preprocess first
preset=$1
shift
options=()
while [[ ${1:-} == -D* ]]; do
  options+=("$1")
  shift
done

cache=build/$preset/CMakeCache.txt
configured=yes
[ -f "build/$preset/build.ninja" ] || configured=no
for option in "${options[@]}"; do
  name=${option#-D}
  grep -qE "^${name%%=*}:[A-Z]+=${name#*=}$" "$cache" 2>/dev/null || configured=no
done
if [ $configured = no ]; then
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  cmake --preset "$preset" "${options[@]}" >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
  }
fi
if [ -t 1 ]; then
  cmake --build "build/$preset" --target "${@:-all}"
else
  echo "Building $preset: ${*:-all}"
  NINJA_STATUS='[%f/%t] ' cmake --build "build/$preset" --target "${@:-all}" | {
    steps=0
    while IFS= read -r line; do
      if [[ $line =~ ^\[[0-9]+/[0-9]+\] ]]; then
        steps=$((steps + 1))
        [ $((steps % 25)) = 0 ] || continue
      fi
      printf '%s\n' "$line"
    done
  }
fi
