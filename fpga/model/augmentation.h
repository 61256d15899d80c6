// The golden model of the augmentation of 28×28 grey images: blur, rotation, resized crop, each chosen by its
// own shift register. The RTL's tables are generated from the functions of this header.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fpga/model/convolution.h"

namespace tributary::fpga {

inline constexpr std::size_t kImageSide = 28;
inline constexpr std::size_t kImagePixels = kImageSide * kImageSide;

using Image = std::array<std::uint8_t, kImagePixels>;  // row-major

struct PixelPosition {
  std::uint8_t row = 0;
  std::uint8_t column = 0;
  friend bool operator==(const PixelPosition&, const PixelPosition&) = default;
};

// Gaussian of σ 1.0 on 3×3 points, in units of 2^-10. The sum is exactly 1024, so an even area keeps its grey
// value. (Units of 2^-7 would be off by 6 % in single taps.)
inline constexpr Kernel kBlurKernel = {77, 127, 77, 127, 208, 127, 77, 127, 77};
inline constexpr int kBlurShift = 10;
inline constexpr std::uint32_t kBlurValue = 3;  // one of four: 25 %

// [SSL], 5.2.3: positive turns the image anticlockwise, as torchvision does.
inline constexpr std::array<int, 4> kRotationDegrees = {-30, -15, 15, 30};

// The source of output pixel (row, column) of a rotation: the nearest pixel, about the image's geometric
// centre (13.5, 13.5). Nothing if that lies outside: the output is 0. [SSL] turned about pixel 14, half a
// pixel off. With this centre no source falls half-way between two pixels, so the table does not depend on
// rounding.
std::optional<PixelPosition> RotationSource(std::size_t variant, PixelPosition output);

// [SSL], 5.2.4: side of the centre crop.
inline constexpr std::array<std::size_t, 4> kCropSides = {16, 20, 24, 28};

// The source row (or column) of row (or column) `output` of a resized crop: the nearest one.
std::size_t CropSource(std::size_t variant, std::size_t output);

// Single augmentations.
Image Blur(const Image& image);
Image Rotate(const Image& image, std::size_t variant);
Image CropAndResize(const Image& image, std::size_t variant);

// Linear-feedback shift register with XNOR feedback: a random generator of the augmentation.
//
// Shifts left; the new lowest bit is the XNOR of two taps (XAPP 052: 9,5 · 10,7 · 11,9). Every state except
// all ones occurs (period 2^bits - 1), and a register cleared at reset runs.
//
// An image takes one value of two bits and shifts twice, so that two images share no bit: with one shift the
// choice for an image would leave only two choices for the next. 2 and 2^bits - 1 have no common factor, so
// the period in images is 2^bits - 1, too.
class Lfsr {
 public:
  // A seed of all ones, in which the register would stay forever, counts as zero. Higher bits are ignored.
  constexpr Lfsr(int bits, int tap, std::uint32_t seed) : bits_(bits), tap_(tap), state_(seed & Mask()) {
    if (state_ == Mask()) state_ = 0;
  }

  constexpr std::uint32_t state() const { return state_; }
  constexpr std::uint32_t value() const { return state_ & 3U; }

  // Steps to the next image.
  constexpr void Advance() {
    Shift();
    Shift();
  }

  constexpr void Shift() {
    const std::uint32_t bit = ~((state_ >> (bits_ - 1)) ^ (state_ >> (tap_ - 1))) & 1U;
    state_ = ((state_ << 1) | bit) & Mask();
  }

 private:
  constexpr std::uint32_t Mask() const { return (std::uint32_t{1} << bits_) - 1; }

  int bits_;
  int tap_;
  std::uint32_t state_;
};

// [SSL], 5.2: blur by 9 bits, rotation by 11, crop by 10.
constexpr Lfsr BlurLfsr(std::uint32_t seed) { return Lfsr(9, 5, seed); }
constexpr Lfsr RotationLfsr(std::uint32_t seed) { return Lfsr(11, 9, seed); }
constexpr Lfsr CropLfsr(std::uint32_t seed) { return Lfsr(10, 7, seed); }

// The choices for an image; variants are indices into the arrays above. Off: the image passes unchanged.
struct AugmentationChoice {
  bool blur = false;
  std::optional<std::size_t> rotation;
  std::optional<std::size_t> crop;
  friend bool operator==(const AugmentationChoice&, const AugmentationChoice&) = default;
};
Image Augment(const Image& image, const AugmentationChoice& choice);

// Bits of augment_convolve_kernel's configuration.
struct AugmentConfiguration {
  static constexpr std::uint32_t kAugment = 7;  // blur, rotation and crop
  static constexpr std::uint32_t kConvolve = 8, kPad = 16;
  static constexpr std::uint32_t kTwoViews = 32;
  static constexpr std::uint32_t kSetSeed = 128;  // of the sequence, at the begin of the run
};

// The hardware's sequence of choices. Each image (each view, if an image is used several times) takes one
// step of every register, switched on or not.
class AugmentationSequence {
 public:
  struct Enable {
    bool blur = true;
    bool rotation = true;
    bool crop = true;
  };
  // Seed bits: 8…0 blur, 19…9 rotation, 29…20 crop.
  AugmentationSequence(std::uint32_t seed, Enable enable);

  // A sequence of this seed goes on as this one does from here.
  std::uint32_t seed() const;

  AugmentationChoice Next();

 private:
  Enable enable_;
  Lfsr blur_;
  Lfsr rotation_;
  Lfsr crop_;
};

}  // namespace tributary::fpga
