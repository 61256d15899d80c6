#!/usr/bin/env bash
# Who may include whom: fails on the first folder that reaches across (docs/architecture.md has the reasons).
# usage: include_rules.sh ROOT
#        include_rules.sh --folders   lists the folders that have a rule
set -euo pipefail

services='grpcpp/|grpc/|tributary/v1/[a-z]+\.grpc\.'
grpc='grpc|google/protobuf|tributary/v1/'
asio='boost/'
xrt='xrt/|experimental/xrt'
sqlite='sqlite3'
local_io="$asio|$xrt|$sqlite|spdlog/|toml|prometheus/|systemd/|sys/|unistd|fcntl|netinet/|fstream"
io="$grpc|$local_io"

# folder; what its includes must not match; what in `file:line:` frees a finding (regular expression)
rules=(
  "core/estimate;$io|core/(config|http|images|learning|link|nn|parameters|radio|recordings|runtime|scene|survey|truth|wire)/|node/|aggregator/|cli/|fpga/;"
  "core/parameters;$io|core/(config|estimate|http|images|learning|link|nn|privacy|radio|recordings|runtime|scene|survey|truth|wire)/|node/|aggregator/|cli/|fpga/;sys/auxv"
  "core/privacy;$io|core/(config|estimate|http|images|learning|link|nn|parameters|radio|recordings|runtime|scene|survey|truth|wire)/|node/|aggregator/|cli/|fpga/;"
  "core/nn;$io|core/(config|estimate|http|images|learning|link|radio|recordings|runtime|scene|survey|truth|wire)/|node/|aggregator/|cli/|fpga/;"
  "core/radio;$io|core/(config|estimate|http|images|learning|link|nn|parameters|privacy|recordings|runtime|survey|truth|wire)/|node/|aggregator/|cli/|fpga/;"
  "core/scene;$io|core/(config|http|images|learning|link|nn|parameters|privacy|recordings|runtime|survey|truth|wire)/|node/|aggregator/|cli/|fpga/;"
  "core/survey;$grpc|$asio|$xrt|$sqlite|spdlog/|prometheus/|core/(estimate|http|images|learning|link|nn|parameters|privacy|radio|truth|wire)/|node/|aggregator/|cli/|fpga/;"
  "core/recordings;$grpc|$asio|$xrt|$sqlite|spdlog/|toml|prometheus/|core/(config|estimate|http|images|learning|link|privacy|truth|wire)/|node/|aggregator/|cli/|fpga/;"
  "core/truth;$io|core/(config|http|images|learning|link|nn|parameters|privacy|wire)/|node/|aggregator/|cli/|fpga/;"
  "core/exchange;$grpc|$local_io|core/(config|estimate|http|images|learning|link|privacy|radio|recordings|scene|survey|truth|wire)/|node/|aggregator/|cli/|fpga/;_fuzz\.cc:"
  "core/graph;$io|core/(config|estimate|exchange|http|images|learning|link|privacy|radio|recordings|runtime|scene|survey|truth|wire)/|node/|aggregator/|cli/|fpga/;"
  "core/images;$io|core/(config|estimate|http|learning|link|parameters|privacy|radio|recordings|scene|survey|truth|wire)/|node/|aggregator/|cli/|fpga/;"
  "fpga/model;$io|core/(config|estimate|http|learning|link|radio|recordings|runtime|scene|survey|truth|wire)/|node/|aggregator/|cli/;"
  "core/runtime;$grpc|$xrt|$sqlite|toml|core/(config|estimate|http|images|learning|link|nn|parameters|radio|recordings|scene|survey|truth|wire)/|node/|aggregator/|cli/|fpga/;"
  "core/serial;$io|core/(config|estimate|http|images|learning|link|nn|parameters|privacy|radio|recordings|runtime|scene|survey|truth|wire)/|node/|aggregator/|cli/|fpga/;"
  "core/config;$grpc|$asio|$xrt|$sqlite|prometheus/|core/(estimate|http|images|learning|link|nn|parameters|radio|recordings|scene|survey|truth|wire)/|node/|aggregator/|cli/|fpga/;"
  "core/certificates;$grpc|$asio|$xrt|$sqlite|prometheus/|spdlog/|core/(estimate|http|images|learning|link|nn|parameters|radio|recordings|scene|survey|truth|wire)/|node/|aggregator/|cli/|fpga/;"
  "core/learning;$services|$asio|$xrt|$sqlite|spdlog/|toml|prometheus/|systemd/|core/(estimate|http|images|link|radio|recordings|scene|survey|truth|wire)/|node/|aggregator/|cli/|fpga/;"
  "core/http;$grpc|$xrt|$sqlite|toml|core/(estimate|images|learning|link|nn|parameters|radio|recordings|scene|survey|truth|wire)/|node/|aggregator/|cli/|fpga/;"
  "core/wire;$asio|$xrt|$sqlite|spdlog/|toml|prometheus/|core/(config|http|images|link|radio|recordings|scene|survey|truth)/|node/|aggregator/|cli/|fpga/;"
  "core/link;$xrt|$sqlite|toml|core/(http|images|radio|recordings|scene|survey|truth)/|node/|aggregator/|cli/|fpga/;"
  "node/source;$grpc|$xrt|$sqlite|core/(link|wire)/|node/(accelerator|learner|panel|workload)/|aggregator/|cli/;"
  "node/accelerator;$grpc|$asio|$sqlite|core/(link|wire)/|node/(learner|panel|source|workload)/|aggregator/|cli/;"
  "node/accelerator;$xrt;/xrt_[^/:]*:"
  "node/workload;$io|core/(config|http|learning|link|runtime|wire)/|node/(learner|panel)/|aggregator/|cli/;"
  "node/checks;$grpc|$asio|$xrt|$sqlite|spdlog/|prometheus/|core/(http|images|learning|link|nn|parameters|radio|recordings|scene|survey|truth|wire)/|node/(accelerator|learner|panel|source|workload)/|aggregator/|cli/|fpga/;"
  "node/retraining;$grpc|$asio|$xrt|$sqlite|core/(link|wire|images|scene|survey|truth)/|node/(learner|panel|source)/|aggregator/|cli/;"
  "node/panel;$grpc|$xrt|$sqlite|node/learner/|aggregator/|cli/;"
  "node/learner;$xrt|$sqlite|node/(panel|source)/|aggregator/|cli/;"
  "node;aggregator/|cli/;"
  "aggregator/access;$asio|$xrt|$sqlite|toml|aggregator/(fusion|learning|publish|server|store)/|node/|cli/;"
  "aggregator/join;$asio|$xrt|$sqlite|toml|aggregator/(fusion|learning|publish|server|store)/|node/|cli/;"
  "aggregator/calibration;$grpc|$asio|$xrt|$sqlite|spdlog/|prometheus/|toml|core/(http|link|nn|wire)/|aggregator/(access|join|learning|publish|server|store)/|node/|cli/;"
  "aggregator/fusion;$grpc|$asio|$xrt|$sqlite|spdlog/|prometheus/|toml|core/(config|http|link|nn|parameters|wire)/|node/|cli/;"
  "aggregator/server;$xrt|$sqlite|aggregator/(learning|store)/|node/|cli/;"
  "aggregator/publish;$xrt|$sqlite|aggregator/(server|store)/|node/|cli/;"
  "aggregator/store;$grpc|$asio|$xrt|spdlog/|prometheus/|toml|core/(config|http|link|nn|wire)/|aggregator/(fusion|learning|publish|server)/|node/|cli/;"
  "aggregator/learning;$asio|$xrt|$sqlite|aggregator/(fusion|publish|server)/|node/|cli/;"
  "aggregator/learning/rules;$io|core/(estimate|http|link|wire)/|aggregator/(store|learning/(judge|relay|round|run|service))/;"
  "aggregator/learning/round;$services|$local_io|core/(estimate|http|link|wire)/|aggregator/(store|learning/(judge|relay|run|service))/;"
  "aggregator;node/|cli/|fpga/;"
  "clients/delegate;$grpc|$asio|$xrt|$sqlite|spdlog/|toml|prometheus/|systemd/|core/(config|estimate|exchange|http|images|learning|link|privacy|radio|recordings|runtime|scene|survey|truth|wire)/|node/(checks|learner|panel|retraining|source|workload)/|aggregator/|cli/;core/runtime/file\.h"
  # A backup is a copy of the store, made by what knows the store.
  "cli;aggregator/;^cli/backup/"
  # What runs a network is the node's accelerator and workload, and its augmenter in training; `doctor` shares its checks.
  # `doctor` checks a node's configuration as the node does, `backup` copies what it names; recordings are read by the
  # node's source.
  "cli;node/([^/\">]*[\">]|learner/|panel/|source/);^cli/(backup/node_copy|doctor/doctor|train/(train_self_supervised))\.cc:"
)

if [ "$1" = --folders ]; then
  printf '%s\n' "${rules[@]%%;*}" | sort -u
  exit
fi
cd "$1"

breaches=0
for rule in "${rules[@]}"; do
  IFS=';' read -r folder forbidden exempt <<<"$rule"
  if [ ! -d "$folder" ]; then
    echo "there is no folder $folder: change its rule"
    breaches=$((breaches + 1))
    continue
  fi
  # Tests may read recorded files; the rule is for shipped code.
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
