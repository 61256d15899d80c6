// A parent's task as a run of this aggregator: what its nodes need, and nothing that is the parent's
// business.
#include <cstdint>
#include <limits>

#include "aggregator/learning/relay/relay.h"

namespace tributary::learning {

absl::StatusOr<RunConfig> RelayedConfig(const wire::TrainTask& task) {
  constexpr std::uint64_t kMaxRounds = std::numeric_limits<std::int32_t>::max();
  const v1::ClientSettings& settings = task.settings;
  if (task.masking || task.uniform_weight || settings.clip_norm() > 0) {
    return absl::FailedPreconditionError("this run looks at single updates: it takes no partial sums");
  }
  const bool schedule = settings.schedule_steps() > 0;
  const std::uint64_t rounds = schedule ? settings.schedule_steps() / settings.local_steps() : kMaxRounds;
  if (rounds > kMaxRounds || (schedule && rounds * settings.local_steps() != settings.schedule_steps())) {
    return absl::FailedPreconditionError("the schedule does not end with a round: it cannot be handed on");
  }
  RunConfig config;
  config.name = task.run;
  config.relayed = true;
  config.rounds = static_cast<std::uint32_t>(rounds);
  config.min_nodes = 1;
  config.quorum = 1;
  config.max_nodes = 10'000;
  config.max_samples = 1'000'000'000'000'000;
  config.max_element = task.fixed_point.bound;
  config.client = settings;
  return config;
}

}  // namespace tributary::learning
