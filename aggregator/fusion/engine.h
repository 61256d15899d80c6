// Collates and fuses one site's tuples: frames in, fused slots out.
//
//   ingest thread(s)   Join at each hello, Offer per frame, Advance on a timer; each with its own FusedSlots
//   publish, metrics   counters(), sources(), leaves(), at any time
//   reload             Reconfigure
//
// Any thread may call anything. One mutex guards all state; it is held for one frame at a time and never
// while calling out. Nothing blocks, allocates (in steady state) or logs. The slots of one call are in order;
// between threads there is no order. The caller passes the time, so replay and tests run at their own pace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator/fusion/calibration_record.h"
#include "aggregator/fusion/epoch_front.h"
#include "aggregator/fusion/outcomes.h"
#include "aggregator/fusion/site_config.h"
#include "aggregator/fusion/slot_fusion.h"
#include "aggregator/fusion/slot_ring.h"
#include "aggregator/fusion/source_table.h"
#include "core/estimate/tuple_frame.h"
#include "core/runtime/mutex.h"

namespace tributary::fusion {

// Deadlines use the steady clock, epochs wall time: a step of wall time never delays a slot.
struct FusionTime {
  std::int64_t steady_ns = 0;
  std::int64_t unix_ns = 0;
};

struct OfferResult {
  // False: the whole frame was refused.
  bool accepted = false;
  // Refusals of the whole frame, or of single tuples in an accepted frame.
  std::vector<Refusal> refusals;
};

// As many are published together at most: each may hold the tuples of all sources. Enough for the frames that
// a node sends again after an outage to share the cost of publishing.
inline constexpr std::size_t kMostFusedAtOnce = 16;

// Slots in the order in which they were fused. One thread's.
class FusedSlots : public Recycled<estimate::FusedSlot> {
 public:
  void Clear() {
    Recycled::Clear();
    gated.clear();
  }
  std::span<const estimate::FusedSlot> slots() const { return all(); }
  std::size_t size() const { return all().size(); }
  bool empty() const { return all().empty(); }
  const estimate::FusedSlot& operator[](std::size_t i) const { return all()[i]; }

  std::vector<GatedTuple> gated;
};

class SubjectTracks;

// Decides when a slot is fused, and what happens to a late or repeated frame.
class FusionEngine {
 public:
  static constexpr std::size_t kMaxSources = SourceTable::kCapacity;
  static constexpr std::int64_t kNoDeadline = INT64_MAX;

  // InvalidArgument, naming every fault.
  static absl::StatusOr<std::unique_ptr<FusionEngine>> Create(SiteConfig config);
  ~FusionEngine();

  FusionEngine(const FusionEngine&) = delete;
  FusionEngine& operator=(const FusionEngine&) = delete;

  // A known name keeps its handle (the process restarted or reconnected); its new leaves hold for frames from
  // now on. InvalidArgument: wrong dimension, no leaf, a leaf that the site does not list, a leaf listed
  // twice. ResourceExhausted: kMaxSources sources are reported now or have frames in slots that wait.
  absl::StatusOr<SourceHandle> Join(const SourceDeclaration& declaration);
  // All of them, or none.
  absl::StatusOr<std::vector<SourceHandle>> Join(std::span<const SourceDeclaration> declarations);
  // Once per Join: nobody reports the source now, unless another has joined with it. It is known until its
  // place is needed.
  void Leave(SourceHandle source);

  // Accepts or refuses a frame; does not read `frame.source`. Appends to `out` each slot that this frame
  // completed, revised or pushed out of the window. A frame sent again after a reconnect is refused as a
  // duplicate, without harm.
  OfferResult Offer(SourceHandle source, const estimate::TupleFrame& frame, FusionTime now, FusedSlots& out);

  // Appends the kMostFusedAtOnce oldest slots whose deadline has passed: call again while NextDeadline() has
  // passed.
  void Advance(FusionTime now, FusedSlots& out);

  // The steady time of the next deadline, or kNoDeadline; fuses nothing.
  std::int64_t NextDeadline() const;

  // Appends every waiting slot, oldest first: for shutdown. The engine stays usable.
  void Drain(FusionTime now, FusedSlots& out);

  // InvalidArgument has no effect. A shorter deadline applies from the next Advance.
  absl::Status Reconfigure(const FusionTuning& tuning);

  // Until as many calls of Conceal, each slot that has the subject says what its sources contributed
  // (FusedSlot::contributions), at the cost of fusing the subject twice. ResourceExhausted: kMaxReaders ask
  // already.
  static constexpr std::size_t kMaxReaders = 8;
  absl::Status Explain(std::uint32_t subject);
  void Conceal(std::uint32_t subject);

  // As created: name, leaves, dimension and limits stay; the tuning may be another by now.
  const SiteConfig& config() const { return config_; }

  FusionCounters counters() const;
  // Tuples in slots that wait; looks at each of these slots.
  std::uint64_t OpenTuples() const;
  std::vector<SourceStatus> sources() const;  // by handle
  std::vector<LeafStatus> leaves() const;     // in the order of SiteConfig::leaves
  // Without effect unless the dimension is 2.
  CalibrationMode calibration_mode() const;
  // What the calibration has learnt; nothing if it is off or has seen nothing.
  std::optional<CalibrationRecord> calibration() const;
  // Goes on with what an earlier engine of this site has learnt. Errors have no effect: FailedPrecondition,
  // the record is of another site, other sources or another prior, or this site does not calibrate;
  // InvalidArgument, it is of other places, or nobody learns that.
  absl::Status RestoreCalibration(const CalibrationRecord& record);

 private:
  explicit FusionEngine(SiteConfig config);

  absl::StatusOr<SourceHandle> JoinOne(const SourceDeclaration& declaration) REQUIRES(mutex_);
  OfferResult Refuse(SourceHandle handle, Refusal refusal) REQUIRES(mutex_);
  // Why the epoch cannot have the place of that slot, which is another one's; null: it can.
  std::optional<Refusal> CheckPlace(const Slot& slot, estimate::Epoch epoch, FusionTime now) const
      REQUIRES(mutex_);

  // Moves the frame's valid tuples to stage_ and adds refusals for the others. False if none is valid.
  bool Stage(SourceHandle handle, const estimate::TupleFrame& frame, std::vector<Refusal>& refusals)
      REQUIRES(mutex_);
  void StageTuples(SourceHandle handle, const estimate::TupleFrame& frame) REQUIRES(mutex_);
  // Moves stage_ into a slot that waits, or that may be revised.
  void Take(Slot& slot, SourceHandle handle) REQUIRES(mutex_);

  std::int64_t Deadline() const REQUIRES(mutex_);
  void FuseOpen(Slot& slot, FusionTime now, std::uint64_t& reason, FusedSlots& out) REQUIRES(mutex_);
  void Emit(Slot& slot, FusionTime now, FusedSlots& out) REQUIRES(mutex_);
  void ExplainSlot(const Slot& slot, estimate::FusedSlot& fused) const REQUIRES(mutex_);

  const SiteConfig config_;
  mutable runtime::Mutex mutex_;
  FusionTuning tuning_ GUARDED_BY(mutex_);
  SourceTable sources_ GUARDED_BY(mutex_);
  SlotRing ring_ GUARDED_BY(mutex_);
  EpochFront front_ GUARDED_BY(mutex_);  // used without max_lead only
  const std::unique_ptr<SlotFusion> fusion_ PT_GUARDED_BY(mutex_);
  std::unique_ptr<SubjectTracks> tracks_ GUARDED_BY(mutex_);  // null unless the site tracks
  FusionCounters counters_ GUARDED_BY(mutex_);
  std::multiset<std::uint32_t> explained_ GUARDED_BY(mutex_);  // subjects, once for each reader

  // Buffers of the present call.
  SlotInput stage_ GUARDED_BY(mutex_);
  estimate::TupleFrame sound_ GUARDED_BY(mutex_);
  std::vector<std::uint32_t> scratch_ GUARDED_BY(mutex_);
};

}  // namespace tributary::fusion
