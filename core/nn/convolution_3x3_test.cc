#include "core/nn/convolution_3x3.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/nn/random_values.h"

namespace tributary {
namespace {

struct Shape {
  std::size_t inputs, outputs, images, side;
};

// Ragged against every tile: channels, images and sides around 4, 6 and 8.
class Convolution3x3Test : public ::testing::TestWithParam<Shape> {
 protected:
  const Shape s_ = GetParam();
  const PlaneShape shape_{s_.images, s_.side};
  std::vector<float> weights_ = RandomValues(s_.inputs * s_.outputs * 9, 1);
  Convolution3x3 convolution_{s_.inputs, s_.outputs};

  Planes RandomPlanes(std::size_t channels, unsigned seed) const {
    Planes planes(channels, shape_);
    const std::vector<float> values = RandomValues(channels * shape_.size(), seed);
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t i = 0; i < shape_.size(); ++i) {
        planes.channel(c)[i] = values[c * shape_.size() + i] * planes.mask()[i];
      }
    }
    return planes;
  }

  // 0 outside.
  double At(const Planes& planes, std::size_t c, std::size_t n, std::ptrdiff_t y, std::ptrdiff_t x) const {
    const auto side = static_cast<std::ptrdiff_t>(s_.side);
    if (y < 0 || x < 0 || y >= side || x >= side) return 0;
    return planes.channel(c)[n * shape_.image_size() + static_cast<std::size_t>(y) * shape_.pitch() +
                             static_cast<std::size_t>(x)];
  }

  // Calls visit(output, input, tap, image, y, x, y of the tap, x of the tap) for every product of the layer.
  template <class Visit>
  void ForEachProduct(Visit visit) const {
    const auto side = static_cast<std::ptrdiff_t>(s_.side);
    for (std::size_t o = 0; o < s_.outputs; ++o)
      for (std::size_t c = 0; c < s_.inputs; ++c)
        for (std::size_t tap = 0; tap < 9; ++tap)
          for (std::size_t n = 0; n < s_.images; ++n)
            for (std::ptrdiff_t y = 0; y < side; ++y)
              for (std::ptrdiff_t x = 0; x < side; ++x)
                visit(o, c, tap, n, y, x, y + static_cast<std::ptrdiff_t>(tap / 3) - 1,
                      x + static_cast<std::ptrdiff_t>(tap % 3) - 1);
  }

  double Weight(std::size_t o, std::size_t c, std::size_t tap) const {
    return weights_[(o * s_.inputs + c) * 9 + tap];
  }

  // `expected` [channels × images × side × side]; sums of `terms` products of values of order 1.
  void ExpectPlanes(const Planes& planes, const std::vector<double>& expected, std::size_t terms) const {
    const double bound = 16.0 * static_cast<double>(terms) * 0x1p-24;
    std::size_t i = 0;
    for (std::size_t c = 0; c < planes.channels(); ++c) {
      double all = 0, pixels = 0;
      for (std::size_t n = 0; n < s_.images; ++n) {
        for (std::size_t y = 0; y < s_.side; ++y) {
          for (std::size_t x = 0; x < s_.side; ++x, ++i) {
            const double value =
                At(planes, c, n, static_cast<std::ptrdiff_t>(y), static_cast<std::ptrdiff_t>(x));
            ASSERT_NEAR(value, expected[i], bound) << c << ", " << n << ", " << y << ", " << x;
            pixels += std::abs(value);
          }
        }
      }
      for (std::size_t k = 0; k < shape_.size(); ++k) all += std::abs(double{planes.channel(c)[k]});
      EXPECT_NEAR(all, pixels, 1e-9) << "something stands between the images of channel " << c;
    }
  }

  std::size_t Index(std::size_t c, std::size_t n, std::ptrdiff_t y, std::ptrdiff_t x) const {
    return ((c * s_.images + n) * s_.side + static_cast<std::size_t>(y)) * s_.side +
           static_cast<std::size_t>(x);
  }
  bool Inside(std::ptrdiff_t y, std::ptrdiff_t x) const {
    const auto side = static_cast<std::ptrdiff_t>(s_.side);
    return y >= 0 && x >= 0 && y < side && x < side;
  }
  std::size_t pixels() const { return s_.images * s_.side * s_.side; }
};

TEST_P(Convolution3x3Test, ForwardIsTheCrossCorrelation) {
  const Planes x = RandomPlanes(s_.inputs, 2);
  Planes y(s_.outputs, shape_);
  convolution_.Forward(weights_, x, y);
  std::vector<double> expected(s_.outputs * pixels());
  ForEachProduct([&](auto o, auto c, auto tap, auto n, auto py, auto px, auto ty, auto tx) {
    expected[Index(o, n, py, px)] += Weight(o, c, tap) * At(x, c, n, ty, tx);
  });
  ExpectPlanes(y, expected, s_.inputs * 9);
}

// The layer is linear in each argument: the sum that defines a gradient, in double, is its finite difference.
TEST_P(Convolution3x3Test, GradientOfTheInputIsTheTransposedSum) {
  const Planes y_gradient = RandomPlanes(s_.outputs, 3);
  Planes x_gradient(s_.inputs, shape_);
  convolution_.BackwardInput(weights_, y_gradient, x_gradient);
  std::vector<double> expected(s_.inputs * pixels());
  ForEachProduct([&](auto o, auto c, auto tap, auto n, auto py, auto px, auto ty, auto tx) {
    if (Inside(ty, tx)) expected[Index(c, n, ty, tx)] += Weight(o, c, tap) * At(y_gradient, o, n, py, px);
  });
  ExpectPlanes(x_gradient, expected, s_.outputs * 9);
}

TEST_P(Convolution3x3Test, GradientOfTheWeightsIsAddedToWhatWasThere) {
  const Planes x = RandomPlanes(s_.inputs, 2);
  const Planes y_gradient = RandomPlanes(s_.outputs, 3);
  std::vector<float> gradient(weights_.size(), 3.0f);
  convolution_.BackwardWeights(x, y_gradient, gradient);
  std::vector<double> expected(weights_.size(), 3.0);
  ForEachProduct([&](auto o, auto c, auto tap, auto n, auto py, auto px, auto ty, auto tx) {
    expected[(o * s_.inputs + c) * 9 + tap] += At(y_gradient, o, n, py, px) * At(x, c, n, ty, tx);
  });
  const double bound = 16.0 * static_cast<double>(pixels()) * 0x1p-24;
  for (std::size_t i = 0; i < gradient.size(); ++i) ASSERT_NEAR(gradient[i], expected[i], bound) << i;
}

INSTANTIATE_TEST_SUITE_P(Shapes, Convolution3x3Test,
                         ::testing::Values(Shape{1, 1, 1, 4}, Shape{1, 8, 3, 28}, Shape{3, 5, 2, 7},
                                           Shape{8, 16, 2, 14}, Shape{7, 9, 5, 5}, Shape{2, 3, 13, 14}));

}  // namespace
}  // namespace tributary
