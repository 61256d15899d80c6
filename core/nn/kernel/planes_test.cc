#include "core/nn/kernel/planes.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/nn/kernel/random_values_fixture.h"

namespace tributary::nn {
namespace {

constexpr std::size_t kMeanImages = 2;

Planes RandomPlanes(std::size_t channels, std::size_t side, unsigned seed) {
  Planes planes(channels, {kMeanImages, side});
  const std::vector<float> values = RandomValues(channels * kMeanImages * side * side, seed);
  std::size_t next = 0;
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t n = 0; n < kMeanImages; ++n) {
      for (std::size_t i = 0; i < side * side; ++i) {
        planes.channel(c)[i / side * planes.shape().pitch() + i % side * planes.shape().lanes() + n] =
            values[next++];
      }
    }
  }
  return planes;
}

TEST(AreaMeansTest, DividesSevenRowsIntoTwoTwoAndThree) {
  Planes x(1, {1, 7});
  const PlaneShape& shape = x.shape();
  for (std::size_t i = 0; i < 49; ++i) {
    x.channel(0)[i / 7 * shape.pitch() + i % 7 * shape.lanes()] = static_cast<float>(i);
  }
  std::vector<float> features(9);
  AreaMeans(x, 3, features);
  EXPECT_FLOAT_EQ(features[0], (0 + 1 + 7 + 8) / 4.0f);
  EXPECT_FLOAT_EQ(features[1], (2 + 3 + 9 + 10) / 4.0f);
  EXPECT_FLOAT_EQ(features[8], 40.0f);  // the centre of rows and columns 4 … 6
}

TEST(AreaMeansTest, OfAreasOfOnePixelAreThePixels) {
  const Planes x = RandomPlanes(3, 2, 1);
  std::vector<float> features(3 * 4 * kMeanImages);
  AreaMeans(x, 2, features);
  EXPECT_EQ(features[(2 * 4 + 3) * kMeanImages + 1], x.channel(2)[x.shape().pitch() + x.shape().lanes() + 1]);
}

// The map is linear, so its gradient is its transpose: <A x, g> = <x, Aᵀ g>; float sums of 100 terms.
TEST(AreaMeansTest, GradientIsTheTranspose) {
  constexpr std::size_t kChannels = 2, kSide = 7, kGrid = 3;
  const Planes x = RandomPlanes(kChannels, kSide, 2);
  Planes gradient(kChannels, x.shape());
  const std::vector<float> g = RandomValues(kChannels * kGrid * kGrid * kMeanImages, 3);
  std::vector<float> features(g.size());
  AreaMeans(x, kGrid, features);
  AreaMeansGradient(g, kGrid, gradient);
  double forward = 0, backward = 0;
  for (std::size_t i = 0; i < g.size(); ++i) forward += double{features[i]} * g[i];
  for (std::size_t c = 0; c < kChannels; ++c) {
    for (std::size_t i = 0; i < x.shape().size(); ++i) {
      backward += double{x.channel(c)[i]} * gradient.channel(c)[i];
    }
  }
  EXPECT_NEAR(forward, backward, 1e-5);
}

}  // namespace
}  // namespace tributary::nn
