#include "aggregator/server/fleet_service.h"

#include "aggregator/publish/fleet_wire.h"
#include "aggregator/publish/unknown_site.h"
#include "core/link/grpc_call.h"

namespace tributary::server {

grpc::Status FleetService::ListNodes(grpc::ServerContext*, const v1::ListNodesRequest* request,
                                     v1::ListNodesResponse* response) {
  if (!request->site().empty() && sites_.Find(request->site()) == nullptr) {
    return link::ToGrpcStatus(publish::UnknownSite(request->site(), sites_.names()));
  }
  for (const publish::KnownNode& node : publish::ListKnownNodes(fleet_, learners_, request->site())) {
    *response->add_nodes() = publish::NodeToWire(node);
  }
  for (const std::string& name : sites_.names()) response->add_sites(name);
  response->set_answered_unix_ns(clock_.UnixNs());
  return grpc::Status::OK;
}

}  // namespace tributary::server
