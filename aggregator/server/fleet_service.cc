#include "aggregator/server/fleet_service.h"

#include "core/link/grpc_call.h"

namespace tributary::server {

grpc::Status FleetService::ListNodes(grpc::ServerContext*, const v1::ListNodesRequest* request,
                                     v1::ListNodesResponse* response) {
  absl::StatusOr<v1::ListNodesResponse> nodes = nodes_.List(request->site());
  if (nodes.ok()) *response = *std::move(nodes);
  return link::ToGrpcStatus(nodes.status());
}

}  // namespace tributary::server
