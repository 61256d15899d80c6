#include "cli/train/burst_set.h"

#include <span>

#include "core/nn/kernel/random_stream.h"
#include "core/scene/gaussian_noise.h"
#include "core/status/macros.h"

namespace tributary::cli {

std::uint64_t BurstSeed(std::uint64_t seed, BurstPurpose purpose) {
  return scene::MixBits(seed, static_cast<std::uint64_t>(purpose));
}

absl::StatusOr<BurstSet> BurstSet::Create(const radio::BurstOptions& domain,
                                          std::optional<radio::SnrDefinition> snr, std::uint64_t seed,
                                          BurstPurpose purpose) {
  const std::uint64_t key = BurstSeed(seed, purpose);
  radio::BurstOptions options = domain;
  options.snr = snr.value_or(radio::SnrDefinition::kTrue);
  ASSIGN_OR_RETURN(radio::BurstGenerator even, radio::BurstGenerator::Create(options, key));
  options.snr = snr.value_or(radio::SnrDefinition::kLabel);
  ASSIGN_OR_RETURN(radio::BurstGenerator odd, radio::BurstGenerator::Create(options, key));
  return BurstSet(key, std::move(even), std::move(odd));
}

void BurstSet::Draw(std::uint64_t first, std::size_t count, LabelledBursts& bursts) const {
  bursts.bursts.resize(count * radio::kBurstFeatures);
  bursts.classes.resize(count);
  for (std::size_t n = 0; n < count; ++n) {
    const std::uint64_t index = first + n;
    nn::RandomStream random = nn::RandomStream::Of(key_, index);
    bursts.classes[n] = static_cast<std::uint8_t>(random.Below(radio::kModulations.size()));
    const double snr_db = SnrDb(random.Below(kSnrs));
    const radio::BurstGenerator& generator = index % 2 == 0 ? even_ : odd_;
    generator.Generate(
        static_cast<radio::Modulation>(bursts.classes[n]), snr_db, index, /*receiver=*/0,
        std::span(bursts.bursts).subspan(n * radio::kBurstFeatures).first<radio::kBurstFeatures>());
  }
}

}  // namespace tributary::cli
