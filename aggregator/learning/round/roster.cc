#include "aggregator/learning/round/roster.h"

#include <fmt/format.h>

#include <algorithm>

namespace tributary::learning {
namespace {

constexpr std::size_t kMaxNodeName = 128;

template <class Range, class Value>
bool Lacks(const Range& range, const Value& value) {
  return std::ranges::find(range, value) == range.end();
}

}  // namespace

absl::Status CheckDeclaration(const NodeDeclaration& declaration, const RunConfig& config,
                              const parameters::Sha256& schema) {
  if (declaration.node.empty() || declaration.node.size() > kMaxNodeName) {
    return absl::InvalidArgumentError(fmt::format("a node's name has 1 to {} bytes", kMaxNodeName));
  }
  if (declaration.sample_count > config.max_samples) {
    return absl::InvalidArgumentError(
        fmt::format("{} samples, this run admits at most {}", declaration.sample_count, config.max_samples));
  }
  if (declaration.schema && *declaration.schema != schema) {
    return absl::FailedPreconditionError(fmt::format("the node's model has schema {}, this run's has {}",
                                                     parameters::HexOf(*declaration.schema),
                                                     parameters::HexOf(schema)));
  }
  if (!declaration.workloads.empty() && Lacks(declaration.workloads, config.client.workload())) {
    return absl::FailedPreconditionError(
        fmt::format("this run trains {}, which the node cannot", config.client.workload()));
  }
  const bool secure = config.privacy.secure_aggregation;
  const parameters::UpdateEncoding encoding =
      secure ? parameters::UpdateEncoding::kFixed32 : EncodingOf(config.client);
  if (!declaration.encodings.empty() && Lacks(declaration.encodings, encoding)) {
    return absl::FailedPreconditionError(
        fmt::format("this run takes updates as {}, which the node cannot send",
                    parameters::UpdateEncodingName(encoding)));
  }
  if (secure && !declaration.secure_aggregation) {
    return absl::FailedPreconditionError("this run masks updates, which the node cannot");
  }
  if (declaration.partial_sums && !config.WhyNoPartialSums().empty()) {
    return absl::FailedPreconditionError(
        fmt::format("this run takes no partial sums: {}", config.WhyNoPartialSums()));
  }
  return absl::OkStatus();
}

double WeightOf(UpdateWeighting weighting, std::uint64_t sample_count) {
  return weighting == UpdateWeighting::kUniform ? 1 : static_cast<double>(sample_count);
}

template <class Change>
void Roster::Update(std::string_view name, Change change) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  Node& node = found->second;
  connected_ -= node.status.connected;
  unable_ -= node.unable();
  if (node.ready()) {
    --ready_;
    ready_samples_ -= node.status.sample_count;
  }
  change(node);
  connected_ += node.status.connected;
  unable_ += node.unable();
  if (node.ready()) {
    ++ready_;
    ready_samples_ += node.status.sample_count;
  }
  changes_.Add(name);
}

const Roster::Node* Roster::Find(std::string_view name) const {
  const auto known = nodes_.find(name);
  return known == nodes_.end() ? nullptr : &known->second;
}

void Roster::Join(const NodeDeclaration& declaration) {
  nodes_.try_emplace(declaration.node);
  Update(declaration.node, [&](Node& node) {
    // As another process, or with other means, it may be able to.
    if (node.declaration != declaration && !node.left_out) node.status.cannot_train.clear();
    node.status.node = declaration.node;
    node.status.connected = true;
    node.status.sample_count = declaration.sample_count;
    node.declaration = declaration;
  });
}

bool Roster::Leave(std::string_view name, std::string_view boot_id) {
  const Node* known = Find(name);
  if (known == nullptr || known->declaration.boot_id != boot_id) return false;
  Update(name, [](Node& node) { node.status.connected = false; });
  return true;
}

void Roster::LeaveOut(std::string_view name, std::string_view reason) {
  Update(name, [&](Node& node) {
    node.status.last_refusal = reason;
    node.status.cannot_train = reason;
    node.left_out = true;
  });
}

void Roster::CountAccepted(std::string_view name, std::uint32_t round) {
  Update(name, [&](Node& node) {
    node.status.last_round = round;
    ++node.status.accepted_updates;
  });
}

void Roster::CountRefused(std::string_view name, std::string_view why) {
  Update(name, [&](Node& node) {
    ++node.status.refused_updates;
    node.status.last_refusal = why;
  });
}

void Roster::CountDropped(std::string_view name) {
  Update(name, [](Node& node) { ++node.status.dropped_rounds; });
}

void Roster::CountDeclined(std::string_view name, std::uint32_t round,
                           const parameters::TaskDecline& decline) {
  Update(name, [&](Node& node) {
    const std::string why =
        fmt::format("{}: {}", parameters::DeclineReasonName(decline.reason), decline.message);
    ++node.status.declined_tasks;
    node.status.last_refusal = fmt::format("declined round {}: {}", round, why);
    if (decline.for_good) node.status.cannot_train = why;
  });
}

void Roster::Restore(const ParticipantStatus& status) {
  nodes_.try_emplace(status.node);
  Update(status.node, [&](Node& node) {
    node.status = status;
    node.status.connected = false;
  });
}

void Roster::RestoreAsked(const AskedNode& asked) {
  nodes_.try_emplace(asked.node);
  Update(asked.node, [&](Node& node) {
    node.declaration.partial_sums = asked.partial_sums;
    node.status.node = asked.node;
    node.status.sample_count = asked.sample_count;
  });
}

void Roster::RestoreAccepted(std::string_view name, std::uint32_t round) {
  nodes_.try_emplace(std::string(name));
  Update(name, [&](Node& node) {
    node.status.node = name;
    node.status.last_round = round;
  });
}

std::vector<AskedNode> Roster::Ready(UpdateWeighting weighting) const {
  std::vector<AskedNode> ready;
  ready.reserve(ready_);
  for (const auto& [name, node] : nodes_) {
    if (!node.ready()) continue;
    const std::uint64_t samples = node.status.sample_count;
    ready.push_back({name, WeightOf(weighting, samples), samples, node.declaration.partial_sums});
  }
  return ready;
}

std::vector<ParticipantStatus> Roster::Statuses() const {
  std::vector<ParticipantStatus> statuses;
  statuses.reserve(nodes_.size());
  for (const auto& [name, node] : nodes_) statuses.push_back(node.status);
  return statuses;
}

}  // namespace tributary::learning
