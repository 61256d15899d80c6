#include "node/accelerator/positioning_kernels.h"

#include <bit>
#include <cmath>
#include <cstring>

// Arrays of vectors, which scalable vectors do not allow: arm64 runs the NEON version.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "node/accelerator/positioning_kernels.cc"
#include "fpga/model/fixed_point.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tributary::accelerator::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::CappedTag<float, kBlockOutputs>;
using I32 = hn::CappedTag<std::int32_t, kBlockOutputs>;

template <typename T>
void StoreWords(hn::Vec<F32> values, float lowest, float highest, T* words) {
  const F32 f32;
  const auto clamped = hn::Min(hn::Max(values, hn::Set(f32, lowest)), hn::Set(f32, highest));
  const auto integers = hn::NearestInt(clamped);
  if constexpr (sizeof(T) == sizeof(std::int32_t)) {
    hn::StoreU(integers, I32(), words);
  } else {
    const hn::Rebind<T, I32> narrow;
    hn::StoreU(hn::DemoteTo(narrow, integers), narrow, words);
  }
}

void StoreWords(hn::Vec<F32> values, float, float, float* words) { hn::StoreU(values, F32(), words); }

// Antenna 0, subcarrier 0 is real by definition.
template <typename T>
bool PrepareReference(const fpga::PositioningInput& input, std::size_t i, float aligned, T* words) {
  const float value = (aligned - input.mean[i]) * input.gain[i];
  if (!std::isfinite(value)) return false;
  if constexpr (std::is_same_v<T, float>) {
    words[i] = value;
  } else {
    words[i] = static_cast<T>(fpga::QuantiseFeature(input, value));
  }
  return true;
}

template <typename T>
bool Prepare(const fpga::PositioningInput& input, const float* features, T* words) {
  constexpr std::size_t kHalf = nn::PositioningNetwork::kInputs / 2;
  const F32 f32;
  const I32 i32;
  const fpga::PhaseRotation rotation = fpga::AlignmentOf(features[0], features[kHalf]);
  const auto cosine = hn::Set(f32, rotation.cosine);
  const auto sine = hn::Set(f32, rotation.sine);
  const auto magnitude_bits = hn::Set(i32, 0x7FFFFFFF);
  auto largest = hn::Zero(i32);
  const auto standardise = [&](hn::Vec<F32> aligned, std::size_t i) {
    const auto centred = hn::Sub(aligned, hn::LoadU(f32, input.mean.data() + i));
    const auto value = hn::Mul(centred, hn::LoadU(f32, input.gain.data() + i));
    largest = hn::Max(largest, hn::And(hn::BitCast(i32, value), magnitude_bits));
    StoreWords(value, input.lowest, input.highest, words + i);
  };
  for (std::size_t i = 0; i < kHalf; i += hn::Lanes(f32)) {
    const auto re = hn::LoadU(f32, features + i);
    const auto im = hn::LoadU(f32, features + kHalf + i);
    standardise(hn::Add(hn::Mul(re, cosine), hn::Mul(im, sine)), i);
    standardise(hn::Sub(hn::Mul(im, cosine), hn::Mul(re, sine)), kHalf + i);
  }
  constexpr std::int32_t kInfinityBits = 0x7F800000;
  const bool finite = hn::GetLane(hn::MaxOfLanes(i32, largest)) < kInfinityBits;
  return PrepareReference(input, 0, rotation.magnitude, words) &&
         PrepareReference(input, kHalf, 0.0f, words) && finite;
}

bool PrepareWords(const fpga::PositioningInput& input, const float* features, InputWords words) {
  return std::visit([&](auto* typed) { return Prepare(input, features, typed); }, words);
}

#if HWY_TARGET == HWY_SCALAR

// One lane holds no pair.
void MultiplyPairsKernel(const std::int16_t* inputs, std::size_t row_stride, std::size_t rows,
                         const std::int16_t* weights, std::size_t block_stride, std::size_t blocks,
                         std::size_t groups, std::int32_t* sums) {
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t output = 0; output < blocks * kBlockOutputs; ++output) {
      const std::int16_t* lane = weights + output / kBlockOutputs * block_stride + output % kBlockOutputs * 2;
      std::int32_t sum = 0;
      for (std::size_t group = 0; group < groups; ++group) {
        const std::int16_t* pair = inputs + row * row_stride + group * 2;
        sum += pair[0] * lane[group * kBlockOutputs * 2] + pair[1] * lane[group * kBlockOutputs * 2 + 1];
      }
      sums[row * blocks * kBlockOutputs + output] = sum;
    }
  }
}

#else

// One block of outputs, kRows rows.
template <std::size_t kRows>
void MultiplyTile(const std::int16_t* inputs, std::size_t row_stride, const std::int16_t* weights,
                  std::size_t groups, std::int32_t* sums, std::size_t sums_stride) {
  constexpr std::size_t kVectors = kBlockOutputs / hn::MaxLanes(I32());
  const I32 i32;
  const hn::Repartition<std::int16_t, I32> i16;
  hn::Vec<I32> sum[kRows][kVectors];
  hn::Vec<I32> other[kRows][kVectors];  // used where the instruction set splits the sums over two registers
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = other[r][v] = hn::Zero(i32);
  }
  for (std::size_t group = 0; group < groups; ++group) {
    hn::Vec<decltype(i16)> weight[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) {
      weight[v] = hn::LoadU(i16, weights + group * kBlockOutputs * 2 + v * hn::MaxLanes(i16));
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      std::int32_t pair;
      std::memcpy(&pair, inputs + r * row_stride + group * 2, sizeof(pair));
      const auto input = hn::BitCast(i16, hn::Set(i32, pair));
      for (std::size_t v = 0; v < kVectors; ++v) {
        sum[r][v] = hn::ReorderWidenMulAccumulate(i32, weight[v], input, sum[r][v], other[r][v]);
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(hn::RearrangeToOddPlusEven(sum[r][v], other[r][v]), i32,
                 sums + r * sums_stride + v * hn::MaxLanes(i32));
    }
  }
}

void MultiplyPairsKernel(const std::int16_t* inputs, std::size_t row_stride, std::size_t rows,
                         const std::int16_t* weights, std::size_t block_stride, std::size_t blocks,
                         std::size_t groups, std::int32_t* sums) {
  constexpr std::size_t kRows = hn::MaxLanes(I32()) / 2;  // as many accumulators as half the registers
  const std::size_t width = blocks * kBlockOutputs;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::int16_t* block_weights = weights + block * block_stride;
    std::int32_t* block_sums = sums + block * kBlockOutputs;
    std::size_t row = 0;
    for (; row + kRows <= rows; row += kRows) {
      MultiplyTile<kRows>(inputs + row * row_stride, row_stride, block_weights, groups,
                          block_sums + row * width, width);
    }
    for (; row < rows; ++row) {
      MultiplyTile<1>(inputs + row * row_stride, row_stride, block_weights, groups, block_sums + row * width,
                      width);
    }
  }
}

#endif

void AddSplitKernel(const std::int32_t* high, const std::int32_t* low, std::size_t count,
                    std::int32_t* quotient, std::int32_t* remainder) {
  const I32 i32;
  for (std::size_t i = 0; i < count; i += hn::Lanes(i32)) {
    const auto sum = hn::Add(hn::LoadU(i32, low + i), hn::LoadU(i32, remainder + i));
    const auto carried = hn::Add(hn::LoadU(i32, high + i), hn::ShiftRight<8>(sum));
    hn::StoreU(hn::Add(hn::LoadU(i32, quotient + i), carried), i32, quotient + i);
    hn::StoreU(hn::And(sum, hn::Set(i32, 255)), i32, remainder + i);
  }
}

HWY_INLINE void RoundAndStore(hn::Vec<I32> sum, int shift, hn::Vec<I32> lowest, hn::Vec<I32> highest,
                              std::int16_t* words) {
  const I32 i32;
  const hn::Rebind<std::int16_t, I32> i16;
  const auto half = hn::Set(i32, 1 << (shift - 1));
  const auto rounded = hn::ShiftRightSame(hn::Add(sum, half), shift);
  hn::StoreU(hn::DemoteTo(i16, hn::Min(hn::Max(rounded, lowest), highest)), i16, words);
}

void RequantiseKernel(const std::int32_t* sums, std::size_t count, int shift, int bits, bool rectified,
                      std::int16_t* words) {
  const I32 i32;
  const auto lowest = hn::Set(i32, rectified ? 0 : static_cast<std::int32_t>(fpga::MinWord(bits)));
  const auto highest = hn::Set(i32, static_cast<std::int32_t>(fpga::MaxWord(bits)));
  for (std::size_t i = 0; i < count; i += hn::Lanes(i32)) {
    RoundAndStore(hn::LoadU(i32, sums + i), shift, lowest, highest, words + i);
  }
}

void ScaleAndOffsetKernel(const std::int32_t* scale, const std::int32_t* offset, std::size_t rows,
                          std::size_t width, int shift, int bits, std::int16_t* words) {
  const I32 i32;
  const hn::Rebind<std::int16_t, I32> i16;
  const auto lowest = hn::Set(i32, static_cast<std::int32_t>(fpga::MinWord(bits)));
  const auto highest = hn::Set(i32, static_cast<std::int32_t>(fpga::MaxWord(bits)));
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < width; i += hn::Lanes(i32)) {
      std::int16_t* place = words + row * width + i;
      const auto product = hn::Mul(hn::PromoteTo(i32, hn::LoadU(i16, place)), hn::LoadU(i32, scale + i));
      RoundAndStore(hn::Add(product, hn::LoadU(i32, offset + i)), shift, lowest, highest, place);
    }
  }
}

template <std::size_t kRows>
void FloatTile(const float* inputs, std::size_t row_stride, const float* weights, std::size_t columns,
               float* results, std::size_t results_stride) {
  constexpr std::size_t kVectors = kBlockOutputs / hn::MaxLanes(F32());
  const F32 f32;
  hn::Vec<F32> sum[kRows][kVectors];
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(f32);
  }
  for (std::size_t column = 0; column < columns; ++column) {
    for (std::size_t r = 0; r < kRows; ++r) {
      const auto input = hn::Set(f32, inputs[r * row_stride + column]);
      for (std::size_t v = 0; v < kVectors; ++v) {
        const auto weight = hn::LoadU(f32, weights + column * kBlockOutputs + v * hn::MaxLanes(f32));
        sum[r][v] = hn::MulAdd(weight, input, sum[r][v]);
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(sum[r][v], f32, results + r * results_stride + v * hn::MaxLanes(f32));
    }
  }
}

void MultiplyFloatKernel(const float* inputs, std::size_t row_stride, std::size_t rows,
                         const PackedWeights<float>& weights, bool rectified, const float* scale,
                         const float* offset, float* results) {
  // As many accumulators as half the registers; 16 rows of AVX-512 hide the latency of 4 at two per cycle.
  constexpr std::size_t kRows = hn::MaxLanes(F32()) > 1 ? hn::MaxLanes(F32()) / 2 : 1;
  const F32 f32;
  const std::size_t columns = weights.groups;
  const std::size_t width = weights.blocks * kBlockOutputs;
  for (std::size_t block = 0; block < weights.blocks; ++block) {
    const float* block_weights = weights.words.get() + block * columns * kBlockOutputs;
    float* block_results = results + block * kBlockOutputs;
    std::size_t row = 0;
    for (; row + kRows <= rows; row += kRows) {
      FloatTile<kRows>(inputs + row * row_stride, row_stride, block_weights, columns,
                       block_results + row * width, width);
    }
    for (; row < rows; ++row) {
      FloatTile<1>(inputs + row * row_stride, row_stride, block_weights, columns, block_results + row * width,
                   width);
    }
  }
  for (std::size_t i = 0; i < rows * width; i += hn::Lanes(f32)) {
    auto value = hn::LoadU(f32, results + i);
    if (rectified) value = hn::Max(value, hn::Zero(f32));
    if (scale != nullptr) {
      value = hn::MulAdd(value, hn::LoadU(f32, scale + i % width), hn::LoadU(f32, offset + i % width));
    }
    hn::StoreU(value, f32, results + i);
  }
}

}  // namespace tributary::accelerator::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary::accelerator {

HWY_EXPORT(PrepareWords);
HWY_EXPORT(MultiplyPairsKernel);
HWY_EXPORT(AddSplitKernel);
HWY_EXPORT(RequantiseKernel);
HWY_EXPORT(ScaleAndOffsetKernel);
HWY_EXPORT(MultiplyFloatKernel);

bool PrepareInput(const fpga::PositioningInput& input, const float* features, InputWords words) {
  return HWY_DYNAMIC_DISPATCH(PrepareWords)(input, features, words);
}

void MultiplyPairs(const std::int16_t* inputs, std::size_t row_stride, std::size_t rows,
                   const PackedWeights<std::int16_t>& weights, std::size_t first_group, std::size_t groups,
                   std::int32_t* sums) {
  HWY_DYNAMIC_DISPATCH(MultiplyPairsKernel)
  (inputs, row_stride, rows, weights.words.get() + first_group * kBlockOutputs * 2,
   weights.groups * kBlockOutputs * 2, weights.blocks, groups, sums);
}

void AddSplitSums(const std::int32_t* high, const std::int32_t* low, std::size_t count,
                  std::int32_t* quotient, std::int32_t* remainder) {
  HWY_DYNAMIC_DISPATCH(AddSplitKernel)(high, low, count, quotient, remainder);
}

void Requantise(const std::int32_t* sums, std::size_t count, int shift, int bits, bool rectified,
                std::int16_t* words) {
  HWY_DYNAMIC_DISPATCH(RequantiseKernel)(sums, count, shift, bits, rectified, words);
}

void ScaleAndOffset(const std::int32_t* scale, const std::int32_t* offset, std::size_t rows,
                    std::size_t width, int shift, int bits, std::int16_t* words) {
  HWY_DYNAMIC_DISPATCH(ScaleAndOffsetKernel)(scale, offset, rows, width, shift, bits, words);
}

void MultiplyFloat(const float* inputs, std::size_t row_stride, std::size_t rows,
                   const PackedWeights<float>& weights, bool rectified, const float* scale,
                   const float* offset, float* results) {
  HWY_DYNAMIC_DISPATCH(MultiplyFloatKernel)
  (inputs, row_stride, rows, weights, rectified, scale, offset, results);
}

}  // namespace tributary::accelerator
#endif
