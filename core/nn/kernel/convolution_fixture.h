// The 3×3 convolution and its gradients by definition, in double: the reference for both implementations.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/nn/kernel/planes.h"
#include "core/nn/kernel/random_values_fixture.h"

namespace tributary::nn {

struct ConvolutionShape {
  std::size_t inputs, outputs, images, side;
};

class ConvolutionFixture : public ::testing::TestWithParam<ConvolutionShape> {
 protected:
  const ConvolutionShape s_ = GetParam();
  const PlaneShape shape_{s_.images, s_.side};
  std::vector<float> weights_ = RandomValues(s_.inputs * s_.outputs * 9, 1);

  Planes RandomPlanes(std::size_t channels, unsigned seed) const {
    Planes planes(channels, shape_);
    const std::vector<float> values = RandomValues(channels * pixels(), seed);
    auto next = values.begin();
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t y = 0; y < s_.side; ++y)
        for (std::size_t x = 0; x < s_.side; ++x)
          for (std::size_t n = 0; n < s_.images; ++n)
            planes.channel(c)[y * shape_.pitch() + x * shape_.lanes() + n] = *next++;
    return planes;
  }

  // 0 outside.
  double At(const Planes& planes, std::size_t c, std::size_t n, std::ptrdiff_t y, std::ptrdiff_t x) const {
    const auto side = static_cast<std::ptrdiff_t>(s_.side);
    if (y < 0 || x < 0 || y >= side || x >= side) return 0;
    const std::size_t pixel =
        static_cast<std::size_t>(y) * shape_.pitch() + static_cast<std::size_t>(x) * shape_.lanes();
    return planes.channel(c)[pixel + n];
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
      const float* first = planes.channel(c) - shape_.margin();
      for (std::size_t k = 0; k < shape_.stride(); ++k) all += std::abs(double{first[k]});
      EXPECT_NEAR(all, pixels, 1e-9) << "something stands around the pixels of channel " << c;
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

  // The sums of the products, in double.
  std::vector<double> Forward(const Planes& x) const {
    std::vector<double> y(s_.outputs * pixels());
    ForEachProduct([&](auto o, auto c, auto tap, auto n, auto py, auto px, auto ty, auto tx) {
      y[Index(o, n, py, px)] += Weight(o, c, tap) * At(x, c, n, ty, tx);
    });
    return y;
  }
  // The layer is linear in each argument: the sums that define its gradients are its finite differences.
  std::vector<double> InputGradient(const Planes& y_gradient) const {
    std::vector<double> x(s_.inputs * pixels());
    ForEachProduct([&](auto o, auto c, auto tap, auto n, auto py, auto px, auto ty, auto tx) {
      if (Inside(ty, tx)) x[Index(c, n, ty, tx)] += Weight(o, c, tap) * At(y_gradient, o, n, py, px);
    });
    return x;
  }
  std::vector<double> WeightGradient(const Planes& x, const Planes& y_gradient, double initial) const {
    std::vector<double> gradient(weights_.size(), initial);
    ForEachProduct([&](auto o, auto c, auto tap, auto n, auto py, auto px, auto ty, auto tx) {
      gradient[(o * s_.inputs + c) * 9 + tap] += At(y_gradient, o, n, py, px) * At(x, c, n, ty, tx);
    });
    return gradient;
  }

  void ExpectWeights(const std::vector<float>& gradient, const std::vector<double>& expected) const {
    const double bound = 16.0 * static_cast<double>(pixels()) * 0x1p-24;
    for (std::size_t i = 0; i < gradient.size(); ++i) ASSERT_NEAR(gradient[i], expected[i], bound) << i;
  }
};

// Sizes that are ragged for every tile: channels around 4 and 8, images around 16, odd and even sides.
inline const auto kConvolutionShapes = ::testing::Values(
    ConvolutionShape{1, 1, 1, 4}, ConvolutionShape{1, 8, 3, 28}, ConvolutionShape{3, 5, 2, 7},
    ConvolutionShape{8, 16, 2, 14}, ConvolutionShape{7, 9, 5, 5}, ConvolutionShape{2, 3, 33, 14},
    ConvolutionShape{3, 2, 2, 37}, ConvolutionShape{2, 9, 230, 7});

}  // namespace tributary::nn
