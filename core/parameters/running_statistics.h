// Which elements of a flat vector are measured, not learned.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/parameters/tensor.h"

namespace tributary::parameters {

// Consecutive running statistics of batch norms. They are averages already: a server's momentum or adaptive
// step would overshoot them.
struct StatisticRange {
  std::size_t first = 0;
  std::size_t count = 0;
  bool variance = false;  // not below zero
};

// The tensors whose names end in ".running_mean", ".running_variance" or (PyTorch's) ".running_var",
// ascending.
std::vector<StatisticRange> FindStatistics(std::span<const TensorShape> tensors);

}  // namespace tributary::parameters
