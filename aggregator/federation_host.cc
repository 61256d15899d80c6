#include "aggregator/federation_host.h"

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include "aggregator/learning/service/federation_metrics.h"
#include "aggregator/learning/service/run_api.h"
#include "aggregator/learning/service/services.h"
#include "core/status/macros.h"

namespace tributary::aggregator {

absl::StatusOr<std::unique_ptr<FederationHost>> FederationHost::Start(
    const FederationSettings& settings, std::optional<learning::EvaluationImages> evaluation,
    config::TlsSource tls, const runtime::Clock& clock, access::AuditLog* audit) {
  ASSIGN_OR_RETURN(
      std::unique_ptr<learning::Coordinator> coordinator,
      learning::Coordinator::Start({settings.store, settings.keep_models, settings.evaluation.has_value(),
                                    settings.max_model_bytes, settings.max_runs},
                                   clock));
  auto host = std::unique_ptr<FederationHost>(new FederationHost(settings.store, std::move(coordinator)));
  if (evaluation) {
    host->evaluator_ = learning::Evaluator::Start(*host->coordinator_, *std::move(evaluation));
  }
  if (settings.parent) {
    const FederationParentSettings& parent = *settings.parent;
    learning::RelayOptions options{.parent = {.aggregator = parent.aggregator,
                                              .tls = std::move(tls),
                                              .node = parent.node,
                                              .run = parent.run},
                                   .min_nodes = parent.min_nodes};
    host->relay_ = std::make_unique<learning::Relay>(std::move(options), *host->coordinator_, clock);
  }
  constexpr std::chrono::seconds kPatience{600};
  host->services_ = learning::MakeServices(*host->coordinator_, host->relay_.get(), kPatience, audit);
  host->operations_ = std::make_unique<learning::HttpOperations>(*host->coordinator_, audit, clock);
  return host;
}

namespace {

v1::Learning LearningIn(const v1::Run& run, const v1::Participant& node) {
  v1::Learning learning;
  learning.set_run(run.name());
  learning.set_connected(node.connected());
  learning.set_sample_count(node.sample_count());
  learning.set_last_round(node.last_round());
  learning.set_accepted_updates(node.accepted_updates());
  learning.set_refused_updates(node.refused_updates());
  learning.set_dropped_rounds(node.dropped_rounds());
  learning.set_last_refusal(node.last_refusal());
  return learning;
}

}  // namespace

publish::Learners FederationHost::Learners() const {
  publish::Learners learners;
  std::map<std::string, v1::Learning> ended;  // by node, in the last run that it took part in
  for (const auto& record : board().Runs()) {
    const v1::Run& run = record->run;
    for (const v1::Participant& node : board().Nodes(run.name(), "", learning::Attendance::kMaxNodes)) {
      if (record->ended()) {
        ended[node.node()] = LearningIn(run, node);
      } else {
        learners[node.node()].push_back(LearningIn(run, node));
      }
    }
  }
  for (const v1::ParticipateRequest& node : coordinator_->Waiting()) {
    v1::Learning& waiting = learners[node.node()].emplace_back();
    waiting.set_connected(true);
    waiting.set_sample_count(node.sample_count());
  }
  for (auto& [name, learning] : ended) learners.try_emplace(name, std::vector{std::move(learning)});
  return learners;
}

void FederationHost::Collect(runtime::Reading& reading) const {
  learning::CollectCounters(coordinator_->counters(), reading);
  learning::CollectRuns(board(), reading);
  reading.Counter("tributary_models_refused_total",
                  "Models of operators that were refused because there was no memory left for them.", {},
                  coordinator_->model_budget().refused());
  std::error_code error;
  if (const std::filesystem::space_info disk = std::filesystem::space(store_, error); !error) {
    reading.Gauge("tributary_store_free_bytes", "Free space of the store's disk, for this process.", {},
                  disk.available);
    reading.Gauge("tributary_store_capacity_bytes", "Size of the store's disk.", {}, disk.capacity);
  }
  if (evaluator_ != nullptr) {
    reading.Counter("tributary_evaluations_skipped_total",
                    "Rounds that were not evaluated because a newer one had come.", {},
                    evaluator_->skipped_rounds());
  }
  if (relay_ != nullptr) relay_->Collect(reading);
}

void FederationHost::AddRoutes(http::HttpServer& server) {
  learning::AddRunRoutes(server, board(), relay_.get());
  operations_->AddRoutes(server);
}

void FederationHost::Drain() {
  if (relay_ != nullptr) relay_->Stop();
  coordinator_->Drain();
}

FederationHost::~FederationHost() {
  if (evaluator_ != nullptr) evaluator_->Stop();
}

}  // namespace tributary::aggregator
