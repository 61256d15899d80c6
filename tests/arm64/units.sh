#!/usr/bin/env bash
# Builds the unit tests for arm64 and runs them in qemu, one program after the other, with a line for each and their sum.
# usage: units.sh [TEST-PROGRAM...]; default: all that start no other program. qemu starts none without binfmt_misc, so
# integration_test, integration_slow_test and faults_test, which start the daemons, are not among them.
# Needs what `deploy/package.sh arm64` installs and makes. LIMIT_S in the environment: the longest that a program may take.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/sysroot-arm64/complete ] || { echo "units.sh: build/sysroot-arm64 is missing: run deploy/package.sh arm64" >&2; exit 1; }
[ $# -gt 0 ] || set -- runtime_test config_test certificates_test http_test estimate_test parameters_test privacy_test nn_test exchange_test \
  images_test scene_test radio_test truth_test model_test spool_test journal_test wire_test learning_settings_test store_test \
  learning_rules_test fusion_test accelerator_test workload_test retraining_test source_test checks_test serial_test link_test access_test join_test \
  survey_test aggregator_test publish_test server_test learning_test node_test cli_test
deploy/build.sh arm64 "$@"

# What qemu-user 7.2 does otherwise than Linux, so that these tests could only judge qemu; and what takes too long in it.
left_out() {
  case $1 in
    # It accepts a limit on the address space and does not apply it.
    nn_test) echo 'TrainerMemoryBoundTest.ANetworkBeyondTheProcesssLimitIsAFailedAllocation' ;;
    # It refuses SO_RXQ_OVFL, by which the kernel tells how many datagrams it dropped; the test waits for that number.
    source_test) echo 'UdpSourceTest.CountsWhatTheKernelDropped' ;;
    # It gives 4 bytes of TCP_INFO: nobody knows who sends.
    server_test) echo 'FrontDoorTest.CutsWhoHoldsAThreadThatFuses' ;;
    # Trainings of 3 to 10 s on amd64 take an hour in qemu; nn_test has the trainers' own tests.
    cli_test) echo 'ModulationTrainingTest.LearnsAndCalibrates:ModulationRetrainingTest.ImprovesOnAnotherRadioBeyondWhatItWasGiven:PositioningTrainingTest.LearnsAndCalibrates:RoomAdaptationTest.PlanAndPointsBeatTheBaseAndPointsAlone' ;;
    # Its translated code counts in the memory that the child takes.
    node_test) echo 'Runs/RoundMemoryTest.*' ;;
    *) echo '' ;;
  esac
}

# How many tests of the log have that result.
count() {
  local number
  number=$(sed -nE "s/^\[ +$1 +\] ([0-9]+) tests?[.,].*/\1/p" "$log" | tail -n 1)
  echo "${number:-0}"
}

failed=0 all_passed=0 all_skipped=0
for program in "$@"; do
  log=build/arm64/$program.log
  left=$(left_out "$program")
  status=0
  begin=$SECONDS
  timeout "${LIMIT_S:-1800}" qemu-aarch64-static -L build/sysroot-arm64 "build/arm64/bin/$program" --gtest_brief=1 \
    "--gtest_filter=-$left" >"$log" 2>&1 || status=$?
  passed=$(count PASSED)
  skipped=$(count SKIPPED)
  all_passed=$((all_passed + passed))
  all_skipped=$((all_skipped + skipped))
  case $status in
    0) echo "$program: $passed passed, $skipped skipped in $((SECONDS - begin)) s${left:+, without $left}" ;;
    124) echo "$program: no end after ${LIMIT_S:-1800} s: $(tail -n 1 "$log")" ;;
    *) echo "$program: status $status, $log"; grep -E '^\[  FAILED' "$log" | sort -u | head -n 20 || true ;;
  esac
  [ $status = 0 ] && [ "$passed" -gt 0 ] || failed=1
done
echo "$# programs: $all_passed tests passed, $all_skipped skipped"
exit $failed
