#!/usr/bin/env bash
# usage: simulate_netlist.sh NETLIST TOP FILTER FILE.cc...
#
# Runs a bench on NETLIST.v, as yosys left it, with yosys's simulation models of the primitives. FILTER selects tests, as
# --gtest_filter does. The files, relative to the source tree, are compiled here: the bench, and what it needs of the
# golden model. -MP: a header that was deleted since the last build does not stop the next one.
set -euo pipefail
netlist=$1 top=$2 filter=$3
shift 3

root=$(cd "$(dirname "$0")/../../.." && pwd)
cells=$(dirname "$(command -v yosys)")/../share/yosys/xilinx/cells_sim.v
# All of them but the carry chain: see carry4.v.
awk '/^module CARRY4 *\(/ { skip = 1 } !skip { print } /^endmodule/ { skip = 0 }' "$cells" >"$netlist.cells.v"
sources=()
for file in "$@"; do sources+=("$root/$file"); done

# Lint is for the RTL; the models of the primitives were not written for it.
verilator --cc --exe --build -O3 -Wno-fatal -Wno-lint -Wno-style -Wno-MULTIDRIVEN -Wno-UNOPTFLAT --bbox-unsup \
  --threads 1 --top-module "$top" --prefix "V$top" --Mdir "$netlist.sim" -o bench \
  -MAKEFLAGS "OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O1" \
  -CFLAGS "-std=c++20 -MP -I$root -w" -LDFLAGS "-lgmock -lgtest -lgtest_main -lfmt $(pkg-config --libs absl_statusor absl_strings) -lpthread" \
  "$netlist.v" "$netlist.cells.v" "$(dirname "$0")/carry4.v" "${sources[@]}" >"$netlist.build.log" 2>&1 || { tail -n 30 "$netlist.build.log"; exit 1; }
"$netlist.sim/bench" --gtest_filter="$filter"
