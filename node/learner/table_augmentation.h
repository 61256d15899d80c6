// Computes on the processor the views that the FPGA kernel would make, bit for bit as
// fpga/model/augmentation.h. No board takes part.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/nn/encoder/augmenter.h"
#include "fpga/model/augmentation.h"

namespace tributary::learner {

// Images of 28 × 28. The seed of the shift registers is the low 30 bits of the key; one sequence runs over
// the images of a call, in order, as over a burst on the board.
//
// Faster than the model because rotation and crop are one look-up: composed from the model's tables, they
// cannot differ from it. Allocates nothing.
class TableAugmentation : public nn::Augmenter {
 public:
  TableAugmentation();

  void MakeViews(std::span<const std::uint8_t> images, std::uint64_t key,
                 std::span<std::uint8_t> views) override;

 private:
  // Where each pixel of a view comes from; kImagePixels: from nowhere, it is black.
  using SourceMap = std::array<std::uint16_t, fpga::kImagePixels>;

  std::array<std::array<SourceMap, fpga::kCropSides.size()>, fpga::kRotationDegrees.size()> sources_;
};

}  // namespace tributary::learner
