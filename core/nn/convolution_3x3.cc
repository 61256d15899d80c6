#include "core/nn/convolution_3x3.h"

#include <algorithm>
#include <array>

// The kernels keep arrays of vectors in registers, which targets with sizeless vectors do not allow.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/nn/convolution_3x3.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef TRIBUTARY_CORE_NN_CONVOLUTION_3X3_SHAPES
#define TRIBUTARY_CORE_NN_CONVOLUTION_3X3_SHAPES
namespace tributary {
namespace {

constexpr std::size_t kConvolutionTaps = Convolution3x3::kTaps;
constexpr std::size_t kPanelRows = 8;  // output channels of a packed panel

// A channel and how far the next ones are.
struct ChannelsIn {
  const float* first;
  std::size_t count;
  std::size_t stride;
};
struct ChannelsOut {
  float* first;
  std::size_t count;
  std::size_t stride;
};

ChannelsIn In(const Planes& planes) {
  return {planes.channel(0), planes.channels(), planes.shape().stride()};
}
ChannelsOut Out(Planes& planes) { return {planes.channel(0), planes.channels(), planes.shape().stride()}; }

// Where the pixel that a tap meets lies, seen from the centre.
std::array<std::ptrdiff_t, kConvolutionTaps> TapOffsets(std::size_t pitch) {
  std::array<std::ptrdiff_t, kConvolutionTaps> offsets;
  const auto row = static_cast<std::ptrdiff_t>(pitch);
  for (std::ptrdiff_t tap = 0; tap < static_cast<std::ptrdiff_t>(kConvolutionTaps); ++tap) {
    offsets[static_cast<std::size_t>(tap)] = (tap / 3 - 1) * row + tap % 3 - 1;
  }
  return offsets;
}

}  // namespace
}  // namespace tributary
#endif

HWY_BEFORE_NAMESPACE();
namespace tributary {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// 24 accumulators need 32 vector registers, 8 fit into 16.
constexpr bool kManyRegisters = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON;
constexpr std::size_t kTileRows = kManyRegisters ? 8 : 4;
constexpr std::size_t kTileVectors = kManyRegisters ? 3 : 2;
constexpr std::size_t kGradientTaps = kManyRegisters ? 6 : 2;
constexpr std::size_t kGradientRows = 4;
constexpr std::size_t kLanes = HWY_LANES(float);
static_assert(kTileVectors * kLanes <= PlaneShape::kSlack && kPanelRows % kTileRows == 0);

// One tile of output: kTileRows channels × kTileVectors vectors of pixels. `weights` starts at the tile's
// rows within a panel [inputs · 9 × kPanelRows].
HWY_INLINE void ForwardTile(const ChannelsIn& x, std::size_t pixel,
                            const std::array<std::ptrdiff_t, kConvolutionTaps>& offsets,
                            const float* HWY_RESTRICT weights, const float* HWY_RESTRICT mask, float* y,
                            std::size_t y_stride, std::size_t rows) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> sum[kTileRows][kTileVectors];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kTileVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  const float* channel = x.first + pixel;
  for (std::size_t c = 0; c < x.count; ++c, channel += x.stride) {
    for (std::size_t tap = 0; tap < kConvolutionTaps; ++tap, weights += kPanelRows) {
      const float* source = channel + offsets[tap];
      hn::Vec<decltype(d)> pixels[kTileVectors];
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kTileVectors; ++v) pixels[v] = hn::LoadU(d, source + v * kLanes);
#pragma GCC unroll 8
      for (std::size_t r = 0; r < kTileRows; ++r) {
        const auto weight = hn::Set(d, weights[r]);
#pragma GCC unroll 4
        for (std::size_t v = 0; v < kTileVectors; ++v) sum[r][v] = hn::MulAdd(weight, pixels[v], sum[r][v]);
      }
    }
  }
#pragma GCC unroll 4
  for (std::size_t v = 0; v < kTileVectors; ++v) {
    const auto keep = hn::LoadU(d, mask + pixel + v * kLanes);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kTileRows; ++r) {
      if (r < rows) hn::StoreU(hn::Mul(sum[r][v], keep), d, y + r * y_stride + pixel + v * kLanes);
    }
  }
}

// `packed`: panels of kPanelRows output channels, [inputs · 9 × kPanelRows] each.
void ConvolvePlanes(const ChannelsIn& x, std::size_t pitch, std::size_t pixels, const float* packed,
                    const float* mask, const ChannelsOut& y) {
  const auto offsets = TapOffsets(pitch);
  for (std::size_t row = 0; row < y.count; row += kTileRows) {
    const float* panel =
        packed + row / kPanelRows * kPanelRows * x.count * kConvolutionTaps + row % kPanelRows;
    const std::size_t rows = std::min(kTileRows, y.count - row);
    for (std::size_t pixel = 0; pixel < pixels; pixel += kTileVectors * kLanes) {
      ForwardTile(x, pixel, offsets, panel, mask, y.first + row * y.stride, y.stride, rows);
    }
  }
}

// gradient[r][t] += Σ_p y[r][p] · x[t][p] for kGradientRows × kGradientTaps pairs.
HWY_INLINE void GradientTile(const float* const* x, const float* const* y, std::size_t first, std::size_t end,
                             float* const* gradient, std::size_t rows, std::size_t taps) {
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> sum[kGradientRows][kGradientTaps];
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kGradientRows; ++r) {
#pragma GCC unroll 8
    for (std::size_t t = 0; t < kGradientTaps; ++t) sum[r][t] = hn::Zero(d);
  }
  for (std::size_t p = first; p < end; p += kLanes) {
    hn::Vec<decltype(d)> values[kGradientRows];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kGradientRows; ++r) values[r] = hn::LoadU(d, y[r] + p);
#pragma GCC unroll 8
    for (std::size_t t = 0; t < kGradientTaps; ++t) {
      const auto pixels = hn::LoadU(d, x[t] + p);
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kGradientRows; ++r) sum[r][t] = hn::MulAdd(values[r], pixels, sum[r][t]);
    }
  }
  // Indexed by constants only, lest the sums live in memory.
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kGradientRows; ++r) {
#pragma GCC unroll 8
    for (std::size_t t = 0; t < kGradientTaps; ++t) {
      const float total = hn::GetLane(hn::SumOfLanes(d, sum[r][t]));
      if (r < rows && t < taps) gradient[r][t] += total;
    }
  }
}

void AddWeightGradient(const ChannelsIn& x, std::size_t pitch, std::size_t pixels, const ChannelsIn& y,
                       float* gradient) {
  // Four rows of a block and one channel of x stay in a 48 KiB first-level cache.
  constexpr std::size_t kBlock = 2048;
  const auto offsets = TapOffsets(pitch);
  const std::size_t depth = x.count * kConvolutionTaps;
  for (std::size_t block = 0; block < pixels; block += kBlock) {
    const std::size_t end = std::min(block + kBlock, pixels);
    for (std::size_t row = 0; row < y.count; row += kGradientRows) {
      const float* values[kGradientRows];
      float* out[kGradientRows];
      for (std::size_t r = 0; r < kGradientRows; ++r) {
        const std::size_t channel = std::min(row + r, y.count - 1);
        values[r] = y.first + channel * y.stride;
        out[r] = gradient + channel * depth;
      }
      for (std::size_t k = 0; k < depth; k += kGradientTaps) {
        const float* shifted[kGradientTaps];
        for (std::size_t t = 0; t < kGradientTaps; ++t) {
          const std::size_t tap = std::min(k + t, depth - 1);
          shifted[t] = x.first + tap / kConvolutionTaps * x.stride + offsets[tap % kConvolutionTaps];
        }
        GradientTile(shifted, values, block, end, out, std::min(kGradientRows, y.count - row),
                     std::min(kGradientTaps, depth - k));
        for (float*& o : out) o += kGradientTaps;
      }
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tributary
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary {
namespace {

HWY_EXPORT(ConvolvePlanes);
HWY_EXPORT(AddWeightGradient);

constexpr std::size_t PanelSize(std::size_t inputs, std::size_t outputs) {
  return (outputs + kPanelRows - 1) / kPanelRows * kPanelRows * inputs * kConvolutionTaps;
}

}  // namespace

Convolution3x3::Convolution3x3(std::size_t inputs, std::size_t outputs)
    : inputs_(inputs),
      outputs_(outputs),
      packed_(hwy::AllocateAligned<float>(std::max(PanelSize(inputs, outputs), PanelSize(outputs, inputs)))) {
}

void Convolution3x3::Forward(std::span<const float> weights, const Planes& x, Planes& y) {
  const std::size_t depth = inputs_ * kTaps;
  std::fill_n(packed_.get(), PanelSize(inputs_, outputs_), 0.0f);
  for (std::size_t o = 0; o < outputs_; ++o) {
    float* panel = packed_.get() + o / kPanelRows * kPanelRows * depth + o % kPanelRows;
    for (std::size_t k = 0; k < depth; ++k) panel[k * kPanelRows] = weights[o * depth + k];
  }
  HWY_DYNAMIC_DISPATCH(ConvolvePlanes)
  (In(x), x.shape().pitch(), x.shape().size(), packed_.get(), y.mask(), Out(y));
}

void Convolution3x3::BackwardInput(std::span<const float> weights, const Planes& y_gradient,
                                   Planes& x_gradient) {
  // The same convolution with inputs and outputs exchanged and the kernel turned by half a circle.
  const std::size_t depth = outputs_ * kTaps;
  std::fill_n(packed_.get(), PanelSize(outputs_, inputs_), 0.0f);
  for (std::size_t c = 0; c < inputs_; ++c) {
    float* panel = packed_.get() + c / kPanelRows * kPanelRows * depth + c % kPanelRows;
    for (std::size_t o = 0; o < outputs_; ++o) {
      for (std::size_t tap = 0; tap < kTaps; ++tap) {
        panel[(o * kTaps + tap) * kPanelRows] = weights[(o * inputs_ + c) * kTaps + (kTaps - 1 - tap)];
      }
    }
  }
  HWY_DYNAMIC_DISPATCH(ConvolvePlanes)
  (In(y_gradient), y_gradient.shape().pitch(), y_gradient.shape().size(), packed_.get(), x_gradient.mask(),
   Out(x_gradient));
}

void Convolution3x3::BackwardWeights(const Planes& x, const Planes& y_gradient,
                                     std::span<float> weight_gradient) const {
  HWY_DYNAMIC_DISPATCH(AddWeightGradient)
  (In(x), x.shape().pitch(), x.shape().size(), In(y_gradient), weight_gradient.data());
}

}  // namespace tributary
#endif
