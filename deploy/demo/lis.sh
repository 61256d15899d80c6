#!/usr/bin/env bash
# Four panels locate the users of a room: one aggregator and four nodes as processes of their own on the loopback.
# usage: lis.sh SECONDS [JSON-FILE|""] [cpu|xrt|emulated]; run from the repository's root after a release build
# emulated: a few slots per second, for programs of another processor (TRIBUTARY_BIN_DIR)
set -euo pipefail
seconds=$1
json=${2:-}
accelerator=${3:-cpu}
# shellcheck source=deploy/demo/daemons.sh
source deploy/demo/daemons.sh

walls=(south east north west)
# A slot is fused as soon as all four panels have reported; the deadline is the longest wait for a late panel.
subjects=16
rate_hz=2000.0
deadline_ms=100.0
settle_s=0
panel_keys=
if [ "$accelerator" = emulated ]; then
  rate_hz=4.0
  deadline_ms=10000.0
  settle_s=12
elif [ "$accelerator" = xrt ]; then
  # Each node has its own board, simulated clock by clock: a slot of four users takes 20 ms of a processor's
  # time.
  subjects=4
  rate_hz=5.0
  deadline_ms=500.0
  settle_s=1
  export XILINX_XRT=${bin%/bin}/xrt
  "$bin/tributary-xclbin" --output "$work/positioning.xclbin" --kernel positioning_kernel
  printf -v panel_keys '%s\n' 'accelerator = "xrt"' "xclbin = \"$work/positioning.xclbin\"" 'run_timeout_ms = 10000'
fi
ingest=127.0.0.1:$(free_port)
http=127.0.0.1:$(free_port)

cat >"$work/aggregator.toml" <<TOML
listen = "$ingest"
[http]
listen = "$http"
[[site]]
name = "room"
dimension = 2
sources = ["south", "east", "north", "west"]
max_subjects = $subjects
deadline_ms = $deadline_ms
truth = "room:seed=1"
[site.calibration]
mode = "correct"
[site.room]
bounds = [-5.0, -5.0, 5.0, 5.0]
walls = [-5.0, -5.0, 5.0, -5.0,  5.0, -5.0, 5.0, 5.0,  5.0, 5.0, -5.0, 5.0,  -5.0, 5.0, -5.0, -5.0]
TOML
panel_x=(0.0 5.0 0.0 -5.0)
panel_y=(-5.0 0.0 5.0 0.0)
for i in "${!walls[@]}"; do
  cat >>"$work/aggregator.toml" <<TOML
[[site.room.panel]]
source = "${walls[$i]}"
x_m = ${panel_x[$i]}
y_m = ${panel_y[$i]}
orientation_deg = $((i * 90)).0
TOML
done
for i in "${!walls[@]}"; do
  cat >"$work/${walls[$i]}.toml" <<TOML
node = "${walls[$i]}"
site = "room"
[uplink]
aggregator = "$ingest"
[http]
listen = ""
[[panel]]
name = "${walls[$i]}"
workload = "positioning"
model = "$PWD/models/positioning.safetensors"
format = "int8_16"
orientation_deg = $((i * 90)).0
$panel_keys
[panel.source]
kind = "room"
seed = 1
subjects = $subjects
rate_hz = $rate_hz
TOML
done

echo "Starting the aggregator on $ingest and four nodes: ${walls[*]}"
start aggregator "$bin/tributary-aggregator" --config "$work/aggregator.toml"
wait_for "the aggregator's start" aggregator http_ok "$http" /healthz
echo "In a browser, while this runs: http://$http/"
for wall in "${walls[@]}"; do
  start "$wall" "$bin/tributary-node" --config "$work/$wall.toml" --summary "$work/node-$wall"
done

wait_for_nodes "$http" "${walls[@]}"
# At a few slots a second, one slot without the panel that started last would show in the figures.
sleep "$settle_s"

"$bin/tributary" watch --aggregator "$ingest" --site room --truth room:seed=1 \
  --seconds "$seconds" --summary "$work/watch.json"

for wall in "${walls[@]}"; do kill -TERM "${daemons[$wall]}"; done
for wall in "${walls[@]}"; do finish "$wall"; done
http_ok "$http" /metrics >"$work/metrics.txt"
finish aggregator TERM

# Lost tuples were due and reached no fused slot or no reader: missed by a source, unusable, dropped from a
# spool, refused (also late), skipped by the watch. Over the whole life of the nodes.
jq -s --argjson subjects "$subjects" --arg accelerator "$accelerator" \
  --slurpfile watch "$work/watch.json" --rawfile metrics "$work/metrics.txt" '
  def metric($name): $metrics | split("\n") | map(select(startswith($name + " "))) | first | split(" ")[1] | tonumber;
  . as $nodes
  | ($nodes | map((.missed_frames + .failed_frames) * $subjects + .unusable_tuples + .lost_tuples) | add)
      as $lost_at_nodes
  | $watch[0] + {
      accelerator: $accelerator,
      lost: ($lost_at_nodes + $watch[0].skipped_slots * $subjects),
      nodes: ($nodes | map({node, frames, tuples, acknowledged_tuples, missed_frames, unusable_tuples, lost_tuples,
                            capture_to_report_us: .latency_us})),
      aggregator: {cpu_seconds: metric("process_cpu_seconds_total"),
                   resident_bytes: metric("process_resident_memory_bytes")}
    }' "${walls[@]/#/$work/node-}" >"$work/out.json"

report "$work/out.json" "$json"
