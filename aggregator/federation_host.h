// Federated learning as a part of the daemon: the runs and the services by which they are reached.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/config.h"
#include "aggregator/learning/judge/evaluator.h"
#include "aggregator/learning/relay/relay.h"
#include "aggregator/learning/service/coordinator.h"
#include "aggregator/learning/service/http_operations.h"
#include "aggregator/publish/aggregator_state.h"
#include "core/config/live_tls.h"
#include "core/runtime/clock.h"
#include "core/runtime/metrics.h"

namespace tributary::aggregator {

// Main thread. Stops after the gRPC server: its calls wait for answers of the coordinator.
class FederationHost {
 public:
  // `evaluation`: those of the settings. `audit`: null for none; outlives it. Errors: those of
  // Coordinator::Start.
  static absl::StatusOr<std::unique_ptr<FederationHost>> Start(
      const FederationSettings& settings, std::optional<learning::EvaluationImages> evaluation,
      config::TlsSource tls, const runtime::Clock& clock, access::AuditLog* audit = nullptr);

  // The evaluator first: it waits for answers of the coordinator too.
  ~FederationHost();

  void AddServices(std::vector<grpc::Service*>& services) const {
    for (const auto& service : services_) services.push_back(service.get());
  }
  // Runs and what operators do to them. This outlives the server's thread.
  void AddRoutes(http::HttpServer& server);
  const learning::RunBoard& board() const { return coordinator_->board(); }
  bool store_healthy() const { return coordinator_->counters().healthy; }
  // Every node that takes part: in each run that has not ended, waiting for one, or in the last that ended.
  publish::Learners Learners() const;

  void Collect(runtime::Reading& reading) const;

  // Before the gRPC server shuts down: takes no more part itself, tells the nodes.
  void Drain();

 private:
  FederationHost(std::string store, std::unique_ptr<learning::Coordinator> coordinator)
      : store_(std::move(store)), coordinator_(std::move(coordinator)) {}

  const std::string store_;  // folder
  std::unique_ptr<learning::Coordinator> coordinator_;
  std::shared_ptr<learning::Evaluator> evaluator_;  // null: nothing to evaluate by
  std::unique_ptr<learning::Relay> relay_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::unique_ptr<learning::HttpOperations> operations_;
};

}  // namespace tributary::aggregator
