// The augmentations of a run, by name.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/nn/encoder/augmenter.h"
#include "core/nn/encoder/strong_augmenter.h"

namespace tributary::learner {

// For images of strong.side × strong.side pixels. "strong": as `strong` says. "continuous": any angle, any
// crop, any sigma (core/nn/encoder/augmenter.h). "table": the discrete views of the FPGA kernel, computed on
// the processor bit for bit as fpga/model/augmentation.h; for images of 28 × 28. Errors: InvalidArgument for
// another name, options out of their limits, or a side that the augmentation does not support.
absl::StatusOr<std::unique_ptr<nn::Augmenter>> CreateAugmenter(std::string_view name,
                                                               const nn::StrongAugmentationOptions& strong);

}  // namespace tributary::learner
