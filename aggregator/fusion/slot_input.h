// One frame that waits in its slot.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "aggregator/fusion/leaf_set.h"
#include "core/estimate/gaussian.h"
#include "core/estimate/tuple_frame.h"
#include "core/estimate/tuple_planes.h"

namespace tributary::fusion {

// Valid tuples of one source. They are moved, not copied, between the stage and the slot; buffers keep their
// capacity.
struct SlotInput {
  std::uint32_t source = 0;  // SourceHandle
  std::uint32_t revision = 0;
  std::uint64_t sequence = 0;
  std::int64_t captured_unix_ns = 0;
  bool fused_before = false;  // was in an earlier revision of its slot

  LeafSet leaves;                     // of the source
  std::vector<LeafSet> tuple_leaves;  // [n], or empty: `leaves` holds for every tuple

  std::vector<std::uint32_t> subjects;  // [n]
  estimate::TuplePlanes planes;         // [n] in two dimensions
  std::vector<float> means;             // [n × d] otherwise
  std::vector<float> cholesky;          // [n × d(d+1)/2]

  const LeafSet& LeavesOf(std::size_t row) const { return tuple_leaves.empty() ? leaves : tuple_leaves[row]; }

  template <int D>
  estimate::Gaussian<D> TupleAt(std::size_t row) const {
    if constexpr (D == 2) {
      const float mean[] = {planes.mean_x()[row], planes.mean_y()[row]};
      const float factor[] = {planes.l11()[row], planes.l21()[row], planes.l22()[row]};
      return estimate::Gaussian<D>::FromTuple(mean, factor);
    } else {
      return estimate::Gaussian<D>::FromTuple(&means[row * D], &cholesky[row * estimate::TriangleSize(D)]);
    }
  }
};

// The frames of one slot. Recycled with their buffers.
class SlotPayload {
 public:
  std::size_t size() const { return size_; }
  const SlotInput& operator[](std::size_t i) const { return inputs_[i]; }
  SlotInput* begin() { return inputs_.data(); }
  SlotInput* end() { return inputs_.data() + size_; }
  const SlotInput* begin() const { return inputs_.data(); }
  const SlotInput* end() const { return inputs_.data() + size_; }

  // Null if the source has not reported.
  SlotInput* Find(std::uint32_t source) {
    SlotInput* const found =
        std::find_if(begin(), end(), [&](const SlotInput& i) { return i.source == source; });
    return found == end() ? nullptr : found;
  }

  // Moves the contents of `input` here, and gives it old buffers.
  void Add(SlotInput& input) {
    if (size_ == inputs_.size()) inputs_.emplace_back();
    std::swap(inputs_[size_++], input);
  }
  void Clear() { size_ = 0; }

 private:
  std::vector<SlotInput> inputs_;
  std::size_t size_ = 0;
};

}  // namespace tributary::fusion
