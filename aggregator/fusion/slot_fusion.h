// Fuses all tuples of one slot, subject by subject.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "aggregator/fusion/consistency_monitor.h"
#include "aggregator/fusion/site_config.h"
#include "aggregator/fusion/slot_ring.h"
#include "core/estimate/conflate_batch.h"
#include "core/estimate/tuple_frame.h"

namespace tributary::fusion {

// A tuple that the chi-square gate removed after its frame was accepted.
struct GatedTuple {
  std::uint32_t source = 0;  // SourceHandle
  std::uint64_t sequence = 0;
  estimate::Epoch epoch = 0;
  std::uint32_t subject = 0;
};

// The counts of a slot's tuples. Gated and redundant ones count once per frame, not again in a revision.
struct SlotTally {
  std::vector<GatedTuple> gated;
  std::uint64_t redundant = 0;
  std::uint64_t unusable = 0;
};

// Fuses two-dimensional tuples of independent sources as a batch. Subjects with a gated tuple, overlapping
// sources and other dimensions go one by one. Both ways agree within the rounding to fp32. Not thread-safe;
// keeps its buffers.
class SlotFusion {
 public:
  explicit SlotFusion(const SiteConfig& site);

  void Configure(const FusionTuning& tuning);

  // Fills `out` except epoch, fusion time, revision and velocities. The tally is valid until the next call.
  const SlotTally& Fuse(std::span<SlotInput> inputs, estimate::FusedSlot& out);

  // The source's mean normalised innovation squared by dimension; 0 before the first measurement.
  double consistency(std::uint32_t source) const { return monitor_.mean(source); }
  // The number now belongs to another source.
  void Forget(std::uint32_t source) { monitor_.Forget(source); }

 private:
  // Sets the subjects of `out` and, unless all inputs have the same ones, row_of_.
  void LayOut(std::span<const SlotInput> inputs, estimate::FusedSlot& out);
  bool Independent(std::span<const SlotInput> inputs) const;

  void FuseBatch(std::span<const SlotInput> inputs, estimate::FusedSlot& out);
  // One TuplePlanes per input, with a row for every subject.
  void AlignRows(std::span<const SlotInput> inputs);
  // Measures the rows of the batch, and fuses rows with a gated tuple again, one by one.
  void JudgeBatch(std::span<const SlotInput> inputs, estimate::FusedSlot& out);
  void WriteContributors(std::span<const SlotInput> inputs, estimate::FusedSlot& out);

  template <int D>
  void FuseEach(std::span<const SlotInput> inputs, estimate::FusedSlot& out);
  template <int D>
  void FuseRow(std::span<const SlotInput> inputs, std::size_t row, estimate::FusedSlot& out);
  // Removes rows that left the range of fp32: not finite or not positive.
  void RemoveUnusable(estimate::FusedSlot& out);

  // The input's row for a row of the output, or kMissing.
  std::uint32_t RowOf(std::size_t input, std::size_t row) const {
    return agree_ ? static_cast<std::uint32_t>(row) : row_of_[input * rows_ + row];
  }
  // The number of inputs that have the subject of the row.
  std::size_t CountOf(std::span<const SlotInput> inputs, std::size_t row) const {
    return agree_ ? inputs.size() : present_[row];
  }

  static constexpr std::uint32_t kMissing = UINT32_MAX;

  const std::uint32_t dimension_;
  const std::uint32_t contributor_words_;
  ConsistencyMonitor monitor_;
  FusionMethod method_ = FusionMethod::kProduct;
  std::optional<double> gate_;  // chi-square quantile

  // The present slot's.
  SlotTally tally_;
  bool agree_ = true;  // all inputs list the same subjects in the same order
  std::size_t rows_ = 0;
  std::vector<std::uint32_t> row_of_;                  // [inputs × rows]
  std::vector<std::uint32_t> present_;                 // [rows]: inputs that have the subject
  std::vector<const estimate::TuplePlanes*> sources_;  // [inputs]
  std::vector<estimate::TuplePlanes> aligned_;         // [inputs]
  estimate::ConflatedBatch batch_;
  std::vector<bool> refuse_;         // [rows]: the gate has removed a tuple
  std::vector<std::uint32_t> kept_;  // rows
};

}  // namespace tributary::fusion
