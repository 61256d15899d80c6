// The engine's state and rules, without the lock.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "aggregator/fusion/consistency_monitor.h"
#include "aggregator/fusion/counters.h"
#include "aggregator/fusion/engine.h"
#include "aggregator/fusion/fused_slots.h"
#include "aggregator/fusion/slot_fusion.h"
#include "aggregator/fusion/slot_ring.h"
#include "aggregator/fusion/source_table.h"
#include "aggregator/fusion/subject_track.h"

namespace tributary::fusion {

// Collates frames by slot: decides when a slot is fused, and what happens to a late or repeated frame. Not
// thread-safe. FusionEngine's functions of the same names describe the members.
class Collation {
 public:
  // The configuration must be valid.
  explicit Collation(SiteConfig site);

  absl::StatusOr<SourceHandle> Join(const SourceDeclaration& declaration);
  OfferResult Offer(SourceHandle handle, const estimate::TupleFrame& frame, FusionTime now, FusedSlots& out);
  std::int64_t Advance(FusionTime now, FusedSlots& out);
  std::int64_t NextDeadline();
  void Drain(FusionTime now, FusedSlots& out);
  void Reconfigure(const FusionTuning& tuning);

  const FusionTuning& tuning() const { return tuning_; }
  FusionCounters counters() const;
  std::vector<SourceStatus> sources() const;
  std::vector<LeafStatus> leaves() const;

 private:
  struct Leaf {
    std::uint64_t missed_slots = 0;
    std::uint32_t missed_in_a_row = 0;
  };

  OfferResult Refuse(SourceHandle handle, Refusal refusal);
  OfferResult Refuse(SourceHandle handle, RefusalReason reason, std::string message);

  // Moves the frame's valid tuples to stage_ and adds refusals for the others. False if none is valid.
  bool Stage(SourceHandle handle, const estimate::TupleFrame& frame, std::vector<Refusal>& refusals);
  void StageTuples(SourceHandle handle, const estimate::TupleFrame& frame);
  // Moves stage_ into a slot that waits, or that may be revised.
  void Take(Slot& slot, SourceHandle handle);
  void MarkPresent(const SourceEntry& source);
  void CountMissing(const Slot& slot);

  bool Complete(const Slot& slot) const;
  void FuseOpen(Slot& slot, FusionTime now, std::uint64_t& reason, FusedSlots& out);
  void Emit(Slot& slot, FusionTime now, FusedSlots& out);

  const SiteConfig site_;
  FusionTuning tuning_;
  LeafSet all_leaves_;
  LeafSet absent_;
  std::vector<Leaf> leaves_;
  SourceTable sources_;
  SlotRing ring_;
  ConsistencyMonitor monitor_;
  SlotFusion fusion_;
  std::unique_ptr<SubjectTracks> tracks_;  // null unless the site tracks
  FusionCounters counters_;

  // Buffers of the present call.
  SlotInput stage_;
  estimate::TupleFrame sound_;
  SlotTally tally_;
  std::vector<std::uint32_t> scratch_;
};

}  // namespace tributary::fusion
