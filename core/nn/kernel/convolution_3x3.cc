#include "core/nn/kernel/convolution_3x3.h"

#include <algorithm>
#include <array>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/nn/kernel/convolution_3x3.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which compiles it once per target.
#include "core/nn/kernel/product_tile-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tributary::nn::HWY_NAMESPACE {
namespace {

constexpr std::size_t kTaps = Convolution3x3::kTaps;
constexpr std::size_t kPanelRows = Convolution3x3::kGroup;
static_assert(kPanelRows % kTileRows == 0);

// The offset of each tap's pixel from the centre.
using Offsets = std::array<std::ptrdiff_t, kTaps>;

Offsets TapOffsets(const PlaneShape& shape) {
  Offsets offsets;
  const auto row = static_cast<std::ptrdiff_t>(shape.pitch());
  const auto pixel = static_cast<std::ptrdiff_t>(shape.lanes());
  for (std::ptrdiff_t tap = 0; tap < static_cast<std::ptrdiff_t>(kTaps); ++tap) {
    offsets[static_cast<std::size_t>(tap)] = (tap / 3 - 1) * row + (tap % 3 - 1) * pixel;
  }
  return offsets;
}

// One tile of output: kTileRows channels × kVectors vectors. `x` is its first place in the first channel;
// `weights` starts at the tile's rows in the packed weights [inputs · 9 × kPanelRows].
template <std::size_t kVectors>
HWY_INLINE void ForwardTile(const float* x, std::size_t inputs, std::size_t stride, const Offsets& offsets,
                            const float* HWY_RESTRICT weights, float* HWY_RESTRICT y, std::size_t rows) {
  const D d;
  ProductTile<kTileRows, kVectors> tile;
  for (std::size_t c = 0; c < inputs; ++c, x += stride) {
    for (std::size_t tap = 0; tap < kTaps; ++tap, weights += kPanelRows) {
      tile.Add([&](std::size_t r) { return hn::Set(d, weights[r]); },
               [&](std::size_t v) { return hn::Load(d, x + offsets[tap] + v * kLanes); });
    }
  }
  tile.ForEach([&](std::size_t r, std::size_t v, V sum) {
    if (r < rows) hn::Store(sum, d, y + r * stride + v * kLanes);
  });
}

// `packed` [inputs · 9 × kPanelRows]: the weights of the `count` channels of y from `first` on.
void ConvolvePlanes(const Planes& x, const float* packed, std::size_t first, std::size_t count, Planes& y) {
  const PlaneShape& shape = x.shape();
  const auto offsets = TapOffsets(shape);
  const std::size_t row_size = shape.side * shape.lanes();
  for (std::size_t row = 0; row < count; row += kTileRows) {
    const float* panel = packed + row;
    const std::size_t rows = std::min(kTileRows, count - row);
    for (std::size_t line = 0; line < shape.side; ++line) {
      const float* from = x.channel(0) + line * shape.pitch();
      float* to = y.channel(first + row) + line * shape.pitch();
      std::size_t i = 0;
      for (; i + kTileVectors * kLanes <= row_size; i += kTileVectors * kLanes) {
        ForwardTile<kTileVectors>(from + i, x.channels(), shape.stride(), offsets, panel, to + i, rows);
      }
      for (; i < row_size; i += kLanes) {
        ForwardTile<1>(from + i, x.channels(), shape.stride(), offsets, panel, to + i, rows);
      }
    }
  }
}

// gradient [count × inputs · 9] += that of the first `count` channels of y.
void AddWeightGradient(const Planes& x, const Planes& y, std::size_t count, float* gradient) {
  // Eight rows of a block and one channel of x stay in a 48 KiB first-level cache.
  constexpr std::size_t kBlock = 1024;
  const PlaneShape& shape = x.shape();
  const auto offsets = TapOffsets(shape);
  const std::size_t depth = x.channels() * kTaps;
  for (std::size_t block = 0; block < shape.size(); block += kBlock) {
    const std::size_t end = std::min(block + kBlock, shape.size());
    AddDots(
        count, [&](std::size_t channel) { return y.channel(channel); }, depth,
        [&](std::size_t k) { return x.channel(k / kTaps) + offsets[k % kTaps]; }, block, end, gradient);
  }
}

}  // namespace
}  // namespace tributary::nn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary::nn {
namespace {

HWY_EXPORT(ConvolvePlanes);
HWY_EXPORT(AddWeightGradient);

// Floats of a packed group.
constexpr std::size_t PanelSize(std::size_t inputs) {
  return inputs * Convolution3x3::kTaps * Convolution3x3::kGroup;
}

}  // namespace

Convolution3x3::Convolution3x3(std::size_t inputs, std::size_t outputs)
    : inputs_(inputs), outputs_(outputs), packed_(AllocateFloats(PanelSize(inputs))) {}

void Convolution3x3::Forward(std::span<const float> weights, const Planes& x, std::size_t first, Planes& y) {
  const std::size_t depth = inputs_ * kTaps, count = std::min(kGroup, outputs_ - first);
  for (std::size_t o = 0; o < count; ++o) {
    for (std::size_t k = 0; k < depth; ++k) packed_[k * kGroup + o] = weights[(first + o) * depth + k];
  }
  HWY_DYNAMIC_DISPATCH(ConvolvePlanes)(x, packed_.get(), first, count, y);
}

void Convolution3x3::BackwardWeights(const Planes& x, const Planes& y_gradient, std::size_t first,
                                     std::span<float> weight_gradient) const {
  HWY_DYNAMIC_DISPATCH(AddWeightGradient)
  (x, y_gradient, std::min(kGroup, outputs_ - first), weight_gradient.data() + first * inputs_ * kTaps);
}

}  // namespace tributary::nn
#endif
