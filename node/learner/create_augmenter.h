// Creates the augmentation of a name.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/nn/encoder/augmenter.h"

namespace tributary::learner {

enum class AugmentationSet {
  kContinuous,  // any angle, any crop, any sigma: core/nn/encoder/augmenter.h
  kTable,       // the discrete views of the FPGA kernel, on the processor: node/learner/table_augmentation.h
};

// "continuous", "table". InvalidArgument otherwise.
absl::StatusOr<AugmentationSet> ParseAugmentationSet(std::string_view name);

// For images of side × side pixels. InvalidArgument if the augmentation does not support that side.
absl::StatusOr<std::unique_ptr<nn::Augmenter>> CreateAugmenter(AugmentationSet set, std::size_t side);

}  // namespace tributary::learner
