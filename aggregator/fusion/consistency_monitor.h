// How far each source's tuples lie from where the others say, in units of what both claim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tributary::fusion {

// A running mean per source of the normalised innovation squared per dimension. Not thread-safe.
class ConsistencyMonitor {
 public:
  // A single wild tuple counts as this much, so that it does not hide the others for a whole window.
  static constexpr double kLargest = 1e4;

  ConsistencyMonitor(std::uint32_t dimension, std::uint32_t window_tuples);

  // Time constant of the exponential mean; what was measured so far is kept.
  void SetWindow(std::uint32_t tuples) { window_tuples_ = tuples; }

  // Innovations of one source in one slot: their sum (each at most Bounded) and number.
  void Add(std::uint32_t source, double sum, std::size_t count);

  // What a squared innovation adds to the sum.
  double Bounded(double innovation) const { return innovation < largest_ ? innovation : largest_; }

  // 0 before the first measurement.
  double mean(std::uint32_t source) const;
  std::uint64_t tuples(std::uint32_t source) const;

 private:
  struct Average {
    double sum = 0;
    double weight = 0;
    std::uint64_t tuples = 0;
  };

  const double dimension_;
  const double largest_;
  double window_tuples_;
  std::vector<Average> averages_;  // by source
};

}  // namespace tributary::fusion
