#include "core/nn/kernel/activate_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/nn/kernel/random_values_fixture.h"

namespace tributary::nn {
namespace {

constexpr std::size_t kImages = 3;
constexpr std::size_t kLanes = PlaneShape{kImages, 4}.lanes();

std::size_t Index(const PlaneShape& shape, std::size_t n, std::size_t y, std::size_t x) {
  return y * shape.pitch() + x * shape.lanes() + n;
}

// One image, row by row.
std::vector<double> Image(const Planes& planes, std::size_t n) {
  const PlaneShape& shape = planes.shape();
  std::vector<double> image;
  for (std::size_t i = 0; i < shape.side * shape.side; ++i) {
    image.push_back(planes.channel(0)[Index(shape, n, i / shape.side, i % shape.side)]);
  }
  return image;
}

void FillRandomly(Planes& planes, unsigned seed) {
  const PlaneShape& shape = planes.shape();
  const std::vector<float> values = RandomValues(kImages * shape.side * shape.side, seed);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t pixel = i / kImages;
    planes.channel(0)[Index(shape, i % kImages, pixel / shape.side, pixel % shape.side)] = values[i];
  }
}

void ExpectZerosAround(const Planes& planes) {
  const float* first = planes.channel(0) - planes.shape().margin();
  std::size_t others = 0;
  for (std::size_t i = 0; i < planes.shape().stride(); ++i) others += first[i] != 0;
  for (std::size_t n = 0; n < kImages; ++n) {
    for (const double pixel : Image(planes, n)) others -= pixel != 0;
  }
  EXPECT_EQ(others, 0);
}

class ActivatePoolTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  const std::size_t side_ = GetParam();
  const std::size_t half_ = side_ / 2;
  // Negative factors too, with which maximum and norm do not commute.
  std::vector<float> factor_ = {-1.25f, 0.75f, -0.5f}, term_ = {0.3f, -0.1f, 0.0f};
  Planes x_{1, {kImages, side_}};
  Planes pooled_{1, {kImages, half_}};
  Planes peak_{1, {kImages, half_}};

  void SetUp() override {
    factor_.resize(kLanes);
    term_.resize(kLanes);
    FillRandomly(x_, 1);
  }
  NormCoefficients Norm() const { return {factor_.data(), term_.data()}; }
  void Forward(const ClipActivation& activation) {
    ActivatePool(x_.channel(0), x_.shape(), Norm(), activation, pooled_.channel(0), peak_.channel(0));
  }

  // The pooled image of x [side × side], in double.
  std::vector<double> PooledOf(const std::vector<double>& x, std::size_t n, double ceiling) const {
    std::vector<double> pooled;
    for (std::size_t i = 0; i < half_ * half_; ++i) {
      double maximum = -1e30;
      for (std::size_t k = 0; k < 4; ++k) {
        const double value = x[(2 * (i / half_) + k / 2) * side_ + 2 * (i % half_) + k % 2];
        maximum = std::max(maximum, factor_[n] * value + term_[n]);
      }
      pooled.push_back(std::clamp(maximum, 0.0, ceiling));
    }
    return pooled;
  }
};

TEST_P(ActivatePoolTest, TakesTheMaximumOfTheNormedAndClippedPixels) {
  Forward({1.0f});
  for (std::size_t n = 0; n < kImages; ++n) {
    const std::vector<double> pooled = Image(pooled_, n), expected = PooledOf(Image(x_, n), n, 1.0);
    for (std::size_t i = 0; i < pooled.size(); ++i) EXPECT_NEAR(pooled[i], expected[i], 1e-6) << i;
  }
  ExpectZerosAround(pooled_);
  ExpectZerosAround(peak_);
}

TEST_P(ActivatePoolTest, RoundsToTheStepWithTiesToEvenAndClips) {
  constexpr float kStep = 1.0f / 256.0f, kCeiling = 255 * kStep;
  x_.channel(0)[0] = 2.5f * kStep;
  x_.channel(0)[1] = 3.5f * kStep;
  const std::vector<double> before = Image(x_, 2);
  RoundAndClip(x_.channel(0), x_.shape(), kStep, kCeiling);
  EXPECT_EQ(x_.channel(0)[0], 2 * kStep);
  EXPECT_EQ(x_.channel(0)[1], 4 * kStep);
  const std::vector<double> after = Image(x_, 2);
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(after[i], std::clamp(std::nearbyint(before[i] / kStep), 0.0, 255.0) * kStep) << i;
  }
  ExpectZerosAround(x_);
}

TEST_P(ActivatePoolTest, SumsEachImage) {
  std::vector<float> sum(kLanes), squares(kLanes), magnitude(kLanes);
  SumImages(x_.channel(0), x_.shape(), {sum.data(), squares.data(), magnitude.data()});
  for (std::size_t n = 0; n < kImages; ++n) {
    double expected_sum = 0, expected_squares = 0, expected_magnitude = 0;
    for (const double pixel : Image(x_, n)) {
      expected_sum += pixel;
      expected_squares += pixel * pixel;
      expected_magnitude += std::abs(pixel);
    }
    const double bound = static_cast<double>(2 * side_) * 0x1p-24;  // additions a row and a column deep
    EXPECT_NEAR(sum[n], expected_sum, bound * expected_magnitude);
    EXPECT_NEAR(squares[n], expected_squares, bound * expected_squares);
    EXPECT_NEAR(magnitude[n], expected_magnitude, bound * expected_magnitude);
  }
}

// Piecewise linear: away from its kinks, which random pixels miss by more than the step, the central
// difference is exact; what remains is float's rounding of the few products.
TEST_P(ActivatePoolTest, GradientsAgreeWithFiniteDifferences) {
  constexpr double kStep = 1e-7;
  const ClipActivation activation{1.0f};
  Forward(activation);
  Planes weights(1, pooled_.shape()), gradient(1, x_.shape());
  FillRandomly(weights, 2);
  const std::vector<float> none(kLanes, 0.0f);
  ActivatePoolGradient(x_.channel(0), x_.shape(), Norm(), activation, peak_.channel(0), weights.channel(0),
                       {factor_.data(), none.data(), none.data(), none.data()}, gradient.channel(0));
  std::vector<float> sums(kLanes), products(kLanes);
  SumPoolGradient(peak_.channel(0), peak_.shape(), Norm(), activation, weights.channel(0),
                  {sums.data(), products.data()});
  ExpectZerosAround(gradient);
  for (std::size_t n = 0; n < kImages; ++n) {
    const std::vector<double> dx = Image(gradient, n), weight = Image(weights, n);
    std::vector<double> image = Image(x_, n);
    const auto output = [&] {
      const std::vector<double> pooled = PooledOf(image, n, activation.ceiling);
      double total = 0;
      for (std::size_t i = 0; i < pooled.size(); ++i) total += weight[i] * pooled[i];
      return total;
    };
    double sum = 0, product = 0;
    for (std::size_t i = 0; i < image.size(); ++i) {
      const double x = image[i];
      image[i] = x + kStep;
      const double above = output();
      image[i] = x - kStep;
      const double below = output();
      image[i] = x;
      const double difference = (above - below) / (2 * kStep);
      ASSERT_NEAR(dx[i], difference, 1e-6) << "image " << n << ", " << i;
      sum += difference / factor_[n];
      product += difference / factor_[n] * x;
    }
    EXPECT_NEAR(sums[n], sum, 1e-4);
    EXPECT_NEAR(products[n], product, 1e-4);
  }
}

TEST_P(ActivatePoolTest, AddsTheNormsTermsAtEveryPixelAndNowhereElse) {
  Forward({});
  std::vector<float> direct = {1, 1, 1}, slope = {2, 4, 8}, sign = {3, 3, -3}, term = {0.5f, 0.25f, 0};
  for (auto* values : {&direct, &slope, &sign, &term}) values->resize(kLanes);
  const Planes none(1, pooled_.shape());
  Planes gradient(1, x_.shape());
  ActivatePoolGradient(x_.channel(0), x_.shape(), Norm(), {}, peak_.channel(0), none.channel(0),
                       {direct.data(), slope.data(), sign.data(), term.data()}, gradient.channel(0));
  ExpectZerosAround(gradient);
  for (std::size_t n = 0; n < kImages; ++n) {
    const std::vector<double> dx = Image(gradient, n), x = Image(x_, n);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = slope[n] * x[i] + (x[i] > 0 ? 1 : x[i] < 0 ? -1 : 0) * sign[n] + term[n];
      ASSERT_NEAR(dx[i], expected, 1e-5) << i;
    }
  }
}

TEST(ActivatePoolTieTest, EqualPixelsPassTheGradientOnce) {
  Planes x(1, {1, 4}), peak(1, {1, 2}), pooled_gradient(1, {1, 2}), gradient(1, {1, 4});
  for (Planes* planes : {&x, &peak, &pooled_gradient}) {
    const PlaneShape& shape = planes->shape();
    for (std::size_t i = 0; i < shape.side * shape.side; ++i) {
      planes->channel(0)[Index(shape, 0, i / shape.side, i % shape.side)] = 1;
    }
  }
  std::vector<float> one(x.shape().lanes()), none(one.size());
  one[0] = 1;
  ActivatePoolGradient(x.channel(0), x.shape(), {one.data(), none.data()}, {}, peak.channel(0),
                       pooled_gradient.channel(0), {one.data(), none.data(), none.data(), none.data()},
                       gradient.channel(0));
  double total = 0;
  for (const double pixel : Image(gradient, 0)) total += pixel;
  EXPECT_EQ(total, 4);
  EXPECT_EQ(gradient.channel(0)[0], 1);
}

INSTANTIATE_TEST_SUITE_P(Sides, ActivatePoolTest, ::testing::Values(4, 5, 7, 14, 28, 33, 40));

}  // namespace
}  // namespace tributary::nn
