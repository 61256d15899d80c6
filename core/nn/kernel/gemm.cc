#include "core/nn/kernel/gemm.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/nn/kernel/gemm.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which compiles it once per target.
#include "core/nn/kernel/product_tile-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tributary::nn::HWY_NAMESPACE {
namespace {

constexpr std::size_t kPanelRows = Gemm::kPanelRows;
// 6 × 4 accumulators need 32 vector registers, 6 × 2 fit into 16.
constexpr std::size_t kPanelVectors = kManyRegisters ? 4 : 2;
constexpr std::size_t kPanelColumns = kPanelVectors * kLanes;
static_assert(Gemm::kBlockColumns % kPanelColumns == 0);

// out [kPanelRows × kPanelColumns] (row stride `stride`) = or += a panel of a times a panel of b.
HWY_INLINE void MicroKernel(std::size_t depth, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
                            float* HWY_RESTRICT out, std::size_t stride, bool accumulate) {
  const D d;
  ProductTile<kPanelRows, kPanelVectors> tile;
  for (std::size_t k = 0; k < depth; ++k, a += kPanelRows, b += kPanelColumns) {
    tile.Add([&](std::size_t r) { return hn::Set(d, a[r]); },
             [&](std::size_t v) { return hn::Load(d, b + v * kLanes); });
  }
  tile.ForEach([&](std::size_t r, std::size_t v, V sum) {
    float* at = out + r * stride + v * kLanes;
    hn::StoreU(accumulate ? hn::Add(hn::LoadU(d, at), sum) : sum, d, at);
  });
}

// One packed block of a times one packed block of b, added to or stored in c.
void MultiplyBlock(const float* a, std::size_t rows, const float* b, std::size_t columns, std::size_t depth,
                   float* c, std::size_t stride, bool accumulate) {
  HWY_ALIGN float edge[kPanelRows * kPanelColumns];
  for (std::size_t j = 0; j < columns; j += kPanelColumns) {
    const std::size_t valid_columns = std::min(kPanelColumns, columns - j);
    for (std::size_t i = 0; i < rows; i += kPanelRows) {
      const std::size_t valid_rows = std::min(kPanelRows, rows - i);
      float* tile = c + i * stride + j;
      if (valid_rows == kPanelRows && valid_columns == kPanelColumns) {
        MicroKernel(depth, a + i * depth, b + j * depth, tile, stride, accumulate);
        continue;
      }
      MicroKernel(depth, a + i * depth, b + j * depth, edge, kPanelColumns, false);
      for (std::size_t r = 0; r < valid_rows; ++r) {
        for (std::size_t x = 0; x < valid_columns; ++x) {
          float& out = tile[r * stride + x];
          out = (accumulate ? out : 0.0f) + edge[r * kPanelColumns + x];
        }
      }
    }
  }
}

std::size_t PanelColumns() { return kPanelColumns; }

}  // namespace
}  // namespace tributary::nn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tributary::nn {

namespace {

HWY_EXPORT(MultiplyBlock);
HWY_EXPORT(PanelColumns);

// Rows [depth0, depth0 + depth) × columns [column, column + columns) of `m`, in panels of `width` columns,
// depth-major, filled up with zeros.
void Pack(const MatrixView& m, std::size_t depth0, std::size_t depth, std::size_t column, std::size_t columns,
          std::size_t width, float* packed) {
  // Few streams, so that rows a power of two apart do not evict each other from the first-level cache.
  constexpr std::size_t kStreams = 8;
  for (std::size_t j = 0; j < columns; j += width, packed += width * depth) {
    const std::size_t valid = std::min(width, columns - j);
    const float* source = m.data + depth0 * m.row_stride + (column + j) * m.column_stride;
    if (valid < width) std::fill_n(packed, width * depth, 0.0f);
    if (m.column_stride == 1) {
      for (std::size_t k = 0; k < depth; ++k)
        std::copy_n(source + k * m.row_stride, valid, packed + k * width);
      continue;
    }
    for (std::size_t s = 0; s < valid; s += kStreams) {
      const std::size_t end = std::min(s + kStreams, valid);
      for (std::size_t k = 0; k < depth; ++k) {
        for (std::size_t c = s; c < end; ++c) {
          packed[k * width + c] = source[k * m.row_stride + c * m.column_stride];
        }
      }
    }
  }
}

}  // namespace

Gemm::Gemm()
    : packed_a_(AllocateFloats(kBlockRows * kBlockDepth)),
      packed_b_(AllocateFloats(kBlockDepth * kBlockColumns)) {}

void Gemm::Multiply(const MatrixView& a, const MatrixView& b, float* c, bool accumulate) {
  const std::size_t width = HWY_DYNAMIC_DISPATCH(PanelColumns)();
  for (std::size_t column = 0; column < b.columns; column += kBlockColumns) {
    const std::size_t columns = std::min(kBlockColumns, b.columns - column);
    for (std::size_t k = 0; k < a.columns; k += kBlockDepth) {
      const std::size_t depth = std::min(kBlockDepth, a.columns - k);
      Pack(b, k, depth, column, columns, width, packed_b_.get());
      for (std::size_t row = 0; row < a.rows; row += kBlockRows) {
        const std::size_t rows = std::min(kBlockRows, a.rows - row);
        Pack(Transposed(a), k, depth, row, rows, kPanelRows, packed_a_.get());
        HWY_DYNAMIC_DISPATCH(MultiplyBlock)
        (packed_a_.get(), rows, packed_b_.get(), columns, depth, c + row * b.columns + column, b.columns,
         accumulate || k > 0);
      }
    }
  }
}

}  // namespace tributary::nn
#endif
