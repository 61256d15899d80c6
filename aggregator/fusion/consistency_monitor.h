// How far each source's tuples lie from the fusion of the others, in units of what the source claims.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/estimate/consistency.h"

namespace tributary::fusion {

// A running mean per source of the normalised innovation squared per dimension, or with dimension 1 of the
// surprise. Not thread-safe.
class ConsistencyMonitor {
 public:
  // The limit of a single tuple's contribution, so that an outlier does not dominate a whole window.
  static constexpr double kLargest = 1e4;

  // Time constant of the exponential mean.
  static constexpr double kWindowTuples = 4096;

  explicit ConsistencyMonitor(std::uint32_t dimension)
      : dimension_(dimension), largest_(kLargest * dimension) {}

  // Innovations (or surprises) of one source in one slot: their sum (each at most Bounded) and number.
  void Add(std::uint32_t source, double sum, std::size_t count) {
    if (count == 0) return;
    if (source >= averages_.size()) averages_.resize(source + 1);
    Average& average = averages_[source];
    const double kept = std::max(0.0, 1 - static_cast<double>(count) / kWindowTuples);
    average.sum = kept * average.sum + sum / dimension_;
    average.weight = kept * average.weight + static_cast<double>(count);
    average.squared_weights = kept * kept * average.squared_weights + static_cast<double>(count);
  }

  // A squared innovation's contribution to the sum.
  double Bounded(double innovation) const { return innovation < largest_ ? innovation : largest_; }

  // The source begins anew.
  void Forget(std::uint32_t source) {
    if (source < averages_.size()) averages_[source] = Average();
  }

  // 0 before the first measurement.
  double mean(std::uint32_t source) const {
    const Average average = source < averages_.size() ? averages_[source] : Average();
    return average.weight > 0 ? average.sum / average.weight : 0;
  }

  // Only where innovations are added, not surprises. Nothing before the first measurement.
  std::optional<estimate::ConsistencyBand> Band(std::uint32_t source) const {
    const Average average = source < averages_.size() ? averages_[source] : Average();
    if (average.weight <= 0) return std::nullopt;
    return estimate::ConsistencyBandOf(dimension_, average.weight * average.weight / average.squared_weights);
  }

 private:
  struct Average {
    double sum = 0;
    double weight = 0;
    double squared_weights = 0;
  };

  const std::uint32_t dimension_;
  const double largest_;
  std::vector<Average> averages_;  // by source
};

}  // namespace tributary::fusion
