#include "node/learner/augmentation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "core/nn/encoder/augmenter.h"
#include "core/nn/kernel/image_shape.h"
#include "core/status/macros.h"
#include "fpga/model/augmentation.h"

namespace tributary::learner {
namespace {

constexpr std::size_t kPitch = fpga::kImageSide + 2;  // with the zeros around the image

void BlurInto(std::span<const std::uint8_t> image, std::span<std::uint8_t> blurred) {
  std::array<std::uint8_t, kPitch * kPitch> padded{};
  for (std::size_t row = 0; row < fpga::kImageSide; ++row) {
    std::copy_n(image.data() + row * fpga::kImageSide, fpga::kImageSide,
                padded.data() + (row + 1) * kPitch + 1);
  }
  for (std::size_t i = 0; i < fpga::kImagePixels; ++i) {
    const std::uint8_t* corner = padded.data() + i / fpga::kImageSide * kPitch + i % fpga::kImageSide;
    std::int32_t sum = 0;
    for (std::size_t tap = 0; tap < fpga::kKernelTaps; ++tap) {
      sum += fpga::kBlurKernel[tap] * corner[tap / fpga::kKernelSide * kPitch + tap % fpga::kKernelSide];
    }
    blurred[i] = fpga::ShiftAndClip(sum, fpga::kBlurShift);
  }
}

// The seed of the shift registers is the low 30 bits of the key; one sequence runs over the images of a call,
// in order, as over a burst on the board.
//
// Faster than the model: rotation and crop are one look-up, composed from the model's tables, so they cannot
// differ from it. Allocates nothing.
class TableAugmentation final : public nn::Augmenter {
 public:
  TableAugmentation() {
    for (std::size_t rotation = 0; rotation < fpga::kRotationDegrees.size(); ++rotation) {
      for (std::size_t crop = 0; crop < fpga::kCropSides.size(); ++crop) {
        for (std::size_t i = 0; i < fpga::kImagePixels; ++i) {
          // The crop comes last, so its source is the input position of the rotation.
          const fpga::PixelPosition cropped{
              static_cast<std::uint8_t>(fpga::CropSource(crop, i / fpga::kImageSide)),
              static_cast<std::uint8_t>(fpga::CropSource(crop, i % fpga::kImageSide))};
          const auto from = fpga::RotationSource(rotation, cropped);
          sources_[rotation][crop][i] = static_cast<std::uint16_t>(
              from ? from->row * fpga::kImageSide + from->column : fpga::kImagePixels);
        }
      }
    }
  }

  void MakeViews(std::span<const std::uint8_t> images, std::uint64_t key,
                 std::span<std::uint8_t> views) override {
    fpga::AugmentationSequence sequence(static_cast<std::uint32_t>(key), {});
    std::array<std::uint8_t, fpga::kImagePixels + 1>
        image{};  // a black pixel at the end, for positions outside the image
    for (std::size_t at = 0; at + fpga::kImagePixels <= images.size(); at += fpga::kImagePixels) {
      const fpga::AugmentationChoice choice = sequence.Next();
      const std::span<const std::uint8_t> source = images.subspan(at, fpga::kImagePixels);
      if (choice.blur) {
        BlurInto(source, image);
      } else {
        std::ranges::copy(source, image.begin());
      }
      const SourceMap& map = sources_[*choice.rotation][*choice.crop];
      for (std::size_t i = 0; i < fpga::kImagePixels; ++i) views[at + i] = image[map[i]];
    }
  }

 private:
  // The source of each pixel of a view; kImagePixels: none, the pixel is black.
  using SourceMap = std::array<std::uint16_t, fpga::kImagePixels>;

  std::array<std::array<SourceMap, fpga::kCropSides.size()>, fpga::kRotationDegrees.size()> sources_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<nn::Augmenter>> CreateAugmenter(std::string_view name,
                                                               const nn::StrongAugmentationOptions& strong) {
  const nn::ImageShape image = {strong.side, strong.channels};
  if (name == "strong") {
    RETURN_IF_ERROR(nn::Validate(strong));
    return nn::CreateStrongAugmenter(strong);
  }
  if (name == "continuous")
    return nn::CreateContinuousAugmenter({.side = image.side, .channels = image.channels});
  if (name != "table") {
    return absl::InvalidArgumentError(
        fmt::format("augmentation is \"{}\", expected strong, continuous or table", name));
  }
  constexpr nn::ImageShape kTable = {fpga::kImageSide, 1};
  if (image != kTable) {
    return absl::InvalidArgumentError(fmt::format(
        "the table augmentation takes grey images of {}, these are {}", kTable.Text(), image.Text()));
  }
  return std::make_unique<TableAugmentation>();
}

}  // namespace tributary::learner
