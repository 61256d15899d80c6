// FleetService: the nodes that report and those that learn.
#pragma once

#include <utility>

#include "aggregator/publish/known_nodes.h"
#include "aggregator/server/site.h"
#include "core/runtime/clock.h"
#include "tributary/v1/fleet.grpc.pb.h"

namespace tributary::server {

// Uses the sync API: its threads wait on a condition, so that only the ingest thread polls. The callback API
// would poll with threads of its own and hand the hot path's events from thread to thread.
class FleetService final : public v1::FleetService::Service {
 public:
  // All arguments outlive the service. `learners` may be empty.
  FleetService(const SiteTable& sites, const publish::Fleet& fleet, publish::ListLearners learners,
               const runtime::Clock& clock)
      : sites_(sites), fleet_(fleet), learners_(std::move(learners)), clock_(clock) {}

  grpc::Status ListNodes(grpc::ServerContext* context, const v1::ListNodesRequest* request,
                         v1::ListNodesResponse* response) override;

 private:
  const SiteTable& sites_;
  const publish::Fleet& fleet_;
  const publish::ListLearners learners_;
  const runtime::Clock& clock_;
};

}  // namespace tributary::server
