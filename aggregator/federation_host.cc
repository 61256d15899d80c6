#include "aggregator/federation_host.h"

#include <utility>

#include "aggregator/rounds/federation_metrics.h"
#include "aggregator/rounds/relay_metrics.h"

namespace tributary {

absl::StatusOr<std::unique_ptr<FederationHost>> FederationHost::Start(const FederationSettings& settings,
                                                                      const std::optional<TlsMaterial>& tls,
                                                                      const Clock& clock, Metrics& metrics) {
  absl::StatusOr<std::unique_ptr<Coordinator>> coordinator =
      Coordinator::Start({settings.store, settings.keep_models, settings.evaluation.has_value()}, clock);
  if (!coordinator.ok()) return coordinator.status();
  AddFederationMetrics(**coordinator, metrics);
  auto host = std::unique_ptr<FederationHost>(new FederationHost(*std::move(coordinator)));
  if (settings.evaluation) {
    absl::StatusOr<EvaluationImages> images = ReadEvaluationImages(*settings.evaluation);
    if (!images.ok()) return images.status();
    host->evaluator_ = Evaluator::Start(*host->coordinator_, *std::move(images));
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
