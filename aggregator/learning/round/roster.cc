#include "aggregator/learning/round/roster.h"

#include <fmt/format.h>

namespace tributary::learning {

double WeightOf(UpdateWeighting weighting, std::uint64_t sample_count) {
  return weighting == UpdateWeighting::kUniform ? 1 : static_cast<double>(sample_count);
}

template <class Change>
void Roster::Update(Node* known, Change change) {
  if (known == nullptr) return;
  connected_ -= known->status.connected;
  unable_ -= known->unable();
  if (known->ready()) {
    --ready_;
    ready_samples_ -= known->status.sample_count;
  }
  change(*known);
  connected_ += known->status.connected;
  unable_ += known->unable();
  if (known->ready()) {
    ++ready_;
    ready_samples_ += known->status.sample_count;
  }
}

Roster::Node* Roster::FindMutable(std::string_view name) {
  const auto known = nodes_.find(name);
  return known == nodes_.end() ? nullptr : &known->second;
}

const Roster::Node* Roster::Find(std::string_view name) const {
  const auto known = nodes_.find(name);
  return known == nodes_.end() ? nullptr : &known->second;
}

void Roster::Join(const NodeDeclaration& declaration) {
  Update(&nodes_[declaration.node], [&](Node& node) {
    // As another process, or with other means, it may be able to.
    if (node.declaration != declaration && !node.left_out) node.status.cannot_train.clear();
    node.status.node = declaration.node;
    node.status.connected = true;
    node.status.sample_count = declaration.sample_count;
    node.declaration = declaration;
  });
}

bool Roster::Leave(std::string_view name, std::string_view boot_id) {
  Node* known = FindMutable(name);
  if (known == nullptr || known->declaration.boot_id != boot_id) return false;
  Update(known, [](Node& node) { node.status.connected = false; });
  return true;
}

void Roster::LeaveOut(std::string_view name, std::string_view reason) {
  Update(FindMutable(name), [&](Node& node) {
    node.status.last_refusal = reason;
    node.status.cannot_train = reason;
    node.left_out = true;
  });
}

void Roster::CountAccepted(std::string_view name, std::uint32_t round) {
  Update(FindMutable(name), [&](Node& node) {
    node.status.last_round = round;
    ++node.status.accepted_updates;
  });
}

void Roster::CountRefused(std::string_view name, std::string_view why) {
  Update(FindMutable(name), [&](Node& node) {
    ++node.status.refused_updates;
    node.status.last_refusal = why;
  });
}

void Roster::CountDropped(std::string_view name) {
  Update(FindMutable(name), [](Node& node) { ++node.status.dropped_rounds; });
}

void Roster::CountDeclined(std::string_view name, std::uint32_t round,
                           const parameters::TaskDecline& decline) {
  Update(FindMutable(name), [&](Node& node) {
    const std::string why =
        fmt::format("{}: {}", parameters::DeclineReasonName(decline.reason), decline.message);
    ++node.status.declined_tasks;
    node.status.last_refusal = fmt::format("declined round {}: {}", round, why);
    if (decline.for_good) node.status.cannot_train = why;
  });
}

void Roster::Restore(const ParticipantStatus& status) {
  Update(&nodes_[status.node], [&](Node& node) {
    node.status = status;
    node.status.connected = false;
  });
}

void Roster::RestoreAsked(const AskedNode& asked) {
  Update(&nodes_[asked.node], [&](Node& node) {
    node.declaration.partial_sums = asked.partial_sums;
    node.status.node = asked.node;
    node.status.sample_count = asked.sample_count;
  });
}

void Roster::RestoreAccepted(std::string_view name, std::uint32_t round) {
  Update(&nodes_[std::string(name)], [&](Node& node) {
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
