#include "aggregator/publish/aggregator_state.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace tributary::publish {

namespace {

// All of them, in order.
std::vector<v1::Node> AllNodes(const AggregatorState& state, const std::string& site) {
  const Learners learns = state.learners ? state.learners() : Learners();
  std::vector<v1::Node> nodes = state.fleet.List(site);
  std::set<std::string> reporting;
  for (v1::Node& node : nodes) {
    const auto found = learns.find(node.name());
    if (found != learns.end()) node.mutable_learns()->Assign(found->second.begin(), found->second.end());
    reporting.insert(node.name());
  }
  for (const auto& [name, runs] : learns) {
    if (!site.empty() || reporting.contains(name)) continue;
    v1::Node& node = nodes.emplace_back();
    node.set_name(name);
    node.set_connected(std::ranges::any_of(runs, &v1::Learning::connected));
    node.mutable_learns()->Assign(runs.begin(), runs.end());
  }
  return nodes;
}

// Nodes that only learn come last.
auto PlaceOf(const std::string& site, const std::string& name) {
  return std::tuple(site.empty(), std::string_view(site), std::string_view(name));
}

}  // namespace

absl::StatusOr<v1::ListNodesResponse> ListNodes(const AggregatorState& state,
                                                const v1::ListNodesRequest& request,
                                                const std::optional<std::string>& only) {
  const std::string& site = request.site();
  if (!site.empty() && state.sites.Find(site) == nullptr) return state.sites.Unknown(site);
  v1::ListNodesResponse response;
  std::size_t bytes = 0;
  const std::uint32_t most = request.limit() == 0 ? UINT32_MAX : std::min(request.limit(), kMostNodesOfPage);
  for (v1::Node& node : AllNodes(state, site)) {
    const bool before =
        !request.after_node().empty() &&
        PlaceOf(node.site(), node.name()) <= PlaceOf(request.after_site(), request.after_node());
    if (before || (only && node.name() != *only)) continue;
    if (bytes >= kPageBytes || static_cast<std::uint32_t>(response.nodes_size()) == most) {
      response.set_more(true);
      break;
    }
    bytes += node.ByteSizeLong();
    *response.add_nodes() = std::move(node);
  }
  const std::vector<std::string> sites = state.sites.names();
  response.mutable_sites()->Assign(sites.begin(), sites.end());
  response.set_only_caller(only.has_value());
  response.set_answered_unix_ns(state.clock.UnixNs());
  return response;
}

}  // namespace tributary::publish
