#include "cli/doctor/doctor_aggregator.h"

#include <fmt/format.h>

#include <algorithm>

#include "absl/strings/str_join.h"
#include "cli/connection.h"
#include "core/wire/peer_text.h"
#include "tributary/v1/fleet.grpc.pb.h"

namespace tributary::cli {

bool CheckAggregator(const ConnectionArguments& connection, const std::string& site, DoctorReport& report) {
  const auto nodes = CallAggregator(connection, &v1::FleetService::Stub::ListNodes, v1::ListNodesRequest());
  if (!nodes.ok()) {
    report.lines.push_back({"aggregator", Finding::kFault, std::string(nodes.status().message()),
                            "Start the aggregator; check its address, the network and the certificates"});
    return false;
  }
  const std::string sites = wire::PeerText(absl::StrJoin(nodes->sites(), ", "));
  const std::string found =
      fmt::format("{} answers{}", connection.aggregator, sites.empty() ? "" : "; its sites: " + sites);
  // One that does not tell its sites may have this one.
  if (!site.empty() && nodes->sites_size() > 0 && std::ranges::count(nodes->sites(), site) == 0) {
    report.lines.push_back({"aggregator", Finding::kFault,
                            fmt::format("{}; \"{}\" is not one of them", found, site),
                            "Correct `site` of the node, or add the site to the aggregator"});
  } else {
    report.lines.push_back({"aggregator", Finding::kOk, found, ""});
  }
  return true;
}

}  // namespace tributary::cli
