// The categorical tuples of one slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "aggregator/fusion/consistency_monitor.h"
#include "aggregator/fusion/site_config.h"
#include "aggregator/fusion/slot_fusion.h"
#include "aggregator/fusion/slot_ring.h"
#include "aggregator/fusion/slot_rows.h"
#include "core/estimate/tuple_frame.h"

namespace tributary::fusion {

// Adds the evidence of independent sources to the site's prior. Subjects with a gated tuple and overlapping
// sources go one by one, with the same result.
class CategoricalFusion final : public SlotFusion {
 public:
  explicit CategoricalFusion(const SiteConfig& site);

  void Configure(const FusionTuning& tuning) override;
  bool Load(const estimate::TupleFrame& frame, const SourceEntry& source, SlotInput& input) override;
  const SlotTally& Fuse(std::span<SlotInput> inputs, estimate::FusedSlot& out) override;
  // The mean surprise.
  void Explain(std::span<const SlotInput> inputs, std::uint32_t subject, const SourceTable& sources,
               estimate::SubjectTuples& to) const override;
  double consistency(std::uint32_t source) const override { return monitor_.mean(source); }
  void Forget(std::uint32_t source) override { monitor_.Forget(source); }

 private:
  // False if the gate must remove a tuple: then nothing has been measured.
  bool FuseIndependent(std::span<const SlotInput> inputs, std::size_t row, estimate::FusedSlot& out);
  void FuseRow(std::span<const SlotInput> inputs, std::size_t row, estimate::FusedSlot& out);
  void WriteProbabilities(std::size_t row, estimate::FusedSlot& out) const;

  std::span<const float> EvidenceOf(const SlotInput& input, std::size_t row) const {
    return {&input.evidence[row * classes_], classes_};
  }

  const std::size_t classes_;
  const std::vector<double> log_prior_;  // [classes]
  ConsistencyMonitor monitor_;
  FusionMethod method_ = FusionMethod::kProduct;
  std::optional<double> gate_;  // log-surprise

  // The present slot's.
  SlotTally tally_;
  SlotRows rows_;
  std::vector<double> fused_;        // [classes]
  std::vector<double> others_;       // [classes]
  std::vector<double> innovations_;  // [inputs]: log-surprises of the present row
};

}  // namespace tributary::fusion
