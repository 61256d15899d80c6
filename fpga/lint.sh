#!/usr/bin/env bash
# usage: lint.sh BLOCK...   Verilator's lint, no warning allowed, of every module in fpga/rtl/BLOCK as a top of its own.
set -euo pipefail
cd "$(dirname "$0")/rtl"

folders=()
for folder in */; do folders+=(-y "$folder"); done
for block in "$@"; do
  for file in "$block"/*.sv; do
    module=$(basename "$file" .sv)
    packages=()
    [[ $module == *_pkg ]] && continue
    for package in */*_pkg.sv; do [ -e "$package" ] && packages+=("$package"); done
    verilator --lint-only -Wall --unroll-count 1024 "${folders[@]}" --top-module "$module" "${packages[@]}" "$file" ||
      { echo "lint: $file"; exit 1; }
  done
done
