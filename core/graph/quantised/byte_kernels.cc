#include "core/graph/quantised/byte_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/graph/quantised/byte_kernels.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which compiles this file once per target.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tributary::graph::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Sums = hn::ScalableTag<std::int32_t>;
using SumVector = hn::Vec<Sums>;
constexpr std::size_t kLanes = HWY_LANES(std::int32_t);
using Bytes = hn::Rebind<std::uint8_t, Sums>;  // as many bytes as there are sums
using Reals = hn::ScalableTag<double>;
constexpr bool kManyRegisters = HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64;
constexpr std::size_t kTilePixels = kManyRegisters ? 8 : 4;

// sum += the products of four unsigned bytes with four signed ones, in each lane.
HWY_INLINE SumVector AddProducts(SumVector unsigned_bytes, SumVector signed_bytes, SumVector sum) {
#if HWY_TARGET == HWY_AVX3_DL
  // Highway's target has the instruction, but 1.0.3 neither offers it nor enables its intrinsic.
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(unsigned_bytes.raw), "v"(signed_bytes.raw));
  return sum;
#elif HWY_TARGET == HWY_SCALAR
  const auto x = static_cast<std::uint32_t>(hn::GetLane(unsigned_bytes)),
             y = static_cast<std::uint32_t>(hn::GetLane(signed_bytes));
  std::int32_t total = hn::GetLane(sum);
  for (int byte = 0; byte < 32; byte += 8) {
    total += static_cast<std::int32_t>(x >> byte & 0xff) * static_cast<std::int8_t>(y >> byte & 0xff);
  }
  return hn::Set(Sums(), total);
#else
  const hn::Repartition<std::int16_t, Sums> words;
  const auto x = hn::BitCast(words, unsigned_bytes), y = hn::BitCast(words, signed_bytes);
  const auto x_even = hn::And(x, hn::Set(words, 0xff));
  const auto x_odd =
      hn::BitCast(words, hn::ShiftRight<8>(hn::BitCast(hn::RebindToUnsigned<decltype(words)>(), x)));
  const auto y_even = hn::ShiftRight<8>(hn::ShiftLeft<8>(y)), y_odd = hn::ShiftRight<8>(y);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE4
  // Adjacent products are added in the lane that they come from; elsewhere the order is another one.
  SumVector unused = hn::Zero(Sums());
  sum = hn::ReorderWidenMulAccumulate(Sums(), x_even, y_even, sum, unused);
  return hn::ReorderWidenMulAccumulate(Sums(), x_odd, y_odd, sum, unused);
#else
  for (const auto products : {hn::Mul(x_even, y_even), hn::Mul(x_odd, y_odd)}) {  // within ±32,640
    const auto pair = hn::BitCast(Sums(), products);
    sum = hn::Add(sum, hn::Add(hn::ShiftRight<16>(pair), hn::ShiftRight<16>(hn::ShiftLeft<16>(pair))));
  }
  return sum;
#endif
#endif
}

// Four bytes for each lane.
HWY_INLINE SumVector FourBytesEach(const std::int8_t* at) {
#if HWY_TARGET == HWY_SCALAR
  std::int32_t four;
  std::memcpy(&four, at, sizeof(four));
  return hn::Set(Sums(), four);
#else
  return hn::BitCast(Sums(), hn::LoadU(hn::Repartition<std::int8_t, Sums>(), at));
#endif
}

// The same four bytes in every lane.
HWY_INLINE SumVector FourBytes(const std::uint8_t* at) {
  std::int32_t four;
  std::memcpy(&four, at, sizeof(four));
  return hn::Set(Sums(), four);
}

template <bool kResidual>
HWY_INLINE void StoreBytes(const ByteStage& stage, SumVector sum, std::size_t channel,
                           const std::uint8_t* residual, std::uint8_t* output) {
#if HWY_TARGET == HWY_SCALAR
  double scaled = hn::GetLane(sum) * stage.factors[channel];
  if constexpr (kResidual) {
    scaled += (residual[channel] - stage.residual_zero) * stage.residual_factors[channel];
  }
  const std::int32_t rounded = static_cast<std::int32_t>(std::nearbyint(scaled)) + stage.zero;
  output[channel] = static_cast<std::uint8_t>(std::clamp(rounded, stage.lowest, stage.highest));
#else
  const Sums sums;
  const Bytes bytes;
  const Reals reals;
  const hn::Half<Sums> half;
  auto low =
      hn::Mul(hn::PromoteTo(reals, hn::LowerHalf(half, sum)), hn::LoadU(reals, stage.factors + channel));
  auto high = hn::Mul(hn::PromoteTo(reals, hn::UpperHalf(half, sum)),
                      hn::LoadU(reals, stage.factors + channel + kLanes / 2));
  if constexpr (kResidual) {
    const SumVector other = hn::Sub(hn::PromoteTo(sums, hn::LoadU(bytes, residual + channel)),
                                    hn::Set(sums, stage.residual_zero));
    low = hn::MulAdd(hn::PromoteTo(reals, hn::LowerHalf(half, other)),
                     hn::LoadU(reals, stage.residual_factors + channel), low);
    high = hn::MulAdd(hn::PromoteTo(reals, hn::UpperHalf(half, other)),
                      hn::LoadU(reals, stage.residual_factors + channel + kLanes / 2), high);
  }
  // Behind 1.5 · 2^52 a double has no fraction: the addition rounds, ties to even, and the integer stands in
  // the lower half.
  const auto rounding = hn::Set(reals, 0x1.8p52);
  SumVector rounded = hn::ConcatEven(sums, hn::BitCast(sums, hn::Add(high, rounding)),
                                     hn::BitCast(sums, hn::Add(low, rounding)));
  rounded = hn::Add(rounded, hn::Set(sums, stage.zero));
  rounded = hn::Min(hn::Max(rounded, hn::Set(sums, stage.lowest)), hn::Set(sums, stage.highest));
  hn::StoreU(hn::DemoteTo(bytes, rounded), bytes, output + channel);
#endif
}

// The pixels of a grid one after another, and the addresses of each.
class PixelWalk {
 public:
  HWY_INLINE explicit PixelWalk(const PixelGrid& grid)
      : grid_(grid), input_(grid.input), residual_(grid.residual), output_(grid.output) {}

  HWY_INLINE const std::uint8_t* input() const { return input_; }
  HWY_INLINE std::uint8_t* output() const { return output_; }
  HWY_INLINE const std::uint8_t* residual() const { return residual_; }
  HWY_INLINE void Next() {
    if (++column_ < grid_.columns) {
      input_ += grid_.input_steps.column;
      output_ += grid_.output_steps.column;
      residual_ += grid_.residual_steps.column;
      return;
    }
    column_ = 0;
    if (++row_ == grid_.rows) {
      row_ = 0;
      ++image_;
    }
    // Behind the last pixel nothing is read.
    if (image_ == grid_.images) return;
    input_ = grid_.input + RowAt(grid_.input_steps);
    output_ = grid_.output + RowAt(grid_.output_steps);
    residual_ = grid_.residual + RowAt(grid_.residual_steps);
  }

 private:
  HWY_INLINE std::size_t RowAt(const PixelSteps& steps) const {
    return image_ * steps.image + row_ * steps.row;
  }

  const PixelGrid& grid_;
  const std::uint8_t* input_;
  const std::uint8_t* residual_;  // null, and steps of 0: no second operand
  std::uint8_t* output_;
  std::size_t image_ = 0, row_ = 0, column_ = 0;
};

// kTilePixels pixels × kVectors vectors of channels, for all pixels.
template <std::size_t kVectors, bool kResidual>
void ConvolveVectors(const PixelGrid& grid, std::size_t quads, const std::int8_t* packed,
                     const ByteStage& stage, std::size_t channel) {
  const Sums sums;
  const std::size_t stride = grid.taps.size() * quads * kLanes * 4;  // of a vector's weights
  const std::size_t pixels = grid.images * grid.rows * grid.columns;
  PixelWalk walk(grid);
  for (std::size_t first = 0; first < pixels; first += kTilePixels) {
    const std::size_t valid = std::min(kTilePixels, pixels - first);
    const std::uint8_t* input[kTilePixels];
    const std::uint8_t* residual[kTilePixels];
    std::uint8_t* output[kTilePixels];
    for (std::size_t p = 0; p < kTilePixels; ++p) {
      // Tiles are whole: what lies beyond the last pixel is computed, and not stored.
      input[p] = p < valid ? walk.input() : input[0];
      output[p] = p < valid ? walk.output() : output[0];
      residual[p] = !kResidual ? nullptr : p < valid ? walk.residual() : residual[0];
      if (p < valid) walk.Next();
    }
    SumVector tile[kTilePixels][kVectors];
#pragma GCC unroll 8
    for (std::size_t v = 0; v < kVectors; ++v) {
      const SumVector bias = hn::LoadU(sums, stage.bias + channel + v * kLanes);
#pragma GCC unroll 8
      for (std::size_t p = 0; p < kTilePixels; ++p) tile[p][v] = bias;
    }
    const std::int8_t* weights = packed;
    for (const std::ptrdiff_t tap : grid.taps) {
      std::ptrdiff_t at = tap;
      for (std::size_t q = 0; q < quads; ++q, at += 4, weights += kLanes * 4) {
        SumVector columns[kVectors];
#pragma GCC unroll 8
        for (std::size_t v = 0; v < kVectors; ++v) {
          columns[v] = FourBytesEach(weights + v * stride);
        }
#pragma GCC unroll 8
        for (std::size_t p = 0; p < kTilePixels; ++p) {
          const SumVector row = FourBytes(input[p] + at);
#pragma GCC unroll 8
          for (std::size_t v = 0; v < kVectors; ++v) tile[p][v] = AddProducts(row, columns[v], tile[p][v]);
        }
      }
    }
#pragma GCC unroll 8
    for (std::size_t p = 0; p < kTilePixels; ++p) {
#pragma GCC unroll 8
      for (std::size_t v = 0; v < kVectors; ++v) {
        if (p < valid) StoreBytes<kResidual>(stage, tile[p][v], channel + v * kLanes, residual[p], output[p]);
      }
    }
  }
}

template <bool kResidual>
void ConvolveAll(const PixelGrid& grid, std::size_t quads, const std::int8_t* packed,
                 const ByteStage& stage) {
  const std::size_t vectors = grid.channels / kLanes, stride = grid.taps.size() * quads * kLanes * 4;
  std::size_t v = 0;
  for (; v + 2 <= vectors; v += 2) {
    ConvolveVectors<2, kResidual>(grid, quads, packed + v * stride, stage, v * kLanes);
  }
  if (v < vectors) ConvolveVectors<1, kResidual>(grid, quads, packed + v * stride, stage, v * kLanes);
}

void Convolve(const PixelGrid& grid, std::size_t quads, const std::int8_t* packed, const ByteStage& stage) {
  if (grid.residual != nullptr) {
    ConvolveAll<true>(grid, quads, packed, stage);
  } else {
    ConvolveAll<false>(grid, quads, packed, stage);
  }
}

// Calls sum(input, channel) for each pixel and vector of channels, and stores the results.
template <class Sum>
HWY_INLINE void ForEachVector(const PixelGrid& grid, const ByteStage& stage, Sum sum) {
  const std::size_t pixels = grid.images * grid.rows * grid.columns;
  PixelWalk walk(grid);
  for (std::size_t p = 0; p < pixels; ++p, walk.Next()) {
    const std::uint8_t* const input = walk.input();
    std::uint8_t* const output = walk.output();
    if (grid.residual != nullptr) {
      const std::uint8_t* const residual = walk.residual();
      for (std::size_t c = 0; c < grid.channels; c += kLanes) {
        StoreBytes<true>(stage, sum(input + c, c), c, residual, output);
      }
    } else {
      for (std::size_t c = 0; c < grid.channels; c += kLanes) {
        StoreBytes<false>(stage, sum(input + c, c), c, nullptr, output);
      }
    }
  }
}

void Depthwise(const PixelGrid& grid, const std::int8_t* packed, const ByteStage& stage) {
  const Sums sums;
  const Bytes bytes;
  const std::size_t quads = (grid.taps.size() + 3) / 4;
  const auto tap_at = [&](const std::uint8_t* input, std::size_t t) {
    // The weights of taps beyond the last are zero.
    return hn::PromoteTo(sums, hn::LoadU(bytes, input + grid.taps[std::min(t, grid.taps.size() - 1)]));
  };
  ForEachVector(grid, stage, [&](const std::uint8_t* input, std::size_t channel) {
    SumVector sum = hn::LoadU(sums, stage.bias + channel);
    const std::int8_t* weights = packed + channel * quads * 4;
    for (std::size_t q = 0; q < quads; ++q, weights += kLanes * 4) {
      const SumVector low = hn::Or(tap_at(input, 4 * q), hn::ShiftLeft<8>(tap_at(input, 4 * q + 1)));
      const SumVector high = hn::Or(tap_at(input, 4 * q + 2), hn::ShiftLeft<8>(tap_at(input, 4 * q + 3)));
      sum = AddProducts(hn::Or(low, hn::ShiftLeft<16>(high)), FourBytesEach(weights), sum);
    }
    return sum;
  });
}

void Average(const PixelGrid& grid, const ByteStage& stage) {
  const Sums sums;
  const Bytes bytes;
  ForEachVector(grid, stage, [&](const std::uint8_t* input, std::size_t channel) {
    SumVector sum = hn::LoadU(sums, stage.bias + channel);
    for (const std::ptrdiff_t tap : grid.taps) {
      sum = hn::Add(sum, hn::PromoteTo(sums, hn::LoadU(bytes, input + tap)));
    }
    return sum;
  });
}

std::size_t LanesOfSums() { return kLanes; }

}  // namespace
}  // namespace tributary::graph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary::graph {

namespace {

HWY_EXPORT(Convolve);
HWY_EXPORT(Depthwise);
HWY_EXPORT(Average);
HWY_EXPORT(LanesOfSums);

}  // namespace

std::vector<std::int8_t> PackDense(std::span<const std::int8_t> weights, std::size_t outputs,
                                   std::size_t inputs, std::size_t taps) {
  const std::size_t lanes = HWY_DYNAMIC_DISPATCH(LanesOfSums)();
  const std::size_t quads = (inputs + 3) / 4, stride = taps * quads * 4;
  std::vector<std::int8_t> packed(InBlocks(outputs) * stride);
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t i = 0; i < inputs; ++i) {
      for (std::size_t t = 0; t < taps; ++t) {
        packed[o / lanes * lanes * stride + ((t * quads + i / 4) * lanes + o % lanes) * 4 + i % 4] =
            weights[(o * inputs + i) * taps + t];
      }
    }
  }
  return packed;
}

std::vector<std::int8_t> PackDepthwise(std::span<const std::int8_t> weights, std::size_t channels,
                                       std::size_t taps) {
  const std::size_t lanes = HWY_DYNAMIC_DISPATCH(LanesOfSums)();
  const std::size_t quads = (taps + 3) / 4;
  std::vector<std::int8_t> packed(InBlocks(channels) * quads * 4);
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t t = 0; t < taps; ++t) {
      packed[c / lanes * lanes * quads * 4 + (t / 4 * lanes + c % lanes) * 4 + t % 4] = weights[c * taps + t];
    }
  }
  return packed;
}

void ConvolveBytes(const PixelGrid& grid, std::size_t inputs, std::span<const std::int8_t> packed,
                   const ByteStage& stage) {
  HWY_DYNAMIC_DISPATCH(Convolve)(grid, (inputs + 3) / 4, packed.data(), stage);
}

void DepthwiseBytes(const PixelGrid& grid, std::span<const std::int8_t> packed, const ByteStage& stage) {
  HWY_DYNAMIC_DISPATCH(Depthwise)(grid, packed.data(), stage);
}

void AverageBytes(const PixelGrid& grid, const ByteStage& stage) {
  HWY_DYNAMIC_DISPATCH(Average)(grid, stage);
}

}  // namespace tributary::graph
#endif
