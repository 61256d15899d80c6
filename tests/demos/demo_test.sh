#!/usr/bin/env bash
# A demo of deploy/demo for a few seconds: it ends well, and each figure that its page promises is a number.
# usage: demo_test.sh BINARY-FOLDER DEMO SECONDS cpu|xrt FIGURE...; a FIGURE is a path of jq in the JSON output
set -euo pipefail
bin=$1
demo=$2
seconds=$3
accelerator=$4
shift 4
if [ "$accelerator" = xrt ] && [ ! -x "$bin/tributary-xclbin" ]; then
  echo "missing: tributary-xclbin, which needs Verilator and XRT (deploy/packages-fpga.txt)" >&2
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
status=0
TRIBUTARY_BIN_DIR=$bin "deploy/demo/$demo.sh" "$seconds" "$folder/out.json" "$accelerator" || status=$?
[ "$status" != 66 ] || exit 77 # EX_NOINPUT: the recording is not there
[ "$status" = 0 ] || exit "$status"
for figure in "$@"; do
  if ! jq -e "$figure | type == \"number\"" "$folder/out.json" >"$folder/kind"; then
    echo "$demo: no number at $figure:" >&2
    cat "$folder/out.json" >&2
    exit 1
  fi
done
