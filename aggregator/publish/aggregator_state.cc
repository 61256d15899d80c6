#include "aggregator/publish/aggregator_state.h"

#include <algorithm>
#include <set>
#include <utility>

namespace tributary::publish {

absl::StatusOr<v1::ListNodesResponse> ListNodes(const AggregatorState& state, const std::string& site) {
  if (!site.empty() && state.sites.Find(site) == nullptr) return state.sites.Unknown(site);
  const Learners learns = state.learners ? state.learners() : Learners();
  v1::ListNodesResponse response;
  std::set<std::string> reporting;
  for (v1::Node& node : state.fleet.List(site)) {
    const auto found = learns.find(node.name());
    if (found != learns.end()) node.mutable_learns()->Assign(found->second.begin(), found->second.end());
    reporting.insert(node.name());
    *response.add_nodes() = std::move(node);
  }
  for (const auto& [name, runs] : learns) {
    if (!site.empty() || reporting.contains(name)) continue;
    v1::Node& node = *response.add_nodes();
    node.set_name(name);
    node.set_connected(std::ranges::any_of(runs, &v1::Learning::connected));
    node.mutable_learns()->Assign(runs.begin(), runs.end());
  }
  const std::vector<std::string> sites = state.sites.names();
  response.mutable_sites()->Assign(sites.begin(), sites.end());
  response.set_answered_unix_ns(state.clock.UnixNs());
  return response;
}

}  // namespace tributary::publish
