#!/usr/bin/env bash
# The arm64 programs of `deploy/package.sh arm64` under qemu: log-probabilities of bursts, positions of snapshots, the tuples of
# 1,000 slots and an encoder after 20 training steps with the bits that this machine's release programs compute; fused tuples to
# 12 digits. Then four nodes and an aggregator locate users without a loss.
# usage: qemu.sh [FOLDER]      FOLDER: build/arm64 and build/sysroot-arm64 lie in it; default: build
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(realpath "${1:-build}")
own=$PWD/build/release/bin/tributary
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/bin"
for program in tributary tributary-node tributary-aggregator; do
  [ -x "$folder/arm64/bin/$program" ] || { echo "qemu.sh: $folder/arm64/bin/$program is missing: run deploy/package.sh arm64"; exit 1; }
  printf '#!/bin/sh\nexec qemu-aarch64-static -L %q %q "$@"\n' "$folder/sysroot-arm64" "$folder/arm64/bin/$program" >"$work/bin/$program"
  chmod +x "$work/bin/$program"
done
"$work/bin/tributary" --version

/usr/bin/python3 - "$work" <<'PYTHON'
import sys
import numpy
random = numpy.random.default_rng(3)
numpy.save(sys.argv[1] + "/bursts.npy", random.standard_normal((1000, 2, 128)).astype(numpy.float32))
numpy.save(sys.argv[1] + "/snapshots.npy", random.standard_normal((1000, 1024)).astype(numpy.float32))
PYTHON
compare() { # model, format, option and file of the input
  local model=$1 format=$2
  shift 2
  "$own" infer --model "models/$model.safetensors" --format "$format" "$@" --out "$work/own.npy"
  "$work/bin/tributary" infer --model "models/$model.safetensors" --format "$format" "$@" --out "$work/arm64.npy"
  cmp "$work/own.npy" "$work/arm64.npy"
  echo "$model, $format: 1,000 outputs, the same bits"
}
compare modulation int8 --iq "$work/bursts.npy"
compare modulation float --iq "$work/bursts.npy"
for format in int8_16 int16 int8 float; do compare positioning "$format" --features "$work/snapshots.npy"; done

same() { # what the files are
  cmp "$work/own.$2" "$work/arm64.$2"
  echo "$1: the same bits"
}
# Four panels see each slot's user; the tuples of a slot are fused. JSON has the digits that give a float back.
/usr/bin/python3 tests/arm64/slots.py --write "$work"
for program in own arm64; do
  run=$own
  [ $program = own ] || run=$work/bin/tributary
  for panel in south east north west; do
    "$run" infer --features "$work/$panel.npy" --out "$work/$panel.tuples.npy" --format int8_16
  done
  /usr/bin/python3 tests/arm64/slots.py --tuples "$work" >"$work/$program.tuples"
  "$run" conflate <"$work/$program.tuples" >"$work/$program.fused"
  [ "$(wc -l <"$work/$program.fused")" = 1000 ]
done
same "tuples of four panels in 1,000 slots" tuples
# Eigen fuses products and sums where the processor can: the last bits of doubles differ.
/usr/bin/python3 tests/arm64/slots.py --compare "$work/own.fused" "$work/arm64.fused"
for keys in "--augmentation strong" "--augmentation table" "--augmentation continuous" "--augmentation table --quantised"; do
  for program in own arm64; do
    run=$own
    [ $program = own ] || run=$work/bin/tributary
    # shellcheck disable=SC2086
    "$run" train self_supervised --images "$work/images.idx" --steps 20 --batch 16 --out "$work/$program.encoder" $keys >/dev/null 2>&1
  done
  same "an update of 20 training steps, $keys" encoder
done

TRIBUTARY_BIN_DIR=$work/bin deploy/demo/lis.sh 20 "$work/lis.json" emulated
jq -e '.lost == 0 and .fused_tuples > 0 and .mean_error_cm < 1.5' "$work/lis.json" >/dev/null || {
  echo "qemu.sh: the demo lost tuples, or its positions are wrong"
  exit 1
}
