#include "aggregator/fusion/collation.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator/fusion/frame_check.h"

namespace tributary::fusion {
namespace {

std::unique_ptr<SubjectTracks> MakeTracks(const SiteConfig& site, const FusionTuning& tuning) {
  if (!tuning.track) return nullptr;
  const std::size_t capacity = std::size_t{4} * site.max_subjects;
  switch (site.dimension) {
    case 1:
      return std::make_unique<SubjectTracksOf<1>>(site.slot, capacity);
    case 2:
      return std::make_unique<SubjectTracksOf<2>>(site.slot, capacity);
    default:
      return std::make_unique<SubjectTracksOf<3>>(site.slot, capacity);
  }
}

std::uint64_t& Of(std::array<std::uint64_t, kRefusalReasons>& counts, RefusalReason reason) {
  return counts[static_cast<std::size_t>(reason)];
}

}  // namespace

Collation::Collation(SiteConfig site)
    : site_(std::move(site)),
      tuning_(site_.tuning),
      leaves_(site_.leaves.size()),
      sources_(site_),
      ring_(site_.window_slots),
      monitor_(site_.dimension, tuning_.consistency_window),
      fusion_(site_, monitor_),
      tracks_(MakeTracks(site_, tuning_)) {
  for (std::size_t i = 0; i < leaves_.size(); ++i) all_leaves_.Insert(i);
}

absl::StatusOr<SourceHandle> Collation::Join(const SourceDeclaration& declaration) {
  absl::StatusOr<SourceHandle> handle = sources_.Join(declaration);
  if (handle.ok()) MarkPresent(sources_[*handle]);
  return handle;
}

OfferResult Collation::Offer(SourceHandle handle, const estimate::TupleFrame& frame, FusionTime now,
                             FusedSlots& out) {
  if (handle >= sources_.size()) {
    return Refuse(handle, RefusalReason::kUnknownSource, absl::StrCat("source ", handle, " has not joined"));
  }
  const SourceEntry& source = sources_[handle];
  if (std::optional<Refusal> fault = CheckShape(frame, site_, source.leaf_indices.size())) {
    return Refuse(handle, *std::move(fault));
  }
  if (std::optional<Refusal> fault = CheckEpoch(frame.epoch, now.unix_ns, site_)) {
    return Refuse(handle, *std::move(fault));
  }
  if (frame.subjects != source.last_subjects) {
    if (std::optional<Refusal> fault = CheckDistinct(frame.subjects, scratch_)) {
      return Refuse(handle, *std::move(fault));
    }
  }
  MarkPresent(source);

  Slot& slot = ring_.At(frame.epoch);
  const bool known = slot.state != Slot::State::kEmpty && slot.epoch == frame.epoch;
  if (slot.state != Slot::State::kEmpty && slot.epoch > frame.epoch) {
    return Refuse(
        handle, RefusalReason::kLate,
        absl::StrCat("epoch ", frame.epoch, " has left the window of ", site_.window_slots, " slots"));
  }
  SlotInput* earlier = nullptr;
  if (known && slot.payload != Slot::kNone) earlier = ring_.PayloadOf(slot).Find(handle);
  const bool repeated = known && slot.reported[handle];
  if (repeated && frame.revision <= (earlier ? earlier->revision : 0)) {
    return Refuse(handle, RefusalReason::kDuplicate,
                  absl::StrCat("epoch ", frame.epoch, ", revision ", frame.revision, " of source '",
                               source.name, "' has been taken"));
  }
  const bool fused = known && slot.state == Slot::State::kFused;
  if (fused && (tuning_.late == LatePolicy::kCount || slot.payload == Slot::kNone)) {
    return Refuse(handle, RefusalReason::kLate,
                  absl::StrCat("epoch ", frame.epoch, " was fused without this frame"));
  }

  OfferResult result;
  if (!Stage(handle, frame, result.refusals)) {
    ++sources_[handle].frames_refused;
    return result;
  }
  result.accepted = true;
  if (!known) {
    if (slot.state == Slot::State::kOpen) FuseOpen(slot, now, counters_.slots_evicted, out);
    ring_.Open(slot, frame.epoch, now.steady_ns);
  }
  Take(slot, handle);
  if (fused) {
    ++slot.revision;
    ++counters_.revisions;
    Emit(slot, now, out);
  } else if (Complete(slot)) {
    FuseOpen(slot, now, counters_.slots_complete, out);
  }
  return result;
}

OfferResult Collation::Refuse(SourceHandle handle, Refusal refusal) {
  ++Of(counters_.frames_refused, refusal.reason);
  if (handle < sources_.size()) ++sources_[handle].frames_refused;
  OfferResult result;
  result.refusals.push_back(std::move(refusal));
  return result;
}

OfferResult Collation::Refuse(SourceHandle handle, RefusalReason reason, std::string message) {
  return Refuse(handle, Refusal{reason, std::move(message), {}});
}

bool Collation::Stage(SourceHandle handle, const estimate::TupleFrame& frame,
                      std::vector<Refusal>& refusals) {
  StageTuples(handle, frame);
  const bool sound = site_.dimension == 2
                         ? stage_.planes.Load(frame.means, frame.cholesky)
                         : estimate::ValidTuples(site_.dimension, frame.means, frame.cholesky);
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
  if (site_.dimension == 2) stage_.planes.Load(sound_.means, sound_.cholesky);
  return true;
}

void Collation::StageTuples(SourceHandle handle, const estimate::TupleFrame& frame) {
  const SourceEntry& source = sources_[handle];
  stage_.source = handle;
  stage_.revision = frame.revision;
  stage_.sequence = frame.sequence;
  stage_.captured_unix_ns = frame.captured_unix_ns;
  stage_.fused_before = false;
  stage_.leaves = source.leaves;
  stage_.subjects = frame.subjects;
  stage_.tuple_leaves.clear();
  if (!frame.contributors.empty()) {
    bool partial = false;
    for (std::size_t row = 0; row < frame.subjects.size(); ++row) {
      stage_.tuple_leaves.push_back(LeavesOfTuple(frame, row, source));
      partial |= stage_.tuple_leaves.back() != source.leaves;
    }
    if (!partial) stage_.tuple_leaves.clear();
  }
  if (site_.dimension == 2) return;
  stage_.means = frame.means;
  stage_.cholesky = frame.cholesky;
}

void Collation::Take(Slot& slot, SourceHandle handle) {
  SourceEntry& source = sources_[handle];
  const std::size_t tuples = stage_.subjects.size();
  ++counters_.frames_accepted;
  counters_.tuples_accepted += tuples;
  ++source.frames_accepted;
  source.tuples_accepted += tuples;
  source.last_epoch = std::max(source.last_epoch, slot.epoch);
  slot.reported.set(handle);
  slot.covered |= stage_.leaves;
  SlotPayload& payload = ring_.PayloadOf(slot);
  if (SlotInput* const earlier = payload.Find(handle)) {
    ++counters_.frames_replaced;
    counters_.tuples_replaced += earlier->subjects.size();
    std::swap(*earlier, stage_);
  } else {
    payload.Add(stage_);
  }
}

void Collation::MarkPresent(const SourceEntry& source) {
  absent_ = absent_ - source.leaves;
  for (const std::uint16_t leaf : source.leaf_indices) leaves_[leaf].missed_in_a_row = 0;
}

void Collation::CountMissing(const Slot& slot) {
  const LeafSet missing = all_leaves_ - slot.covered;
  if (missing.empty()) return;
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    if (!missing.Contains(i)) continue;
    ++leaves_[i].missed_slots;
    ++leaves_[i].missed_in_a_row;
    if (tuning_.absent_after_slots > 0 && leaves_[i].missed_in_a_row >= tuning_.absent_after_slots)
      absent_.Insert(i);
  }
}

bool Collation::Complete(const Slot& slot) const { return (all_leaves_ - absent_).IsSubsetOf(slot.covered); }

void Collation::FuseOpen(Slot& slot, FusionTime now, std::uint64_t& reason, FusedSlots& out) {
  ++reason;
  ring_.Close(slot);
  CountMissing(slot);
  Emit(slot, now, out);
  if (tuning_.late == LatePolicy::kCount) ring_.Release(slot);
}

void Collation::Emit(Slot& slot, FusionTime now, FusedSlots& out) {
  SlotPayload& payload = ring_.PayloadOf(slot);
  estimate::FusedSlot& fused = out.Append();
  fused.epoch = slot.epoch;
  fused.fused_unix_ns = now.unix_ns;
  fused.revision = slot.revision;
  tally_.Clear();
  fusion_.Fuse(payload, fused, tally_);
  for (const SlotTally::Gated& gated : tally_.gated) {
    const SlotInput& input = payload[gated.input];
    out.gated.push_back({input.source, input.sequence, slot.epoch, gated.subject});
    ++sources_[input.source].tuples_gated;
  }
  Of(counters_.tuples_refused, RefusalReason::kGated) += tally_.gated.size();
  counters_.tuples_redundant += tally_.redundant;
  counters_.tuples_unusable += tally_.unusable;
  if (slot.revision == 0) counters_.tuples_fused += fused.subjects.size();
  if (tracks_) tracks_->Update(*tuning_.track, fused);
}

std::int64_t Collation::Advance(FusionTime now, FusedSlots& out) {
  while (NextDeadline() <= now.steady_ns) FuseOpen(*ring_.Oldest(), now, counters_.slots_at_deadline, out);
  return NextDeadline();
}

std::int64_t Collation::NextDeadline() {
  const Slot* const oldest = ring_.Oldest();
  return oldest == nullptr ? FusionEngine::kNoDeadline : oldest->first_steady_ns + tuning_.deadline_ns;
}

void Collation::Drain(FusionTime now, FusedSlots& out) {
  while (Slot* const oldest = ring_.Oldest()) FuseOpen(*oldest, now, counters_.slots_drained, out);
}

void Collation::Reconfigure(const FusionTuning& tuning) {
  if (tuning.track.has_value() != tuning_.track.has_value()) tracks_ = MakeTracks(site_, tuning);
  if (tuning.absent_after_slots == 0) absent_ = LeafSet();
  tuning_ = tuning;
  fusion_.Configure(tuning);
  monitor_.SetWindow(tuning.consistency_window);
}

FusionCounters Collation::counters() const {
  FusionCounters counters = counters_;
  counters.open_slots = ring_.open_slots();
  return counters;
}

std::vector<SourceStatus> Collation::sources() const {
  std::vector<SourceStatus> all;
  for (SourceHandle handle = 0; handle < sources_.size(); ++handle) {
    const SourceEntry& entry = sources_[handle];
    all.push_back({entry.name, entry.frames_accepted, entry.frames_refused, entry.tuples_accepted,
                   entry.tuples_gated, entry.last_epoch, monitor_.mean(handle), monitor_.tuples(handle)});
  }
  return all;
}

std::vector<LeafStatus> Collation::leaves() const {
  std::vector<LeafStatus> all;
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    all.push_back(
        {site_.leaves[i], leaves_[i].missed_slots, absent_.Contains(i), leaves_[i].missed_in_a_row});
  }
  return all;
}

}  // namespace tributary::fusion
