#include "aggregator/publish/known_nodes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace tributary::publish {

std::vector<KnownNode> ListKnownNodes(const Fleet& fleet, const ListLearners& learners,
                                      const std::string& site) {
  std::map<std::string, std::vector<LearningStatus>> learns;
  if (learners) {
    for (LearningStatus& each : learners()) learns[each.node].push_back(std::move(each));
  }
  std::vector<KnownNode> nodes;
  std::set<std::string> reporting;
  for (NodeStatus& status : fleet.List(site)) {
    const std::string name = status.process.node;
    const auto found = learns.find(name);
    nodes.push_back(
        {std::move(status), found == learns.end() ? std::vector<LearningStatus>() : found->second});
    reporting.insert(name);
  }
  if (!site.empty()) return nodes;
  for (auto& [name, runs] : learns) {
    if (reporting.contains(name)) continue;
    KnownNode node;
    node.report.process.node = name;
    node.report.connected = std::ranges::any_of(runs, &LearningStatus::connected);
    node.learns = std::move(runs);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace tributary::publish
