// FleetService: the nodes that report and those that learn.
#pragma once

#include <utility>

#include "aggregator/publish/fleet.h"
#include "tributary/v1/fleet.grpc.pb.h"

namespace tributary::server {

// Uses the sync API: its threads wait on a condition, so that only the ingest thread polls. The callback API
// would poll with threads of its own and hand the hot path's events from thread to thread.
class FleetService final : public v1::FleetService::Service {
 public:
  explicit FleetService(publish::KnownNodes nodes) : nodes_(std::move(nodes)) {}

  grpc::Status ListNodes(grpc::ServerContext* context, const v1::ListNodesRequest* request,
                         v1::ListNodesResponse* response) override;

 private:
  const publish::KnownNodes nodes_;
};

}  // namespace tributary::server
