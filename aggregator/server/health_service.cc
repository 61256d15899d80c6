#include "aggregator/server/health_service.h"

#include "tributary/v1/fleet.grpc.pb.h"
#include "tributary/v1/fusion.grpc.pb.h"

namespace tributary::server {

grpc::Status HealthService::Check(grpc::ServerContext*, const grpc::health::v1::HealthCheckRequest* request,
                                  grpc::health::v1::HealthCheckResponse* response) {
  const std::string& name = request->service();
  if (!name.empty() && name != v1::FusionService::service_full_name() &&
      name != v1::FleetService::service_full_name()) {
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "service: unknown");
  }
  response->set_status(serving_ ? grpc::health::v1::HealthCheckResponse::SERVING
                                : grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  return grpc::Status::OK;
}

}  // namespace tributary::server
