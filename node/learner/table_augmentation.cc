#include "node/learner/table_augmentation.h"

#include <algorithm>
#include <cstddef>

namespace tributary {
namespace {

constexpr std::size_t kPitch = kImageSide + 2;  // with the zeros around the image

void BlurInto(std::span<const std::uint8_t> image, std::span<std::uint8_t> blurred) {
  std::array<std::uint8_t, kPitch * kPitch> padded{};
  for (std::size_t row = 0; row < kImageSide; ++row) {
    std::copy_n(image.data() + row * kImageSide, kImageSide, padded.data() + (row + 1) * kPitch + 1);
  }
  for (std::size_t i = 0; i < kImagePixels; ++i) {
    const std::uint8_t* corner = padded.data() + i / kImageSide * kPitch + i % kImageSide;
    std::int32_t sum = 0;
    for (std::size_t tap = 0; tap < kKernelTaps; ++tap) {
      sum += kBlurKernel[tap] * corner[tap / kKernelSide * kPitch + tap % kKernelSide];
    }
    blurred[i] = ShiftAndClip(sum, kBlurShift);
  }
}

}  // namespace

TableAugmentation::TableAugmentation() {
  for (std::size_t rotation = 0; rotation < kRotationDegrees.size(); ++rotation) {
    for (std::size_t crop = 0; crop < kCropSides.size(); ++crop) {
      for (std::size_t i = 0; i < kImagePixels; ++i) {
        // The crop comes last, so its source is the position that the rotation is asked for.
        const PixelPosition cropped{static_cast<std::uint8_t>(CropSource(crop, i / kImageSide)),
                                    static_cast<std::uint8_t>(CropSource(crop, i % kImageSide))};
        const auto from = RotationSource(rotation, cropped);
        sources_[rotation][crop][i] =
            static_cast<std::uint16_t>(from ? from->row * kImageSide + from->column : kImagePixels);
      }
    }
  }
}

void TableAugmentation::MakeViews(std::span<const std::uint8_t> images, std::uint64_t key,
                                  std::span<std::uint8_t> views) {
  AugmentationSequence sequence(static_cast<std::uint32_t>(key), {});
  std::array<std::uint8_t, kImagePixels + 1> image{};  // a black pixel behind, for what comes from nowhere
  for (std::size_t at = 0; at + kImagePixels <= images.size(); at += kImagePixels) {
    const AugmentationChoice choice = sequence.Next();
    const std::span<const std::uint8_t> source = images.subspan(at, kImagePixels);
    if (choice.blur) {
      BlurInto(source, image);
    } else {
      std::ranges::copy(source, image.begin());
    }
    const SourceMap& map = sources_[*choice.rotation][*choice.crop];
    for (std::size_t i = 0; i < kImagePixels; ++i) views[at + i] = image[map[i]];
  }
}

}  // namespace tributary
