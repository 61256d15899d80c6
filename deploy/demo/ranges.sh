#!/usr/bin/env bash
# Two boards of four ultra-wideband anchors each locate a trolley: a recorded run with motion-capture truth, each board's geometry trained on
# its first half, both shown on its second. With xrt each board hears three anchors and has a network for estimator, which a kernel computes.
# usage: ranges.sh SECONDS [JSON-FILE|""] [cpu|xrt]; run from the repository's root after a release build
set -euo pipefail
seconds=$1
json=${2:-}
accelerator=${3:-cpu}
# shellcheck source=deploy/demo/daemons.sh
source deploy/demo/daemons.sh

recording=${TRIBUTARY_DATA_DIR:-../shared/data}/uwb/lias
ranges=$recording/UWB_dynamic_exp_fast.csv
truth=$recording/motion_capture_dynamic_exp_fast.csv
for file in "$ranges" "$truth"; do
  [ -r "$file" ] || {
    echo "demo: $file is not there; set TRIBUTARY_DATA_DIR to the folder that holds uwb/lias" >&2
    exit 66
  }
done
ranges=$(realpath "$ranges")
truth=$(realpath "$truth")

# No anchor is on both boards, so that their errors are independent: the corners, and the middles of the walls.
declare -A anchors=([corners]="0,2,4,6" [walls]="1,3,5,7")
boards=(corners walls)
estimator=geometry
panel_keys=
if [ "$accelerator" = xrt ]; then
  anchors=([corners]="0,2,4" [walls]="1,3,5")
  estimator=network
  export XILINX_XRT=${bin%/bin}/xrt
  "$bin/tributary-xclbin" --output "$work/beacon.xclbin" --kernel beacon_kernel
  printf -v panel_keys '%s\n' 'accelerator = "xrt"' "xclbin = \"$work/beacon.xclbin\"" 'format = "int16"'
fi
ingest=127.0.0.1:$(free_port)
http=127.0.0.1:$(free_port)
# The second half lasts 67 s; the replay is fast enough for the requested time.
speed=$(jq -n "[67.5 / $seconds, 0.5] | max")

echo "Training two boards on the first half of the run"
for board in "${boards[@]}"; do
  "$bin/tributary" train beacon --estimator "$estimator" --ranges "$ranges" --truth "$truth" --anchors "${anchors[$board]}" --to 0.5 \
    --out "$work/$board.safetensors" --json >"$work/$board.trained" 2>"$work/$board.log" ||
    die "training of $board failed" "$board"
done
mapfile -t models < <(printf "$work/%s.safetensors\n" "${boards[@]}")
"$bin/tributary" evaluate beacon --model "${models[@]}" --ranges "$ranges" --truth "$truth" \
  --from 0.5 --json >"$work/offline.json"

cat >"$work/aggregator.toml" <<TOML
listen = "$ingest"
[http]
listen = "$http"
[[site]]
name = "hall"
dimension = 2
sources = ["corners", "walls"]
deadline_ms = 100.0
# A recording's epochs are its own.
max_age_s = 0.0
max_lead_s = 0.0
TOML
start_ns=$(($(date +%s%N) + 2000000000))
for board in "${boards[@]}"; do
  cat >"$work/$board.toml" <<TOML
node = "$board"
site = "hall"
[uplink]
aggregator = "$ingest"
[http]
listen = ""
[[panel]]
name = "$board"
workload = "beacon"
model = "$work/$board.safetensors"
$panel_keys
[panel.source]
kind = "ranges"
file = "$ranges"
start_fraction = 0.5
speed = $speed
start_unix_ns = $start_ns
TOML
done

echo "Starting the aggregator on $ingest and two nodes; the recording runs at $speed times its speed"
start aggregator "$bin/tributary-aggregator" --config "$work/aggregator.toml"
wait_for "the aggregator's start" aggregator http_ok "$http" /healthz
echo "In a browser, while this runs: http://$http/"
for board in "${boards[@]}"; do
  start "$board" "$bin/tributary-node" --config "$work/$board.toml" --summary "$work/node-$board"
done
wait_for_nodes "$http" "${boards[@]}"
"$bin/tributary" watch --aggregator "$ingest" --site hall --truth "$truth" \
  --seconds "$seconds" --summary "$work/watch.json"
# A node ends by itself at the end of its recording.
for board in "${boards[@]}"; do finish "$board" TERM; done
finish aggregator TERM

jq -s --slurpfile watch "$work/watch.json" --slurpfile offline "$work/offline.json" '
  . as $nodes
  | $watch[0] + {
      lost: (($nodes | map(.failed_frames + .unusable_tuples + .lost_tuples) | add) + $watch[0].skipped_slots),
      missing_in_recording: ($nodes | map(.missed_frames) | add),
      boards: $offline[0].boards,
      gauss_newton: $offline[0].gauss_newton,
      gauss_newton_corrected: $offline[0].gauss_newton_corrected,
      offline: $offline[0].fused,
      tracked: $offline[0].tracked,
      nodes: ($nodes | map({node, frames, tuples, acknowledged_tuples, missed_frames, lost_tuples}))
    }' "${boards[@]/#/$work/node-}" >"$work/out.json"
jq -r '"",
  "the same half, board by board, against plain Gauss-Newton trilateration of the ranges of one tag:",
  (.boards[] | "anchors \(.anchors | map(tostring) | join(","))   mean \((.geometry // .network).mean_m * 10000 | round / 100) cm   Gauss-Newton \(.gauss_newton.mean_m * 10000 | round / 100) cm"),
  "fused             mean \(.offline.mean_m * 10000 | round / 100) cm, NEES \(.offline.nees * 100 | round / 100)",
  "tracked           mean \(.tracked.mean_m * 10000 | round / 100) cm, NEES \(.tracked.nees * 100 | round / 100)",
  "Gauss-Newton, all anchors: \(.gauss_newton.mean_m * 10000 | round / 100) cm; with their median biases removed: \(.gauss_newton_corrected.mean_m * 10000 | round / 100) cm"' "$work/out.json"
report "$work/out.json" "$json"
