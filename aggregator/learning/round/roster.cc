#include "aggregator/learning/round/roster.h"

#include <fmt/format.h>

#include <algorithm>

#include "absl/strings/escaping.h"
#include "aggregator/learning/round/admission.h"
#include "google/protobuf/util/message_differencer.h"

namespace tributary::learning {
namespace {

constexpr std::size_t kMaxNodeName = 128;

// An empty list stands for everything.
template <class List, class Value>
bool Lacks(const List& list, const Value& value) {
  return !list.empty() && std::ranges::find(list, value) == list.end();
}

}  // namespace

absl::Status CheckDeclaration(const v1::ParticipateRequest& declaration, const RunConfig& config,
                              const parameters::Sha256& schema) {
  if (declaration.node().empty() || declaration.node().size() > kMaxNodeName) {
    return absl::InvalidArgumentError(fmt::format("a node's name has 1 to {} bytes", kMaxNodeName));
  }
  if (!config.Admits(declaration.node())) {
    return absl::FailedPreconditionError(
        fmt::format("this run is for {} nodes that its file names, and \"{}\" is none of them",
                    config.nodes.size(), declaration.node()));
  }
  if (declaration.sample_count() > config.max_samples) {
    return absl::InvalidArgumentError(fmt::format("{} samples, this run admits at most {}",
                                                  declaration.sample_count(), config.max_samples));
  }
  if (!declaration.schema_sha256().empty() && declaration.schema_sha256() != parameters::BytesOf(schema)) {
    return absl::FailedPreconditionError(fmt::format("the node's model has schema {}, this run's has {}",
                                                     absl::BytesToHexString(declaration.schema_sha256()),
                                                     parameters::HexOf(schema)));
  }
  if (Lacks(declaration.workloads(), config.client.workload())) {
    return absl::FailedPreconditionError(
        fmt::format("this run trains {}, which the node cannot: its federation.workload says what it trains",
                    config.client.workload()));
  }
  const bool secure = config.privacy.secure_aggregation;
  const parameters::UpdateEncoding encoding =
      secure ? parameters::UpdateEncoding::kFixed32 : EncodingOf(config.client);
  if (Lacks(declaration.encodings(), static_cast<int>(encoding))) {
    return absl::FailedPreconditionError(
        fmt::format("this run takes updates as {}, which the node cannot send",
                    parameters::UpdateEncodingName(encoding)));
  }
  if (secure && !declaration.secure_aggregation()) {
    return absl::FailedPreconditionError("this run masks updates, which the node cannot");
  }
  if (declaration.partial_sums() && !config.WhyNoPartialSums().empty()) {
    return absl::FailedPreconditionError(
        fmt::format("this run takes no partial sums: {}", config.WhyNoPartialSums()));
  }
  return absl::OkStatus();
}

double WeightOf(UpdateWeighting weighting, std::uint64_t sample_count) {
  return weighting == UpdateWeighting::kUniform ? 1 : static_cast<double>(sample_count);
}

Roster::Claim Roster::Node::claim() const {
  if (!joined() || left_out) return Claim::kKeeps;
  const bool used = status.accepted_updates() > 0;
  if (!status.connected()) return used ? Claim::kLeftWithUpdates : Claim::kLeft;
  return used || status.sample_count() > 0 ? Claim::kKeeps : Claim::kNoSamples;
}

void Roster::Count(const std::string& name, const Node& node) {
  joined_ += node.joined();
  connected_ += node.status.connected();
  unable_ += node.unable();
  if (node.ready()) {
    ++ready_;
    ready_samples_ += node.status.sample_count();
  }
  if (const Claim claim = node.claim(); claim != Claim::kKeeps) forgettable_.emplace(claim, name);
}

void Roster::Uncount(const std::string& name, const Node& node) {
  joined_ -= node.joined();
  connected_ -= node.status.connected();
  unable_ -= node.unable();
  if (node.ready()) {
    --ready_;
    ready_samples_ -= node.status.sample_count();
  }
  if (const Claim claim = node.claim(); claim != Claim::kKeeps) forgettable_.erase({claim, name});
}

template <class Change>
void Roster::Update(std::string_view name, Change change) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return;
  Uncount(found->first, found->second);
  change(found->second);
  Count(found->first, found->second);
  changes_.Add(name);
}

Roster::Node& Roster::Know(const std::string& name) {
  Node& node = nodes_[name];
  node.status.set_node(name);
  return node;
}

const Roster::Node* Roster::Find(std::string_view name) const {
  const auto known = nodes_.find(name);
  return known == nodes_.end() ? nullptr : &known->second;
}

void Roster::Join(const v1::ParticipateRequest& declaration) {
  Know(declaration.node());
  Update(declaration.node(), [&](Node& node) {
    // As another process, or with other means, it may be able to.
    const bool same = google::protobuf::util::MessageDifferencer::Equals(node.declaration, declaration);
    if (!same && !node.left_out) node.status.clear_cannot_train();
    node.status.set_connected(true);
    node.status.set_sample_count(declaration.sample_count());
    node.declaration = declaration;
  });
}

bool Roster::Leave(std::string_view name, std::string_view boot_id) {
  const Node* known = Find(name);
  if (known == nullptr || known->declaration.boot_id() != boot_id) return false;
  Update(name, [](Node& node) { node.status.set_connected(false); });
  return true;
}

bool Roster::ForgetOne(Claim keeps, const std::function<bool(const v1::Participant&)>& needed) {
  const auto end = forgettable_.lower_bound({keeps, ""});
  auto found = forgettable_.begin();
  for (std::size_t looked = 0; found != end; ++found) {
    if (!needed(nodes_.find(found->second)->second.status)) break;
    if (++looked == kMostLooked) return false;
  }
  if (found == end) return false;
  const auto node = nodes_.find(found->second);
  Uncount(node->first, node->second);
  changes_.Add(node->first);
  nodes_.erase(node);
  return true;
}

void Roster::LeaveOut(std::string_view name, const std::string& reason) {
  Update(name, [&](Node& node) {
    node.status.set_last_refusal(reason);
    node.status.set_cannot_train(reason);
    node.left_out = true;
  });
}

void Roster::CountAccepted(std::string_view name, std::uint32_t round) {
  Update(name, [&](Node& node) {
    node.status.set_last_round(round);
    node.status.set_accepted_updates(node.status.accepted_updates() + 1);
  });
}

void Roster::CountRefused(std::string_view name, const std::string& why) {
  Update(name, [&](Node& node) {
    node.status.set_refused_updates(node.status.refused_updates() + 1);
    node.status.set_last_refusal(why);
  });
}

void Roster::CountDropped(std::string_view name) {
  Update(name, [](Node& node) { node.status.set_dropped_rounds(node.status.dropped_rounds() + 1); });
}

void Roster::CountDeclined(const v1::DeclineTaskRequest& decline, std::uint32_t round) {
  Update(decline.node(), [&](Node& node) {
    const std::string why = fmt::format("{}: {}", DeclineName(decline.reason()), decline.message());
    node.status.set_declined_tasks(node.status.declined_tasks() + 1);
    node.status.set_last_refusal(fmt::format("declined round {}: {}", round, why));
    if (decline.for_good()) node.status.set_cannot_train(why);
  });
}

void Roster::Restore(const v1::Participant& status) {
  v1::Participant& known = Know(status.node()).status;
  known = status;
  known.set_connected(false);
}

void Roster::RestoreAsked(const v1::AskedNode& asked) {
  Node& node = Know(asked.node());
  node.declaration.set_partial_sums(asked.partial_sums());
  node.status.set_sample_count(asked.sample_count());
}

void Roster::RestoreAccepted(const std::string& name, std::uint32_t round) {
  v1::Participant& known = Know(name).status;
  if (known.last_round() >= round) return;
  known.set_last_round(round);
  known.set_accepted_updates(known.accepted_updates() + 1);
}

std::vector<v1::AskedNode> Roster::Ready(UpdateWeighting weighting) const {
  std::vector<v1::AskedNode> ready;
  ready.reserve(ready_);
  for (const auto& [name, node] : nodes_) {
    if (!node.ready()) continue;
    const std::uint64_t samples = node.status.sample_count();
    v1::AskedNode& asked = ready.emplace_back();
    asked.set_node(name);
    asked.set_weight(WeightOf(weighting, samples));
    asked.set_sample_count(samples);
    asked.set_partial_sums(node.declaration.partial_sums());
  }
  return ready;
}

}  // namespace tributary::learning
