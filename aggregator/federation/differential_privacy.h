// Client-level differential privacy of a run: the noise of a round and what has been spent.
//
// The updates are clipped to config.clip_norm and weigh the same, so that a node moves their sum by clip_norm
// at most. How many took part is taken as public.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "aggregator/federation/run_config.h"

namespace tributary {

// Adds to the mean of `contributors` updates what noise_multiplier asks for; nothing if that is 0. With a
// noise_seed, equal for equal rounds. Errors: InvalidArgument for no contributors; Internal if there is no
// entropy.
absl::Status AddPrivacyNoise(const RunConfig& config, std::uint32_t round, std::size_t contributors,
                             std::span<float> mean);

// Epsilon, at privacy.delta, after so many committed rounds; 0 for a run without noise. Failed rounds publish
// nothing and cost nothing. With a sample_fraction below 1, for nodes that cannot see who was asked.
double SpentEpsilon(const RunConfig& config, std::size_t committed_rounds);

}  // namespace tributary
