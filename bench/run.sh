#!/usr/bin/env bash
# Builds the benchmarks and prints each ratio against its named baseline, both sides alternating in the same run.
# usage: bench/run.sh [NAME...]   e.g. bench/run.sh conflation positioning_inference
# federation_scale, modulation_training, graph_inference, encoder_accuracy and shipped_accuracy take minutes to hours and run only if they
# are named, as does tensor_tables, which writes docs/tensor-unit.md.
set -euo pipefail
cd "$(dirname "$0")/.."
deploy/install-packages.sh deploy/packages.txt deploy/packages-bench.txt
deploy/build.sh bench
[ $# -gt 0 ] || set -- conflation positioning_inference modulation_inference beacon_training federation_accumulate federation_upload
for name in "$@"; do
  printf '\n== %s\n' "$name"
  # Debian's NumPy, SciPy and PyTorch belong to /usr/bin/python3.
  /usr/bin/python3 "bench/$name.py" build/bench/bin
done
