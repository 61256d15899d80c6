// Single-precision matrix product, blocked and packed as in Goto & van de Geijn, "Anatomy of High-Performance
// Matrix Multiplication" (2008); the micro-kernel is chosen for the processor at run time.
#pragma once

#include <cstddef>

#include "hwy/aligned_allocator.h"

namespace tributary::nn {

// A read-only float matrix with any strides, in elements.
struct MatrixView {
  const float* data;
  std::size_t rows;
  std::size_t columns;
  std::size_t row_stride;
  std::size_t column_stride;
};

constexpr MatrixView RowMajor(const float* data, std::size_t rows, std::size_t columns) {
  return {data, rows, columns, columns, 1};
}

constexpr MatrixView Transposed(const MatrixView& m) {
  return {m.data, m.columns, m.rows, m.column_stride, m.row_stride};
}

// Owns the packing buffers (0.7 MB), so that a product allocates nothing. One thread at a time; one per
// thread.
class Gemm {
 public:
  Gemm();

  // c = a · b, or c += a · b. c is row-major [a.rows × b.columns] and overlaps neither input; a.columns ==
  // b.rows.
  void Multiply(const MatrixView& a, const MatrixView& b, float* c, bool accumulate = false);

 private:
  hwy::AlignedFreeUniquePtr<float[]> packed_a_;
  hwy::AlignedFreeUniquePtr<float[]> packed_b_;
};

}  // namespace tributary::nn
