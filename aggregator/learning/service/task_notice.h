// What a node is told to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "aggregator/learning/rules/run_config.h"
#include "aggregator/learning/round/run_state.h"
#include "core/parameters/fixed_point.h"
#include "core/privacy/secure_aggregation.h"

namespace tributary {

struct TaskNotice {
  std::string run;  // empty while there is none
  NodeTask task;
  std::int64_t deadline_unix_ns = 0;
  std::int64_t left_ns = 0;  // until then
  std::uint32_t committed = 0;
  ModelFacts model;
  std::uint64_t model_bytes = 0;  // of its file
  FixedPoint fixed_point;
  double max_element = 0;
  bool uniform_weight = false;
  std::uint64_t max_sample_count = 0;  // kTrain: of this node's update
  double clip_norm = 0;
  std::uint64_t schedule_steps = 0;
  ClientSettings settings;
  // Of secure aggregation.
  bool masked = false;
  std::size_t threshold = 0;
  MaskingRoster roster;             // kShareKeys: all that sent keys; kTrain: all that sent shares
  std::vector<SealedShare> shares;  // kTrain: for this node
  std::vector<std::string> survivors, dropped;  // kUnmask
};

// What the run's state says of it; deadline, model file and masking are the caller's to add.
TaskNotice NoticeOf(const RunState& state, const std::string& node, const NodeTask& task);

// A node that takes part. Called on the coordinator's thread; returns at once. After OnEnd nothing more
// comes.
class TaskSink {
 public:
  virtual ~TaskSink() = default;

  // Replaces a notice that has not been sent yet.
  virtual void OnTask(TaskNotice notice) = 0;
  virtual void OnEnd(absl::Status status) = 0;
};

}  // namespace tributary
