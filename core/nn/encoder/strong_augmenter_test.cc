#include "core/nn/encoder/strong_augmenter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "core/nn/kernel/random_stream.h"

namespace tributary::nn {
namespace {

constexpr std::size_t kStrongSide = 28;
constexpr std::size_t kStrongPixels = kStrongSide * kStrongSide;

using StrongPixels = std::vector<std::uint8_t>;

StrongAugmentationOptions Unchanged() {
  return {.crop = 0,
          .rotation_deg = 0,
          .brightness = 0,
          .contrast = 0,
          .blur = 0,
          .cut_out = 0,
          .flip = 0,
          .saturation = 0,
          .hue_deg = 0,
          .grey = 0};
}

StrongAugmentationOptions Everything() {
  return {.crop = 0.9,
          .rotation_deg = 90,
          .brightness = 1,
          .contrast = 5,
          .blur = 1,
          .cut_out = 0.9,
          .flip = 0.5,
          .saturation = 5,
          .hue_deg = 180,
          .grey = 0.5};
}

StrongPixels StrongViews(const StrongAugmentationOptions& options, const StrongPixels& images,
                         std::uint64_t key) {
  StrongPixels views(images.size());
  CreateStrongAugmenter(options)->MakeViews(images, key, views);
  return views;
}

StrongPixels Noise(std::size_t images) {
  StrongPixels pixels(images * kStrongPixels);
  RandomStream random(4);
  for (auto& pixel : pixels) pixel = static_cast<std::uint8_t>(random.Below(256));
  return pixels;
}

// Column c has the grey 9 c.
StrongPixels Ramp(std::size_t images) {
  StrongPixels pixels(images * kStrongPixels);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i % kStrongSide * 9);
  return pixels;
}

TEST(StrongAugmentationTest, EqualKeysGiveEqualViewsWhateverWasMadeBefore) {
  const StrongPixels images = Noise(5);
  const auto augmentation = CreateStrongAugmenter(Everything());
  StrongPixels first(images.size()), again(images.size());
  augmentation->MakeViews(images, 7, first);
  augmentation->MakeViews(images, 8, again);
  EXPECT_NE(first, again);
  augmentation->MakeViews(images, 7, again);
  EXPECT_EQ(first, again);
}

TEST(StrongAugmentationTest, LeavesImagesAloneIfEveryOptionIsZero) {
  const StrongPixels images = Noise(3);
  EXPECT_EQ(StrongViews(Unchanged(), images, 1), images);
}

// A white image stays white at any angle and place: a border of another grey would give the angle away.
TEST(StrongAugmentationTest, RepeatsTheEdgeOutsideOfTheImage) {
  StrongAugmentationOptions options = Everything();
  options.brightness = options.contrast = options.cut_out = 0;
  const StrongPixels white(20 * kStrongPixels, 255);
  EXPECT_EQ(StrongViews(options, white, 3), white);
}

// A crop leaves out at most 75 % of the area: at least half of the 28 columns stay, and at most all.
TEST(StrongAugmentationTest, ShowsPartOfTheImageMagnified) {
  StrongAugmentationOptions options = Unchanged();
  options.crop = 0.75;
  const StrongPixels views = StrongViews(options, Ramp(50), 5);
  int smallest = 255, largest = 0;
  for (std::size_t n = 0; n < 50; ++n) {
    const auto row = views.begin() + static_cast<std::ptrdiff_t>(n * kStrongPixels);
    const auto [low, high] = std::minmax_element(row, row + kStrongSide);
    smallest = std::min(smallest, *high - *low);
    largest = std::max(largest, *high - *low);
  }
  EXPECT_GE(smallest, 9 * 13);
  EXPECT_LE(smallest, 9 * 15);
  EXPECT_GE(largest, 9 * 25);
}

TEST(StrongAugmentationTest, ContrastTurnsAboutTheMeanAndBrightnessShiftsIt) {
  StrongAugmentationOptions options = Unchanged();
  options.contrast = 1;
  StrongPixels images(100 * kStrongPixels, 100);
  for (std::size_t i = 0; i < images.size(); i += 2) images[i] = 140;  // a mean of 120
  const auto differences = [&] {
    std::set<int> found;
    const StrongPixels views = StrongViews(options, images, 9);
    for (std::size_t n = 0; n < 100; ++n) {
      const int even = views[n * kStrongPixels], odd = views[n * kStrongPixels + 1];
      if (options.brightness == 0) {
        EXPECT_NEAR(even + odd, 240, 1);
      }
      found.insert(even - odd);
    }
    return found;
  };
  const std::set<int> factors = differences();  // 40 · (½ … 2)
  EXPECT_GE(*factors.begin(), 19);
  EXPECT_LE(*factors.begin(), 25);
  EXPECT_LE(*factors.rbegin(), 81);
  EXPECT_GE(*factors.rbegin(), 65);

  options.contrast = 0;
  options.brightness = 0.2;
  EXPECT_LE(differences().size(), 3u);  // 40, but for rounding
  const StrongPixels views = StrongViews(options, images, 9);
  const auto [low, high] = std::minmax_element(views.begin(), views.end());
  EXPECT_GE(*low, 49);
  EXPECT_LE(*low, 65);
  EXPECT_GE(*high, 175);
  EXPECT_LE(*high, 191);
}

TEST(StrongAugmentationTest, CutsASquareOutAtTheMeanGrey) {
  StrongAugmentationOptions options = Unchanged();
  options.cut_out = 0.5;
  StrongPixels images(40 * kStrongPixels, 0);
  for (std::size_t i = 0; i < images.size(); i += 2) images[i] = 200;
  const StrongPixels views = StrongViews(options, images, 2);
  std::size_t cut = 0;
  for (std::size_t n = 0; n < 40; ++n) {
    const auto first = views.begin() + static_cast<std::ptrdiff_t>(n * kStrongPixels);
    const auto grey = static_cast<std::size_t>(std::count(first, first + kStrongPixels, 100));
    const auto side = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(grey))));
    EXPECT_EQ(side * side, grey);
    EXPECT_LT(side, kStrongSide / 2);
    cut += grey;
  }
  EXPECT_GT(cut, 0u);
}

TEST(StrongAugmentationTest, FlipsAsManyImagesAsItIsTold) {
  StrongAugmentationOptions options = Unchanged();
  EXPECT_EQ(StrongViews(options, Ramp(10), 1), Ramp(10));
  options.flip = 0.25;
  const StrongPixels views = StrongViews(options, Ramp(1000), 1);
  std::size_t flipped = 0;
  for (std::size_t n = 0; n < 1000; ++n) flipped += views[n * kStrongPixels] > 128;
  EXPECT_NEAR(static_cast<double>(flipped), 250, 3 * 13.7);  // three deviations
}

TEST(StrongAugmentationTest, BlurSpreadsAPointAndKeepsItsGrey) {
  StrongAugmentationOptions options = Unchanged();
  options.blur = 1;
  StrongPixels points(20 * kStrongPixels, 0);
  for (std::size_t n = 0; n < 20; ++n) points[n * kStrongPixels + 14 * kStrongSide + 14] = 255;
  const StrongPixels views = StrongViews(options, points, 1);
  for (std::size_t n = 0; n < 20; ++n) {
    const auto first = views.begin() + static_cast<std::ptrdiff_t>(n * kStrongPixels);
    EXPECT_NEAR(std::accumulate(first, first + kStrongPixels, 0), 255, 30);  // each of 49 pixels is rounded
  }
}

class ColourViewsTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kImages = 40;

  ColourViewsTest() { options_.channels = 3; }

  // Each image all of one colour.
  static StrongPixels Coloured(std::array<std::uint8_t, 3> colour) {
    StrongPixels images(kImages * 3 * kStrongPixels);
    for (std::size_t i = 0; i < images.size(); ++i) images[i] = colour[i / kStrongPixels % 3];
    return images;
  }

  // The colours of the views, each of which must be of one.
  std::vector<std::array<int, 3>> ViewsOf(std::array<std::uint8_t, 3> colour) const {
    const StrongPixels views = StrongViews(options_, Coloured(colour), 6);
    std::vector<std::array<int, 3>> colours;
    for (std::size_t n = 0; n < kImages; ++n) {
      std::array<int, 3>& found = colours.emplace_back();
      for (std::size_t c = 0; c < 3; ++c) {
        const auto plane = views.begin() + static_cast<std::ptrdiff_t>((3 * n + c) * kStrongPixels);
        found[c] = *plane;
        EXPECT_EQ(std::count(plane, plane + kStrongPixels, *plane), kStrongPixels);
      }
    }
    return colours;
  }

  StrongAugmentationOptions options_ = Unchanged();
};

TEST_F(ColourViewsTest, LeavesImagesAloneIfEveryOptionIsZero) {
  const StrongPixels images = Noise(6);  // two of three planes
  EXPECT_EQ(StrongViews(options_, images, 1), images);
}

TEST_F(ColourViewsTest, AllPlanesOfAnImageAreCutTurnedAndMirroredAlike) {
  options_ = Everything();
  options_.channels = 3;
  options_.saturation = options_.hue_deg = options_.grey = 0;
  StrongPixels images = Noise(3);
  for (std::size_t i = 0; i < kStrongPixels; ++i)
    images[kStrongPixels + i] = images[2 * kStrongPixels + i] = images[i];
  const StrongPixels views = StrongViews(options_, images, 3);
  for (std::size_t i = 0; i < kStrongPixels; ++i) {
    EXPECT_EQ(views[i], views[kStrongPixels + i]);
    EXPECT_EQ(views[i], views[2 * kStrongPixels + i]);
  }
}

TEST_F(ColourViewsTest, SaturationStretchesTheDistanceFromGrey) {
  options_.saturation = 1;
  int least = 255, most = 0;
  for (const auto& [red, green, blue] : ViewsOf({120, 100, 80})) {
    EXPECT_EQ(green, 100);
    EXPECT_NEAR(red - 100, 100 - blue, 1);
    least = std::min(least, red - 100);
    most = std::max(most, red - 100);
  }
  EXPECT_GE(least, 10);
  EXPECT_LE(least, 13);
  EXPECT_LE(most, 40);
  EXPECT_GE(most, 32);
}

TEST_F(ColourViewsTest, HueTurnsAroundTheGreys) {
  options_.hue_deg = 180;
  bool bluer = false;
  for (const auto& [red, green, blue] : ViewsOf({150, 90, 60})) {
    EXPECT_NEAR(red + green + blue, 300, 2);
    const int squares =
        (red - 100) * (red - 100) + (green - 100) * (green - 100) + (blue - 100) * (blue - 100);
    EXPECT_NEAR(std::sqrt(squares), std::sqrt(50 * 50 + 10 * 10 + 40 * 40), 2);
    bluer = bluer || blue > 130;
  }
  EXPECT_TRUE(bluer);
  for (const auto& [red, green, blue] : ViewsOf({70, 70, 70}))
    EXPECT_TRUE(red == 70 && green == 70 && blue == 70);
}

TEST_F(ColourViewsTest, GreyTakesTheColourFromAsManyAsItIsTold) {
  options_.grey = 1;
  for (const auto& [red, green, blue] : ViewsOf({120, 100, 80}))
    EXPECT_TRUE(red == 100 && green == 100 && blue == 100);
  options_.grey = 0.5;
  std::size_t grey = 0;
  for (const auto& [red, green, blue] : ViewsOf({120, 100, 80})) grey += red == blue;
  EXPECT_GT(grey, 8u);
  EXPECT_LT(grey, 32u);
}

TEST_F(ColourViewsTest, GreyImagesAreTheSameWhateverTheColourOptions) {
  StrongAugmentationOptions grey = Everything(), other = Everything();
  other.saturation = other.hue_deg = other.grey = 0;
  EXPECT_EQ(StrongViews(grey, Noise(10), 4), StrongViews(other, Noise(10), 4));
}

TEST(StrongAugmentationTest, TakesTheSmallestImagesAndTheStrongestOptions) {
  StrongAugmentationOptions options = Everything();
  options.side = 4;
  const StrongPixels image(16 * 100, 90);
  StrongViews(options, image, 1);
}

TEST(StrongAugmentationTest, NamesTheOptionThatIsOutOfItsLimits) {
  EXPECT_TRUE(Validate(StrongAugmentationOptions()).ok());
  EXPECT_TRUE(Validate(Everything()).ok());
  StrongAugmentationOptions options;
  options.crop = 1;
  EXPECT_EQ(Validate(options).message(), "crop must be from 0 to 0.95, found 1");
  options = {};
  options.cut_out = -0.1;
  EXPECT_EQ(Validate(options).message(), "cut_out must be from 0 to 0.9, found -0.1");
}

}  // namespace
}  // namespace tributary::nn
