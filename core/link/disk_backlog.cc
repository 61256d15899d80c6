#include "core/link/disk_backlog.h"

#include <openssl/sha.h>

#include <algorithm>
#include <utility>

#include "core/runtime/elapsed.h"
#include "core/runtime/log.h"
#include "core/runtime/printable.h"
#include "core/status/macros.h"

namespace tributary::link {
namespace {

constexpr std::uint64_t kSegmentBytes = std::uint64_t{1} << 20;
constexpr std::size_t kBatchFrames = 256;
// Fresh frames wait behind so many stored ones at most.
constexpr std::size_t kMostAhead = 128;
// What is too old is dropped at a pace of its own, faster than any panel makes frames: at the pace of
// sending, younger frames would grow too old meanwhile.
constexpr int kMostDroppedInATick = 1000;
constexpr std::int64_t kLogIntervalNs = 60'000'000'000;

// All but the boot id, which is new at each start.
JournalIdentity IdentityOf(v1::Hello hello) {
  hello.clear_boot_id();
  const std::string text = hello.SerializeAsString();
  JournalIdentity identity;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(identity.data()));
  return identity;
}

std::vector<wire::FrameLimits> LimitsOf(const v1::Hello& hello) {
  std::vector<wire::FrameLimits> limits;
  for (const v1::Source& source : hello.sources()) {
    limits.push_back({.shape = {source.dimension(), static_cast<std::uint32_t>(source.classes_size())},
                      .leaves = static_cast<std::size_t>(source.leaves_size()),
                      .max_subjects = std::size_t{1} << 20});
  }
  return limits;
}

}  // namespace

DiskBacklog::DiskBacklog(DiskBacklogOptions options, const v1::Hello& hello, estimate::SlotLength slot,
                         Spool& spool, const runtime::Clock& clock, OpenFolder open)
    : options_(std::move(options)),
      slot_(slot),
      identity_(IdentityOf(hello)),
      limits_(LimitsOf(hello)),
      spool_(spool),
      clock_(clock),
      open_(std::move(open)),
      progress_ns_(clock.SteadyNs()),
      tick_ns_(progress_ns_),
      retry_ns_(progress_ns_),
      sync_ns_(progress_ns_),
      log_ns_(progress_ns_),
      expired_log_ns_(progress_ns_) {}

void DiskBacklog::Tick(bool connected) {
  const std::int64_t now_ns = clock_.SteadyNs();
  Open(now_ns);
  Settle(spool_.counters().stored_frames);
  if (Away(connected, now_ns)) {
    Spill(now_ns);
    if (connected) progress_ns_ = now_ns;  // give the next frames their time
  } else if (connected) {
    Resend(now_ns);
  }
  tick_ns_ = now_ns;
  if (now_ns - sync_ns_ >= kSyncNs) Sync(now_ns);
  SayExpired(now_ns);
  Publish();
}

std::uint64_t DiskBacklog::Flush() {
  const std::int64_t now_ns = clock_.SteadyNs();
  retry_ns_ = now_ns;
  Open(now_ns);
  Store(now_ns);  // what could not be stored before goes first
  Spill(now_ns);
  Sync(now_ns);
  const std::uint64_t left = pending_.size();
  std::uint64_t tuples = 0;
  for (const estimate::TupleFrame& frame : pending_) tuples += frame.subjects.size();
  pending_.clear();
  spool_.CountDropped(left, tuples);
  Publish();
  return left;
}

void DiskBacklog::Open(std::int64_t now_ns) {
  if (journal_ != nullptr || now_ns < retry_ns_) return;
  std::vector<std::string> notes;
  const absl::Status opened = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(std::unique_ptr<JournalFolder> folder, open_());
    const JournalOptions options{identity_, options_.budget_bytes,
                                 std::min(kSegmentBytes, options_.budget_bytes / 4)};
    ASSIGN_OR_RETURN(journal_, Journal::Open(std::move(folder), options, notes));
    return absl::OkStatus();
  }();
  for (const std::string& note : notes) runtime::LogWarning("spool: {}", note);
  if (!opened.ok()) return Failed(opened, now_ns);
  own_.healthy = true;
  const JournalCounters& found = journal_->counters();
  if (found.stored_records > 0) {
    runtime::LogInfo("spool: {}: {} of an earlier process to send", options_.folder,
                     runtime::Counted(found.stored_records, "frame"));
  }
}

void DiskBacklog::Settle(std::uint64_t in_spool) {
  std::uint64_t of_spool = InSpool();
  std::size_t done = 0;
  while (!under_way_.empty()) {
    const UnderWay& oldest = under_way_.front();
    if (oldest.fate == UnderWay::Fate::kInSpool) {
      if (of_spool <= in_spool) break;
      --of_spool;
    } else if (oldest.fate == UnderWay::Fate::kExpired) {
      ++own_.expired_frames;
      expired_tuples_ += oldest.tuples;
    } else {
      ++own_.damaged_frames;
    }
    under_way_.pop_front();
    ++done;
  }
  if (done == 0) return;
  if (absl::Status status = journal_->Done(done); !status.ok()) Failed(status, clock_.SteadyNs());
}

std::uint64_t DiskBacklog::InSpool() const {
  return static_cast<std::uint64_t>(
      std::ranges::count(under_way_, UnderWay::Fate::kInSpool, &UnderWay::fate));
}

bool DiskBacklog::Away(bool connected, std::int64_t now_ns) {
  const SpoolCounters counters = spool_.counters();
  const bool progressed =
      counters.acknowledged_frames > std::exchange(acknowledged_, counters.acknowledged_frames);
  const bool began = connected && !std::exchange(connected_, connected);
  if (progressed || began || (connected && counters.held_frames == 0)) progress_ns_ = now_ns;
  return now_ns - progress_ns_ >= kAwayNs || spool_.crowded();
}

void DiskBacklog::Spill(std::int64_t now_ns) {
  if (journal_ == nullptr || (!own_.healthy && now_ns < retry_ns_)) return;
  if (pending_.empty()) {
    // Those that are on the disk stay there; the others follow them.
    std::uint64_t stored_frames = 0;
    estimate::TupleFrame frame;
    for (bool stored = false; spool_.MoveOut(frame, stored);) {
      if (stored) {
        ++stored_frames;
      } else {
        pending_.push_back(std::exchange(frame, {}));
      }
    }
    Settle(stored_frames);
    under_way_.clear();
    next_.reset();
    journal_->Rewind();
  }
  Store(now_ns);
}

void DiskBacklog::Store(std::int64_t now_ns) {
  while (journal_ != nullptr && !pending_.empty()) {
    const std::size_t batch = std::min(kBatchFrames, pending_.size());
    std::vector<std::string> payloads(batch);
    std::vector<Record> records(batch);
    for (std::size_t i = 0; i < batch; ++i) {
      wire::FrameToWire(pending_[i], wire_);
      wire_.SerializeToString(&payloads[i]);
      records[i] = {payloads[i], static_cast<std::uint32_t>(pending_[i].subjects.size())};
    }
    if (absl::Status status = journal_->Append(records); !status.ok()) return Failed(status, now_ns);
    own_.healthy = true;
    if (std::exchange(said_failure_, false))
      runtime::LogInfo("spool: {} takes frames again", options_.folder);
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(batch));
  }
}

void DiskBacklog::Resend(std::int64_t now_ns) {
  const double elapsed_s = 1e-9 * static_cast<double>(now_ns - tick_ns_);
  // A tick that comes late makes no burst.
  allowance_ = std::min(allowance_ + options_.resend_hz * elapsed_s, 0.05 * options_.resend_hz + 1);
  if (journal_ == nullptr || (!own_.healthy && now_ns < retry_ns_ && pending_.empty())) return;
  for (int dropped = 0; dropped < kMostDroppedInATick && spool_.waiting_frames() < kMostAhead;) {
    const Resent resent = ResendOne(now_ns);
    if (resent == Resent::kNothing) return;
    if (resent == Resent::kSent) --allowance_;
    if (resent == Resent::kDropped) ++dropped;
  }
}

DiskBacklog::Resent DiskBacklog::ResendOne(std::int64_t now_ns) {
  if (!pending_.empty()) {
    if (allowance_ < 1 || !spool_.MoveIn(pending_.front(), false)) return Resent::kNothing;
    pending_.pop_front();
    return Resent::kSent;
  }
  if (!next_ && !ReadNext(now_ns)) return Resent::kNothing;
  if (!next_) return Resent::kDropped;
  const auto tuples = static_cast<std::uint32_t>(next_->subjects.size());
  Resent resent = Resent::kSent;
  if (runtime::ElapsedNs(slot_.EndNs(next_->epoch), clock_.UnixNs()) >= max_age_ns_) {
    under_way_.push_back({UnderWay::Fate::kExpired, tuples});
    resent = Resent::kDropped;
  } else if (allowance_ >= 1 && spool_.MoveIn(*next_, true)) {
    under_way_.push_back({UnderWay::Fate::kInSpool, tuples});
  } else {
    return Resent::kNothing;
  }
  next_.reset();
  return resent;
}

bool DiskBacklog::ReadNext(std::int64_t now_ns) {
  const absl::StatusOr<std::optional<Record>> record = journal_->Next();
  if (!record.ok()) {
    Failed(record.status(), now_ns);
    return absl::IsDataLoss(record.status());
  }
  own_.healthy = true;
  if (!*record) return false;
  estimate::TupleFrame frame;
  if (Decode(**record, frame)) {
    next_ = std::move(frame);
  } else {
    under_way_.push_back({UnderWay::Fate::kDamaged, (*record)->units});
  }
  return true;
}

bool DiskBacklog::Decode(const Record& record, estimate::TupleFrame& frame) {
  if (!wire_.ParseFromArray(record.payload.data(), static_cast<int>(record.payload.size()))) return false;
  return wire_.source() < limits_.size() &&
         !wire::FrameFromWire(wire_, limits_[wire_.source()], frame).has_value();
}

void DiskBacklog::Sync(std::int64_t now_ns) {
  sync_ns_ = now_ns;
  if (journal_ == nullptr) return;
  if (absl::Status status = journal_->Sync(); !status.ok()) Failed(status, now_ns);
}

void DiskBacklog::SayExpired(std::int64_t now_ns) {
  const std::uint64_t unsaid = own_.expired_frames - said_expired_;
  if (unsaid == 0) expired_log_ns_ = std::max(expired_log_ns_, now_ns + kSyncNs);
  if (unsaid == 0 || now_ns < expired_log_ns_) return;
  said_expired_ = own_.expired_frames;
  expired_log_ns_ = now_ns + kLogIntervalNs;
  runtime::LogWarning(
      "spool: {} on the disk became older than the aggregator's site admits, and {} dropped: max_age_s "
      "of the site says how old a frame may be",
      runtime::Counted(unsaid, "frame"), unsaid == 1 ? "was" : "were");
}

void DiskBacklog::Failed(const absl::Status& status, std::int64_t now_ns) {
  ++own_.errors;
  if (!absl::IsDataLoss(status)) {
    own_.healthy = false;
    retry_ns_ = now_ns + kRetryNs;
  }
  if (now_ns < log_ns_) return;
  log_ns_ = now_ns + kLogIntervalNs;
  said_failure_ = true;
  runtime::LogError("spool: {}; frames stay in memory, where a full spool drops the oldest",
                    std::string(status.message()));
}

void DiskBacklog::Publish() {
  DiskBacklogCounters counters = own_;
  counters.stored_frames = pending_.size();
  for (const estimate::TupleFrame& frame : pending_) counters.stored_tuples += frame.subjects.size();
  std::uint64_t lost_tuples = expired_tuples_;
  if (journal_ != nullptr) {
    const JournalCounters& journal = journal_->counters();
    counters.recovered_frames = journal.recovered_records;
    counters.recovered_tuples = journal.recovered_units;
    counters.stored_bytes = journal.stored_bytes;
    counters.over_budget_frames = journal.over_budget_records;
    counters.damaged_frames += journal.damaged_records;
    counters.set_aside_files = journal.set_aside_files;
    lost_tuples += journal.over_budget_units;
    std::uint64_t back_tuples = 0;
    for (const UnderWay& each : under_way_) {
      if (each.fate == UnderWay::Fate::kInSpool) back_tuples += each.tuples;
    }
    counters.stored_frames += journal.stored_records - InSpool();
    counters.stored_tuples += journal.stored_units - std::min(journal.stored_units, back_tuples);
  }
  {
    const runtime::MutexLock lock(mutex_);
    counters_ = counters;
  }
  // After that: who reads the spool's count first finds all of these here.
  const std::uint64_t lost = DroppedByDisk(counters);
  spool_.CountDropped(lost - std::exchange(told_frames_, lost),
                      lost_tuples - std::exchange(told_tuples_, lost_tuples));
}

DiskBacklogCounters DiskBacklog::counters() const {
  const runtime::MutexLock lock(mutex_);
  return counters_;
}

}  // namespace tributary::link
