#!/usr/bin/env bash
# Who may include whom: fails on the first folder that reaches across (docs/architecture.md has the reasons).
# usage: include_rules.sh ROOT
set -euo pipefail
cd "$1"

grpc='grpc|google/protobuf|tributary/v1/'
asio='boost/'
xrt='xrt/|experimental/xrt'
sqlite='sqlite3'
io="$grpc|$asio|$xrt|$sqlite|spdlog/|toml|prometheus/|systemd/|sys/|unistd|fcntl|netinet/|fstream"

# folder; what its includes must not match; what in `file:line:` frees a finding (regular expression)
rules=(
  "core/estimate;$io|core/(images|nn|parameters|runtime|uplink)/|node/|aggregator/|cli/|fpga/;"
  "core/parameters;$io|core/(estimate|images|nn|runtime|uplink|privacy)/|node/|aggregator/|cli/|fpga/;"
  "core/privacy;$io|core/(estimate|images|nn|parameters|runtime|uplink)/|node/|aggregator/|cli/|fpga/;"
  "core/nn;$io|core/(estimate|images|runtime|uplink)/|node/|aggregator/|cli/|fpga/;"
  "core/images;$io|core/(estimate|parameters|privacy|uplink)/|node/|aggregator/|cli/|fpga/;"
  "fpga/model;$io|core/(estimate|runtime|uplink)/|node/|aggregator/|cli/;"
  "core/runtime;$grpc|$xrt|$sqlite|core/(estimate|images|nn|parameters|uplink)/|node/|aggregator/|cli/|fpga/;"
  "core/uplink;$xrt|$sqlite|node/|aggregator/|cli/|fpga/;"
  "node/source;$grpc|$xrt|$sqlite|core/uplink/|node/(accelerator|workload)/|aggregator/|cli/;"
  "node/accelerator;$grpc|$asio|$sqlite|core/uplink/|node/(source|workload)/|aggregator/|cli/;"
  "node/accelerator;$xrt;/xrt_[^/:]*:"
  "node/workload;$io|core/(runtime|uplink)/|aggregator/|cli/;"
  "node;aggregator/|cli/;"
  "aggregator/fusion;$grpc|$asio|$xrt|$sqlite|spdlog/|prometheus/|toml|core/(nn|parameters|uplink)/|node/|cli/;"
  "aggregator/federation;$io|core/(estimate|uplink)/|node/|aggregator/(fusion|ingest|publish|store|rounds)/|cli/;"
  "aggregator/ingest;$xrt|$sqlite|node/|cli/;"
  "aggregator/publish;$xrt|$sqlite|node/|cli/;"
  "aggregator/store;$grpc|$asio|$xrt|spdlog/|prometheus/|toml|core/(nn|uplink)/|aggregator/(federation|fusion|ingest|publish|rounds)/|node/|cli/;"
  "aggregator/rounds;$asio|$xrt|$sqlite|aggregator/(fusion|ingest|publish)/|node/|cli/;"
  "aggregator;node/|cli/|fpga/;"
)

breaches=0
for rule in "${rules[@]}"; do
  IFS=';' read -r folder forbidden exempt <<<"$rule"
  [ -d "$folder" ] || continue
  # Tests may read recorded files; the rule is about what ships.
  found=$(grep -rnE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($forbidden)" "$folder" \
            --include='*.h' --include='*.cc' | grep -vE '_(test|fuzz|bench)\.cc:' || true)
  if [ -n "$exempt" ]; then found=$(grep -vE "$exempt" <<<"$found" || true); fi
  if [ -n "$found" ]; then
    printf 'folder %s includes what it must not:\n%s\n' "$folder" "$found"
    breaches=$((breaches + 1))
  fi
done
[ "$breaches" -eq 0 ] || { echo "$breaches rule(s) broken"; exit 1; }
echo "include rules hold: ${#rules[@]} checked"
