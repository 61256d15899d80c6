#!/usr/bin/env bash
# Builds every fuzz target and runs each: first its seeds (seeds.py), then for the given time. A finding stays in
# build/fuzz/findings.
# usage: run.sh SECONDS [TARGET-REGEX]
#
# No input of 1 MiB may take more than a second. With sanitizers and coverage, code takes about ten times as long. So the
# seeds, of up to 1 MiB, have ten seconds of processor time each. The fuzzer begins with their first bytes; its inputs have
# 64 KiB at most and one second each, which a busy machine may exceed.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=$1
mapfile -t targets < <(git ls-files -- '*_fuzz.cc' | xargs -n 1 basename -s .cc | grep -E "${2:-.}")
[ ${#targets[@]} -gt 0 ] || { echo "no fuzz target matches"; exit 1; }
deploy/build.sh fuzz "${targets[@]}"
mkdir -p build/fuzz/findings
tests/fuzz/seeds.py build/fuzz/seeds

# fuzz TARGET ARGUMENT...: its findings stay, its output is in the target's log
fuzz() {
  local target=$1 log=build/fuzz/$1.log
  shift
  "build/fuzz/bin/$target" -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix=build/fuzz/findings/"$target"- "$@" >>"$log" 2>&1 ||
    { tail -n 40 "$log"; echo "$target: a finding, kept in build/fuzz/findings"; exit 1; }
}

for target in "${targets[@]}"; do
  corpus=build/fuzz/corpus/$target
  seeds=build/fuzz/seeds/whole/$target
  [ -d "$seeds" ] || { echo "$target: tests/fuzz/seeds.py has no seeds for it"; exit 1; }
  mkdir -p "$corpus"
  : >build/fuzz/"$target".log
  for seed in "$seeds"/*; do
    (
      ulimit -t 10
      fuzz "$target" -timeout=600 "$seed"
    ) || exit 1
  done
  fuzz "$target" -timeout=1 -max_len=65536 -max_total_time="$seconds" "$corpus" build/fuzz/seeds/small/"$target"
  printf '%s: %d seeds, ' "$target" "$(find "$seeds" -type f | wc -l)"
  awk '/stat::/ {value[$1] = $2} END {printf "%d inputs, %d per second, ", value["stat::number_of_executed_units:"],
    value["stat::average_exec_per_sec:"]}' build/fuzz/"$target".log
  printf '%d kept, clean\n' "$(find "$corpus" -type f | wc -l)"
done
echo "${#targets[@]} passed, 0 failed"
