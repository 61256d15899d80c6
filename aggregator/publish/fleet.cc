#include "aggregator/publish/fleet.h"

#include <fmt/format.h>

namespace tributary::publish {

absl::StatusOr<Fleet::Membership> Fleet::Join(const wire::ReportingProcess& process) {
  const runtime::MutexLock lock(mutex_);
  const std::pair key(process.site, process.node);
  auto found = nodes_.find(key);
  if (found == nodes_.end()) {
    if (nodes_.size() >= kMaxNodes) {
      return absl::ResourceExhaustedError(fmt::format(
          "node \"{}\" would be one more than the {} nodes that are allowed", process.node, kMaxNodes));
    }
    found = nodes_.try_emplace(key).first;
  }
  Entry& entry = found->second;
  NodeRecord& record = *entry.record;
  if (entry.process.boot_id != process.boot_id) record.acknowledged_sequence = 0;
  entry.process = process;
  const bool superseded_another = record.connected();
  const std::uint64_t stream = ++record.latest_stream;
  record.connected_stream = stream;
  return Membership{entry.record, stream, superseded_another};
}

absl::Status Fleet::CheckSourcesFree(const wire::ReportingProcess& process) const {
  const runtime::MutexLock lock(mutex_);
  for (const auto& [key, entry] : nodes_) {
    const auto& [site, node] = key;
    if (site != process.site || node == process.node || !entry.record->connected()) continue;
    for (const wire::ReportingSource& theirs : entry.process.sources) {
      for (const wire::ReportingSource& ours : process.sources) {
        if (theirs.name != ours.name) continue;
        return absl::FailedPreconditionError(fmt::format(
            "hello.sources: \"{}\" is reported by node \"{}\" already; give each panel a name of its own",
            ours.name, node));
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
    for (const wire::ReportingSource& source : entry.process.sources) {
      leaves.insert(source.leaves.begin(), source.leaves.end());
    }
  }
  return leaves;
}

std::vector<NodeStatus> Fleet::List(const std::string& site) const {
  std::vector<NodeStatus> nodes;
  const runtime::MutexLock lock(mutex_);
  for (const auto& [key, entry] : nodes_) {
    if (!site.empty() && key.first != site) continue;
    const NodeRecord& record = *entry.record;
    nodes.push_back({entry.process, record.connected(), record.last_frame_unix_ns, record.accepted_frames,
                     record.refused_frames, record.dropped_frames});
  }
  return nodes;
}

}  // namespace tributary::publish
