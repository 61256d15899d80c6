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

void BurstSet::Draw(std::uint64_t first, std::size_t count, recordings::LabelledBursts& bursts) const {
  bursts.bursts.clear();
  bursts.classes.clear();
  for (std::uint64_t index = first; index < first + count; ++index) {
    nn::RandomStream random = nn::RandomStream::Of(key_, index);
    const auto modulation = static_cast<radio::Modulation>(random.Below(radio::kModulations.size()));
    Append(index, modulation, SnrDb(random.Below(kSnrs)), bursts);
  }
}

recordings::LabelledBursts BurstSet::DrawOfEach(std::size_t per_modulation) const {
  recordings::LabelledBursts bursts;
  for (std::uint64_t index = 0; index < per_modulation * radio::kModulations.size(); ++index) {
    nn::RandomStream random = nn::RandomStream::Of(key_, index);
    const auto modulation = static_cast<radio::Modulation>(index / per_modulation);
    Append(index, modulation, SnrDb(random.Below(kSnrs)), bursts);
  }
  return bursts;
}

void BurstSet::Append(std::uint64_t index, radio::Modulation modulation, double snr_db,
                      recordings::LabelledBursts& bursts) const {
  bursts.classes.push_back(static_cast<std::uint8_t>(modulation));
  bursts.bursts.resize(bursts.classes.size() * radio::kBurstFeatures);
  const radio::BurstGenerator& generator = index % 2 == 0 ? even_ : odd_;
  generator.Generate(modulation, snr_db, index, /*receiver=*/0,
                     std::span(bursts.bursts).last<radio::kBurstFeatures>());
}

}  // namespace tributary::cli
