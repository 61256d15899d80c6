// What the learning services count, and the runs, as metrics.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "aggregator/learning/round/admission.h"
#include "aggregator/learning/service/run_board.h"
#include "core/runtime/metrics.h"

namespace tributary::learning {

// Thread-safe.
struct LearningCounters {
  std::array<std::atomic<std::uint64_t>, v1::SubmitRefusal_ARRAYSIZE> refused = {};   // updates
  std::array<std::atomic<std::uint64_t>, v1::DeclineReason_ARRAYSIZE> declined = {};  // tasks
  std::atomic<std::uint64_t> refused_streams = 0;  // ended at once: beyond a limit, or of no use to the run
  std::atomic<std::uint64_t> refused_runs = 0;     // that operators sent
  std::atomic<std::uint64_t> refused_steps =
      0;  // declarations, keys, shares and declines that could not be taken
  std::atomic<std::uint64_t> received_bytes = 0;  // payload of accepted updates
  std::atomic<std::uint64_t> connected = 0;       // streams of nodes, with those that wait
  std::atomic<std::uint64_t> waiting = 0;         // of these
  std::atomic<bool> healthy = true;  // whether the store could be written when that was last tried

  void CountRefused(v1::SubmitRefusal reason) { ++refused[static_cast<std::size_t>(reason)]; }
};

void CollectCounters(const LearningCounters& counters, runtime::Reading& reading);
// The gauges of each run.
void CollectRuns(const RunBoard& board, runtime::Reading& reading);

}  // namespace tributary::learning
