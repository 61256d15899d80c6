// Memory for vectors of floats.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>

#include "hwy/aligned_allocator.h"

namespace tributary::nn {

using AlignedFloats = hwy::AlignedFreeUniquePtr<float[]>;

// Zeros, aligned for vectors of every target. Throws std::bad_alloc, as a std::vector does; Highway gives
// null.
inline AlignedFloats AllocateFloats(std::size_t count) {
  AlignedFloats values = hwy::AllocateAligned<float>(count);
  if (values == nullptr) throw std::bad_alloc();
  std::fill_n(values.get(), count, 0.0f);
  return values;
}

}  // namespace tributary::nn
