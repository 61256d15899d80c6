#include "core/nn/kernel/winograd_3x3.h"

#include <algorithm>
#include <array>

#include "core/nn/kernel/winograd_tiling.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/nn/kernel/winograd_3x3.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which compiles it once per target.
#include "core/nn/kernel/product_tile-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tributary::nn::HWY_NAMESPACE {
namespace {

// Tiles to their 16 points and back (Lavin & Gray, 2016, 4.1), a row of four points at a time.

// Calls visit(tile, image, place among the transformed ones) for each vector of a block.
template <class Visit>
HWY_INLINE void ForEachVector(const WinogradBlock& block, Visit visit) {
  for (std::size_t t = 0; t < block.tiles; ++t) {
    for (std::size_t n = 0; n < block.images; n += hn::Lanes(D())) {
      visit(block.first_tile + t, block.first_image + n, t * block.images + n);
    }
  }
}

// Row `kRow` of Bᵀ x B of every channel: [4 × channels × stride].
template <std::size_t kRow>
void TransformInput(const Planes& x, const WinogradTiling& tiling, const WinogradBlock& block,
                    float* points) {
  // Which two rows of pixels it combines: x0 − x2, x1 + x2, x2 − x1, x1 − x3.
  constexpr std::size_t kFirst[] = {0, 1, 2, 1}, kSecond[] = {2, 2, 1, 3};
  const D d;
  const PlaneShape& shape = x.shape();
  const std::size_t next = tiling.PointStride(x.channels());
  for (std::size_t c = 0; c < x.channels(); ++c) {
    const float* corner = x.channel(c) - shape.pitch() - shape.lanes();
    float* to = points + c * tiling.stride();
    ForEachVector(block, [&](std::size_t tile, std::size_t image, std::size_t place) {
      const float* first = corner + tiling.Pixel(tile) + image + kFirst[kRow] * shape.pitch();
      const float* second = corner + tiling.Pixel(tile) + image + kSecond[kRow] * shape.pitch();
      V row[4];
      for (std::size_t i = 0; i < 4; ++i) {
        const V a = hn::Load(d, first + i * shape.lanes()), b = hn::Load(d, second + i * shape.lanes());
        row[i] = kRow == 1 ? hn::Add(a, b) : hn::Sub(a, b);
      }
      hn::Store(hn::Sub(row[0], row[2]), d, to + place);
      hn::Store(hn::Add(row[1], row[2]), d, to + place + next);
      hn::Store(hn::Sub(row[2], row[1]), d, to + place + 2 * next);
      hn::Store(hn::Sub(row[1], row[3]), d, to + place + 3 * next);
    });
  }
}

// Row `kRow` of A y Aᵀ of every channel: [4 × channels × stride].
template <std::size_t kRow>
void TransformGradient(const Planes& y, const WinogradTiling& tiling, const WinogradBlock& block,
                       float* points) {
  const D d;
  const PlaneShape& shape = y.shape();
  const std::size_t next = tiling.PointStride(y.channels());
  for (std::size_t c = 0; c < y.channels(); ++c) {
    float* to = points + c * tiling.stride();
    ForEachVector(block, [&](std::size_t tile, std::size_t image, std::size_t place) {
      // Behind an odd side's last row and column lie zeros.
      const float* from = y.channel(c) + tiling.Pixel(tile) + image;
      V row[2];
      for (std::size_t i = 0; i < 2; ++i) {
        const V a = hn::Load(d, from + i * shape.lanes());
        const V b = hn::Load(d, from + i * shape.lanes() + shape.pitch());
        row[i] = kRow == 0 ? a : kRow == 1 ? hn::Add(a, b) : kRow == 2 ? hn::Sub(a, b) : hn::Neg(b);
      }
      hn::Store(row[0], d, to + place);
      hn::Store(hn::Add(row[0], row[1]), d, to + place + next);
      hn::Store(hn::Sub(row[0], row[1]), d, to + place + 2 * next);
      hn::Store(hn::Neg(row[1]), d, to + place + 3 * next);
    });
  }
}

// Aᵀ · points · A of every channel of y, all rows at once; points `next` floats apart.
void TransformOutput(const float* points, std::size_t next, const WinogradTiling& tiling,
                     const WinogradBlock& block, Planes& y) {
  const D d;
  const PlaneShape& shape = y.shape();
  for (std::size_t c = 0; c < y.channels(); ++c) {
    const float* from = points + c * tiling.stride();
    ForEachVector(block, [&](std::size_t tile, std::size_t image, std::size_t place) {
      V upper[4], lower[4];
      for (std::size_t i = 0; i < 4; ++i) {
        const float* at = from + place + i * next;
        const V p0 = hn::Load(d, at), p1 = hn::Load(d, at + 4 * next);
        const V p2 = hn::Load(d, at + 8 * next), p3 = hn::Load(d, at + 12 * next);
        upper[i] = hn::Add(p0, hn::Add(p1, p2));
        lower[i] = hn::Sub(hn::Sub(p1, p2), p3);
      }
      const bool second_column = tiling.HasSecondColumn(tile);
      const auto store = [&](const V* row, float* to) {
        hn::Store(hn::Add(row[0], hn::Add(row[1], row[2])), d, to);
        if (second_column) hn::Store(hn::Sub(hn::Sub(row[1], row[2]), row[3]), d, to + shape.lanes());
      };
      float* to = y.channel(c) + tiling.Pixel(tile) + image;
      store(upper, to);
      if (tiling.HasSecondRow(tile)) store(lower, to + shape.pitch());
    });
  }
}

static_assert(WinogradTiling::kGranularity % (kTileVectors * kLanes) == 0);

// kTileRows channels × kTileVectors vectors of products: a panel [depth × kWinogradPanelRows] times source.
HWY_INLINE void MultiplyTile(const float* HWY_RESTRICT panel, const float* HWY_RESTRICT source,
                             std::size_t depth, std::size_t stride, float* HWY_RESTRICT product) {
  const D d;
  ProductTile<kTileRows, kTileVectors> tile;
  for (std::size_t c = 0; c < depth; ++c, panel += kWinogradPanelRows, source += stride) {
    tile.Add([&](std::size_t r) { return hn::Set(d, panel[r]); },
             [&](std::size_t v) { return hn::Load(d, source + v * kLanes); });
  }
  tile.ForEach(
      [&](std::size_t r, std::size_t v, V sum) { hn::Store(sum, d, product + r * stride + v * kLanes); });
}

// product = kernels · source at one point: panels of [depth × kWinogradPanelRows] times [depth × size].
void MultiplyPoint(const float* kernels, const float* source, std::size_t depth, std::size_t stride,
                   std::size_t size, std::size_t outputs, float* product) {
  for (std::size_t row = 0; row < outputs; row += kTileRows) {
    const float* panel =
        kernels + row / kWinogradPanelRows * kWinogradPanelRows * depth + row % kWinogradPanelRows;
    for (std::size_t t = 0; t < size; t += kTileVectors * kLanes) {
      MultiplyTile(panel, source + t, depth, stride, product + row * stride + t);
    }
  }
}

// y = kernels ∗ x; kernels: 16 × panels of [x.channels × kWinogradPanelRows].
void Convolve(const Planes& x, const float* kernels, float* source, float* product, Planes& y) {
  const WinogradTiling tiling(x.shape(), kWinogradBlockSize);
  const std::size_t depth = x.channels(), outputs = InPanels(y.channels());
  const std::size_t source_next = tiling.PointStride(depth), product_next = tiling.PointStride(outputs);
  tiling.ForEachBlock([&](const WinogradBlock& block) {
    TransformInput<0>(x, tiling, block, source);
    TransformInput<1>(x, tiling, block, source + kWinogradRow * source_next);
    TransformInput<2>(x, tiling, block, source + 2 * kWinogradRow * source_next);
    TransformInput<3>(x, tiling, block, source + 3 * kWinogradRow * source_next);
    for (std::size_t p = 0; p < kWinogradPoints; ++p) {
      MultiplyPoint(kernels + p * WinogradTiling::Apart(outputs * depth), source + p * source_next, depth,
                    tiling.stride(), block.size(), outputs, product + p * product_next);
    }
    TransformOutput(product, product_next, tiling, block, y);
  });
}

// gradient [4 × y.channels × x.channels] += that of a row of the transformed kernels' points.
template <std::size_t kRow>
void AddRowGradient(const Planes& x, const Planes& y, float* x_points, float* y_points, float* gradient) {
  const WinogradTiling tiling(x.shape(), kWinogradGradientBlockSize);
  const std::size_t inputs = x.channels(), outputs = y.channels();
  tiling.ForEachBlock([&](const WinogradBlock& block) {
    TransformInput<kRow>(x, tiling, block, x_points);
    TransformGradient<kRow>(y, tiling, block, y_points);
    for (std::size_t p = 0; p < kWinogradRow; ++p) {
      const float* xs = x_points + p * tiling.PointStride(inputs);
      const float* ys = y_points + p * tiling.PointStride(outputs);
      AddDots(
          outputs, [&](std::size_t o) { return ys + o * tiling.stride(); }, inputs,
          [&](std::size_t i) { return xs + i * tiling.stride(); }, 0, block.size(),
          gradient + p * outputs * inputs);
    }
  });
}

void AddKernelGradient(const Planes& x, const Planes& y, float* x_points, float* y_points, float* gradient) {
  const std::size_t row = kWinogradRow * y.channels() * x.channels();
  AddRowGradient<0>(x, y, x_points, y_points, gradient);
  AddRowGradient<1>(x, y, x_points, y_points, gradient + row);
  AddRowGradient<2>(x, y, x_points, y_points, gradient + 2 * row);
  AddRowGradient<3>(x, y, x_points, y_points, gradient + 3 * row);
}

}  // namespace
}  // namespace tributary::nn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary::nn {
namespace {

HWY_EXPORT(Convolve);
HWY_EXPORT(AddKernelGradient);

constexpr std::size_t kTaps = 9;
using Kernel = std::array<float, kTaps>;

// G: values at the four points of a polynomial with three coefficients.
std::array<float, 4> AtPoints(float a, float b, float c) {
  const float even = 0.5f * (a + c), odd = 0.5f * b;
  return {a, even + odd, even - odd, c};
}

// G g Gᵀ.
std::array<float, kWinogradPoints> TransformKernel(const Kernel& kernel) {
  std::array<std::array<float, 4>, 3> half;
  for (std::size_t x = 0; x < 3; ++x) half[x] = AtPoints(kernel[x], kernel[3 + x], kernel[6 + x]);
  std::array<float, kWinogradPoints> points;
  for (std::size_t j = 0; j < 4; ++j) {
    const auto row = AtPoints(half[0][j], half[1][j], half[2][j]);
    std::copy(row.begin(), row.end(), points.begin() + static_cast<std::ptrdiff_t>(4 * j));
  }
  return points;
}

// Gᵀ.
std::array<float, 3> FromPoints(float a, float b, float c, float d) {
  const float sum = 0.5f * (b + c);
  return {a + sum, 0.5f * (b - c), d + sum};
}

// Gᵀ u G.
Kernel KernelGradient(const std::array<float, kWinogradPoints>& u) {
  std::array<std::array<float, 3>, 4> half;
  for (std::size_t i = 0; i < 4; ++i) half[i] = FromPoints(u[i], u[4 + i], u[8 + i], u[12 + i]);
  Kernel kernel;
  for (std::size_t y = 0; y < 3; ++y) {
    const auto row = FromPoints(half[0][y], half[1][y], half[2][y], half[3][y]);
    std::copy(row.begin(), row.end(), kernel.begin() + static_cast<std::ptrdiff_t>(3 * y));
  }
  return kernel;
}

// Into 16 × panels of [inputs × kWinogradPanelRows]; kernel(o, c) is what leads from input c to output o.
template <class KernelOf>
void PackKernels(std::size_t inputs, std::size_t outputs, KernelOf kernel, float* packed) {
  const std::size_t point_stride = WinogradTiling::Apart(InPanels(outputs) * inputs);
  for (std::size_t o = 0; o < InPanels(outputs); ++o) {
    float* panel = packed + o / kWinogradPanelRows * kWinogradPanelRows * inputs + o % kWinogradPanelRows;
    for (std::size_t c = 0; c < inputs; ++c) {
      const std::array<float, kWinogradPoints> points =
          o < outputs ? TransformKernel(kernel(o, c)) : std::array<float, kWinogradPoints>{};
      for (std::size_t p = 0; p < kWinogradPoints; ++p)
        panel[p * point_stride + c * kWinogradPanelRows] = points[p];
    }
  }
}

// A buffer of transformed tiles: all points of a block, or a row of points of a longer one.
std::size_t PointsSize(std::size_t channels, PlaneShape shape) {
  const std::size_t padded = InPanels(channels);
  return std::max(kWinogradPoints * WinogradTiling(shape, kWinogradBlockSize).PointStride(padded),
                  kWinogradRow * WinogradTiling(shape, kWinogradGradientBlockSize).PointStride(padded));
}

std::size_t KernelsSize(std::size_t inputs, std::size_t outputs) {
  return kWinogradPoints * WinogradTiling::Apart(InPanels(inputs) * InPanels(outputs));
}

}  // namespace

std::uint64_t Winograd3x3::Bytes(std::size_t inputs, std::size_t outputs, PlaneShape shape) {
  return sizeof(float) * (KernelsSize(inputs, outputs) + 2 * PointsSize(std::max(inputs, outputs), shape));
}

Winograd3x3::Winograd3x3(std::size_t inputs, std::size_t outputs, PlaneShape shape)
    : inputs_(inputs),
      outputs_(outputs),
      kernels_(AllocateFloats(KernelsSize(inputs, outputs))),
      source_(AllocateFloats(PointsSize(std::max(inputs, outputs), shape))),
      result_(AllocateFloats(PointsSize(std::max(inputs, outputs), shape))) {}

void Winograd3x3::Forward(std::span<const float> weights, const Planes& x, Planes& y) {
  const auto kernel = [&](std::size_t o, std::size_t c) {
    Kernel taps;
    std::ranges::copy(weights.subspan((o * inputs_ + c) * kTaps, kTaps), taps.begin());
    return taps;
  };
  PackKernels(inputs_, outputs_, kernel, kernels_.get());
  HWY_DYNAMIC_DISPATCH(Convolve)(x, kernels_.get(), source_.get(), result_.get(), y);
}

void Winograd3x3::BackwardInput(std::span<const float> weights, const Planes& y_gradient,
                                Planes& x_gradient) {
  // The same convolution with inputs and outputs exchanged and the kernel turned by half a circle.
  const auto turned = [&](std::size_t c, std::size_t o) {
    Kernel taps;
    std::ranges::reverse_copy(weights.subspan((o * inputs_ + c) * kTaps, kTaps), taps.begin());
    return taps;
  };
  PackKernels(outputs_, inputs_, turned, kernels_.get());
  HWY_DYNAMIC_DISPATCH(Convolve)(y_gradient, kernels_.get(), source_.get(), result_.get(), x_gradient);
}

void Winograd3x3::BackwardWeights(const Planes& x, const Planes& y_gradient,
                                  std::span<float> weight_gradient) {
  const std::size_t kernels = outputs_ * inputs_;
  std::fill_n(kernels_.get(), kWinogradPoints * kernels, 0.0f);
  HWY_DYNAMIC_DISPATCH(AddKernelGradient)(x, y_gradient, source_.get(), result_.get(), kernels_.get());
  for (std::size_t k = 0; k < kernels; ++k) {
    std::array<float, kWinogradPoints> points;
    for (std::size_t p = 0; p < kWinogradPoints; ++p) points[p] = kernels_[p * kernels + k];
    const Kernel gradient = KernelGradient(points);
    for (std::size_t tap = 0; tap < kTaps; ++tap) weight_gradient[k * kTaps + tap] += gradient[tap];
  }
}

}  // namespace tributary::nn
#endif
