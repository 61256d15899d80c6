#include "node/source/burst_recording.h"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/radio/burst.h"
#include "core/radio/sigmf_meta.h"
#include "core/radio/sigmf_samples.h"
#include "core/status/macros.h"

namespace tributary::source {
namespace {

// Somebody typed the rate.
constexpr double kRateTolerance = 1e-6;

}  // namespace

absl::StatusOr<parameters::NpyArray> BurstsOfNpy(parameters::NpyArray recording) {
  std::vector<std::uint64_t>& shape = recording.shape;
  const std::size_t dimensions = shape.size();
  if (dimensions >= 3 && shape[dimensions - 2] == 2 && shape.back() == radio::kBurstSamples) {
    shape.pop_back();
    shape.back() = radio::kBurstFeatures;
  }
  if ((shape.size() == 2 || shape.size() == 3) && shape.back() == radio::kBurstFeatures) return recording;
  return absl::InvalidArgumentError(absl::StrCat("shape: [", absl::StrJoin(shape, ", "),
                                                 "], bursts have [n, 2, 128] or [n, subjects, 2, 128]"));
}

absl::StatusOr<parameters::NpyArray> BurstsOfSigmf(std::string_view metadata, std::string_view data,
                                                   double sample_rate_hz) {
  ASSIGN_OR_RETURN(const radio::SigmfMeta meta, radio::ParseSigmfMeta(metadata));
  if (sample_rate_hz != 0 && meta.sample_rate_hz != 0 &&
      std::abs(meta.sample_rate_hz - sample_rate_hz) > kRateTolerance * sample_rate_hz) {
    return absl::InvalidArgumentError(absl::StrCat("global.core:sample_rate: ", meta.sample_rate_hz,
                                                   ", the source's sample_rate_hz is ", sample_rate_hz));
  }
  ASSIGN_OR_RETURN(std::vector<float> bursts, radio::CutSigmfBursts(meta, data));
  const std::uint64_t count = bursts.size() / radio::kBurstFeatures;
  return parameters::NpyArray{.shape = {count, radio::kBurstFeatures}, .values = std::move(bursts)};
}

}  // namespace tributary::source
