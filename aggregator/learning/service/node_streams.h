// The nodes' streams of tasks: who is connected, for which run, and what it was told last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "aggregator/learning/round/run_state.h"
#include "aggregator/learning/service/waiting_nodes.h"
#include "tributary/v1/federation.pb.h"

namespace tributary::learning {

// A node that takes part. Called on the coordinator's thread; returns at once. After OnEnd nothing more
// comes.
class TaskSink {
 public:
  virtual ~TaskSink() = default;

  // Replaces a message that has not been sent yet.
  virtual void OnTask(v1::ParticipateResponse message) = 0;
  virtual void OnEnd(absl::Status status) = 0;
};

struct NodeStream {
  std::string run;  // the one it takes part in; while it waits: the one it asked for, or empty
  NodeDeclaration declaration;
  std::shared_ptr<TaskSink> sink;
  bool joined = false;                // otherwise it waits for a run
  std::optional<NodeTask> told = {};  // absent: nothing yet
  WaitingNodes::Place waiting = {};   // held while it waits
  std::int64_t since_ns = 0;          // steady
};

// One thread at a time. Every function but the lists costs the logarithm of the streams. A node has one
// stream per run: keys are (run, node) and the sink.
class NodeStreams {
 public:
  // Null: there is none.
  NodeStream* Find(std::string_view run, std::string_view node);
  NodeStream* Find(const TaskSink* sink);
  // A stream of that run and node must not be here.
  NodeStream& Add(NodeStream stream);
  NodeStream Remove(const TaskSink* sink);

  std::size_t size() const { return streams_.size(); }
  std::vector<const TaskSink*> All() const;
  // Those of a run.
  std::vector<const TaskSink*> Of(std::string_view run) const;
  // Those that wait for one.
  std::vector<const TaskSink*> Waiting() const;

 private:
  using OfRun = std::map<std::string, NodeStream*, std::less<>>;  // by node

  std::unordered_map<const TaskSink*, std::unique_ptr<NodeStream>> streams_;
  std::map<std::string, OfRun, std::less<>> by_run_;
};

}  // namespace tributary::learning
