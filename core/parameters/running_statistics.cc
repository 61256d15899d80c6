#include "core/parameters/running_statistics.h"

namespace tributary::parameters {

std::vector<StatisticRange> FindStatistics(std::span<const TensorShape> tensors) {
  std::vector<StatisticRange> ranges;
  std::size_t first = 0;
  for (const TensorShape& tensor : tensors) {
    const std::size_t count = tensor.size();
    const bool variance = tensor.name.ends_with(".running_variance") || tensor.name.ends_with(".running_var");
    if (variance || tensor.name.ends_with(".running_mean")) ranges.push_back({first, count, variance});
    first += count;
  }
  return ranges;
}

}  // namespace tributary::parameters
