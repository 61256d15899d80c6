#!/usr/bin/env bash
# A board of three ultra-wideband anchors locates a trolley. One anchor is moved; the board finds by labelled ranges that its network no longer
# fits, states more uncertainty at once, and learns. A recorded run with motion-capture truth: the network is trained on its first half. The node
# plays the second half, then the first with the anchor moved, from which it learns, then the second with the anchor moved.
# usage: drift.sh SECONDS [JSON-FILE|""] [cpu|xrt]; run from the repository's root after a release build
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
anchors=1,3,5
panel_keys=
if [ "$accelerator" = xrt ]; then
  export XILINX_XRT=${bin%/bin}/xrt
  "$bin/tributary-xclbin" --output "$work/beacon.xclbin" --kernel beacon_kernel
  printf -v panel_keys '%s\n' 'accelerator = "xrt"' "xclbin = \"$work/beacon.xclbin\""
fi
ingest=127.0.0.1:$(free_port)
http=127.0.0.1:$(free_port)
board=127.0.0.1:$(free_port)

echo "Training a network on the first half of the run"
"$bin/tributary" train beacon --ranges "$ranges" --truth "$truth" --anchors $anchors --to 0.5 \
  --out "$work/board.safetensors" --json >"$work/board.trained" 2>"$work/train.log" || die "training failed" train
"$bin/tributary" recording move-anchor --ranges "$ranges" --truth "$truth" --anchor 3 --by 0.4,0.2 \
  --stretch 0.5,1 --stretch 0,0.5,moved --stretch 0.5,1,moved \
  --out-ranges "$work/ranges.csv" --out-truth "$work/truth.csv" --json >"$work/stretches.json"
# From the first row of the first stretch to the last one of the last.
played_s=$(jq '(.stretches[-1].end_unix_ns - .stretches[0].begin_unix_ns) / 1e9' "$work/stretches.json")
speed=$(jq -n "[$played_s / $seconds, 1] | max")

cat >"$work/aggregator.toml" <<TOML
listen = "$ingest"
[http]
listen = "$http"
[[site]]
name = "hall"
dimension = 2
sources = ["board"]
deadline_ms = 20.0
# A recording's epochs are its own.
max_age_s = 0.0
max_lead_s = 0.0
TOML
start_ns=$(($(date +%s%N) + 3000000000))
: >"$work/samples.csv"
cat >"$work/board.toml" <<TOML
node = "board"
site = "hall"
[uplink]
aggregator = "$ingest"
[http]
listen = "$board"
[[panel]]
name = "board"
workload = "beacon"
model = "$work/board.safetensors"
format = "int16"
$panel_keys
[panel.retraining]
samples = "$work/samples.csv"
http = true
state = "$work/learned.safetensors"
[panel.source]
kind = "ranges"
file = "$work/ranges.csv"
speed = $speed
start_unix_ns = $start_ns
TOML

echo "Starting the aggregator on $ingest and a node; the recording runs at $speed times its speed"
start aggregator "$bin/tributary-aggregator" --config "$work/aggregator.toml"
wait_for "the aggregator's start" aggregator http_ok "$http" /healthz
echo "In a browser, while this runs: http://$http/"
start board "$bin/tributary-node" --config "$work/board.toml" --summary "$work/node.json"
wait_for_nodes "$http" board
# Somebody measures where the trolley is, while it is used: every fifth row.
start surveyor sh -c "exec '$bin/tributary' recording samples --ranges '$work/ranges.csv' --truth '$work/truth.csv' --anchors $anchors \
  --every 5 --speed $speed --start-unix-ns $start_ns >>'$work/samples.csv'"
"$bin/tributary" watch --aggregator "$ingest" --site hall --truth "$work/truth.csv" --window 5 \
  --seconds "$(jq -n "$played_s / $speed + 2 | ceil")" --summary "$work/watch.json"
finish surveyor TERM
finish board TERM
finish aggregator TERM

# The network as it was trained, on the same ranges as the one that has learned.
begin=$(jq '(.stretches[2].begin_unix_ns - .stretches[0].begin_unix_ns) / (.stretches[2].end_unix_ns - .stretches[0].begin_unix_ns)' \
  "$work/stretches.json")
"$bin/tributary" evaluate beacon --model "$work/board.safetensors" --ranges "$work/ranges.csv" --truth "$work/truth.csv" \
  --from "$begin" --json >"$work/untouched.json"

jq -n --slurpfile watch "$work/watch.json" --slurpfile node "$work/node.json" --slurpfile made "$work/stretches.json" \
  --slurpfile untouched "$work/untouched.json" '
  # A window of 5 s belongs to the stretch that holds all of it.
  def errors(stretch): [$watch[0].windows[] | select(.begin_unix_ns >= stretch.begin_unix_ns
        and .begin_unix_ns + 5e9 <= stretch.end_unix_ns)]
      | {mean_error_cm: ((map(.mean_error_cm * .judged) | add) / (map(.judged) | add)),
         worst_error_cm: (map(.mean_error_cm) | max), nees: ((map(.nees * .judged) | add) / (map(.judged) | add))};
  $made[0].stretches as $stretches
  | $node[0] as $node
  | {before: errors($stretches[0]), moved: errors($stretches[1]), retrained: errors($stretches[2]),
     untouched_cm: ($untouched[0].boards[0].network.mean_m * 100),
     worst_nees: ($watch[0].windows | map(.nees) | max),
     samples_after_the_move: ($stretches[1].rows / 5 | ceil),
     lost: ($node.failed_frames + $node.unusable_tuples + $node.lost_tuples + $watch[0].skipped_slots),
     missing_in_recording: $node.missed_frames, retraining: $node.retraining.board,
     fused_tuples: $watch[0].fused_tuples, windows: $watch[0].windows}
  | .ratio = .retrained.mean_error_cm / .before.mean_error_cm' >"$work/out.json"
jq -r '
  def cm: . * 10 | round / 10 | tostring;
  "",
  "second half of the run      \(.before.mean_error_cm | cm) cm, NEES \(.before.nees * 100 | round / 100) (2 is ideal)",
  "anchor 3 is moved           \(.moved.worst_error_cm | cm) cm in the worst 5 s",
  "second half, anchor moved   \(.retrained.mean_error_cm | cm) cm, NEES \(.retrained.nees * 100 | round / 100); \(.untouched_cm | cm) cm without learning",
  "learned from                \(.samples_after_the_move) labelled ranges in \(.retraining.trainings) trainings that gave a better network",
  "worst NEES of 5 s           \(.worst_nees * 100 | round / 100)",
  "tuples lost                 \(.lost) of \(.fused_tuples)"' "$work/out.json"
[ -z "$json" ] || cp "$work/out.json" "$json"
