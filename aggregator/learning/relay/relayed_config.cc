// A parent's settings as the file of a run: what its nodes need, and nothing that is the parent's business.
#include <fmt/format.h>

#include <cstdint>
#include <limits>

#include "absl/strings/escaping.h"
#include "aggregator/learning/relay/relay.h"

namespace tributary::learning {
namespace {

constexpr std::uint64_t kMaxRounds = std::numeric_limits<std::int32_t>::max();

}  // namespace

absl::StatusOr<std::string> RelayedConfig(const wire::TrainTask& task) {
  const wire::TrainingSettings& settings = task.settings;
  if (task.masking || task.uniform_weight || settings.clip_norm > 0) {
    return absl::FailedPreconditionError("this run looks at single updates: it takes no partial sums");
  }
  const bool schedule = settings.schedule_steps > 0;
  const std::uint64_t rounds = schedule ? settings.schedule_steps / settings.local_steps : kMaxRounds;
  if (schedule && rounds * settings.local_steps != settings.schedule_steps) {
    return absl::FailedPreconditionError("the schedule does not end with a round: it cannot be handed on");
  }
  return fmt::format(
      R"(# Relayed: the parent's settings, as far as nodes need them.
name = "{}"
rounds = {}
min_nodes = 1
max_nodes = 10000
max_samples = 1000000000000000
max_element = {}

[client]
workload = "{}"
local_steps = {}
batch = {}
learning_rate = {}
momentum = {}
weight_decay = {}
proximal_mu = {}
ema_lambda = {}
encoding = "{}"
seed = {}
schedule = {}
method = "{}"
augmentation = "{}"
target_decay = {}
)",
      absl::CEscape(task.run), rounds, task.fixed_point.bound, settings.workload, settings.local_steps,
      settings.batch, settings.learning_rate, settings.momentum, settings.weight_decay, settings.proximal_mu,
      settings.ema_lambda, std::string(parameters::UpdateEncodingName(settings.encoding)), settings.seed,
      schedule, settings.method, settings.augmentation, settings.target_decay);
}

}  // namespace tributary::learning
