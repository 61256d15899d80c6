#include "fpga/gen/rom.h"

#include <fmt/format.h>

#include <optional>

#include "fpga/model/augmentation.h"
#include "fpga/model/beacon_model.h"

namespace tributary::fpga {
namespace {

constexpr std::uint32_t kAxis = 32;  // a position has five bits; 28 … 31 do not occur
constexpr std::uint32_t kOutside = 31 * kAxis;

}  // namespace

Rom RotationRom() {
  Rom rom{.name = "rotation", .bits = 10, .words = {}};
  for (std::size_t variant = 0; variant < kRotationDegrees.size(); ++variant) {
    for (std::uint32_t at = 0; at < kAxis * kAxis; ++at) {
      const PixelPosition output{static_cast<std::uint8_t>(at / kAxis),
                                 static_cast<std::uint8_t>(at % kAxis)};
      const bool exists = output.row < kImageSide && output.column < kImageSide;
      const std::optional<PixelPosition> source = exists ? RotationSource(variant, output) : std::nullopt;
      rom.words.push_back(source ? source->row * kAxis + source->column : kOutside);
    }
  }
  return rom;
}

Rom CropRom() {
  Rom rom{.name = "crop", .bits = 5, .words = {}};
  for (std::size_t variant = 0; variant < kCropSides.size(); ++variant) {
    for (std::uint32_t at = 0; at < kAxis; ++at) {
      rom.words.push_back(at < kImageSide ? static_cast<std::uint32_t>(CropSource(variant, at)) : 0U);
    }
  }
  return rom;
}

Rom BlurRom() {
  Rom rom{.name = "blur", .bits = kCoefficientBits, .words = {}};
  for (const std::int16_t tap : kBlurKernel) {
    rom.words.push_back(static_cast<std::uint32_t>(tap) & ((1U << kCoefficientBits) - 1U));
  }
  return rom;
}

Rom TansigRom() {
  Rom rom{.name = "tansig", .bits = kTansigFraction, .words = {}};
  for (const std::int16_t word : TansigTable().subspan(kTansigWords / 2)) {
    rom.words.push_back(static_cast<std::uint32_t>(word));
  }
  return rom;
}

std::string ToHex(const Rom& rom) {
  std::string text;
  for (const std::uint32_t word : rom.words) text += fmt::format("{:0{}x}\n", word, (rom.bits + 3) / 4);
  return text;
}

}  // namespace tributary::fpga
