// The client of FusionService.Watch: calls back for every fused slot of a site.
#pragma once

#include <grpcpp/channel.h>

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/wire/convert.h"

namespace tributary::link {

struct WatchOptions {
  std::string site;
  double max_rate_hz = 0;  // 0: every slot
};

// Called on the thread that watches.
using OnSlot = std::function<void(const wire::WatchedSlot& slot, const wire::SiteDescription& site)>;
// OK: a stream was admitted. An error: it was lost with it and will be replaced. The first is OK, and the two
// take turns.
using OnLink = std::function<void(const absl::Status& link)>;

// Reads until stop is requested (OK) or the aggregator refuses. Replaces a lost stream within about a second;
// slots fused in the gap are not seen. Errors: Unavailable if the first stream does not start within five
// seconds; NotFound, PermissionDenied and the like from the aggregator, with its message; DataLoss for a
// malformed response.
absl::Status WatchSlots(const std::shared_ptr<grpc::Channel>& channel, const WatchOptions& options,
                        std::stop_token stop, const OnSlot& on_slot, const OnLink& on_link);

}  // namespace tributary::link
