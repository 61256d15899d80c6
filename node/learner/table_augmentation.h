// Computes on the processor the views of the FPGA kernel, bit for bit as fpga/model/augmentation.h. Needs no
// board.
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
// Faster than the model: rotation and crop are one look-up, composed from the model's tables, so they cannot
// differ from it. Allocates nothing.
class TableAugmentation : public nn::Augmenter {
 public:
  TableAugmentation();

  void MakeViews(std::span<const std::uint8_t> images, std::uint64_t key,
                 std::span<std::uint8_t> views) override;

 private:
  // The source of each pixel of a view; kImagePixels: none, the pixel is black.
  using SourceMap = std::array<std::uint16_t, fpga::kImagePixels>;

  std::array<std::array<SourceMap, fpga::kCropSides.size()>, fpga::kRotationDegrees.size()> sources_;
};

}  // namespace tributary::learner
