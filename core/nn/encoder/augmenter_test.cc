#include "core/nn/encoder/augmenter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/nn/kernel/random_stream.h"

namespace tributary::nn {
namespace {

constexpr std::size_t kSide = 28;
constexpr std::size_t kPixels = kSide * kSide;

using Pixels = std::vector<std::uint8_t>;

ContinuousAugmentationOptions Nothing() {
  ContinuousAugmentationOptions options;
  options.max_rotation_deg = 0;
  options.blur_probability = 0;
  options.min_crop = 1;
  return options;
}

Pixels Views(const ContinuousAugmentationOptions& options, const Pixels& images, std::uint64_t key) {
  Pixels views(images.size());
  CreateContinuousAugmenter(options)->MakeViews(images, key, views);
  return views;
}

Pixels RandomPixels(std::size_t images) {
  Pixels pixels(images * kPixels);
  RandomStream random(4);
  for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(random.Below(256));
  return pixels;
}

TEST(ContinuousAugmentationTest, EqualKeysGiveEqualViewsAndOthersDoNot) {
  const Pixels images = RandomPixels(5);
  EXPECT_EQ(Views({}, images, 7), Views({}, images, 7));
  EXPECT_NE(Views({}, images, 7), Views({}, images, 8));
}

TEST(ContinuousAugmentationTest, ViewsDoNotDependOnWhatWasMadeBefore) {
  const Pixels images = RandomPixels(5);
  const auto augmentation = CreateContinuousAugmenter({});
  Pixels first(images.size()), again(images.size());
  augmentation->MakeViews(images, 7, first);
  augmentation->MakeViews(images, 8, again);
  augmentation->MakeViews(images, 7, again);
  EXPECT_EQ(first, again);
}

TEST(ContinuousAugmentationTest, LeavesImagesAloneIfToldTo) {
  const Pixels images = RandomPixels(3);
  EXPECT_EQ(Views(Nothing(), images, 1), images);
}

// Turned by anything but multiples of 90°, a white image shows black corners; its middle stays white.
TEST(ContinuousAugmentationTest, IsBlackOutsideOfTheImage) {
  ContinuousAugmentationOptions options = Nothing();
  options.max_rotation_deg = 30;
  const Pixels views = Views(options, Pixels(20 * kPixels, 255), 3);
  std::size_t black = 0;
  for (std::size_t n = 0; n < 20; ++n) {
    EXPECT_EQ(views[n * kPixels + 14 * kSide + 14], 255);
    black += views[n * kPixels] < 128;
  }
  EXPECT_GT(black, 10u);
}

// A crop of an eighth of the area without rotation sees at most ⌈28 / √8⌉ + 1 of the 28 columns.
TEST(ContinuousAugmentationTest, ShowsPartOfTheImageMagnified) {
  ContinuousAugmentationOptions options = Nothing();
  options.min_crop = options.max_crop = 0.125;
  Pixels images(10 * kPixels);
  for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<std::uint8_t>(i % kSide * 9);
  const Pixels views = Views(options, images, 5);
  for (std::size_t n = 0; n < 10; ++n) {
    const auto row = views.begin() + static_cast<std::ptrdiff_t>(n * kPixels);
    const auto [low, high] = std::minmax_element(row, row + kSide);
    EXPECT_LE(*high - *low, 9 * 11);
    EXPECT_GE(*high - *low, 9 * 8);
  }
}

// A kernel that sums to one keeps an even area; each pixel is rounded once.
TEST(ContinuousAugmentationTest, BlurKeepsTheGreyAndSpreadsAPoint) {
  ContinuousAugmentationOptions options = Nothing();
  options.blur_probability = 1;
  options.min_sigma = 1.0;
  options.max_sigma = 1.0;
  const Pixels even = Views(options, Pixels(kPixels, 100), 1);
  EXPECT_NEAR(even[14 * kSide + 14], 100, 1);
  Pixels point(kPixels, 0);
  point[14 * kSide + 14] = 255;
  const Pixels spread = Views(options, point, 1);
  EXPECT_NEAR(spread[14 * kSide + 14], 255 * 0.1592, 1.5);  // 1 / 2π
  EXPECT_EQ(spread[14 * kSide + 13], spread[13 * kSide + 14]);
  EXPECT_GT(spread[14 * kSide + 13], 0);
  EXPECT_NEAR(std::accumulate(spread.begin(), spread.end(), 0), 255, 25);
}

}  // namespace
}  // namespace tributary::nn
