#include "core/nn/kernel/gram_matrix.h"

#include <algorithm>

// Arrays of vectors, which scalable vectors do not allow: arm64 runs the NEON version.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/nn/kernel/gram_matrix.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tributary::nn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F64 = hn::CappedTag<double, 8>;

constexpr std::size_t kLines = 4;

// kLines lines from line i of the sums, kVectors vectors from column k: all sums of the tile stay in
// registers during the pass over the rows.
template <std::size_t kVectors>
HWY_INLINE void AddTile(const double* HWY_RESTRICT rows, std::size_t stride, std::size_t i, std::size_t k,
                        double* HWY_RESTRICT sums) {
  const F64 f64;
  const std::size_t lanes = hn::Lanes(f64);
  hn::Vec<F64> tile[kLines][kVectors];
  for (std::size_t l = 0; l < kLines; ++l) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      tile[l][v] = hn::Load(f64, sums + (i + l) * stride + k + v * lanes);
    }
  }
  for (std::size_t r = 0; r < GramMatrix::kRows; ++r) {
    const double* row = rows + r * stride;
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto columns = hn::Load(f64, row + k + v * lanes);
      for (std::size_t l = 0; l < kLines; ++l) {
        tile[l][v] = hn::MulAdd(hn::Set(f64, row[i + l]), columns, tile[l][v]);
      }
    }
  }
  for (std::size_t l = 0; l < kLines; ++l) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::Store(tile[l][v], f64, sums + (i + l) * stride + k + v * lanes);
    }
  }
}

void AddRows(const double* HWY_RESTRICT rows, std::size_t stride, double* HWY_RESTRICT sums) {
  const std::size_t lanes = hn::Lanes(F64());
  for (std::size_t i = 0; i < stride; i += kLines) {
    std::size_t k = i / lanes * lanes;
    for (; k + 2 * lanes <= stride; k += 2 * lanes) AddTile<2>(rows, stride, i, k, sums);
    if (k < stride) AddTile<1>(rows, stride, i, k, sums);
  }
}

}  // namespace tributary::nn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary::nn {

HWY_EXPORT(AddRows);

GramMatrix::GramMatrix(std::size_t columns)
    : stride_((columns + 7) / 8 * 8), sums_(hwy::AllocateAligned<double>(stride_ * stride_)) {
  Clear();
}

void GramMatrix::Clear() { std::fill_n(sums_.get(), stride_ * stride_, 0.0); }

void GramMatrix::Add(const double* rows) { HWY_DYNAMIC_DISPATCH(AddRows)(rows, stride_, sums_.get()); }

}  // namespace tributary::nn
#endif
