#include "aggregator/publish/watch_queue.h"

#include <algorithm>
#include <utility>

namespace tributary::publish {
namespace {

std::int64_t MinIntervalNs(double max_rate_hz) {
  // NaN and negative rates, too, mean no limit. A rate below one slot per hour becomes one per hour.
  if (!(max_rate_hz > 0)) return 0;
  return static_cast<std::int64_t>(std::min(1e9 / max_rate_hz, 3600e9));
}

}  // namespace

WatchQueue::WatchQueue(double max_rate_hz) : min_interval_ns_(MinIntervalNs(max_rate_hz)) {}

bool WatchQueue::Admit(const estimate::FusedSlot& slot, std::int64_t share_interval_ns) {
  const std::int64_t now = slot.fused_unix_ns;
  if (!IsDue(now)) {
    Skip(1);
    return false;
  }
  SkipHeld();
  if (HasShare(now, share_interval_ns)) return true;
  held_ = slot;
  holds_ = true;
  return false;
}

void WatchQueue::SkipHeld() {
  if (holds_) Skip(1);
  holds_ = false;
}

bool WatchQueue::TakeHeld(estimate::FusedSlot& slot) {
  if (!holds_) return false;
  holds_ = false;
  std::swap(slot, held_);
  return true;
}

bool WatchQueue::IsDue(std::int64_t now) {
  if (min_interval_ns_ == 0) return true;
  const std::int64_t wait_ns = next_due_unix_ns_ ? *next_due_unix_ns_ - now : 0;
  // Longer than an interval: the clock was set back, which must not silence the watcher.
  if (wait_ns > 0 && wait_ns <= min_interval_ns_) return false;
  // On the grid while the slots keep up, so that the mean rate is the requested one.
  const bool on_grid = next_due_unix_ns_ && wait_ns <= 0 && -wait_ns < min_interval_ns_;
  next_due_unix_ns_ = (on_grid ? *next_due_unix_ns_ : now) + min_interval_ns_;
  return true;
}

bool WatchQueue::HasShare(std::int64_t now, std::int64_t interval_ns) {
  // A clock that was set back adds nothing; one that was set forward adds a burst at most.
  const std::int64_t most = std::max(kBurstNs, interval_ns);
  const std::int64_t passed = std::clamp<std::int64_t>(now - share_unix_ns_, 0, most);
  share_unix_ns_ = now;
  share_ns_ = std::min(share_ns_ + passed, most);
  if (share_ns_ < interval_ns) return false;
  share_ns_ -= interval_ns;
  return true;
}

void WatchQueue::Push(const estimate::FusedSlot& slot) {
  if (size_ == kCapacity) {
    Skip(size_);
    size_ = 0;
  }
  const std::size_t at = (first_ + size_) % kCapacity;
  if (at >= ring_.size()) ring_.resize(at + 1);
  ring_[at] = slot;
  ++size_;
}

void WatchQueue::Pop() {
  first_ = (first_ + 1) % kCapacity;
  --size_;
}

std::uint64_t WatchQueue::TakeSkipped() {
  const std::uint64_t skipped = skipped_;
  skipped_ = 0;
  return skipped;
}

}  // namespace tributary::publish
