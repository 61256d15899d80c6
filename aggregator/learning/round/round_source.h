// Where a run's rounds come from: the aggregator's own drawing of lots, or a parent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "aggregator/learning/round/roster.h"
#include "aggregator/learning/round/run_event.h"

namespace tributary::learning {

struct RoundPlan {
  RoundStarted started;
  std::int64_t deadline_ns = 0;
};

class RoundSource {
 public:
  virtual ~RoundSource() = default;

  // The next round, if it can start; a caller asks only while none is under way. `last_round` is the last
  // number that was used, and moves on. O(n) at most a few times a second and when a round starts.
  virtual std::optional<RoundPlan> Next(const Roster& roster, std::uint32_t& last_round,
                                        std::int64_t now_ns) = 0;
  // When Next may give more than it did, though the roster stays as it is; kNoDeadline: never.
  virtual std::int64_t next_ns(std::int64_t now_ns) const = 0;
  // What the next round waits for.
  virtual std::string StatusMessage(const Roster& roster, std::uint32_t last_round) const = 0;
};

}  // namespace tributary::learning
