// What a watcher is sent: every slot if it is fast, the latest if it is slow, and all watchers together what
// the threads that fuse can spare.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/estimate/tuple_frame.h"

namespace tributary::publish {

// Holds up to kCapacity slots, so a short delay of the reader (24 ms at 2 kHz) loses no slot; fewer if they
// are so large that they take more than kMostBytes. When full, skips and counts all slots but the new one:
// the reader continues at the present. Not thread-safe; keeps the memory of the slots that it has sent.
class WatchQueue {
 public:
  static constexpr std::size_t kCapacity = 48;
  // As many slots of 64 subjects from one source. Sources may all name other subjects.
  static constexpr std::size_t kMostBytes = 144 << 10;
  static constexpr std::int64_t kBurstNs = 100'000'000;

  // Passes at most `max_rate_hz` slots per second, by their time of fusion; 0: all. A slot too soon after the
  // last one that passed is skipped.
  // With `contributions`, keeps those of the slots (FusedSlot::contributions).
  explicit WatchQueue(double max_rate_hz, bool contributions = false);

  // Whether to send this slot; counts it as skipped otherwise. Call once per slot, before Push.
  // `share_interval_ns`: the mean time between the slots of this reader by its share (ReaderShare); unused
  // time of up to kBurstNs allows a burst. A slot beyond the share is held, and skipped when the next one
  // comes.
  bool Admit(const estimate::FusedSlot& slot, std::int64_t share_interval_ns = 0);
  // The held slot, if no other came: the reader gets the latest slot before a silence. False if there is
  // none.
  bool TakeHeld(estimate::FusedSlot& slot);
  void Push(const estimate::FusedSlot& slot);

  bool empty() const { return size_ == 0; }
  // That its slots and those that were sent take.
  std::size_t bytes() const { return bytes_; }
  // The oldest slot. Valid until the next Push or Pop; not empty.
  const estimate::FusedSlot& front() const { return ring_[first_]; }
  void Pop();

  // Skipped since the last call.
  std::uint64_t TakeSkipped();
  std::uint64_t skipped_total() const { return skipped_total_; }

 private:
  // Whether the reader's share allows a slot at this time; then counts it as sent.
  bool HasShare(std::int64_t now_unix_ns, std::int64_t interval_ns);
  bool IsDue(std::int64_t now_unix_ns);
  void SkipHeld();
  void Keep(const estimate::FusedSlot& slot, estimate::FusedSlot& place) const;
  void FreeSent();
  void KeepNewest();
  void Skip(std::size_t slots) {
    skipped_ += slots;
    skipped_total_ += slots;
  }

  const std::int64_t min_interval_ns_;
  const bool contributions_;
  std::optional<std::int64_t> next_due_unix_ns_;
  std::int64_t share_ns_ = kBurstNs;  // unused time of the share
  std::int64_t share_unix_ns_ = 0;    // when it was last added to
  estimate::FusedSlot held_;          // keeps its memory
  bool holds_ = false;
  std::vector<estimate::FusedSlot> ring_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  std::size_t bytes_ = 0;
  std::uint64_t skipped_ = 0;
  std::uint64_t skipped_total_ = 0;
};

// The threads that fuse also serve the readers, who together get a quarter of that time. When they use more,
// readers of many slots are sent fewer until the cost fits. A reader that asks for less than its share is not
// affected. Thread-safe.
class ReaderShare {
 public:
  // `threads`: the number of threads that fuse, at least 1.
  explicit ReaderShare(std::size_t threads) : threads_(static_cast<std::int64_t>(threads)) {}

  void Join() { readers_.fetch_add(1, std::memory_order_relaxed); }
  void Leave() { readers_.fetch_sub(1, std::memory_order_relaxed); }
  std::int64_t readers() const { return readers_.load(std::memory_order_relaxed); }

  // Reports how long it took to send one slot to one reader, and the time after it (Clock::SteadyNs).
  void Spent(std::int64_t ns, std::int64_t now_steady_ns);

  // The mean time between two slots for a reader; 0: every slot.
  std::int64_t IntervalNs() const { return interval_ns_.load(std::memory_order_relaxed); }

 private:
  void Adjust(std::int64_t spent_ns, std::int64_t passed_ns);

  const std::int64_t threads_;
  std::atomic<std::int64_t> readers_ = 0;
  std::atomic<std::int64_t> spent_ns_ = 0;  // since period_begin_ns_
  std::atomic<std::int64_t> period_begin_ns_ = 0;
  std::atomic<std::int64_t> interval_ns_ = 0;
};

}  // namespace tributary::publish
