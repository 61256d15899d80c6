#include "aggregator/fusion/engine.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/fusion/frame_check.h"
#include "aggregator/fusion/subject_track.h"
#include "core/runtime/elapsed.h"
#include "core/status/macros.h"

namespace tributary::fusion {
namespace {

std::uint64_t& Of(ReasonCounts& counts, RefusalReason reason) {
  return counts[static_cast<std::size_t>(reason)];
}

// Null if the source has not reported.
SlotInput* Find(SlotPayload& payload, SourceHandle source) {
  const auto found = std::ranges::find(payload.all(), source, &SlotInput::source);
  return found == payload.all().end() ? nullptr : &*found;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FusionEngine>> FusionEngine::Create(SiteConfig config) {
  RETURN_IF_ERROR(Validate(config));
  return std::unique_ptr<FusionEngine>(new FusionEngine(std::move(config)));
}

FusionEngine::FusionEngine(SiteConfig config)
    : config_(std::move(config)),
      tuning_(config_.tuning),
      sources_(config_),
      ring_(config_.window_slots),
      front_(config_.window_slots),
      fusion_(SlotFusion::Create(config_)),
      tracks_(tuning_.track ? SubjectTracks::Create(config_) : nullptr) {}

FusionEngine::~FusionEngine() = default;

absl::StatusOr<SourceHandle> FusionEngine::Join(const SourceDeclaration& declaration) {
  const runtime::MutexLock lock(mutex_);
  return JoinOne(declaration);
}

absl::StatusOr<std::vector<SourceHandle>> FusionEngine::Join(
    std::span<const SourceDeclaration> declarations) {
  const runtime::MutexLock lock(mutex_);
  for (const SourceDeclaration& each : declarations) RETURN_IF_ERROR(sources_.Check(each));
  std::vector<SourceHandle> handles;
  for (const SourceDeclaration& each : declarations) {
    const absl::StatusOr<SourceHandle> handle = JoinOne(each);
    if (!handle.ok()) {
      for (const SourceHandle joined : handles) sources_.Leave(joined);
      return handle.status();
    }
    handles.push_back(*handle);
  }
  return handles;
}

absl::StatusOr<SourceHandle> FusionEngine::JoinOne(const SourceDeclaration& declaration) {
  // Only if another source must give up its place, which costs a look at each slot.
  const bool replaces = sources_.MustReplace(declaration.name);
  const SourceSet needed = replaces ? ring_.Sources() : SourceSet();
  absl::StatusOr<SourceHandle> handle = sources_.Join(declaration, needed);
  if (handle.ok() && replaces) {
    ring_.Forget(*handle);
    fusion_->Forget(*handle);
    front_.Forget(*handle);
  }
  return handle;
}

void FusionEngine::Leave(SourceHandle source) {
  const runtime::MutexLock lock(mutex_);
  if (source >= sources_.size()) return;
  sources_.Leave(source);
  front_.Forget(source);
}

OfferResult FusionEngine::Offer(SourceHandle handle, const estimate::TupleFrame& frame, FusionTime now,
                                FusedSlots& out) {
  const runtime::MutexLock lock(mutex_);
  if (handle >= sources_.size()) {
    return Refuse(handle,
                  {RefusalReason::kUnknownSource, absl::StrCat("source ", handle, " has not joined")});
  }
  const SourceEntry& source = sources_[handle];
  std::optional<Refusal> fault = CheckShape(frame, config_, source.leaf_indices.size());
  // Before the epoch is judged: a clock that is far off has all its frames refused.
  if (!fault) {
    sources_[handle].status.frame_age_ns = runtime::ElapsedNs(config_.slot.StartNs(frame.epoch), now.unix_ns);
  }
  if (!fault) fault = CheckEpoch(frame.epoch, now.unix_ns, config_);
  if (!fault && frame.subjects != source.last_subjects) fault = CheckDistinct(frame.subjects, scratch_);
  if (fault) return Refuse(handle, *std::move(fault));
  sources_.MarkPresent(source);

  Slot& slot = ring_.At(frame.epoch);
  const bool known = slot.state != Slot::State::kEmpty && slot.epoch == frame.epoch;
  if (!config_.max_lead_ns) front_.Report(handle, frame.epoch);
  if (slot.state != Slot::State::kEmpty && !known) {
    if (std::optional<Refusal> taken = CheckPlace(slot, frame.epoch, now))
      return Refuse(handle, *std::move(taken));
  }
  SlotInput* earlier = nullptr;
  if (known && slot.payload != nullptr) earlier = Find(*slot.payload, handle);
  const bool repeated = known && slot.reported[handle];
  if (repeated && frame.revision <= (earlier ? earlier->revision : 0)) {
    return Refuse(handle, {RefusalReason::kDuplicate,
                           absl::StrCat("epoch ", frame.epoch, ", revision ", frame.revision, " of source '",
                                        source.status.name, "' has been taken")});
  }
  const bool fused = known && slot.state == Slot::State::kFused;
  if (fused && (tuning_.late == LatePolicy::kCount || slot.payload == nullptr)) {
    return Refuse(
        handle, {RefusalReason::kLate, absl::StrCat("epoch ", frame.epoch, " was fused without this frame")});
  }

  OfferResult result;
  if (!Stage(handle, frame, result.refusals)) {
    ++sources_[handle].status.frames_refused;
    return result;
  }
  result.accepted = true;
  if (!known) {
    if (slot.state == Slot::State::kOpen) FuseOpen(slot, now, counters_.slots_evicted, out);
    ring_.Open(slot, frame.epoch, now.steady_ns, LeadNs(frame.epoch, now.unix_ns, config_));
  }
  Take(slot, handle);
  if (fused) {
    ++slot.revision;
    ++counters_.revisions;
    Emit(slot, now, out);
  } else if (sources_.Complete(slot.covered)) {
    FuseOpen(slot, now, counters_.slots_complete, out);
  }
  return result;
}

std::optional<Refusal> FusionEngine::CheckPlace(const Slot& slot, estimate::Epoch epoch,
                                                FusionTime now) const {
  const bool later = epoch > slot.epoch;
  const auto late = [&] {
    return Refusal{RefusalReason::kLate,
                   absl::StrCat("epoch ", epoch, " has left the window of ", config_.window_slots, " slots")};
  };
  if (config_.max_lead_ns) return later ? std::nullopt : std::optional(late());
  // Epochs may be anything: a source alone must not hold places against the others.
  const std::int64_t window_ns = config_.slot.ns() * std::int64_t{config_.window_slots};
  const bool expired = slot.state == Slot::State::kFused && now.steady_ns - slot.waits_since_ns >= window_ns;
  const bool strays = front_.Strays(epoch);
  if (strays != front_.Strays(slot.epoch)) {
    if (!strays || expired) return std::nullopt;
    if (!later) return late();
    return Refusal{RefusalReason::kEpochFuture,
                   absl::StrCat("epoch ", epoch, " is far from those of the other sources")};
  }
  const bool gives_way = slot.state == Slot::State::kFused && (expired || front_.Far(epoch, slot.epoch));
  return later || gives_way ? std::nullopt : std::optional(late());
}

OfferResult FusionEngine::Refuse(SourceHandle handle, Refusal refusal) {
  ++Of(counters_.frames_refused, refusal.reason);
  if (handle < sources_.size()) ++sources_[handle].status.frames_refused;
  OfferResult result;
  result.refusals.push_back(std::move(refusal));
  return result;
}

bool FusionEngine::Stage(SourceHandle handle, const estimate::TupleFrame& frame,
                         std::vector<Refusal>& refusals) {
  StageTuples(handle, frame);
  const bool sound = fusion_->Load(frame, sources_[handle], stage_);
  if (sound) {
    if (frame.subjects != sources_[handle].last_subjects) sources_[handle].last_subjects = frame.subjects;
    return true;
  }
  sound_ = frame;
  refusals = RemoveUnsoundTuples(sound_);
  if (sound_.subjects.empty()) {
    ++Of(counters_.frames_refused, refusals.front().reason);
    return false;
  }
  for (const Refusal& refusal : refusals)
    Of(counters_.tuples_refused, refusal.reason) += refusal.subjects.size();
  StageTuples(handle, sound_);
  fusion_->Load(sound_, sources_[handle], stage_);
  return true;
}

void FusionEngine::StageTuples(SourceHandle handle, const estimate::TupleFrame& frame) {
  const SourceEntry& source = sources_[handle];
  stage_.source = handle;
  stage_.revision = frame.revision;
  stage_.sequence = frame.sequence;
  stage_.captured_unix_ns = frame.captured_unix_ns;
  stage_.fused_before = false;
  stage_.leaves = source.leaves;
  stage_.subjects = frame.subjects;
  stage_.tuple_leaves.clear();
  bool partial = false;
  for (std::size_t row = 0; row < frame.subjects.size() && !frame.contributors.empty() && !partial; ++row) {
    partial = LeavesOfTuple(frame, row, source) != source.leaves;
  }
  for (std::size_t row = 0; row < frame.subjects.size() && partial; ++row) {
    stage_.tuple_leaves.push_back(LeavesOfTuple(frame, row, source));
  }
}

void FusionEngine::Take(Slot& slot, SourceHandle handle) {
  SourceEntry& source = sources_[handle];
  const std::size_t tuples = stage_.subjects.size();
  ++counters_.frames_accepted;
  counters_.tuples_accepted += tuples;
  ++source.status.frames_accepted;
  source.status.tuples_accepted += tuples;
  source.status.last_epoch = std::max(source.status.last_epoch, slot.epoch);
  slot.reported.set(handle);
  slot.covered |= stage_.leaves;
  if (SlotInput* const earlier = Find(*slot.payload, handle)) {
    ++counters_.frames_replaced;
    counters_.tuples_replaced += earlier->subjects.size();
    std::swap(*earlier, stage_);
  } else {
    std::swap(slot.payload->Append(), stage_);
  }
}

void FusionEngine::FuseOpen(Slot& slot, FusionTime now, std::uint64_t& reason, FusedSlots& out) {
  ++reason;
  ring_.Close(slot);
  sources_.CountMissing(slot.covered, tuning_.absent_after_slots);
  Emit(slot, now, out);
  if (tuning_.late == LatePolicy::kCount) ring_.Release(slot);
}

void FusionEngine::Emit(Slot& slot, FusionTime now, FusedSlots& out) {
  estimate::FusedSlot& fused = out.Append();
  fused.epoch = slot.epoch;
  fused.fused_unix_ns = now.unix_ns;
  fused.revision = slot.revision;
  const SlotTally& tally = fusion_->Fuse(slot.payload->all(), fused);
  for (const GatedTuple& tuple : tally.gated) ++sources_[tuple.source].status.tuples_gated;
  out.gated.insert(out.gated.end(), tally.gated.begin(), tally.gated.end());
  Of(counters_.tuples_refused, RefusalReason::kGated) += tally.gated.size();
  counters_.tuples_redundant += tally.redundant;
  counters_.tuples_unusable += tally.unusable;
  if (slot.revision == 0) counters_.tuples_fused += fused.subjects.size();
  if (tracks_) tracks_->Update(fused);
  fused.contributions.reset();
  if (!explained_.empty()) ExplainSlot(slot, fused);
}

void FusionEngine::ExplainSlot(const Slot& slot, estimate::FusedSlot& fused) const {
  std::vector<estimate::SubjectTuples> contributions;
  for (auto each = explained_.begin(); each != explained_.end(); each = explained_.upper_bound(*each)) {
    if (std::ranges::count(fused.subjects, *each) == 0) continue;
    estimate::SubjectTuples& said = contributions.emplace_back();
    said.subject = *each;
    fusion_->Explain(slot.payload->all(), *each, sources_, said);
  }
  if (contributions.empty()) return;
  fused.contributions =
      std::make_shared<const std::vector<estimate::SubjectTuples>>(std::move(contributions));
}

absl::Status FusionEngine::Explain(std::uint32_t subject) {
  const runtime::MutexLock lock(mutex_);
  if (explained_.size() >= kMaxReaders) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "contributions: ", kMaxReaders, " readers of this site ask for them already, the most at a time"));
  }
  explained_.insert(subject);
  return absl::OkStatus();
}

void FusionEngine::Conceal(std::uint32_t subject) {
  const runtime::MutexLock lock(mutex_);
  const auto found = explained_.find(subject);
  if (found != explained_.end()) explained_.erase(found);
}

std::int64_t FusionEngine::Deadline() const {
  const Slot* const oldest = ring_.Oldest();
  return oldest == nullptr ? kNoDeadline : oldest->waits_since_ns + tuning_.deadline_ns;
}

void FusionEngine::Advance(FusionTime now, FusedSlots& out) {
  const runtime::MutexLock lock(mutex_);
  for (std::size_t fused = 0; fused < kMostFusedAtOnce && Deadline() <= now.steady_ns; ++fused) {
    FuseOpen(*ring_.Oldest(), now, counters_.slots_at_deadline, out);
  }
}

std::int64_t FusionEngine::NextDeadline() const {
  const runtime::MutexLock lock(mutex_);
  return Deadline();
}

void FusionEngine::Drain(FusionTime now, FusedSlots& out) {
  const runtime::MutexLock lock(mutex_);
  while (Slot* const oldest = ring_.Oldest()) FuseOpen(*oldest, now, counters_.slots_drained, out);
}

absl::Status FusionEngine::Reconfigure(const FusionTuning& tuning) {
  SiteConfig changed = config_;
  changed.tuning = tuning;
  RETURN_IF_ERROR(Validate(changed));
  const runtime::MutexLock lock(mutex_);
  if (!tuning.track) tracks_.reset();
  if (tuning.track && !tracks_) tracks_ = SubjectTracks::Create(config_);
  if (tuning.absent_after_slots == 0) sources_.ExpectAll();
  tuning_ = tuning;
  fusion_->Configure(tuning);
  return absl::OkStatus();
}

FusionCounters FusionEngine::counters() const {
  const runtime::MutexLock lock(mutex_);
  FusionCounters counters = counters_;
  counters.open_slots = ring_.open_slots();
  return counters;
}

std::uint64_t FusionEngine::OpenTuples() const {
  const runtime::MutexLock lock(mutex_);
  return ring_.OpenTuples();
}

std::vector<SourceStatus> FusionEngine::sources() const {
  const runtime::MutexLock lock(mutex_);
  std::vector<SourceStatus> all;
  for (SourceHandle handle = 0; handle < sources_.size(); ++handle) {
    all.push_back(sources_[handle].status);
    all.back().consistency = fusion_->consistency(handle);
    all.back().consistency_band = fusion_->BandOf(handle);
    const std::vector<std::uint16_t>& leaves = sources_[handle].leaf_indices;
    if (leaves.size() == 1) all.back().calibration = fusion_->CalibrationOf(leaves.front());
  }
  return all;
}

CalibrationMode FusionEngine::calibration_mode() const {
  const runtime::MutexLock lock(mutex_);
  return tuning_.calibration.mode;
}

std::optional<CalibrationRecord> FusionEngine::calibration() const {
  const runtime::MutexLock lock(mutex_);
  return fusion_->Calibration();
}

absl::Status FusionEngine::RestoreCalibration(const CalibrationRecord& record) {
  const runtime::MutexLock lock(mutex_);
  return fusion_->RestoreCalibration(record);
}

std::vector<LeafStatus> FusionEngine::leaves() const {
  const runtime::MutexLock lock(mutex_);
  return sources_.leaves();
}

}  // namespace tributary::fusion
