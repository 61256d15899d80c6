// What the learning services count, for metrics.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "aggregator/learning/round/submission.h"
#include "core/parameters/task_answer.h"

namespace tributary::learning {

// Thread-safe.
struct LearningCounters {
  std::array<std::atomic<std::uint64_t>, kSubmissionRefusals> refused = {};  // updates, by SubmissionRefusal
  std::array<std::atomic<std::uint64_t>, parameters::kDeclineReasons> declined =
      {};                                          // tasks, by DeclineReason
  std::atomic<std::uint64_t> refused_streams = 0;  // ended at once: beyond a limit, or of no use to the run
  std::atomic<std::uint64_t> refused_steps = 0;    // messages of secure aggregation that could not be taken
  std::atomic<std::uint64_t> received_bytes = 0;   // payload of accepted updates
  std::atomic<std::uint64_t> connected = 0;        // streams of nodes, with those that wait
  std::atomic<bool> healthy = true;  // whether the store could be written when that was last tried

  void CountRefused(SubmissionRefusal reason) { ++refused[static_cast<std::size_t>(reason)]; }
};

}  // namespace tributary::learning
