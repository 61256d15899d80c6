// gRPC's health checking protocol.
#pragma once

#include <atomic>

#include "grpc/health/v1/health.grpc.pb.h"

namespace tributary::server {

// Thread-safe. Knows the process ("") and the project's two services.
class HealthService final : public grpc::health::v1::Health::Service {
 public:
  void set_serving(bool serving) { serving_ = serving; }

  // NotFound: another service.
  grpc::Status Check(grpc::ServerContext* context, const grpc::health::v1::HealthCheckRequest* request,
                     grpc::health::v1::HealthCheckResponse* response) override;

 private:
  std::atomic<bool> serving_ = false;
};

}  // namespace tributary::server
