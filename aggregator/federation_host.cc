#include "aggregator/federation_host.h"

#include <utility>

#include "aggregator/rounds/federation_metrics.h"

namespace tributary {

absl::StatusOr<std::unique_ptr<FederationHost>> FederationHost::Start(const FederationSettings& settings,
                                                                      const Clock& clock, Metrics& metrics) {
  absl::StatusOr<std::unique_ptr<Coordinator>> coordinator =
      Coordinator::Start({settings.store, settings.keep_models}, clock);
  if (!coordinator.ok()) return coordinator.status();
  AddFederationMetrics(**coordinator, metrics);
  return std::unique_ptr<FederationHost>(new FederationHost(*std::move(coordinator)));
}

FederationHost::FederationHost(std::unique_ptr<Coordinator> coordinator)
    : coordinator_(std::move(coordinator)),
      federation_(*coordinator_),
      runs_(*coordinator_),
      models_(*coordinator_) {}

}  // namespace tributary
