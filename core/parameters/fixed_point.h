// Fixed point for sums of updates: exact, hence independent of order and undone by subtracting.
//
// An element x of an update of weight w is taken as round(x · w · 2^fraction_bits), a 32-bit word. Words are
// added modulo 2^32, which is also the group in which secure aggregation masks them. 32 bits and not 64: an
// accumulator of the model's own size, half of the memory traffic (docs/decisions/0006-fixed-point-sums.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

namespace tributary::parameters {

struct FixedPoint {
  int fraction_bits = 0;
  float bound = 0;  // largest |x| of an element that is taken

  double scale() const;  // 2^fraction_bits

  // The finest for which no sum of `contributions` updates with weights of `total_weight` together overflows:
  // the mean of the updates is then known to better than 2 · bound · 2^-31 per contribution.
  // Errors: InvalidArgument unless bound and total_weight are positive and finite and contributions are
  // 1 … 65,536.
  static absl::StatusOr<FixedPoint> For(double bound, double total_weight, std::size_t contributions);

  friend bool operator==(const FixedPoint&, const FixedPoint&) = default;
};

// Whether every element is a number of magnitude `bound` at most.
enum class RangeCheck { kGood, kNotFinite, kOutOfRange };
RangeCheck CheckRange(std::span<const float> values, float bound);

// words[i] = round(values[i] · factor), half to even, factor = float(weight · scale); words.size() ==
// values.size(). The values have passed CheckRange. Equal on every kind of processor.
void ToFixedPoint(std::span<const float> values, float factor, std::span<std::int32_t> words);

// What a weight multiplies elements by.
float FixedPointFactor(const FixedPoint& fixed_point, double weight);

}  // namespace tributary::parameters
