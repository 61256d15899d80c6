#include "node/learner/create_augmenter.h"

#include <fmt/format.h>

#include "core/nn/encoder/augmenter.h"
#include "node/learner/table_augmentation.h"

namespace tributary::learner {

absl::StatusOr<AugmentationSet> ParseAugmentationSet(std::string_view name) {
  if (name == "continuous") return AugmentationSet::kContinuous;
  if (name == "table") return AugmentationSet::kTable;
  return absl::InvalidArgumentError(
      fmt::format("augmentation is \"{}\", expected continuous or table", name));
}

absl::StatusOr<std::unique_ptr<nn::Augmenter>> CreateAugmenter(AugmentationSet set, std::size_t side) {
  if (set == AugmentationSet::kContinuous) {
    nn::ContinuousAugmentationOptions options;
    options.side = side;
    return std::make_unique<nn::ContinuousAugmentation>(options);
  }
  if (side != fpga::kImageSide) {
    return absl::InvalidArgumentError(
        fmt::format("the table augmentation takes images of side {}, these have {}", fpga::kImageSide, side));
  }
  return std::make_unique<TableAugmentation>();
}

}  // namespace tributary::learner
