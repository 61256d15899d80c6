#!/usr/bin/env bash
# Five nodes with different images train one encoder together: an aggregator and five nodes in processes of their own on the
# loopback. The demo compares it with an encoder that each node trains alone in as many steps, and with the untrained network.
# usage: federation.sh SECONDS JSON-FILE|"" DATA-FOLDER|"" FEATURES ENCODING LOCAL-STEPS|0; run from the repository's root after a
# release build; demo.sh --help says what they mean
set -euo pipefail
seconds=$1
json=$2
data=$3
features=$4
encoding=$5
local_steps=$6
# shellcheck source=deploy/demo/daemons.sh
source deploy/demo/daemons.sh

nodes=(north east south west roof)
rounds=40
batch=32
case $features in 64) grid=1 ;; 256) grid=2 ;; *) grid=3 ;; esac # areas of a side, of 64 channels each
# The recipe of docs/models.md.
learning_rate=3.2
weight_decay=0.0005
split=(dirichlet 0.5 1) # kind, alpha, seed

# --- The images ---

side=28
input_channels=1

pick() { # the first of these files that exists
  local file
  for file; do [ ! -r "$file" ] || { realpath "$file"; return; }; done
}
if [ -z "$data" ] && [ -n "${TRIBUTARY_DATA_DIR:-}" ]; then data=$TRIBUTARY_DATA_DIR/kmnist; fi
if [ -z "$data" ] && [ -d ../shared/data/kmnist ]; then data=../shared/data/kmnist; fi
if [ -n "$data" ]; then
  images=$(pick "$data"/train-first*-images-idx3-ubyte.gz "$data"/train-images-idx{3,4}-ubyte{.gz,})
  labels=$(pick "$data"/train-first*-labels-idx1-ubyte.gz "$data"/train-labels-idx1-ubyte{.gz,})
  test_images=$(pick "$data"/t10k-images-idx{3,4}-ubyte{.gz,})
  test_labels=$(pick "$data"/t10k-labels-idx1-ubyte{.gz,})
  for file in "$images" "$labels" "$test_images" "$test_labels"; do
    [ -n "$file" ] || {
      echo "demo: $data has no train-images-idx3-ubyte (of colour images idx4), train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte (.gz or not)" >&2
      exit 66
    }
  done
  set_name=$(basename "$(realpath "$data")")
  # Byte 3 is the number of dimensions, of which the fourth is the channels; bytes 8 to 11 are the side.
  mapfile -t header < <(zcat -f "$images" 2>/dev/null | head -c 12 | od -An -v -tu1 -w1)
  side=$((header[10] * 256 + header[11]))
  [ "$((header[3]))" != 4 ] || input_channels=3
  judge=(--images "$images" --labels "$labels" --test-images "$test_images" --test-labels "$test_labels")
  node_images="images = \"$images\"
labels = \"$labels\""
  judge_images="$node_images
test_images = \"$test_images\"
test_labels = \"$test_labels\""
  echo "Images: $images"
else
  set_name=glyphs
  judge=(--images glyphs)
  node_images='images = "glyphs"'
  judge_images=$node_images
  echo "Images: no recorded ones were found (TRIBUTARY_DATA_DIR or --data), so the nodes learn from built-in drawn glyphs:"
  echo "their figures show that the system works, not what it is worth on real images."
fi

# --- As many steps as fit into the time; the nodes that train alone take as many again ---

train=("$bin/tributary" train self_supervised "${judge[@]:0:2}" --grid "$grid" --batch "$batch" --learning-rate "$learning_rate" --json)
cores=$(nproc)
[ "$cores" -le "${#nodes[@]}" ] || cores=${#nodes[@]}
if [ "$local_steps" = 0 ]; then
  step_s=$("${train[@]}" --steps 200 --out "$work/probe.safetensors" 2>/dev/null | jq '.seconds / 200')
  local_steps=$(jq -n "[(0.75 * $seconds * $cores / (2 * ${#nodes[@]} * $rounds * $step_s)) | floor, 2] | max")
fi
steps=$((rounds * local_steps))

# --- Together ---

ingest=127.0.0.1:$(free_port)
http=127.0.0.1:$(free_port)
cat >"$work/aggregator.toml" <<TOML
listen = "$ingest"
[http]
listen = "$http"
[federation]
store = "$work/store"
[federation.evaluation]
$judge_images
TOML
cat >"$work/run.toml" <<TOML
name = "demo"
rounds = $rounds
min_nodes = ${#nodes[@]}
quorum = ${#nodes[@]}
deadline_s = 120.0
[strategy]
kind = "fedavg"
[encoder]
side = $side
input_channels = $input_channels
grid = $grid
[client]
encoding = "$encoding"
local_steps = $local_steps
batch = $batch
learning_rate = $learning_rate
weight_decay = $weight_decay
[evaluation]
every_rounds = 10
TOML
for i in "${!nodes[@]}"; do
  cat >"$work/${nodes[$i]}.toml" <<TOML
node = "${nodes[$i]}"
[http]
listen = ""
[federation]
aggregator = "$ingest"
run = "demo"
$node_images
split = "${split[0]}"
alpha = ${split[1]}
seed = ${split[2]}
shards = ${#nodes[@]}
shard_index = $i
TOML
done

began_s=$(date +%s)
start aggregator "$bin/tributary-aggregator" --config "$work/aggregator.toml"
wait_for "the aggregator's start" aggregator http_ok "$http" /healthz
"$bin/tributary" run start "$work/run.toml" --aggregator "$ingest" >/dev/null
for node in "${nodes[@]}"; do
  start "$node" nice -n 5 "$bin/tributary-node" --config "$work/$node.toml" --summary "$work/node-$node"
done
echo "Five nodes, ${split[0]} split (alpha ${split[1]}), $rounds rounds of $local_steps steps each"
echo "In a browser, while they train together: http://$http/#/learning/demo"
echo
"$bin/tributary" run watch demo --aggregator "$ingest" || true # its state is read below
together_s=$(($(date +%s) - began_s))
"$bin/tributary" run show demo --aggregator "$ingest" --json >"$work/run.json"
[ "$(jq -r .run.state "$work/run.json")" = RUN_STATE_FINISHED ] || die "the run is $(jq -r .run.state "$work/run.json")" aggregator
for node in "${nodes[@]}"; do kill -TERM "${daemons[$node]}"; done
for node in "${nodes[@]}"; do finish "$node"; done
finish aggregator TERM

# --- Alone: as many steps for each node, on its own images only ---

echo
echo "Each node alone, $steps steps"
began_s=$(date +%s)
alone() { # index
  nice -n 5 "$bin/tributary" train self_supervised "${judge[@]}" --split "${split[0]}" --alpha "${split[1]}" --split-seed "${split[2]}" \
    --shards "${#nodes[@]}" --shard-index "$1" --steps "$steps" --grid "$grid" --batch "$batch" --learning-rate "$learning_rate" \
    --out "$work/alone-$1.safetensors" --json >"$work/alone-$1" 2>"$work/alone-$1.log"
}
for ((i = 0; i < ${#nodes[@]}; i += cores)); do
  for ((j = i; j < i + cores && j < ${#nodes[@]}; ++j)); do start "alone-$j" alone "$j"; done
  for ((j = i; j < i + cores && j < ${#nodes[@]}; ++j)); do finish "alone-$j"; done
done
alone_s=$(($(date +%s) - began_s))

jq -n --arg set "$set_name" --argjson features "$features" --arg encoding "$encoding" --arg split "${split[0]}" --argjson alpha "${split[1]}" --argjson seed "${split[2]}" \
  --argjson rounds "$rounds" --argjson local_steps "$local_steps" --argjson batch "$batch" \
  --argjson together_s "$together_s" --argjson alone_s "$alone_s" \
  --slurpfile run "$work/run.json" \
  --slurpfile alone <(for i in "${!nodes[@]}"; do cat "$work/alone-$i"; done) \
  --slurpfile node <(for name in "${nodes[@]}"; do cat "$work/node-$name"; done) '
  def figures(prefix): {linear_accuracy: .[prefix + "linear_probe"], knn_accuracy: .[prefix + "knn"], spread: .[prefix + "spread"]};
  ($run[0].history | map({round, accepted, loss, spread, update_norm, received_bytes: (.received_bytes | tonumber)}
     + if .evaluation then .evaluation | {encoder: figures(""), random_encoder: figures("random_")} else {} end)) as $history
  | ($history | map(select(.encoder)) | last) as $last
  | ($alone | map(.encoder.linear_accuracy) | add / length) as $mean
  | {set: $set, split: {kind: $split, alpha: $alpha, seed: $seed}, rounds: $rounds, local_steps: $local_steps, batch: $batch,
     features: $features, encoding: $encoding, federated: $last.encoder, untrained: $last.random_encoder,
     alone: {mean_linear_accuracy: $mean, mean_knn_accuracy: ($alone | map(.encoder.knn_accuracy) | add / length)},
     points_above_untrained: (100 * ($last.encoder.linear_accuracy - $last.random_encoder.linear_accuracy)),
     points_above_alone: (100 * ($last.encoder.linear_accuracy - $mean)),
     seconds: {together: $together_s, alone: $alone_s},
     nodes: [range($node | length) as $i | $node[$i] | {node, images: .learner.images, accepted_updates: .learner.accepted_updates,
             training_seconds: .learner.training_seconds, sent_bytes: .learner.sent_bytes,
             alone: $alone[$i].encoder}],
     history: $history}' >"$work/out.json"
jq -r 'def p: . * 1000 | round / 10;
  (.nodes[] | "  \(.node)\t\(.images) images\tlinear probe \(.alone.linear_accuracy | p) %\tkNN \(.alone.knn_accuracy | p) %"),
  "",
  "together     linear probe \(.federated.linear_accuracy | p) %, kNN \(.federated.knn_accuracy | p) %",
  "alone        linear probe \(.alone.mean_linear_accuracy | p) % (mean), kNN \(.alone.mean_knn_accuracy | p) %",
  "untrained    linear probe \(.untrained.linear_accuracy | p) %, kNN \(.untrained.knn_accuracy | p) %",
  "             together is \(.points_above_untrained * 10 | round / 10) points above untrained, \(.points_above_alone * 10 | round / 10) above alone",
  "left a node  \(.nodes[0].sent_bytes / 1000 / .rounds | round) kB of parameters per round, and no image"' "$work/out.json"
[ -z "$json" ] || cp "$work/out.json" "$json"
