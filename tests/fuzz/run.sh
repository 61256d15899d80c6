#!/usr/bin/env bash
# Builds every fuzz target and runs each for the given time; a finding stays in build/fuzz/findings.
# usage: run.sh SECONDS [TARGET-REGEX]
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=$1
mapfile -t targets < <(git ls-files -- '*_fuzz.cc' | xargs -n 1 basename -s .cc | grep -E "${2:-.}")
[ ${#targets[@]} -gt 0 ] || { echo "no fuzz target matches"; exit 1; }
deploy/build.sh fuzz "${targets[@]}"
mkdir -p build/fuzz/findings
for target in "${targets[@]}"; do
  corpus=build/fuzz/corpus/$target
  mkdir -p "$corpus"
  seeds=tests/fuzz/corpus/$target
  [ -d "$seeds" ] || seeds=
  log=build/fuzz/$target.log
  # shellcheck disable=SC2086  # an absent folder of seeds is no argument
  if ! "build/fuzz/bin/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix=build/fuzz/findings/"$target"- "$corpus" $seeds >"$log" 2>&1; then
    tail -n 40 "$log"
    echo "$target: a finding, kept in build/fuzz/findings"
    exit 1
  fi
  echo "$target: $(awk '/stat::number_of_executed_units/ {print $2}' "$log") inputs, clean"
done
echo "${#targets[@]} passed, 0 failed"
