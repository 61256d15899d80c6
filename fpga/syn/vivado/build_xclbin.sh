#!/usr/bin/env bash
# usage: build_xclbin.sh kv260|zcu102 FOLDER KERNEL:INSTANCES...
# Links packaged kernels (FOLDER/KERNEL.xo) into FOLDER/tributary.xclbin. Not run here: no Vitis (see README.md).
set -euo pipefail
board=${1:?board} folder=${2:?folder}
shift 2

case $board in
  kv260) platform=xilinx_kv260_base ;;
  zcu102) platform=xilinx_zcu102_base_202210_1 ;;
  *) echo "build_xclbin: no platform for $board" >&2; exit 64 ;;
esac

objects=()
{
  echo "[connectivity]"
  for kernel in "$@"; do
    name=${kernel%%:*} instances=${kernel##*:}
    units=$(seq -f "${name}_%g" -s . 1 "$instances")
    echo "nk=$name:$instances:$units"
  done
} >"$folder/link.cfg"
for kernel in "$@"; do objects+=("$folder/${kernel%%:*}.xo"); done
mapfile -t objects < <(printf '%s\n' "${objects[@]}" | sort -u)

v++ --link --target hw --platform "$platform" --config "$folder/link.cfg" --kernel_frequency 100 \
  --temp_dir "$folder/link" --output "$folder/tributary.xsa" "${objects[@]}"
v++ --package --target hw --platform "$platform" --package.no_image \
  --output "$folder/tributary.xclbin" "$folder/tributary.xsa"
