#!/usr/bin/env bash
# usage: prove.sh TOP DEPTH INDUCTION "PARAMETER=VALUE;..." FILE...
#
# Proves every assertion of TOP with yosys and z3: from reset over DEPTH cycles, by induction over INDUCTION cycles, and
# shows that every cover point is reached within DEPTH cycles, so that no proof holds because nothing can happen.
#
# A property module may look into its device under test: (* observe = "dut.count_q" *) wire [3:0] count; is connected to
# that register. A memory's words are called dut.memory[0] and so on.
set -euo pipefail
top=$1 depth=$2 induction=$3 parameters=$4
shift 4

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

settings=
IFS=';' read -ra pairs <<<"$parameters"
for pair in "${pairs[@]}"; do [ -n "$pair" ] && settings+=" -set ${pair%%=*} ${pair#*=}"; done
observed=$(grep -hoP '\(\* observe = "\K[^;]*' "$@" | sed -E 's/^([^"]+)".*[] ]([A-Za-z_0-9]+) *$/connect -set \2 \\\1;/' || true)

yosys -q -l "$folder/yosys.log" -p "
  read_verilog -sv -formal $*
  ${settings:+chparam $settings $top}
  hierarchy -check -top $top
  proc; opt_expr; opt_clean; flatten; memory_map; opt -keepdc -fast; async2sync; dffunmap
  ${observed:-}
  opt_clean
  check -assert
  write_smt2 -wires $folder/design.smt2
" || { cat "$folder/yosys.log"; exit 1; }

run() {
  timeout 280 yosys-smtbmc --unroll -s z3 --noprogress "$@" "$folder/design.smt2" >"$folder/log" 2>&1 ||
    { cat "$folder/log"; echo "prove: $top: $* failed"; exit 1; }
  tail -n 1 "$folder/log"
}
run -t "$depth"
run -t "$induction" -i
run -t "$depth" -c
