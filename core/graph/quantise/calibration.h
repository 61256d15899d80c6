// Which reals the integers of a value should stand for, from what the value was on examples.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/graph/quantised/quantised_layer.h"

namespace tributary::graph {

enum class RangeRule {
  kMinMax,       // from the least to the largest value
  kPercentile,   // the same without so many of the outermost
  kLeastSquares  // the range that makes the mean squared error of rounding and clipping least
};
inline constexpr std::string_view kRangeRuleNames[] = {"min-max", "percentile", "least-squares"};

struct Range {
  double least = 0, most = 0;  // with 0 between them
};

// The values of one tensor on all examples: first their ends, then how often each part between them was met.
class ValueStatistics {
 public:
  static constexpr std::size_t kBins = 2048;

  // Errors are the caller's to find: whether a value was not finite.
  void AddEnds(std::span<const float> values);
  bool finite() const { return finite_; }
  // After all ends are known.
  void Count(std::span<const float> values);

  // `percentile`: the share of values within the range, in percent.
  Range RangeBy(RangeRule rule, double percentile) const;

 private:
  double width() const { return (most_ - least_) / static_cast<double>(kBins); }
  double MeanSquare(const Range& range) const;  // of the error of 256 steps

  double least_ = 0, most_ = 0;
  bool finite_ = true;
  std::vector<std::uint64_t> bins_ = {};
  std::uint64_t count_ = 0;
};

// 256 steps over the range, 0 on one of them. A range without width gets one.
Quantisation QuantisationFor(const Range& range, ElementType type);

}  // namespace tributary::graph
