#include "aggregator/federation_host.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "aggregator/learning/service/federation_metrics.h"
#include "aggregator/learning/relay/relay_metrics.h"

namespace tributary {

absl::StatusOr<std::unique_ptr<FederationHost>> FederationHost::Start(
    const FederationSettings& settings, std::optional<EvaluationImages> evaluation,
    const std::optional<TlsMaterial>& tls, const Clock& clock, Metrics& metrics) {
  absl::StatusOr<std::unique_ptr<Coordinator>> coordinator =
      Coordinator::Start({settings.store, settings.keep_models, settings.evaluation.has_value()}, clock);
  if (!coordinator.ok()) return coordinator.status();
  AddFederationMetrics(**coordinator, metrics);
  auto host = std::unique_ptr<FederationHost>(new FederationHost(*std::move(coordinator)));
  if (evaluation) {
    host->evaluator_ = Evaluator::Start(*host->coordinator_, *std::move(evaluation));
    metrics.AddCounterCallback(
        "tributary_evaluations_skipped_total", "Rounds that were not evaluated because a newer one had come.",
        {}, [evaluator = host->evaluator_] { return static_cast<double>(evaluator->skipped_rounds()); });
  }
  if (settings.parent) {
    RelayOptions options;
    options.parent.aggregator = settings.parent->aggregator;
    options.parent.tls = tls;
    options.parent.node = settings.parent->node;
    options.parent.run = settings.parent->run;
    options.parent.boot_id = NewBootId();
    options.min_nodes = settings.parent->min_nodes;
    host->relay_ = std::make_unique<Relay>(std::move(options), *host->coordinator_, clock);
    AddRelayMetrics(*host->relay_, metrics);
  }
  return host;
}

namespace {

LearningStatus LearningIn(const RunView& run, const ParticipantStatus& node) {
  return {node.node,
          run.name,
          node.connected,
          node.sample_count,
          node.last_round,
          node.accepted_updates,
          node.refused_updates,
          node.dropped_rounds,
          node.last_refusal};
}

}  // namespace

std::vector<LearningStatus> FederationHost::Learners() const {
  std::vector<LearningStatus> learners;
  std::map<std::string, LearningStatus> ended;  // by node, in the last run that it took part in
  std::set<std::string> listed;
  for (const auto& run : board().Runs()) {
    for (const ParticipantStatus& node : run->participants) {
      if (run->ended()) {
        ended[node.node] = LearningIn(*run, node);
      } else {
        listed.insert(node.node);
        learners.push_back(LearningIn(*run, node));
      }
    }
  }
  for (WaitingNode& node : coordinator_->waiting().List()) {
    LearningStatus waiting;
    waiting.node = node.node;
    waiting.connected = true;
    waiting.sample_count = node.sample_count;
    listed.insert(node.node);
    learners.push_back(std::move(waiting));
  }
  for (auto& [name, learning] : ended) {
    if (!listed.contains(name)) learners.push_back(std::move(learning));
  }
  return learners;
}

void FederationHost::Drain() {
  if (relay_ != nullptr) relay_->Stop();
  coordinator_->Drain();
}

FederationHost::~FederationHost() {
  if (evaluator_ != nullptr) evaluator_->Stop();
}

FederationHost::FederationHost(std::unique_ptr<Coordinator> coordinator)
    : coordinator_(std::move(coordinator)),
      federation_(*coordinator_),
      runs_(*coordinator_),
      models_(*coordinator_) {}

}  // namespace tributary
