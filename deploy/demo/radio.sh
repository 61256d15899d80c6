#!/usr/bin/env bash
# Four receivers hear eight emitters that change modulation and strength: one aggregator and five nodes as processes of
# their own on the loopback. Four nodes report to the site "band", where their tuples are fused. The fifth is the same four
# receivers once more; in its site "apart" each has subjects of its own, so that nothing is fused.
# usage: radio.sh SECONDS [JSON-FILE|""] [cpu|xrt]; run from the repository's root after a release build
set -euo pipefail
seconds=$1
json=${2:-}
accelerator=${3:-cpu}
# shellcheck source=deploy/demo/daemons.sh
source deploy/demo/daemons.sh

receivers=(north east south west)
emitters=8
rate_hz=50
classes='["BPSK", "8PSK", "CPFSK", "GFSK", "PAM4", "QAM16", "QAM64", "QPSK", "AM-SSB", "WBFM"]'
# Each emission lasts a second; its ratio is uniform over these, true and per sample.
frames_per_emission=50
deadline_ms=200.0
settle_s=0
panel_keys=
lowest_snr_db=-10
highest_snr_db=18
if [ "$accelerator" = xrt ]; then
  # The boards are simulated clock by clock: a burst takes some 4 ms of a processor's time. Emissions last four seconds.
  emitters=4
  rate_hz=5
  frames_per_emission=20
  deadline_ms=500.0
  settle_s=1
  export XILINX_XRT=${bin%/bin}/xrt
  # The fifth node has four panels, and each has a compute unit of its own.
  "$bin/tributary-xclbin" --output "$work/modulation.xclbin" --kernel modulation_kernel:4
  printf -v panel_keys '%s\n' 'accelerator = "xrt"' "xclbin = \"$work/modulation.xclbin\"" 'run_timeout_ms = 10000'
fi
truth=generator:seed=1,rate_hz=$rate_hz,frames_per_emission=$frames_per_emission,count=$emitters
ingest=127.0.0.1:$(free_port)
http=127.0.0.1:$(free_port)

site() { # name, further keys
  local names name=$1
  shift
  printf -v names '"%s", ' "${receivers[@]}"
  cat <<TOML
[[site]]
name = "$name"
sources = [${names%, }]
classes = $classes
slot_ms = $((1000 / rate_hz)).0
max_subjects = $((emitters * ${#receivers[@]}))
deadline_ms = $deadline_ms
$(printf '%s\n' "$@")
TOML
}

panel() { # receiver's number, first subject
  cat <<TOML
[[panel]]
name = "${receivers[$1]}"
workload = "modulation"
model = "$PWD/models/modulation.safetensors"
$panel_keys
[panel.source]
kind = "generator"
seed = 1
receiver = $1
subjects = $emitters
first_subject = $2
rate_hz = $rate_hz.0
frames_per_emission = $frames_per_emission
lowest_snr_db = $lowest_snr_db.0
highest_snr_db = $highest_snr_db.0
TOML
}

node() { # name, site
  cat <<TOML
node = "$1"
site = "$2"
slot_ms = $((1000 / rate_hz)).0
[uplink]
aggregator = "$ingest"
[http]
listen = ""
TOML
}

{
  printf 'listen = "%s"\n[http]\nlisten = "%s"\n' "$ingest" "$http"
  # The receivers hear the same symbols, so their errors are not independent: a product would be too certain.
  site band "method = \"intersection\"" "truth = \"$truth\""
  site apart
} >"$work/aggregator.toml"
node apart apart >"$work/apart.toml"
for i in "${!receivers[@]}"; do
  { node "${receivers[$i]}" band && panel "$i" 1; } >"$work/${receivers[$i]}.toml"
  panel "$i" $((1 + i * emitters)) >>"$work/apart.toml"
done

nodes=("${receivers[@]}" apart)
echo "Starting the aggregator on $ingest and five nodes: ${nodes[*]}"
start aggregator "$bin/tributary-aggregator" --config "$work/aggregator.toml"
wait_for "the aggregator's start" aggregator http_ok "$http" /healthz
echo "In a browser, while this runs: http://$http/"
for name in "${nodes[@]}"; do
  start "$name" "$bin/tributary-node" --config "$work/$name.toml" --summary "$work/node-$name"
done
wait_for_nodes "$http" "${nodes[@]}"
# At a few slots a second, one slot without the panel that started last would show in the figures.
sleep "$settle_s"

echo "Each receiver alone, while this runs: tributary watch apart --aggregator $ingest --truth $truth"
start watch "$bin/tributary" watch --aggregator "$ingest" --site apart --truth "$truth" \
  --seconds "$seconds" --summary "$work/apart.json" >"$work/apart.out"
"$bin/tributary" watch --aggregator "$ingest" --site band --truth "$truth" \
  --seconds "$seconds" --summary "$work/band.json"
finish watch

for name in "${nodes[@]}"; do kill -TERM "${daemons[$name]}"; done
for name in "${nodes[@]}"; do finish "$name"; done
finish aggregator TERM

# Lost bursts were due and reached no fused slot or no reader, over the whole life of the nodes.
jq -s --arg accelerator "$accelerator" --argjson emitters "$emitters" --argjson lowest "$lowest_snr_db" --argjson highest "$highest_snr_db" \
  --slurpfile band "$work/band.json" --slurpfile apart "$work/apart.json" '
  . as $nodes
  | ($nodes | map((.missed_frames + .failed_frames) * $emitters + .unusable_tuples + .lost_tuples) | add) as $lost_at_nodes
  | {accelerator: $accelerator,
     single: $apart[0].accuracy,
     voted: $apart[0].voted_accuracy,
     fused: $band[0].accuracy,
     nll: {single: $apart[0].nll, fused: $band[0].nll},
     bursts_per_s: ($apart[0].fused_per_s + 4 * $band[0].fused_per_s),
     lost: ($lost_at_nodes + 4 * ($band[0].skipped_slots + $apart[0].skipped_slots) * $emitters),
     snr_db: {definition: "true", lowest: $lowest, highest: $highest},
     seconds: $band[0].seconds,
     latency_us: $band[0].latency_us,
     nodes: ($nodes | map({node, frames, tuples, missed_frames, unusable_tuples, lost_tuples}))}' \
  "${nodes[@]/#/$work/node-}" >"$work/out.json"

jq -r '
  def percent: . * 1000 | round / 10;
  "",
  "right        one receiver \(.single | percent) %, its vote of ten \(.voted | percent) %, four fused \(.fused | percent) %",
  "loss         one receiver \(.nll.single * 100 | round / 100) nats, four fused \(.nll.fused * 100 | round / 100)",
  "signals      \(.snr_db.lowest) to \(.snr_db.highest) dB per sample, ten modulations, ten in a hundred by guessing",
  "bursts       \(.bursts_per_s | round)/s over \(.seconds * 10 | round / 10) s, \(.lost) lost",
  "latency      p50 \(.latency_us.p50 | round) us, p99 \(.latency_us.p99 | round) us from sample to reader"' "$work/out.json"
[ -z "$json" ] || cp "$work/out.json" "$json"
