// Fixed point for sums of updates. Sums are exact, so their order does not matter and a subtraction undoes an
// addition.
//
// An element x of an update of weight w becomes round(x · w · 2^fraction_bits), a word of 32 bits, or of 64
// where weights are so unequal that a light update would vanish in 32. Words are added modulo 2^word_bits;
// 2^32 is the group in which secure aggregation masks them. 32 bits halve the memory traffic: the accumulator
// is as large as the model (docs/decisions/0006-fixed-point-sums.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

namespace tributary::parameters {

struct FixedPoint {
  int fraction_bits = 0;
  float bound = 0;     // the largest |x| accepted
  int word_bits = 32;  // or 64

  bool wide() const { return word_bits == 64; }
  double scale() const;  // 2^fraction_bits
  // No sum of so many updates with weights of `total_weight` together has a larger word.
  double LargestWord(double total_weight, std::size_t contributions) const;

  // The finest format in which no sum of `contributions` updates with weights of `total_weight` together
  // overflows. The mean of the updates is then known to better than 2 · bound · 2^-31 (2^-63) per
  // contribution. Errors: InvalidArgument unless bound and total_weight are positive and finite and
  // contributions are 1 … 65,536.
  static absl::StatusOr<FixedPoint> For(double bound, double total_weight, std::size_t contributions,
                                        int word_bits = 32);

  friend bool operator==(const FixedPoint&, const FixedPoint&) = default;
};

// Whether every element is a number with a magnitude of at most `bound`.
enum class RangeCheck { kGood, kNotFinite, kOutOfRange };
RangeCheck CheckRange(std::span<const float> values, float bound);

// 32-bit words[i] = round(values[i] · factor), half to even, factor = float(weight · scale); words.size() ==
// values.size(). Call CheckRange first. The result is equal on every kind of processor.
void ToFixedPoint(std::span<const float> values, float factor, std::span<std::int32_t> words);

// The factor of an element for this weight, for 32-bit words.
float FixedPointFactor(const FixedPoint& fixed_point, double weight);

}  // namespace tributary::parameters
