#include "cli/watch/node_pages.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "core/status/macros.h"
#include "tributary/v1/fleet.grpc.pb.h"

namespace tributary::cli {

absl::StatusOr<v1::ListNodesResponse> AllNodes(const ConnectionArguments& connection, const std::string& site,
                                               const runtime::Clock& clock, std::string* certificate_pem) {
  const std::int64_t end_ns = clock.SteadyNs() + std::chrono::nanoseconds(kPagesPatience).count();
  v1::ListNodesRequest request;
  request.set_site(site);
  v1::ListNodesResponse all;
  for (int pages = 0; pages < kMostPages && clock.SteadyNs() < end_ns; ++pages) {
    ASSIGN_OR_RETURN(
        v1::ListNodesResponse page,
        CallAggregator(connection, &v1::FleetService::Stub::ListNodes, request, certificate_pem));
    const bool more = page.more() && page.nodes_size() > 0;
    all.set_answered_unix_ns(page.answered_unix_ns());
    *all.mutable_sites() = page.sites();
    for (v1::Node& node : *page.mutable_nodes()) *all.add_nodes() = std::move(node);
    if (!more) return all;
    const v1::Node& last = *all.nodes().rbegin();
    request.set_after_site(last.site());
    request.set_after_node(last.name());
  }
  return FromPeer(absl::DataLossError(fmt::format(
                      "its list of nodes does not end: {} of them so far. Up to {} pages in {} s are read",
                      all.nodes_size(), kMostPages, kPagesPatience.count())),
                  connection);
}

}  // namespace tributary::cli
