#include "core/nn/kernel/planes.h"

#include <algorithm>

namespace tributary::nn {

Planes::Planes(std::size_t channels, PlaneShape shape)
    : channels_(channels), shape_(shape), values_(hwy::AllocateAligned<float>(channels * shape.stride())) {
  std::fill_n(values_.get(), channels * shape.stride(), 0.0f);
}

}  // namespace tributary::nn
