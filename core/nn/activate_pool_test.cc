#include "core/nn/activate_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/nn/random_values.h"

namespace tributary {
namespace {

constexpr std::size_t kImages = 3;

class ActivatePoolTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  const std::size_t side_ = GetParam();
  const std::size_t half_ = side_ / 2;
  const NormCoefficients norm_{-1.25f,
                               0.3f};  // a negative factor, with which maximum and norm do not commute
  Planes x_{1, {kImages, side_}};
  Planes pooled_{1, {kImages, half_}};

  void SetUp() override {
    const std::vector<float> values = RandomValues(x_.shape().size(), 1);
    for (std::size_t i = 0; i < values.size(); ++i) x_.channel(0)[i] = values[i] * x_.mask()[i];
  }
  float* Image(std::size_t n) { return x_.channel(0) + n * x_.shape().image_size(); }
  float* Pooled(std::size_t n) { return pooled_.channel(0) + n * pooled_.shape().image_size(); }

  // Σ weight · pooled, in double, over an image [side × (side + 1)] with a normed value y.
  double WeightedOutput(const std::vector<double>& x, const ClipActivation& activation,
                        const float* weight) const {
    double total = 0;
    for (std::size_t row = 0; row < half_; ++row) {
      for (std::size_t column = 0; column < half_; ++column) {
        double maximum = -1e30;
        for (std::size_t k = 0; k < 4; ++k) {
          const double value = x[(2 * row + k / 2) * (side_ + 1) + 2 * column + k % 2];
          maximum = std::max(maximum, norm_.factor * value + norm_.term);
        }
        total += weight[row * (half_ + 1) + column] *
                 std::clamp(maximum, 0.0, static_cast<double>(activation.ceiling));
      }
    }
    return total;
  }
};

TEST_P(ActivatePoolTest, TakesTheMaximumOfTheNormedAndClippedPixels) {
  const ClipActivation activation{1.0f, 0};
  for (std::size_t n = 0; n < kImages; ++n) ActivatePool(Image(n), side_, norm_, activation, Pooled(n));
  for (std::size_t n = 0; n < kImages; ++n) {
    const std::vector<double> image(Image(n), Image(n) + x_.shape().image_size());
    for (std::size_t row = 0; row < half_; ++row) {
      for (std::size_t column = 0; column < half_; ++column) {
        std::vector<float> only(half_ * (half_ + 1), 0.0f);
        only[row * (half_ + 1) + column] = 1;
        EXPECT_NEAR(Pooled(n)[row * (half_ + 1) + column], WeightedOutput(image, activation, only.data()),
                    1e-6);
      }
      EXPECT_EQ(Pooled(n)[row * (half_ + 1) + half_], 0);
    }
  }
}

TEST_P(ActivatePoolTest, RoundsDownToTheStep) {
  const ClipActivation activation{255.0f / 256.0f, 1.0f / 256.0f};
  ActivatePool(Image(0), side_, norm_, activation, Pooled(0));
  for (std::size_t i = 0; i < half_ * (half_ + 1); ++i) {
    EXPECT_EQ(Pooled(0)[i] * 256, std::floor(Pooled(0)[i] * 256));
    EXPECT_LE(Pooled(0)[i], activation.ceiling);
  }
}

// Piecewise linear: away from its kinks, which random pixels miss by more than the step, the central
// difference is exact; what remains is float's rounding of the few products.
TEST_P(ActivatePoolTest, GradientsAgreeWithFiniteDifferences) {
  constexpr double kStep = 1e-7;
  const ClipActivation activation{1.0f, 0};
  const std::vector<float> weights = RandomValues(pooled_.shape().size() + PlaneShape::kSlack, 2);
  Planes gradient(1, x_.shape());
  const NormGradientCoefficients direct{norm_.factor, 0, 0, 0};
  for (std::size_t n = 0; n < kImages; ++n) {
    ActivatePoolGradient(Image(n), side_, norm_, activation, weights.data(), direct,
                         gradient.channel(0) + n * x_.shape().image_size());
  }
  for (std::size_t n = 0; n < kImages; ++n) {
    std::vector<double> image(Image(n), Image(n) + x_.shape().image_size());
    const float* dx = gradient.channel(0) + n * x_.shape().image_size();
    double sum = 0, product = 0;
    for (std::size_t i = 0; i < image.size(); ++i) {
      const double x = image[i];
      image[i] = x + kStep;
      const double above = WeightedOutput(image, activation, weights.data());
      image[i] = x - kStep;
      const double below = WeightedOutput(image, activation, weights.data());
      image[i] = x;
      const double difference = (above - below) / (2 * kStep);
      ASSERT_NEAR(dx[i], difference, 1e-6) << "image " << n << ", " << i;
      sum += difference / norm_.factor;
      product += difference / norm_.factor * x;
    }
    const PoolGradientSums sums = SumPoolGradient(Image(n), side_, norm_, activation, weights.data());
    EXPECT_NEAR(sums.sum, sum, 1e-4);
    EXPECT_NEAR(sums.product, product, 1e-4);
  }
}

TEST_P(ActivatePoolTest, AddsTheNormsTermsAtEveryPixelAndNowhereElse) {
  const std::vector<float> none(pooled_.shape().size() + PlaneShape::kSlack, 0.0f);
  const NormGradientCoefficients coefficients{1, 2, 3, 0.5f};
  Planes gradient(1, x_.shape());
  for (std::size_t n = 0; n < kImages; ++n) {
    ActivatePoolGradient(Image(n), side_, norm_, {}, none.data(), coefficients,
                         gradient.channel(0) + n * x_.shape().image_size());
  }
  for (std::size_t i = 0; i < x_.shape().size(); ++i) {
    const float x = x_.channel(0)[i];
    const float expected = x_.mask()[i] * (2 * x + (x > 0 ? 3.0f : x < 0 ? -3.0f : 0.0f) + 0.5f);
    ASSERT_NEAR(gradient.channel(0)[i], expected, 1e-5) << i;
  }
}

TEST(ActivatePoolTieTest, EqualPixelsPassTheGradientOnce) {
  Planes x(1, {1, 4});
  for (std::size_t i = 0; i < x.shape().size(); ++i) x.channel(0)[i] = x.mask()[i];
  const std::vector<float> ones(PlaneShape::kSlack + 9, 1.0f);
  Planes gradient(1, {1, 4});
  ActivatePoolGradient(x.channel(0), 4, {}, {}, ones.data(), {}, gradient.channel(0));
  float total = 0;
  for (std::size_t i = 0; i < x.shape().size(); ++i) total += gradient.channel(0)[i];
  EXPECT_EQ(total, 4);
  EXPECT_EQ(gradient.channel(0)[0], 1);
}

INSTANTIATE_TEST_SUITE_P(Sides, ActivatePoolTest, ::testing::Values(4, 5, 7, 14, 28, 33, 40));

}  // namespace
}  // namespace tributary
