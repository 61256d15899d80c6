// Fuses all tuples of one slot, subject by subject: where Gaussian and categorical tuples part.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "aggregator/fusion/calibration_record.h"
#include "aggregator/fusion/contribution.h"
#include "aggregator/fusion/outcomes.h"
#include "aggregator/fusion/site_config.h"
#include "aggregator/fusion/slot_ring.h"
#include "aggregator/fusion/source_table.h"
#include "core/estimate/tuple_frame.h"

namespace tributary::fusion {

// A tuple that the gate removed after its frame was accepted.
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

  void Clear() {
    gated.clear();
    redundant = unusable = 0;
  }
  // Counts what became of one contribution of this input.
  template <class Tuple>
  void Count(const Contribution<Tuple>& contribution, const SlotInput& input, estimate::Epoch epoch,
             std::uint32_t subject) {
    using Fate = typename Contribution<Tuple>::Fate;
    if (input.fused_before) return;
    if (contribution.fate == Fate::kRedundant) ++redundant;
    if (contribution.fate == Fate::kGated) gated.push_back({input.source, input.sequence, epoch, subject});
  }
};

// A contribution without its tuple, as readers see it.
template <class Tuple>
estimate::SourceTuple Explained(const Contribution<Tuple>& contribution, const SlotInput& input,
                                const SourceTable& sources) {
  return {.source = sources[input.source].status.name,
          .captured_unix_ns = input.captured_unix_ns,
          .fate = contribution.fate,
          .innovation = contribution.innovation};
}

// The arithmetic of one kind of tuple. Virtual calls are made once per frame and per slot, never per tuple.
// Not thread-safe; keeps its buffers, so that slots of independent sources allocate nothing.
class SlotFusion {
 public:
  // For the kind of the site's tuples. `site` outlives it.
  static std::unique_ptr<SlotFusion> Create(const SiteConfig& site);
  virtual ~SlotFusion() = default;

  virtual void Configure(const FusionTuning& tuning) = 0;

  // Copies the tuples of a frame of the site's shape to `input`, whose subjects and leaves are set. False if
  // a tuple is unsound (RemoveUnsoundTuples); the tuples of `input` are then unspecified.
  virtual bool Load(const estimate::TupleFrame& frame, const SourceEntry& source, SlotInput& input) = 0;

  // Fills `out` except epoch, fusion time and revision. The tally is valid until the next call.
  virtual const SlotTally& Fuse(std::span<SlotInput> inputs, estimate::FusedSlot& out) = 0;

  // Appends what each input says of the subject and what became of it when these inputs were fused. Fuses the
  // subject again, measures nothing and allocates: for readers who ask.
  virtual void Explain(std::span<const SlotInput> inputs, std::uint32_t subject, const SourceTable& sources,
                       estimate::SubjectTuples& to) const = 0;

  // As SourceStatus::calibration.
  virtual std::optional<LeafCalibration> CalibrationOf(std::size_t) const { return std::nullopt; }
  // As FusionEngine::calibration and RestoreCalibration.
  virtual std::optional<CalibrationRecord> Calibration() const { return std::nullopt; }
  virtual absl::Status RestoreCalibration(const CalibrationRecord&) {
    return absl::FailedPreconditionError("only sites of two dimensions calibrate");
  }
  // As SourceStatus::consistency.
  virtual double consistency(std::uint32_t source) const = 0;
  // As SourceStatus::consistency_band.
  virtual std::optional<estimate::ConsistencyBand> BandOf(std::uint32_t) const { return std::nullopt; }
  // The number now belongs to another source.
  virtual void Forget(std::uint32_t source) = 0;
};

}  // namespace tributary::fusion
