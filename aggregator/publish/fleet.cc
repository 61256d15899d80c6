#include "aggregator/publish/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_join.h"

namespace tributary::publish {

absl::Status UnknownSite(std::string_view name, const std::vector<std::string>& known) {
  return absl::NotFoundError(fmt::format("\"{}\" is not a site of this aggregator, which has {}", name,
                                         known.empty() ? "no sites" : absl::StrJoin(known, ", ")));
}

absl::StatusOr<Fleet::Membership> Fleet::Join(const v1::Hello& hello) {
  // Nobody has checked fields that this program does not know, and a node is never forgotten. They are not
  // removed from the entry itself: it would keep their memory.
  v1::Hello known = hello;
  known.DiscardUnknownFields();
  const runtime::MutexLock lock(mutex_);
  const std::pair key(hello.site(), hello.node());
  auto found = nodes_.find(key);
  if (found == nodes_.end()) {
    if (nodes_.size() >= kMaxNodes) {
      return absl::ResourceExhaustedError(fmt::format(
          "node \"{}\" would be one more than the {} nodes that are allowed", hello.node(), kMaxNodes));
    }
    found = nodes_.try_emplace(key).first;
  }
  Entry& entry = found->second;
  NodeRecord& record = *entry.record;
  if (entry.hello.boot_id() != hello.boot_id()) record.acknowledged_sequence = 0;
  entry.hello = known;
  const bool superseded_another = record.connected();
  const std::uint64_t stream = ++record.latest_stream;
  record.connected_stream = stream;
  return Membership{entry.record, stream, superseded_another};
}

absl::Status Fleet::CheckSourcesFree(const v1::Hello& hello) const {
  const runtime::MutexLock lock(mutex_);
  for (const auto& [key, entry] : nodes_) {
    const auto& [site, node] = key;
    if (site != hello.site() || node == hello.node() || !entry.record->connected()) continue;
    for (const v1::Source& theirs : entry.hello.sources()) {
      for (const v1::Source& ours : hello.sources()) {
        if (theirs.name() != ours.name()) continue;
        return absl::FailedPreconditionError(fmt::format(
            "hello.sources: \"{}\" is reported by node \"{}\" already; give each panel a name of its own",
            ours.name(), node));
      }
    }
  }
  return absl::OkStatus();
}

Fleet::Count Fleet::CountNodes(const std::string& site) const {
  Count count;
  const runtime::MutexLock lock(mutex_);
  for (const auto& [key, entry] : nodes_) {
    if (key.first != site) continue;
    ++count.known;
    count.connected += entry.record->connected();
  }
  return count;
}

std::set<std::string> Fleet::ConnectedLeaves(const std::string& site) const {
  std::set<std::string> leaves;
  const runtime::MutexLock lock(mutex_);
  for (const auto& [key, entry] : nodes_) {
    if (key.first != site || !entry.record->connected()) continue;
    for (const v1::Source& source : entry.hello.sources()) {
      leaves.insert(source.leaves().begin(), source.leaves().end());
    }
  }
  return leaves;
}

std::vector<v1::Node> Fleet::List(const std::string& site) const {
  std::vector<v1::Node> nodes;
  const runtime::MutexLock lock(mutex_);
  for (const auto& [key, entry] : nodes_) {
    if (!site.empty() && key.first != site) continue;
    const NodeRecord& record = *entry.record;
    v1::Node& node = nodes.emplace_back();
    node.set_site(key.first);
    node.set_name(key.second);
    node.set_connected(record.connected());
    node.set_last_frame_unix_ns(record.last_frame_unix_ns);
    node.set_accepted_frames(record.accepted_frames);
    node.set_refused_frames(record.refused_frames);
    node.set_dropped_frames(record.dropped_frames);
    for (const v1::Source& source : entry.hello.sources()) node.add_sources(source.name());
    node.set_model_name(entry.hello.model().name());
    node.set_model_version(entry.hello.model().version());
    node.set_model_sha256(entry.hello.model().sha256());
  }
  return nodes;
}

KnownNodes::KnownNodes(const Fleet& fleet, ListLearners learners, std::vector<std::string> sites,
                       const runtime::Clock& clock)
    : fleet_(&fleet), learners_(std::move(learners)), sites_(std::move(sites)), clock_(&clock) {}

absl::StatusOr<v1::ListNodesResponse> KnownNodes::List(const std::string& site) const {
  if (!site.empty() && std::ranges::find(sites_, site) == sites_.end()) return UnknownSite(site, sites_);
  std::map<std::string, std::vector<v1::Learning>> learns;  // by node
  if (learners_) {
    for (Learner& each : learners_()) learns[each.node].push_back(std::move(each.learning));
  }
  v1::ListNodesResponse response;
  std::set<std::string> reporting;
  for (v1::Node& node : fleet_->List(site)) {
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
  response.mutable_sites()->Assign(sites_.begin(), sites_.end());
  response.set_answered_unix_ns(clock_->UnixNs());
  return response;
}

}  // namespace tributary::publish
