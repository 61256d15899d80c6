#!/usr/bin/env bash
# A network of your own, from learning to fused tuples: four nodes learn a classifier of drawn glyphs together, each from its
# own images; the model becomes an ONNX file; four nodes run it on images that it has not seen, and the aggregator fuses what
# they say. Each node sees the same glyph drawn by another hand. With xrt the model becomes one of 8-bit integers, and each of
# the four nodes runs it on a board's tensor unit; the fifth node runs the float model on the processor.
# usage: network.sh SECONDS [JSON-FILE|""] [cpu|xrt]; run from the repository's root after a release build
set -euo pipefail
seconds=$1
json=${2:-}
accelerator=${3:-cpu}
# shellcheck source=deploy/demo/daemons.sh
source deploy/demo/daemons.sh

names=(north east south west)
rate_hz=50
deadline_ms=200.0
settle_s=0
model=classifier.onnx
panel_keys=
unit=(--accelerator tensor-model)
if [ "$accelerator" = xrt ]; then
  # The boards are simulated clock by clock: an image takes a node some 130 ms of a processor's time.
  rate_hz=1
  deadline_ms=2000.0
  settle_s=1
  model=classifier8.onnx
  export XILINX_XRT=${bin%/bin}/xrt
  "$bin/tributary-xclbin" --output "$work/tensor.xclbin" --kernel tensor_kernel
  printf -v panel_keys '%s\n' 'accelerator = "xrt"' "xclbin = \"$work/tensor.xclbin\"" 'run_timeout_ms = 10000'
  unit=(--accelerator xrt --xclbin "$work/tensor.xclbin")
fi
images=1000
rounds=8
local_steps=25
classes='["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]'
ingest=127.0.0.1:$(free_port)
http=127.0.0.1:$(free_port)

site() { # name
  local list
  printf -v list '"%s", ' "${names[@]}"
  printf '[[site]]\nname = "%s"\nsources = [%s]\nclasses = %s\nslot_ms = %d.0\ndeadline_ms = %s\n' \
    "$1" "${list%, }" "$classes" $((1000 / rate_hz)) "$deadline_ms"
}

node() { # name, site
  printf 'node = "%s"\nsite = "%s"\nslot_ms = %d.0\n[uplink]\naggregator = "%s"\n[http]\nlisten = ""\n' \
    "$1" "$2" $((1000 / rate_hz)) "$ingest"
}

panel() { # number, first subject, model, further keys
  cat <<TOML
[[panel]]
name = "${names[$1]}"
workload = "network"
model = "$work/$3"
$4
[panel.source]
kind = "images"
images = "glyphs"
glyphs = $images
seed = $((101 + $1))
rate_hz = $rate_hz.0
first_subject = $2
TOML
}

{
  printf 'listen = "%s"\n[http]\nlisten = "%s"\n[federation]\nstore = "%s"\n' "$ingest" "$http" "$work/store"
  site together
  site apart
} >"$work/aggregator.toml"
cat >"$work/run.toml" <<TOML
name = "glyphs"
rounds = $rounds
min_nodes = ${#names[@]}
deadline_s = 60.0
[encoder]
channels = [8, 16]
[client]
workload = "classifier"
head = "shared"
local_steps = $local_steps
learning_rate = 0.2
crop = 0.3
contrast = 0.2
brightness = 0.1
[evaluation]
every_rounds = 0
TOML
for i in "${!names[@]}"; do
  {
    node "learner-${names[$i]}" together
    cat <<TOML
[federation]
aggregator = "$ingest"
run = "glyphs"
images = "glyphs"
glyphs = 1600
workload = "classifier"
split = "dirichlet"
alpha = 0.5
shards = ${#names[@]}
shard_index = $i
TOML
  } >"$work/learner-${names[$i]}.toml"
  { node "${names[$i]}" together && panel "$i" 1 "$model" "$panel_keys"; } >"$work/${names[$i]}.toml"
done
{ node apart apart && for i in "${!names[@]}"; do panel "$i" $((1 + i)) classifier.onnx ""; done; } >"$work/apart.toml"

# --- Learn together ---

start aggregator "$bin/tributary-aggregator" --config "$work/aggregator.toml"
wait_for "the aggregator's start" aggregator http_ok "$http" /healthz
"$bin/tributary" run start "$work/run.toml" --aggregator "$ingest" >/dev/null
for name in "${names[@]}"; do
  start "learner-$name" "$bin/tributary-node" --config "$work/learner-$name.toml"
done
echo "Four nodes learn ten glyphs together, $rounds rounds of $local_steps steps: http://$http/#/learning/glyphs"
"$bin/tributary" run watch glyphs --aggregator "$ingest" >"$work/run.out" || true # its state is read below
"$bin/tributary" run show glyphs --aggregator "$ingest" --json >"$work/run.json"
[ "$(jq -r .run.state "$work/run.json")" = RUN_STATE_FINISHED ] || die "the run is $(jq -r .run.state "$work/run.json")" aggregator
for name in "${names[@]}"; do finish "learner-$name" TERM; done
"$bin/tributary" model export run:glyphs --onnx "$work/classifier.onnx" --aggregator "$ingest"
"$bin/tributary" model quantise "$work/classifier.onnx" --calibration images=glyphs --out "$work/classifier8.onnx" --json >"$work/quantised.json"
# What the tensor unit takes of the quantised model, whoever runs it below.
"$bin/tributary" model run "$work/classifier8.onnx" --plan "${unit[@]}" --json >"$work/plan.json"

# --- Run what was learned ---

nodes=("${names[@]}" apart)
echo "Five nodes run it, ${nodes[*]}: http://$http/"
for name in "${nodes[@]}"; do
  start "$name" "$bin/tributary-node" --config "$work/$name.toml" --summary "$work/node-$name"
done
wait_for_nodes "$http" "${nodes[@]}"
# At a few slots a second, one slot without the panel that started last would show in the figures.
sleep "$settle_s"
start watch "$bin/tributary" watch --aggregator "$ingest" --site apart --json --seconds "$seconds" >"$work/apart.json"
"$bin/tributary" watch --aggregator "$ingest" --site together --json --seconds "$seconds" --summary "$work/summary" >"$work/together.json"
finish watch
for name in "${nodes[@]}"; do kill -TERM "${daemons[$name]}"; done
for name in "${nodes[@]}"; do finish "$name"; done
finish aggregator TERM

# Image i of a set shows glyph i % 10, and a slot's image follows from its epoch. Lost images were due and reached no fused
# slot or no reader, over the whole life of the nodes. The four of the site "apart" have subjects of their own: their product
# is what fusion would make of the float model.
jq -n --argjson images "$images" --arg accelerator "$accelerator" --slurpfile plan "$work/plan.json" \
  --slurpfile quantised "$work/quantised.json" --slurpfile run "$work/run.json" \
  --slurpfile together "$work/together.json" --slurpfile apart "$work/apart.json" --slurpfile summary "$work/summary" \
  --slurpfile nodes <(for name in "${nodes[@]}"; do cat "$work/node-$name"; done) '
  def truth: (.epoch | tonumber) % $images % 10;
  def right: . as $slot | ($slot | truth) as $truth
    | [range(0; $slot.log_probabilities | length; 10) as $first
       | $slot.log_probabilities[$first:$first + 10] | (index(max) == $truth)];
  def product: .log_probabilities as $all
    | .log_probabilities = [range(10) as $class | [range($class; $all | length; 10) as $i | $all[$i]] | add];
  def slots: map(.slot | select(.));
  def accuracy: map(right) | add | (map(select(.)) | length) / length;
  ($nodes | map(.missed_frames + .failed_frames + .unusable_tuples + .lost_tuples) | add) as $lost_at_nodes
  | $nodes[0].device as $device
  | $plan[0].accelerator as $unit
  | {accelerator: $accelerator, single: ($apart | slots | accuracy), fused: ($together | slots | accuracy),
     fused_in_floats: ($apart | slots | map(select(.log_probabilities | length == 40) | product) | accuracy),
     slots: ($together | slots | length),
     held_out: ($run[0].history | last | .held_out_accuracy),
     lost: ($lost_at_nodes + $summary[0].skipped_slots),
     nodes_of_graph: ($device.graph_nodes / $nodes[0].frames), multiply_accumulates: ($device.graph_products / $nodes[0].frames),
     delegated_share: ($device.graph_delegated_products / $device.graph_products),
     delegated_nodes: ($device.graph_delegated_nodes / $device.graph_nodes),
     cycles_per_image: ($device.accelerator_cycles / $nodes[0].frames),
     quantised: {share: $unit.share_of_multiply_accumulates, share_of_nodes: $unit.share_of_nodes,
                 planned_cycles: $unit.cycles, relative_error: ($quantised[0].output_relative_errors | map(.) | max)},
     fused_per_s: $summary[0].fused_per_s, seconds: $summary[0].seconds, latency_us: $summary[0].latency_us,
     learning: {rounds: ($run[0].history | length), sent_bytes: ($run[0].history | map(.received_bytes | tonumber) | add)}}' >"$work/out.json"

jq -r '
  def percent: . * 1000 | round / 10;
  def millions: . / 1e5 | round / 10;
  "",
  "right        one node \(.single | percent) %, four fused \(.fused | percent) % of \(.slots) slots" +
    (if .accelerator == "xrt" then " in 8 bits, \(.fused_in_floats | percent) % in floats" else "" end),
  "graph        \(.nodes_of_graph) nodes, \(.multiply_accumulates | millions) million multiply-accumulates an image",
  (if .accelerator == "xrt" then
     "tensor unit  computed \(.delegated_share | percent) % of them and \(.delegated_nodes | percent) % of the nodes, in \(.cycles_per_image | round) clock cycles an image"
   else
     "tensor unit  0 %: the processor computed all; in 8 bits it would take \(.quantised.share | percent) %, in \(.quantised.planned_cycles) clock cycles an image"
   end),
  "learned      in \(.learning.rounds) rounds; \(.learning.sent_bytes / 1000 | round) kB of parameters left the nodes, and no image",
  "slots        \(.fused_per_s * 10 | round / 10)/s over \(.seconds * 10 | round / 10) s, \(.lost) images lost",
  "latency      p50 \(.latency_us.p50 | round) us, p99 \(.latency_us.p99 | round) us from image to reader"' "$work/out.json"
[ -z "$json" ] || cp "$work/out.json" "$json"
