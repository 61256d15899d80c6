#include "cli/watch/site_choice.h"

#include <fmt/format.h>

#include <set>

#include "absl/strings/str_join.h"
#include "cli/aggregator_call.h"
#include "cli/failure.h"
#include "core/wire/peer_text.h"
#include "tributary/v1/fleet.grpc.pb.h"

namespace tributary::cli {

absl::StatusOr<std::string> OnlySite(const v1::ListNodesResponse& nodes) {
  std::set<std::string> sites(nodes.sites().begin(), nodes.sites().end());
  if (sites.empty()) {
    for (const v1::Node& node : nodes.nodes()) {
      if (!node.site().empty()) sites.insert(node.site());
    }
  }
  if (sites.size() == 1) return *sites.begin();
  if (sites.empty()) return UsageError("the aggregator names no site; give the name of one");
  return UsageError(fmt::format("the aggregator has several sites; name one of {}",
                                wire::PeerText(absl::StrJoin(sites, ", "))));
}

absl::StatusOr<std::string> AskOnlySite(const ConnectionArguments& connection) {
  const auto nodes = CallAggregator(connection, &v1::FleetService::Stub::ListNodes, v1::ListNodesRequest());
  return nodes.ok() ? OnlySite(*nodes) : nodes.status();
}

}  // namespace tributary::cli
