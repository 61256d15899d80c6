// A tile of sums of products that stays in registers: the core of the matrix product and of the convolutions.
// For files that Highway compiles once per target, with arrays of vectors, which targets with sizeless
// vectors do not allow.

#if defined(TRIBUTARY_CORE_NN_PRODUCT_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TRIBUTARY_CORE_NN_PRODUCT_TILE_INL_H_
#undef TRIBUTARY_CORE_NN_PRODUCT_TILE_INL_H_
#else
#define TRIBUTARY_CORE_NN_PRODUCT_TILE_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tributary::nn::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr std::size_t kLanes = HWY_LANES(float);
// 24 accumulators need 32 vector registers, as AVX-512 and arm64 have them; 8 fit into 16.
constexpr bool kManyRegisters = HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64;
constexpr std::size_t kTileRows = kManyRegisters ? 8 : 4;
constexpr std::size_t kTileVectors = kManyRegisters ? 3 : 2;

template <std::size_t kRows, std::size_t kColumns>
class ProductTile {
 public:
  HWY_INLINE ProductTile() {
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (std::size_t c = 0; c < kColumns; ++c) sum_[r][c] = hn::Zero(D());
    }
  }

  // Adds row(r) · column(c) to each sum.
  template <class Row, class Column>
  HWY_INLINE void Add(Row row, Column column) {
    V columns[kColumns];
#pragma GCC unroll 8
    for (std::size_t c = 0; c < kColumns; ++c) columns[c] = column(c);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
      const V value = row(r);
#pragma GCC unroll 8
      for (std::size_t c = 0; c < kColumns; ++c) sum_[r][c] = hn::MulAdd(value, columns[c], sum_[r][c]);
    }
  }

  // Calls visit(r, c, sum), with constants: otherwise the sums are kept in memory.
  template <class Visit>
  HWY_INLINE void ForEach(Visit visit) const {
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (std::size_t c = 0; c < kColumns; ++c) visit(r, c, sum_[r][c]);
    }
  }

 private:
  V sum_[kRows][kColumns];
};

// Sums over long arrays have the same bits whatever the vectors' length: each place modulo kSumLanes has a
// sum of its own, and these are added up by halves.
constexpr std::size_t kSumLanes = 16;
static_assert(kSumLanes % kLanes == 0);

HWY_INLINE float SumByHalves(float* lanes) {
  for (std::size_t half = kSumLanes / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

// add(tile, first) adds to a tile every kSumLanes / kLanes-th vector from place `first` on. Calls visit(r, c,
// total).
template <std::size_t kRows, std::size_t kColumns, class Add, class Visit>
HWY_INLINE void SumAcross(Add add, Visit visit) {
  const D d;
  if constexpr (kLanes == kSumLanes) {
    ProductTile<kRows, kColumns> tile;
    add(tile, std::size_t{0});
    // Highway adds these up by halves, too.
    tile.ForEach(
        [&](std::size_t r, std::size_t c, V sum) { visit(r, c, hn::GetLane(hn::SumOfLanes(d, sum))); });
  } else {
    HWY_ALIGN float lanes[kRows][kColumns][kSumLanes];
    for (std::size_t first = 0; first < kSumLanes; first += kLanes) {
      ProductTile<kRows, kColumns> tile;
      add(tile, first);
      tile.ForEach([&](std::size_t r, std::size_t c, V sum) { hn::Store(sum, d, lanes[r][c] + first); });
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t c = 0; c < kColumns; ++c) visit(r, c, SumByHalves(lanes[r][c]));
    }
  }
}

// sums [row_count × column_count] += Σ row(r)[i] · column(c)[i] over first <= i < end, which is rounded up to
// whole vectors.
template <class Row, class Column>
HWY_INLINE void AddDots(std::size_t row_count, Row row, std::size_t column_count, Column column,
                        std::size_t first, std::size_t end, float* sums) {
  const D d;
  for (std::size_t y = 0; y < row_count; y += kTileRows) {
    const float* rows[kTileRows];
    for (std::size_t r = 0; r < kTileRows; ++r) rows[r] = row(std::min(y + r, row_count - 1));
    for (std::size_t x = 0; x < column_count; x += kTileVectors) {
      const float* columns[kTileVectors];
      for (std::size_t c = 0; c < kTileVectors; ++c) columns[c] = column(std::min(x + c, column_count - 1));
      SumAcross<kTileRows, kTileVectors>(
          [&](auto& tile, std::size_t place) {
            for (std::size_t i = first + place; i < end; i += kSumLanes) {
              tile.Add([&](std::size_t r) { return hn::LoadU(d, rows[r] + i); },
                       [&](std::size_t c) { return hn::LoadU(d, columns[c] + i); });
            }
          },
          [&](std::size_t r, std::size_t c, float total) {
            if (y + r < row_count && x + c < column_count) sums[(y + r) * column_count + x + c] += total;
          });
    }
  }
}

}  // namespace
}  // namespace tributary::nn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
