// Client-level differential privacy of a run: noise on the sum, and what it has spent.
#pragma once

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/learning/run_config.h"

namespace tributary::learning {

// What the draw of a round's nodes is mixed with. Epsilon counts on nobody knowing who took part
// (amplification by sampling), so with noise it is a secret of this process; 0 without. Errors: those of the
// system's entropy.
absl::StatusOr<std::uint64_t> SecretOfDraws(const PrivacySettings& privacy);

// Adds the round's noise to the mean of updates of weight 1. Nothing without noise in the configuration.
absl::Status AddNoise(const RunConfig& config, std::uint32_t round, double total_weight,
                      std::span<float> combined);

// Spent once so many rounds were drawn, committed or not, at the run's delta; 0 without noise.
double EpsilonAfter(const RunConfig& config, std::uint32_t draws);

}  // namespace tributary::learning
