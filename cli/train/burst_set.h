// Labelled bursts for training, calibration and evaluation, by their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "core/radio/burst_generator.h"
#include "core/recordings/labelled_bursts.h"

namespace tributary::cli {

// Ratios of 2016.10a and of [MOD]: -20, -18 … 18 dB.
inline constexpr std::size_t kSnrs = 20;
constexpr double SnrDb(std::size_t index) { return -20.0 + 2.0 * static_cast<double>(index); }

// Bursts for one purpose are never those for another, whatever their seeds.
enum class BurstPurpose : std::uint64_t { kTraining, kProgress, kCalibration, kEvaluation };

std::uint64_t BurstSeed(std::uint64_t seed, BurstPurpose purpose);

// An endless set that its seed keeps: burst n depends on the seed and n alone. Modulation and ratio are drawn
// uniformly. Any thread.
class BurstSet {
 public:
  // Without a definition of the ratio, even bursts have the true one and odd bursts the label.
  // Errors: those of BurstGenerator::Create.
  static absl::StatusOr<BurstSet> Create(const radio::BurstOptions& domain,
                                         std::optional<radio::SnrDefinition> snr, std::uint64_t seed,
                                         BurstPurpose purpose);

  // The bursts [first, first + count).
  void Draw(std::uint64_t first, std::size_t count, recordings::LabelledBursts& bursts) const;

  // As many bursts of each modulation, one modulation after the other. Other bursts than those of Draw.
  recordings::LabelledBursts DrawOfEach(std::size_t per_modulation) const;

 private:
  BurstSet(std::uint64_t key, radio::BurstGenerator even, radio::BurstGenerator odd)
      : key_(key), even_(std::move(even)), odd_(std::move(odd)) {}

  void Append(std::uint64_t index, radio::Modulation modulation, double snr_db,
              recordings::LabelledBursts& bursts) const;

  std::uint64_t key_;
  radio::BurstGenerator even_, odd_;
};

}  // namespace tributary::cli
