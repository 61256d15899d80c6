// Dot products of a few streams with a few others, all pairs in registers: the core of the gradients of
// convolutions' weights. For files that Highway compiles once per target.

#if defined(TRIBUTARY_CORE_NN_DOT_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TRIBUTARY_CORE_NN_DOT_TILE_INL_H_
#undef TRIBUTARY_CORE_NN_DOT_TILE_INL_H_
#else
#define TRIBUTARY_CORE_NN_DOT_TILE_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tributary::nn {
namespace HWY_NAMESPACE {
namespace {

// 24 accumulators need 32 vector registers, 8 fit into 16.
constexpr bool kDotManyRegisters =
    HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON;
constexpr std::size_t kDotRows = kDotManyRegisters ? 8 : 4;
constexpr std::size_t kDotColumns = kDotManyRegisters ? 3 : 2;

// dots[r][c] += Σ rows[r][i] · columns[c][i] over first <= i < end, which is rounded up to whole vectors, for
// r below row_count and c below column_count; all kDotRows and kDotColumns streams must be readable.
HWY_INLINE void AddDots(const float* const* rows, const float* const* columns, std::size_t first,
                        std::size_t end, float* const* dots, std::size_t row_count,
                        std::size_t column_count) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  hn::Vec<decltype(d)> sum[kDotRows][kDotColumns];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < kDotRows; ++r) {
#pragma GCC unroll 4
    for (std::size_t c = 0; c < kDotColumns; ++c) sum[r][c] = hn::Zero(d);
  }
  for (std::size_t i = first; i < end; i += hn::Lanes(d)) {
    hn::Vec<decltype(d)> column[kDotColumns];
#pragma GCC unroll 4
    for (std::size_t c = 0; c < kDotColumns; ++c) column[c] = hn::LoadU(d, columns[c] + i);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kDotRows; ++r) {
      const auto row = hn::LoadU(d, rows[r] + i);
#pragma GCC unroll 4
      for (std::size_t c = 0; c < kDotColumns; ++c) sum[r][c] = hn::MulAdd(row, column[c], sum[r][c]);
    }
  }
  // Use constants as indices only, or the sums are kept in memory.
#pragma GCC unroll 8
  for (std::size_t r = 0; r < kDotRows; ++r) {
#pragma GCC unroll 4
    for (std::size_t c = 0; c < kDotColumns; ++c) {
      const float total = hn::GetLane(hn::SumOfLanes(d, sum[r][c]));
      if (r < row_count && c < column_count) dots[r][c] += total;
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tributary::nn
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
