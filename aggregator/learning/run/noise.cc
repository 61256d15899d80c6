#include "aggregator/learning/run/noise.h"

#include <cstring>

#include "core/privacy/differential_privacy.h"
#include "core/status/macros.h"

namespace tributary::learning {

absl::StatusOr<std::uint64_t> SecretOfDraws(const PrivacySettings& privacy) {
  if (privacy.noise_multiplier <= 0 || privacy.noise_seed != 0) return 0;
  ASSIGN_OR_RETURN(const privacy::Key32 entropy, privacy::NoiseKey(0, 0));
  std::uint64_t secret = 0;
  std::memcpy(&secret, entropy.data(), sizeof secret);
  return secret;
}

absl::Status AddNoise(const RunConfig& config, std::uint32_t round, double total_weight,
                      std::span<float> combined) {
  if (config.privacy.noise_multiplier <= 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const privacy::Key32 key, privacy::NoiseKey(config.privacy.noise_seed, round));
  // The sum's noise is noise_multiplier · clip_norm; the mean has that divided by the number of nodes.
  return privacy::AddGaussianNoise(
      key, config.privacy.noise_multiplier * config.client.clip_norm() / total_weight, combined);
}

double EpsilonAfter(const RunConfig& config, std::uint32_t draws) {
  if (config.privacy.noise_multiplier <= 0) return 0;
  return privacy::EpsilonAfter(draws, config.privacy.noise_multiplier, config.sample_fraction,
                               config.privacy.delta)
      .value_or(0);
}

}  // namespace tributary::learning
