#include "aggregator/federation/running_statistics.h"

#include "core/parameters/tensor.h"

namespace tributary {

std::vector<StatisticRange> FindStatistics(std::span<const FlatTensor> tensors) {
  std::vector<StatisticRange> ranges;
  std::size_t first = 0;
  for (const FlatTensor& tensor : tensors) {
    const std::size_t count = ElementCount(tensor.shape).value_or(0);
    const bool variance = tensor.name.ends_with(".running_variance") || tensor.name.ends_with(".running_var");
    if (variance || tensor.name.ends_with(".running_mean")) ranges.push_back({first, count, variance});
    first += count;
  }
  return ranges;
}

}  // namespace tributary
