#include "aggregator/fusion/consistency_monitor.h"

#include <algorithm>

namespace tributary::fusion {

ConsistencyMonitor::ConsistencyMonitor(std::uint32_t dimension, std::uint32_t window_tuples)
    : dimension_(dimension), largest_(kLargest * dimension), window_tuples_(window_tuples) {}

void ConsistencyMonitor::Add(std::uint32_t source, double sum, std::size_t count) {
  if (count == 0) return;
  if (source >= averages_.size()) averages_.resize(source + 1);
  Average& average = averages_[source];
  const double kept = std::max(0.0, 1 - static_cast<double>(count) / window_tuples_);
  average.sum = kept * average.sum + sum / dimension_;
  average.weight = kept * average.weight + static_cast<double>(count);
  average.tuples += count;
}

double ConsistencyMonitor::mean(std::uint32_t source) const {
  return source < averages_.size() && averages_[source].weight > 0
             ? averages_[source].sum / averages_[source].weight
             : 0;
}

std::uint64_t ConsistencyMonitor::tuples(std::uint32_t source) const {
  return source < averages_.size() ? averages_[source].tuples : 0;
}

}  // namespace tributary::fusion
