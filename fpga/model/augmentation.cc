#include "fpga/model/augmentation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tributary::fpga {
namespace {

constexpr double kCentre = (static_cast<double>(kImageSide) - 1.0) / 2.0;

template <class Source>
Image Remap(const Image& image, Source source) {
  Image output;
  for (std::size_t i = 0; i < kImagePixels; ++i) {
    const PixelPosition position{static_cast<std::uint8_t>(i / kImageSide),
                                 static_cast<std::uint8_t>(i % kImageSide)};
    const std::optional<PixelPosition> from = source(position);
    output[i] = from ? image[from->row * kImageSide + from->column] : std::uint8_t{0};
  }
  return output;
}

}  // namespace

std::optional<PixelPosition> RotationSource(std::size_t variant, PixelPosition output) {
  const double angle = kRotationDegrees[variant] * std::numbers::pi / 180.0;
  const double x = output.column - kCentre;
  const double y = output.row - kCentre;  // downwards, hence the signs
  const double column = std::cos(angle) * x - std::sin(angle) * y + kCentre;
  const double row = std::sin(angle) * x + std::cos(angle) * y + kCentre;
  const auto inside = [](double at) { return at > -0.5 && at < static_cast<double>(kImageSide) - 0.5; };
  if (!inside(row) || !inside(column)) return std::nullopt;
  return PixelPosition{static_cast<std::uint8_t>(std::lround(row)),
                       static_cast<std::uint8_t>(std::lround(column))};
}

std::size_t CropSource(std::size_t variant, std::size_t output) {
  const std::size_t side = kCropSides[variant];
  // The centre of output pixel i lies at (i + ½) · side / 28 of the crop; its integer part is the nearest
  // pixel.
  return (kImageSide - side) / 2 + (2 * output + 1) * side / (2 * kImageSide);
}

Image Blur(const Image& image) {
  const std::vector<std::uint8_t> blurred = Convolve(image, kImageSide, kBlurKernel, kBlurShift, true);
  Image output;
  std::copy(blurred.begin(), blurred.end(), output.begin());
  return output;
}

Image Rotate(const Image& image, std::size_t variant) {
  return Remap(image, [variant](PixelPosition at) { return RotationSource(variant, at); });
}

Image CropAndResize(const Image& image, std::size_t variant) {
  return Remap(image, [variant](PixelPosition at) -> std::optional<PixelPosition> {
    return PixelPosition{static_cast<std::uint8_t>(CropSource(variant, at.row)),
                         static_cast<std::uint8_t>(CropSource(variant, at.column))};
  });
}

Image Augment(const Image& image, const AugmentationChoice& choice) {
  Image output = choice.blur ? Blur(image) : image;
  if (choice.rotation) output = Rotate(output, *choice.rotation);
  if (choice.crop) output = CropAndResize(output, *choice.crop);
  return output;
}

AugmentationSequence::AugmentationSequence(std::uint32_t seed, Enable enable)
    : enable_(enable),
      blur_(BlurLfsr(seed)),
      rotation_(RotationLfsr(seed >> 9)),
      crop_(CropLfsr(seed >> 20)) {}

std::uint32_t AugmentationSequence::seed() const {
  return blur_.state() | rotation_.state() << 9 | crop_.state() << 20;
}

AugmentationChoice AugmentationSequence::Next() {
  AugmentationChoice choice;
  choice.blur = enable_.blur && blur_.value() == kBlurValue;
  if (enable_.rotation) choice.rotation = rotation_.value();
  if (enable_.crop) choice.crop = crop_.value();
  blur_.Advance();
  rotation_.Advance();
  crop_.Advance();
  return choice;
}

}  // namespace tributary::fpga
