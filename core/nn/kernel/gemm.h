// Single-precision matrix product, and ReLUs. The product is blocked and packed as in Goto &
// van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008); the micro-kernel is chosen for
// the processor at run time.
#pragma once

#include <cstddef>
#include <span>

#include "core/nn/kernel/aligned_floats.h"

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
  // Packed blocks: a [96 × 256] takes 96 KiB, b [256 × 512] 512 KiB: both stay in a 1 MiB second-level cache.
  static constexpr std::size_t kBlockRows = 96;
  static constexpr std::size_t kBlockDepth = 256;
  static constexpr std::size_t kBlockColumns = 512;
  static constexpr std::size_t kPanelRows = 6;  // of the micro-kernel
  static_assert(kBlockRows % kPanelRows == 0);
  static constexpr std::size_t kBytes = sizeof(float) * (kBlockRows + kBlockColumns) * kBlockDepth;

  Gemm();

  // c = a · b, or c += a · b. c is row-major [a.rows × b.columns] and overlaps neither input; a.columns ==
  // b.rows.
  void Multiply(const MatrixView& a, const MatrixView& b, float* c, bool accumulate = false);

 private:
  AlignedFloats packed_a_;
  AlignedFloats packed_b_;
};

// In place: values = max(values, 0); NaN becomes 0.
inline void ReluForward(std::span<float> values) {
  for (float& value : values) value = value > 0.0f ? value : 0.0f;
}

// Clears the gradient where the activation (the forward result) is zero. Equal lengths.
inline void ReluBackward(std::span<const float> activation, std::span<float> gradient) {
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = activation[i] > 0.0f ? gradient[i] : 0.0f;
}

}  // namespace tributary::nn
