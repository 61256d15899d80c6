#!/usr/bin/env bash
# A network of your own, from learning to fused tuples: four nodes learn a classifier of drawn glyphs together, each from its
# own images; the model becomes an ONNX file; four nodes run it on images that it has not seen, and the aggregator fuses what
# they say. Each node sees the same glyph drawn by another hand.
# usage: network.sh SECONDS [JSON-FILE|""] [cpu]; run from the repository's root after a release build
set -euo pipefail
seconds=$1
json=${2:-}
# shellcheck source=deploy/demo/daemons.sh
source deploy/demo/daemons.sh

names=(north east south west)
rate_hz=50
images=1000
rounds=8
local_steps=25
classes='["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]'
ingest=127.0.0.1:$(free_port)
http=127.0.0.1:$(free_port)

site() { # name
  local list
  printf -v list '"%s", ' "${names[@]}"
  printf '[[site]]\nname = "%s"\nsources = [%s]\nclasses = %s\nslot_ms = %d.0\ndeadline_ms = 200.0\n' \
    "$1" "${list%, }" "$classes" $((1000 / rate_hz))
}

node() { # name, site
  printf 'node = "%s"\nsite = "%s"\nslot_ms = %d.0\n[uplink]\naggregator = "%s"\n[http]\nlisten = ""\n' \
    "$1" "$2" $((1000 / rate_hz)) "$ingest"
}

panel() { # number, first subject
  cat <<TOML
[[panel]]
name = "${names[$1]}"
workload = "network"
model = "$work/classifier.onnx"
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
  { node "${names[$i]}" together && panel "$i" 1; } >"$work/${names[$i]}.toml"
done
{ node apart apart && for i in "${!names[@]}"; do panel "$i" $((1 + i)); done; } >"$work/apart.toml"

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
"$bin/tributary" model run "$work/classifier.onnx" --plan --json >"$work/plan.json"

# --- Run what was learned ---

nodes=("${names[@]}" apart)
echo "Five nodes run it, ${nodes[*]}: http://$http/"
for name in "${nodes[@]}"; do
  start "$name" "$bin/tributary-node" --config "$work/$name.toml" --summary "$work/node-$name"
done
wait_for_nodes "$http" "${nodes[@]}"
start watch "$bin/tributary" watch --aggregator "$ingest" --site apart --json --seconds "$seconds" >"$work/apart.json"
"$bin/tributary" watch --aggregator "$ingest" --site together --json --seconds "$seconds" --summary "$work/summary" >"$work/together.json"
finish watch
for name in "${nodes[@]}"; do kill -TERM "${daemons[$name]}"; done
for name in "${nodes[@]}"; do finish "$name"; done
finish aggregator TERM

# Image i of a set shows glyph i % 10, and a slot's image follows from its epoch. Lost images were due and reached no fused
# slot or no reader, over the whole life of the nodes.
jq -n --argjson images "$images" --slurpfile plan "$work/plan.json" --slurpfile run "$work/run.json" \
  --slurpfile together "$work/together.json" --slurpfile apart "$work/apart.json" --slurpfile summary "$work/summary" \
  --slurpfile nodes <(for name in "${nodes[@]}"; do cat "$work/node-$name"; done) '
  def right: . as $slot | (($slot.epoch | tonumber) % $images % 10) as $truth
    | [range(0; $slot.log_probabilities | length; 10) as $first
       | $slot.log_probabilities[$first:$first + 10] | (index(max) == $truth)];
  def accuracy: map(.slot | select(.) | right) | add | (map(select(.)) | length) / length;
  ($nodes | map(.missed_frames + .failed_frames + .unusable_tuples + .lost_tuples) | add) as $lost_at_nodes
  | {single: ($apart | accuracy), fused: ($together | accuracy),
     held_out: ($run[0].history | last | .held_out_accuracy),
     lost: ($lost_at_nodes + $summary[0].skipped_slots),
     nodes_of_graph: ($plan[0].nodes | length), multiply_accumulates: $plan[0].multiply_accumulates,
     delegated_share: (([$plan[0].nodes[] | select(.runs_on != "processor") | .multiply_accumulates] | add // 0) / $plan[0].multiply_accumulates),
     fused_per_s: $summary[0].fused_per_s, seconds: $summary[0].seconds, latency_us: $summary[0].latency_us,
     learning: {rounds: ($run[0].history | length), sent_bytes: ($run[0].history | map(.received_bytes | tonumber) | add)}}' >"$work/out.json"

jq -r '
  def percent: . * 1000 | round / 10;
  "",
  "right        one node \(.single | percent) %, four fused \(.fused | percent) %",
  "graph        \(.nodes_of_graph) nodes, \(.multiply_accumulates / 1e5 | round / 10) million multiply-accumulates an image, all on the processor",
  "learned      in \(.learning.rounds) rounds; \(.learning.sent_bytes / 1000 | round) kB of parameters left the nodes, and no image",
  "slots        \(.fused_per_s | round)/s over \(.seconds * 10 | round / 10) s, \(.lost) images lost",
  "latency      p50 \(.latency_us.p50 | round) us, p99 \(.latency_us.p99 | round) us from image to reader"' "$work/out.json"
[ -z "$json" ] || cp "$work/out.json" "$json"
