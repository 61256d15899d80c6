#include "aggregator/federation_host.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "aggregator/learning/service/federation_metrics.h"
#include "aggregator/learning/service/services.h"
#include "core/status/macros.h"

namespace tributary::aggregator {

absl::StatusOr<std::unique_ptr<FederationHost>> FederationHost::Start(
    const FederationSettings& settings, std::optional<learning::EvaluationImages> evaluation,
    const std::optional<config::TlsMaterial>& tls, const runtime::Clock& clock, runtime::Metrics& metrics) {
  ASSIGN_OR_RETURN(std::unique_ptr<learning::Coordinator> coordinator,
                   learning::Coordinator::Start(
                       {settings.store, settings.keep_models, settings.evaluation.has_value()}, clock));
  learning::AddFederationMetrics(coordinator->counters(), metrics);
  auto host = std::unique_ptr<FederationHost>(new FederationHost(std::move(coordinator)));
  if (evaluation) {
    host->evaluator_ = learning::Evaluator::Start(*host->coordinator_, *std::move(evaluation));
    metrics.AddCounterCallback(
        "tributary_evaluations_skipped_total", "Rounds that were not evaluated because a newer one had come.",
        {}, [evaluator = host->evaluator_] { return static_cast<double>(evaluator->skipped_rounds()); });
  }
  if (settings.parent) {
    const FederationParentSettings& parent = *settings.parent;
    learning::RelayOptions options{
        .parent = {.aggregator = parent.aggregator, .tls = tls, .node = parent.node, .run = parent.run},
        .min_nodes = parent.min_nodes};
    host->relay_ = std::make_unique<learning::Relay>(std::move(options), *host->coordinator_, clock);
    host->relay_->Register(metrics);
  }
  host->services_ = learning::MakeServices(*host->coordinator_, host->relay_.get());
  return host;
}

namespace {

publish::Learner LearningIn(const v1::Run& run, const v1::Participant& node) {
  publish::Learner learner{node.node(), {}};
  learner.learning.set_run(run.name());
  learner.learning.set_connected(node.connected());
  learner.learning.set_sample_count(node.sample_count());
  learner.learning.set_last_round(node.last_round());
  learner.learning.set_accepted_updates(node.accepted_updates());
  learner.learning.set_refused_updates(node.refused_updates());
  learner.learning.set_dropped_rounds(node.dropped_rounds());
  learner.learning.set_last_refusal(node.last_refusal());
  return learner;
}

}  // namespace

std::vector<publish::Learner> FederationHost::Learners() const {
  std::vector<publish::Learner> learners;
  std::map<std::string, publish::Learner> ended;  // by node, in the last run that it took part in
  std::set<std::string> listed;
  for (const auto& record : board().Runs()) {
    const v1::Run& run = record->run;
    for (const v1::Participant& node : board().Nodes(run.name(), "", learning::Attendance::kMaxNodes)) {
      if (record->ended()) {
        ended[node.node()] = LearningIn(run, node);
      } else {
        listed.insert(node.node());
        learners.push_back(LearningIn(run, node));
      }
    }
  }
  for (const v1::ParticipateRequest& node : coordinator_->Waiting()) {
    publish::Learner waiting{node.node(), {}};
    waiting.learning.set_connected(true);
    waiting.learning.set_sample_count(node.sample_count());
    listed.insert(node.node());
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

}  // namespace tributary::aggregator
