// Frames on the disk while the aggregator is away: moves them out of the spool, and back when it answers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/estimate/slot_length.h"
#include "core/estimate/tuple_frame.h"
#include "core/link/journal/journal.h"
#include "core/link/spool/spool.h"
#include "core/runtime/clock.h"
#include "core/runtime/mutex.h"
#include "core/wire/convert.h"
#include "tributary/v1/fusion.pb.h"

namespace tributary::link {

// offered (SpoolCounters) + recovered = acknowledged + dropped + held + stored.
struct DiskBacklogCounters {
  std::uint64_t recovered_frames = 0;  // left by an earlier process
  std::uint64_t recovered_tuples = 0;
  std::uint64_t stored_frames = 0;  // now, without those that are back in the spool
  std::uint64_t stored_tuples = 0;
  std::uint64_t stored_bytes = 0;
  // Dropped, and counted as dropped by the spool, too. Tuples of damaged frames are unknown.
  std::uint64_t over_budget_frames = 0;
  std::uint64_t expired_frames = 0;  // older than the site admits
  std::uint64_t damaged_frames = 0;
  std::uint64_t set_aside_files = 0;
  std::uint64_t errors = 0;  // of the disk; nothing is lost by one
  bool healthy = false;      // the folder is open, and the last operation worked
};

constexpr std::uint64_t DroppedByDisk(const DiskBacklogCounters& counters) {
  return counters.over_budget_frames + counters.expired_frames + counters.damaged_frames;
}

// Memory comes first: frames go to the disk once nothing has been acknowledged for kAwayNs, or the spool is
// three quarters full. Until then a killed process loses them. On the disk they survive a killed process at
// once, and a power cut after kSyncNs. If the disk fails, frames stay in memory, where the spool drops the
// oldest; the folder is tried again each kRetryNs.
//
// One thread calls Tick and Flush; any thread reads counters() and calls Admit.
class DiskBacklog {
 public:
  static constexpr std::int64_t kTickNs = 10'000'000;
  static constexpr std::int64_t kAwayNs = 500'000'000;
  static constexpr std::int64_t kSyncNs = 1'000'000'000;
  static constexpr std::int64_t kRetryNs = 5'000'000'000;

  using OpenFolder = std::function<absl::StatusOr<std::unique_ptr<JournalFolder>>()>;

  // Frames go through `spool`, which outlives this. `hello`: another declaration's frames are set aside.
  DiskBacklog(DiskBacklogOptions options, const v1::Hello& hello, estimate::SlotLength slot, Spool& spool,
              const runtime::Clock& clock, OpenFolder open);
  DiskBacklog(const DiskBacklogOptions& options, const v1::Hello& hello, estimate::SlotLength slot,
              Spool& spool, const runtime::Clock& clock)
      : DiskBacklog(options, hello, slot, spool, clock,
                    [folder = options.folder] { return OpenJournalFolder(folder); }) {}

  // Call every kTickNs. `connected`: the aggregator takes frames.
  void Tick(bool connected);
  // Moves all that the spool holds to the disk and makes it durable: for the end of the process. Returns how
  // many frames were dropped because the disk did not take them.
  std::uint64_t Flush();

  // Frames whose slot ended longer ago are dropped, not sent; nullopt: no limit. Any thread.
  void Admit(std::optional<std::int64_t> max_age_ns) { max_age_ns_ = max_age_ns.value_or(INT64_MAX); }

  DiskBacklogCounters counters() const;

 private:
  // A record that was read and is not done.
  struct UnderWay {
    enum class Fate : std::uint8_t { kInSpool, kExpired, kDamaged };
    Fate fate;
    std::uint32_t tuples;
  };

  void Open(std::int64_t now_ns);
  // Marks as done what the aggregator has acknowledged; `in_spool` of the records under way are in the spool.
  void Settle(std::uint64_t in_spool);
  std::uint64_t InSpool() const;
  bool Away(bool connected, std::int64_t now_ns);
  void Spill(std::int64_t now_ns);
  void Store(std::int64_t now_ns);
  void Resend(std::int64_t now_ns);
  enum class Resent : std::uint8_t { kSent, kDropped, kNothing };
  // kNothing: there is no more, or it must wait.
  Resent ResendOne(std::int64_t now_ns);
  // Reads the next record into next_; false if there is none.
  bool ReadNext(std::int64_t now_ns);
  bool Decode(const Record& record, estimate::TupleFrame& frame);
  void Sync(std::int64_t now_ns);
  // One line for many frames that had become too old.
  void SayExpired(std::int64_t now_ns);
  // Counts and logs a fault of the disk.
  void Failed(const absl::Status& status, std::int64_t now_ns);
  void Publish();

  const DiskBacklogOptions options_;
  const estimate::SlotLength slot_;
  const JournalIdentity identity_;
  const std::vector<wire::FrameLimits> limits_;  // by source
  Spool& spool_;
  const runtime::Clock& clock_;
  const OpenFolder open_;
  std::atomic<std::int64_t> max_age_ns_ = INT64_MAX;

  std::unique_ptr<Journal> journal_;          // null until the folder could be opened
  std::deque<estimate::TupleFrame> pending_;  // out of the spool, not yet on the disk; then none is under way
  std::deque<UnderWay> under_way_;            // of the journal, in its order
  std::optional<estimate::TupleFrame> next_;  // the record after them, until the spool has room
  DiskBacklogCounters own_;                   // expired, damaged (of sound records), errors, healthy
  std::uint64_t told_frames_ = 0;             // dropped by the disk, as the spool knows
  std::uint64_t told_tuples_ = 0;
  std::uint64_t expired_tuples_ = 0;
  std::uint64_t said_expired_ = 0;  // frames, in the log
  bool said_failure_ = false;       // and not yet that the folder takes frames again
  double allowance_ = 0;            // frames that may be sent again now
  bool connected_ = false;
  std::uint64_t acknowledged_ = 0;
  std::int64_t progress_ns_;  // when the aggregator last acknowledged something, or nothing waited
  std::int64_t tick_ns_;
  std::int64_t retry_ns_;
  std::int64_t sync_ns_;
  std::int64_t log_ns_;
  std::int64_t expired_log_ns_;
  v1::Frame wire_;  // reused

  mutable runtime::Mutex mutex_;
  DiskBacklogCounters counters_ GUARDED_BY(mutex_);  // as of the last tick
};

}  // namespace tributary::link
