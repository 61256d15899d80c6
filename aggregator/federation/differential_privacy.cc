#include "aggregator/federation/differential_privacy.h"

#include "core/privacy/gaussian_noise.h"
#include "core/privacy/rdp_accountant.h"

namespace tributary {

absl::Status AddPrivacyNoise(const RunConfig& config, std::uint32_t round, std::size_t contributors,
                             std::span<float> mean) {
  if (config.privacy.noise_multiplier == 0) return absl::OkStatus();
  if (contributors == 0) return absl::InvalidArgumentError("noise for the mean of no updates");
  const absl::StatusOr<Key32> key = NoiseKey(config.privacy.noise_seed, round);
  if (!key.ok()) return key.status();
  const double deviation =
      config.privacy.noise_multiplier * config.clip_norm / static_cast<double>(contributors);
  return AddGaussianNoise(*key, deviation, mean);
}

double SpentEpsilon(const RunConfig& config, std::size_t committed_rounds) {
  if (config.privacy.noise_multiplier == 0) return 0;
  const absl::StatusOr<RdpAccountant> accountant =
      RdpAccountant::Create(config.privacy.noise_multiplier, config.sample_fraction);
  return accountant.ok() ? accountant->Epsilon(committed_rounds, config.privacy.delta) : 0;
}

}  // namespace tributary
