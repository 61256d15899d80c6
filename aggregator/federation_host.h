// Federated learning as a part of the daemon: the runs and the services by which they are reached.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/config.h"
#include "aggregator/learning/judge/evaluator.h"
#include "aggregator/publish/known_nodes.h"
#include "aggregator/learning/service/coordinator.h"
#include "aggregator/learning/service/federation_service.h"
#include "aggregator/learning/relay/relay.h"
#include "aggregator/learning/service/run_service.h"
#include "core/runtime/clock.h"
#include "core/runtime/metrics.h"
#include "core/config/tls.h"

namespace tributary {

// Main thread. Stops after the gRPC server: its calls wait for answers of the coordinator.
class FederationHost {
 public:
  // `evaluation`: those of the settings. Errors: those of Coordinator::Start.
  static absl::StatusOr<std::unique_ptr<FederationHost>> Start(const FederationSettings& settings,
                                                               std::optional<EvaluationImages> evaluation,
                                                               const std::optional<TlsMaterial>& tls,
                                                               const Clock& clock, Metrics& metrics);

  // The evaluator first: it waits for answers of the coordinator too.
  ~FederationHost();

  std::vector<grpc::Service*> services() { return {&federation_, &runs_, &models_}; }
  const RunBoard& board() const { return coordinator_->board(); }
  bool store_healthy() const { return coordinator_->healthy(); }
  // Every node that takes part: in each run that has not ended, waiting for one, or in the last that ended.
  std::vector<LearningStatus> Learners() const;
  const Relay* relay() const { return relay_.get(); }  // null: there is no parent

  // Before the gRPC server shuts down: takes no more part itself, tells the nodes.
  void Drain();

 private:
  explicit FederationHost(std::unique_ptr<Coordinator> coordinator);

  std::unique_ptr<Coordinator> coordinator_;
  std::shared_ptr<Evaluator> evaluator_;  // null: nothing to evaluate by
  FederationService federation_;
  RunService runs_;
  ModelService models_;
  std::unique_ptr<Relay> relay_;
};

}  // namespace tributary
