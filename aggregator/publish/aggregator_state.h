// The state of an aggregator: what its servers work on and its readers see.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator/access/access_control.h"
#include "aggregator/publish/fleet.h"
#include "aggregator/publish/site.h"
#include "core/runtime/clock.h"
#include "tributary/v1/fleet.pb.h"

namespace tributary::publish {

// By node: its part in runs of federated learning.
using Learners = std::map<std::string, std::vector<v1::Learning>>;

// Thread-safe once the servers start. The functions are called from any thread and return at once.
struct AggregatorState {
  const runtime::Clock& clock;
  access::AccessControl* access = nullptr;  // null: without TLS nobody's name is known
  SiteTable sites = {};
  Fleet fleet = {};
  std::function<bool()> takes_streams = [] { return true; };
  // Without federated learning these two are empty.
  std::function<Learners()> learners = nullptr;
  std::function<bool()> store_healthy = nullptr;
};

// The nodes that report and those that learn, by site and name. With a site: the nodes that report to it.
// Without: those of every site, then those that only learn. A node is known by its name: what learns under
// the name of a node that reports is that node. A page: at least one node after the one that the request
// names, and no more once it has kPageBytes or the limit of the request, at most kMostNodesOfPage. `only`:
// lists no other node. NotFound: no such site.
inline constexpr std::size_t kPageBytes = std::size_t{1} << 20;
inline constexpr std::uint32_t kMostNodesOfPage = 1'000;
absl::StatusOr<v1::ListNodesResponse> ListNodes(const AggregatorState& state,
                                                const v1::ListNodesRequest& request,
                                                const std::optional<std::string>& only = std::nullopt);

}  // namespace tributary::publish
