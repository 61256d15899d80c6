#!/usr/bin/env bash
# Builds the unit tests for arm64 and runs them in qemu, one program after the other, with a line for each.
# usage: units.sh [TEST-PROGRAM...]; default: all that start no other program
# Needs what `deploy/package.sh arm64` installs and makes. LIMIT_S in the environment: the longest that a program may take.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/sysroot-arm64/complete ] || { echo "units.sh: build/sysroot-arm64 is missing: run deploy/package.sh arm64" >&2; exit 1; }
[ $# -gt 0 ] || set -- runtime_test config_test certificates_test http_test estimate_test parameters_test privacy_test nn_test exchange_test \
  images_test scene_test radio_test truth_test model_test spool_test journal_test wire_test learning_settings_test store_test \
  learning_rules_test fusion_test accelerator_test workload_test source_test
deploy/build.sh arm64 "$@"

# TrainerMemoryTest limits the address space of a child process, and qemu's own lies in it.
left_out() {
  case $1 in
    nn_test) echo 'TrainerMemoryTest.*' ;;
    *) echo '' ;;
  esac
}

failed=0
for program in "$@"; do
  log=build/arm64/$program.log
  left=$(left_out "$program")
  status=0
  timeout "${LIMIT_S:-1800}" qemu-aarch64-static -L build/sysroot-arm64 "build/arm64/bin/$program" --gtest_brief=1 \
    "--gtest_filter=-$left" >"$log" 2>&1 || status=$?
  case $status in
    0) echo "$program: $(grep -E '^\[  PASSED' "$log" | tr -s ' ')${left:+, without $left}" ;;
    124) echo "$program: no end after ${LIMIT_S:-1800} s: $(tail -n 1 "$log")" ;;
    *) echo "$program: status $status, $log"; grep -E '^\[  FAILED' "$log" | sort -u | head -n 20 || true ;;
  esac
  [ $status = 0 ] || failed=1
done
exit $failed
