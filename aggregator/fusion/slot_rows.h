// Which tuples of a slot's inputs speak of the same subject: the rows of the fused slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aggregator/fusion/site_config.h"
#include "aggregator/fusion/slot_ring.h"
#include "core/estimate/tuple_frame.h"

namespace tributary::fusion {

// Rows are in the inputs' order if all list the same subjects in the same order, else in ascending order of
// the subject. Not thread-safe; keeps its buffers.
class SlotRows {
 public:
  static constexpr std::uint32_t kMissing = UINT32_MAX;

  explicit SlotRows(const SiteConfig& site)
      : contributor_words_(static_cast<std::uint32_t>(LeafWords(site.leaves.size()))) {}

  // Sets subjects, contributors and capture time of `out`, and makes room for the consistency. The inputs, at
  // least one, are those of the calls below.
  void LayOut(std::span<const SlotInput> inputs, estimate::FusedSlot& out);

  std::size_t size() const { return rows_; }
  // All inputs list the same subjects in the same order.
  bool agree() const { return agree_; }
  // The input's row for a row of the output, or kMissing.
  std::uint32_t Of(std::size_t input, std::size_t row) const {
    return agree_ ? static_cast<std::uint32_t>(row) : row_of_[input * rows_ + row];
  }
  // The number of inputs that have the subject of the row.
  std::size_t CountOf(std::span<const SlotInput> inputs, std::size_t row) const {
    return agree_ ? inputs.size() : present_[row];
  }

 private:
  void Merge(std::span<const SlotInput> inputs, estimate::FusedSlot& out);
  void WriteContributors(std::span<const SlotInput> inputs, estimate::FusedSlot& out) const;

  const std::uint32_t contributor_words_;
  bool agree_ = true;
  std::size_t rows_ = 0;
  std::vector<std::uint32_t> row_of_;   // [inputs × rows]
  std::vector<std::uint32_t> present_;  // [rows]: inputs that have the subject
};

// The leaves of one row.
void WriteLeaves(const LeafSet& leaves, std::size_t row, estimate::FusedSlot& out);

// Whether no two inputs share a leaf, and the method takes such inputs as independent.
bool Independent(std::span<const SlotInput> inputs, FusionMethod method);

}  // namespace tributary::fusion
