#include "aggregator/publish/known_nodes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "aggregator/publish/unknown_site.h"

namespace tributary::publish {
namespace {

using LearningByNode = std::map<std::string, std::vector<v1::Learning>>;

v1::Node ReportingNode(const NodeStatus& status) {
  v1::Node node;
  node.set_site(status.process.site);
  node.set_name(status.process.node);
  node.set_connected(status.connected);
  node.set_last_frame_unix_ns(status.last_frame_unix_ns);
  node.set_accepted_frames(status.accepted_frames);
  node.set_refused_frames(status.refused_frames);
  node.set_dropped_frames(status.dropped_frames);
  for (const wire::ReportingSource& source : status.process.sources) node.add_sources(source.name);
  node.set_model_name(status.process.model.name);
  node.set_model_version(status.process.model.version);
  node.set_model_sha256(status.process.model.sha256);
  return node;
}

void AddLearners(const LearningByNode& learns, v1::ListNodesResponse& response) {
  for (const auto& [name, runs] : learns) {
    v1::Node& node = *response.add_nodes();
    node.set_name(name);
    node.set_connected(std::ranges::any_of(runs, &v1::Learning::connected));
    node.mutable_learns()->Assign(runs.begin(), runs.end());
  }
}

}  // namespace

KnownNodes::KnownNodes(const Fleet& fleet, ListLearners learners, std::vector<std::string> sites,
                       const runtime::Clock& clock)
    : fleet_(&fleet), learners_(std::move(learners)), sites_(std::move(sites)), clock_(&clock) {}

absl::StatusOr<v1::ListNodesResponse> KnownNodes::List(const std::string& site) const {
  if (!site.empty() && std::ranges::find(sites_, site) == sites_.end()) return UnknownSite(site, sites_);
  LearningByNode learns;
  if (learners_) {
    for (Learner& each : learners_()) learns[each.node].push_back(std::move(each.learning));
  }
  v1::ListNodesResponse response;
  std::set<std::string> reporting;
  for (const NodeStatus& status : fleet_->List(site)) {
    v1::Node& node = *response.add_nodes();
    node = ReportingNode(status);
    const auto found = learns.find(node.name());
    if (found != learns.end()) node.mutable_learns()->Assign(found->second.begin(), found->second.end());
    reporting.insert(node.name());
  }
  std::erase_if(learns, [&](const auto& each) { return reporting.contains(each.first); });
  if (site.empty()) AddLearners(learns, response);
  response.mutable_sites()->Assign(sites_.begin(), sites_.end());
  response.set_answered_unix_ns(clock_->UnixNs());
  return response;
}

}  // namespace tributary::publish
