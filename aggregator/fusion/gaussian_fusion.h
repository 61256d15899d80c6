// The Gaussian tuples of one slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "aggregator/fusion/consistency_monitor.h"
#include "aggregator/fusion/site_calibration.h"
#include "aggregator/fusion/site_config.h"
#include "aggregator/fusion/slot_fusion.h"
#include "aggregator/fusion/slot_ring.h"
#include "aggregator/fusion/slot_rows.h"
#include "core/estimate/conflate_batch.h"
#include "core/estimate/tuple_frame.h"

namespace tributary::fusion {

// Fuses two-dimensional tuples of independent sources as a batch. Subjects with a gated tuple, overlapping
// sources and other dimensions go one by one. Both ways agree within the rounding to fp32.
class GaussianFusion final : public SlotFusion {
 public:
  explicit GaussianFusion(const SiteConfig& site);

  void Configure(const FusionTuning& tuning) override;
  bool Load(const estimate::TupleFrame& frame, const SourceEntry& source, SlotInput& input) override;
  const SlotTally& Fuse(std::span<SlotInput> inputs, estimate::FusedSlot& out) override;
  void Explain(std::span<const SlotInput> inputs, std::uint32_t subject, const SourceTable& sources,
               estimate::SubjectTuples& to) const override;
  std::optional<LeafCalibration> CalibrationOf(std::size_t leaf) const override {
    if (!calibration_) return {};
    return calibration_->Of(leaf);
  }
  std::optional<CalibrationRecord> Calibration() const override {
    if (!calibration_) return {};
    return calibration_->Record();
  }
  absl::Status RestoreCalibration(const CalibrationRecord& record) override {
    if (!calibration_) return SlotFusion::RestoreCalibration(record);
    return calibration_->Restore(record);
  }
  double consistency(std::uint32_t source) const override { return monitor_.mean(source); }
  std::optional<estimate::ConsistencyBand> BandOf(std::uint32_t source) const override {
    return monitor_.Band(source);
  }
  void Forget(std::uint32_t source) override { monitor_.Forget(source); }

 private:
  void FuseBatch(std::span<const SlotInput> inputs, estimate::FusedSlot& out);
  // One TuplePlanes per input, with a row for every subject.
  void AlignRows(std::span<const SlotInput> inputs);
  // Measures the rows of the batch, and fuses rows with a gated tuple again, one by one.
  void JudgeBatch(std::span<const SlotInput> inputs, estimate::FusedSlot& out);

  template <int D>
  void FuseEach(std::span<const SlotInput> inputs, estimate::FusedSlot& out);
  template <int D>
  void FuseRow(std::span<const SlotInput> inputs, std::size_t row, estimate::FusedSlot& out);
  template <int D>
  void ExplainSubject(std::span<const SlotInput> inputs, std::uint32_t subject, const SourceTable& sources,
                      estimate::SubjectTuples& to) const;
  // Removes rows that left the range of fp32: not finite or not positive.
  void RemoveUnusable(estimate::FusedSlot& out);

  const std::uint32_t dimension_;
  ConsistencyMonitor monitor_;
  std::optional<SiteCalibration> calibration_;  // in two dimensions
  FusionMethod method_ = FusionMethod::kProduct;
  std::optional<double> gate_;  // chi-square quantile

  // The present slot's.
  SlotTally tally_;
  SlotRows rows_;
  std::vector<const estimate::TuplePlanes*> sources_;  // [inputs]
  std::vector<estimate::TuplePlanes> aligned_;         // [inputs]
  estimate::ConflatedBatch batch_;
  std::vector<bool> refuse_;         // [rows]: the gate has removed a tuple
  std::vector<std::uint32_t> kept_;  // rows
};

}  // namespace tributary::fusion
