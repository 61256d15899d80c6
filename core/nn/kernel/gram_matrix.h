// The products of all columns of a tall matrix, accumulated block by block of its rows.
#pragma once

#include <cstddef>

#include "hwy/aligned_allocator.h"

namespace tributary::nn {

// Owns its buffers; Clear and Add allocate nothing. One thread at a time.
class GramMatrix {
 public:
  // Rows handed to Add at once: as many share one load of the sums.
  static constexpr std::size_t kRows = 16;

  explicit GramMatrix(std::size_t columns);

  // Elements from one row of a block to the next: columns, padded to whole vectors.
  std::size_t stride() const { return stride_; }

  void Clear();

  // Adds rowsᵀ·rows for kRows rows [kRows × stride], aligned to 64 bytes. Padding and unused rows are zero.
  void Add(const double* rows);

  // Sum over all rows of column i · column k, for i ≤ k.
  double at(std::size_t i, std::size_t k) const { return sums_[i * stride_ + k]; }

 private:
  std::size_t stride_;
  hwy::AlignedFreeUniquePtr<double[]> sums_;  // [stride × stride], from the diagonal's vector on
};

}  // namespace tributary::nn
