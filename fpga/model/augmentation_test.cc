#include "fpga/model/augmentation.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <set>

#include "gtest/gtest.h"

namespace tributary::fpga {
namespace {

Image Ramp() {
  Image image;
  for (std::size_t i = 0; i < kImagePixels; ++i) image[i] = static_cast<std::uint8_t>(i * 7 % 251);
  return image;
}

Image Mirrored(const Image& image) {
  Image output;
  for (std::size_t i = 0; i < kImagePixels; ++i) {
    output[i] = image[i / kImageSide * kImageSide + (kImageSide - 1 - i % kImageSide)];
  }
  return output;
}

void ExpectMaximalPeriod(Lfsr lfsr, int bits) {
  const std::uint32_t start = lfsr.state();
  std::set<std::uint32_t> seen;
  do {
    EXPECT_TRUE(seen.insert(lfsr.state()).second);
    lfsr.Advance();
  } while (lfsr.state() != start && seen.size() < 4096);
  EXPECT_EQ(seen.size(), (std::size_t{1} << bits) - 1);
}

TEST(LfsrTest, PassesEveryStateButAllOnes) {
  ExpectMaximalPeriod(BlurLfsr(0), 9);
  ExpectMaximalPeriod(CropLfsr(5), 10);
  ExpectMaximalPeriod(RotationLfsr(77), 11);
}

TEST(LfsrTest, StartsEvenFromTheSeedThatWouldLockIt) {
  EXPECT_EQ(BlurLfsr(0x1ff).state(), 0U);
  EXPECT_EQ(CropLfsr(0xffff'ffff).state(), 0U);
  EXPECT_EQ(RotationLfsr(0xffff'f001).state(), 1U);
}

TEST(LfsrTest, GivesEachPairOfSuccessiveValuesEquallyOften) {
  std::array<int, 16> pairs{};
  Lfsr lfsr = RotationLfsr(0);
  for (int i = 0; i < 2047; ++i) {
    const std::uint32_t first = lfsr.value();
    lfsr.Advance();
    ++pairs[first * 4 + lfsr.value()];
  }
  // 2^11 states spread over 16 pairs, less the one state that does not occur.
  EXPECT_EQ(std::accumulate(pairs.begin(), pairs.end(), 0), 2047);
  for (const int count : pairs) EXPECT_NEAR(count, 128, 1);
}

TEST(BlurTest, IsAGaussianOfSigmaOne) {
  double total = 0.0;
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx) total += std::exp(-0.5 * (dx * dx + dy * dy));
  }
  int sum = 0;
  for (std::size_t tap = 0; tap < kKernelTaps; ++tap) {
    const int dy = static_cast<int>(tap / 3) - 1;
    const int dx = static_cast<int>(tap % 3) - 1;
    const double exact = 1024.0 * std::exp(-0.5 * (dx * dx + dy * dy)) / total;
    EXPECT_NEAR(kBlurKernel[tap], exact, tap == 4 ? 1.2 : 0.5);  // the centre takes up the others' rounding
    sum += kBlurKernel[tap];
  }
  EXPECT_EQ(sum, 1 << kBlurShift);
}

TEST(BlurTest, KeepsAnEvenAreaInside) {
  Image image;
  image.fill(255);
  const Image blurred = Blur(image);
  EXPECT_EQ(blurred[kImageSide + 1], 255);
  EXPECT_LT(blurred[0], 255);  // zeros stand around the image
}

TEST(RotationTest, HasNoSourceHalfWayBetweenTwoPixels) {
  for (const int degrees : kRotationDegrees) {
    const double angle = degrees * std::numbers::pi / 180.0;
    for (double y = -13.5; y <= 13.5; ++y) {
      for (double x = -13.5; x <= 13.5; ++x) {
        const double at = std::cos(angle) * x - std::sin(angle) * y + 13.5;
        EXPECT_GT(std::abs(at - std::floor(at) - 0.5), 1e-6);
      }
    }
  }
}

TEST(RotationTest, OppositeAnglesAreMirrorImages) {
  const Image image = Ramp();
  EXPECT_EQ(Rotate(Mirrored(image), 0), Mirrored(Rotate(image, 3)));
  EXPECT_EQ(Rotate(Mirrored(image), 1), Mirrored(Rotate(image, 2)));
}

TEST(RotationTest, TurnsAnticlockwiseForPositiveAngles) {
  Image image{};
  image[13 * kImageSide + 24] = 200;  // right of the centre
  const Image turned = Rotate(image, 3);
  const auto at = static_cast<std::size_t>(std::find(turned.begin(), turned.end(), 200) - turned.begin());
  ASSERT_LT(at, kImagePixels);
  EXPECT_LT(at / kImageSide, 10U);  // now higher up
}

TEST(RotationTest, LeavesTheCornersEmpty) {
  Image image;
  image.fill(9);
  for (std::size_t variant = 0; variant < kRotationDegrees.size(); ++variant) {
    const Image turned = Rotate(image, variant);
    EXPECT_EQ(turned.front(), 0);
    EXPECT_EQ(turned.back(), 0);
    EXPECT_EQ(turned[14 * kImageSide + 14], 9);
  }
}

TEST(CropTest, OfTheWholeImageChangesNothing) { EXPECT_EQ(CropAndResize(Ramp(), 3), Ramp()); }

TEST(CropTest, ShowsEachPixelOfTheCentreAtLeastOnceAndNothingElse) {
  for (std::size_t variant = 0; variant < kCropSides.size(); ++variant) {
    std::set<std::size_t> shown;
    for (std::size_t i = 0; i < kImageSide; ++i) shown.insert(CropSource(variant, i));
    const std::size_t border = (kImageSide - kCropSides[variant]) / 2;
    EXPECT_EQ(shown.size(), kCropSides[variant]);
    EXPECT_EQ(*shown.begin(), border);
    EXPECT_EQ(*shown.rbegin(), kImageSide - 1 - border);
  }
}

TEST(AugmentationSequenceTest, BlursAQuarterOfTheImages) {
  AugmentationSequence sequence(0, {});
  int blurred = 0;
  for (int i = 0; i < 511; ++i) blurred += sequence.Next().blur ? 1 : 0;
  EXPECT_EQ(blurred, 127);  // 128 less the state of all ones
}

TEST(AugmentationSequenceTest, StepsEvenWhatIsSwitchedOff) {
  AugmentationSequence all(12345, {});
  AugmentationSequence crop_only(12345, {.blur = false, .rotation = false});
  for (int i = 0; i < 50; ++i) {
    const AugmentationChoice choice = crop_only.Next();
    EXPECT_EQ(choice.crop, all.Next().crop);
    EXPECT_FALSE(choice.blur);
    EXPECT_FALSE(choice.rotation.has_value());
  }
}

TEST(AugmentationSequenceTest, GoesOnFromItsSeed) {
  AugmentationSequence whole(0x155'1234, {});
  for (int image = 0; image < 100; ++image) {
    AugmentationSequence rest(whole.seed(), {});
    ASSERT_EQ(rest.Next(), whole.Next()) << image;
  }
}

TEST(ConvolutionTest, PassesTheImageWithAKernelOfOne) {
  const Image image = Ramp();
  const std::vector<std::uint8_t> same =
      Convolve(image, kImageSide, {0, 0, 0, 0, 128}, kCoefficientShift, true);
  EXPECT_TRUE(std::equal(same.begin(), same.end(), image.begin(), image.end()));
}

TEST(ConvolutionTest, WithoutPaddingIsTheInnerPartOfThePaddedOne) {
  const Image image = Ramp();
  const Kernel kernel = {5, -3, 80, 12, 40, -70, 9, 33, -8};
  const std::vector<std::uint8_t> padded = Convolve(image, kImageSide, kernel, kCoefficientShift, true);
  const std::vector<std::uint8_t> inner = Convolve(image, kImageSide, kernel, kCoefficientShift, false);
  ASSERT_EQ(inner.size(), 26U * 26U);
  for (std::size_t i = 0; i < inner.size(); ++i) {
    EXPECT_EQ(inner[i], padded[(i / 26 + 1) * kImageSide + i % 26 + 1]);
  }
}

TEST(ConvolutionTest, ClipsAndRoundsDown) {
  EXPECT_EQ(ShiftAndClip(-1, 7), 0);
  EXPECT_EQ(ShiftAndClip(255, 7), 1);
  EXPECT_EQ(ShiftAndClip(256 << 7, 7), 255);
  EXPECT_EQ(ShiftAndClip((255 << 7) + 127, 7), 255);
  EXPECT_EQ(ShiftAndClip(9 * 255 * 2047, 0), 255);
}

TEST(ConvolutionTest, PutsTheFirstTapAboveAndLeft) {
  Image image{};
  image[5 * kImageSide + 7] = 100;
  const std::vector<std::uint8_t> moved = Convolve(image, kImageSide, {128}, kCoefficientShift, true);
  EXPECT_EQ(moved[6 * kImageSide + 8], 100);
}

}  // namespace
}  // namespace tributary::fpga
