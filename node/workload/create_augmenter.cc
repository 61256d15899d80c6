#include "node/workload/create_augmenter.h"

#include <fmt/format.h>

#include "core/nn/augmentation_continuous.h"
#include "node/workload/hardware_augmentation.h"

namespace tributary {

absl::StatusOr<AugmentationSet> ParseAugmentationSet(std::string_view name) {
  if (name == "continuous") return AugmentationSet::kContinuous;
  if (name == "hardware") return AugmentationSet::kHardware;
  return absl::InvalidArgumentError(
      fmt::format("augmentation is \"{}\", expected continuous or hardware", name));
}

absl::StatusOr<std::unique_ptr<Augmenter>> CreateAugmenter(AugmentationSet set, std::size_t side) {
  if (set == AugmentationSet::kContinuous) {
    ContinuousAugmentationOptions options;
    options.side = side;
    return std::make_unique<ContinuousAugmentation>(options);
  }
  if (side != kImageSide) {
    return absl::InvalidArgumentError(
        fmt::format("the hardware's augmentation takes images of side {}, these have {}", kImageSide, side));
  }
  return std::make_unique<HardwareAugmentation>();
}

}  // namespace tributary
