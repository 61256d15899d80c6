// The weighted sum of a round's updates, taken as they arrive: memory of one model, or of two where words
// have 64 bits, however many nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/parameters/fixed_point.h"
#include "hwy/aligned_allocator.h"

namespace tributary::learning {

// Owns element_count words of 32 or 64 bits, as the round's fixed point says. Exact modulo 2^word_bits: the
// sum does not depend on the order of the chunks.
// The caller sees to it that the weights stay within what the fixed point was made for. One thread at a time.
//
//   Start → Add, AddFixed … → TakeMean (or Read for a partial sum) → Start
//
// A chunk is taken whole or not at all. Errors: OutOfRange for elements beyond the end; InvalidArgument for a
// value that is not finite, OutOfRange for one over the bound or a weight that is not positive and finite;
// FailedPrecondition before Start and after TakeMean.
class Accumulator {
 public:
  explicit Accumulator(std::size_t element_count);

  // All zero. `fixed_point` holds for the round.
  void Start(const parameters::FixedPoint& fixed_point);

  // Adds weight × values to the elements from `offset` on.
  absl::Status Add(std::size_t offset, std::span<const float> values, double weight);

  // The same for words that are in the round's fixed point already: partial sums, masked updates, and the
  // masks themselves. A round of 32-bit words takes their lower halves.
  absl::Status AddFixed(std::size_t offset, std::span<const std::int64_t> words);

  // The words from `offset` on: what a child aggregator sends to its parent.
  absl::Status Read(std::size_t offset, std::span<std::int64_t> words) const;

  // The sum divided by total_weight, in place of the words: no further memory. Valid until Start. Errors:
  // InvalidArgument unless total_weight is positive and finite.
  absl::StatusOr<std::span<float>> TakeMean(double total_weight);

  std::size_t element_count() const { return element_count_; }

 private:
  absl::Status CheckPlace(std::size_t offset, std::size_t count) const;
  std::size_t WordBytes(const parameters::FixedPoint& fixed_point) const;
  // What the memory holds now: the words while adding, floats after TakeMean.
  template <typename Word>
  Word* words() const {
    return reinterpret_cast<Word*>(memory_.get());
  }

  std::size_t element_count_;
  hwy::AlignedFreeUniquePtr<float[]> memory_;
  parameters::FixedPoint fixed_point_;
  bool started_ = false;
};

}  // namespace tributary::learning
