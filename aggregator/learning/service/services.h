// The gRPC services of federated learning.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <vector>

#include "aggregator/access/audit_log.h"
#include "aggregator/learning/service/coordinator.h"

namespace tributary::learning {

class Relay;

// FederationService, which nodes call.
std::unique_ptr<grpc::Service> MakeFederationService(Coordinator& coordinator);

// It, and RunService and ModelService, which operators call (operator_services.cc). `relay`: how the
// aggregator stands with its parent; null: there is none. `patience`: how long WatchRun waits for the
// judgement of a run's last model. `audit`: null for none. Coordinator, relay and audit log outlive every
// call.
//
// The callback API: hundreds of nodes keep a Participate stream open, none may hold a thread.
std::vector<std::unique_ptr<grpc::Service>> MakeServices(
    Coordinator& coordinator, const Relay* relay = nullptr,
    std::chrono::seconds patience = std::chrono::seconds(600), access::AuditLog* audit = nullptr);

}  // namespace tributary::learning
