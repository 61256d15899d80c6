#include "aggregator/learning/service/node_streams.h"

#include <utility>

namespace tributary::learning {

NodeStream* NodeStreams::Find(std::string_view run, std::string_view node) {
  const auto of_run = by_run_.find(run);
  if (of_run == by_run_.end()) return nullptr;
  const auto found = of_run->second.find(node);
  return found == of_run->second.end() ? nullptr : found->second;
}

NodeStream* NodeStreams::Find(const TaskSink* sink) {
  const auto found = streams_.find(sink);
  return found == streams_.end() ? nullptr : found->second.get();
}

NodeStream& NodeStreams::Add(NodeStream stream) {
  auto kept = std::make_unique<NodeStream>(std::move(stream));
  NodeStream& added = *kept;
  by_run_[added.run].emplace(added.declaration.node, &added);
  streams_.emplace(added.sink.get(), std::move(kept));
  return added;
}

NodeStream NodeStreams::Remove(const TaskSink* sink) {
  auto node = streams_.extract(sink);
  NodeStream removed = std::move(*node.mapped());
  const auto of_run = by_run_.find(removed.run);
  of_run->second.erase(removed.declaration.node);
  if (of_run->second.empty()) by_run_.erase(of_run);
  return removed;
}

std::vector<const TaskSink*> NodeStreams::All() const {
  std::vector<const TaskSink*> sinks;
  for (const auto& [sink, stream] : streams_) sinks.push_back(sink);
  return sinks;
}

std::vector<const TaskSink*> NodeStreams::Of(std::string_view run) const {
  std::vector<const TaskSink*> sinks;
  const auto of_run = by_run_.find(run);
  if (of_run == by_run_.end()) return sinks;
  for (const auto& [node, stream] : of_run->second) sinks.push_back(stream->sink.get());
  return sinks;
}

std::vector<const TaskSink*> NodeStreams::Waiting() const {
  std::vector<const TaskSink*> sinks;
  for (const auto& [sink, stream] : streams_) {
    if (!stream->joined) sinks.push_back(sink);
  }
  return sinks;
}

}  // namespace tributary::learning
