#include "core/nn/encoder/encoder_options.h"

#include <string>
#include <string_view>

#include "core/nn/encoder/training_limits.h"

namespace tributary::nn {
namespace {

absl::Status Invalid(std::string_view message) { return absl::InvalidArgumentError(std::string(message)); }

}  // namespace

absl::Status Validate(const EncoderOptions& options) {
  const auto side = static_cast<double>(options.side);
  const auto stages = static_cast<double>(options.channels.size());
  if (!kImageSideLimit.Admits(side)) return Invalid(kImageSideLimit.Refusal("encoder.side", side));
  if (!kStagesLimit.Admits(stages)) return Invalid(kStagesLimit.Refusal("encoder.channels: stages", stages));
  for (const std::size_t channels : options.channels) {
    const auto count = static_cast<double>(channels);
    if (!kChannelsLimit.Admits(count)) return Invalid(kChannelsLimit.Refusal("encoder.channels", count));
  }
  const std::size_t last_side = options.side >> options.channels.size();
  if (last_side < 1) return Invalid("encoder.channels: too many stages for the side of the images");
  const TrainingLimit areas = {1, static_cast<double>(last_side)};
  const auto grid = static_cast<double>(options.grid);
  if (!areas.Admits(grid)) return Invalid(areas.Refusal("encoder.grid", grid));
  if (options.quantised &&
      (options.norm != EncoderNorm::kNone || options.activation != EncoderActivation::kHardClip)) {
    return Invalid("encoder.quantised needs norm none and activation hard_clip: the unit has no norm");
  }
  return absl::OkStatus();
}

}  // namespace tributary::nn
