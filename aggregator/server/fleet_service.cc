#include "aggregator/server/fleet_service.h"

#include "core/link/grpc_call.h"
#include "aggregator/publish/fleet_wire.h"
#include "aggregator/publish/unknown_site.h"

namespace tributary {

grpc::Status FleetService::ListNodes(grpc::ServerContext*, const v1::ListNodesRequest* request,
                                     v1::ListNodesResponse* response) {
  if (!request->site().empty() && sites_.Find(request->site()) == nullptr) {
    return ToGrpcStatus(UnknownSite(request->site(), sites_.names()));
  }
  for (const KnownNode& node : ListKnownNodes(fleet_, learners_, request->site())) {
    *response->add_nodes() = NodeToWire(node);
  }
  for (const std::string& name : sites_.names()) response->add_sites(name);
  response->set_answered_unix_ns(clock_.UnixNs());
  return grpc::Status::OK;
}

}  // namespace tributary
