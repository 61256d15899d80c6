#include "aggregator/publish/watch_queue.h"

#include <algorithm>
#include <utility>

namespace tributary::publish {
namespace {

// The readers' part of the time of the threads that fuse, measured in periods.
constexpr std::int64_t kPeriodNs = 20'000'000;
constexpr double kShare = 0.25;
// The interval stays while the cost is between these parts of the share.
constexpr double kRelaxBelow = 0.8;
constexpr double kRelax = 0.9;
// The first interval above the share, and the smallest one worth keeping.
constexpr std::int64_t kFirstNs = 100'000;
constexpr std::int64_t kLongestNs = 1'000'000'000;

template <class T>
std::size_t BytesOfVector(const std::vector<T>& vector) {
  return vector.capacity() * sizeof(T);
}

std::size_t BytesOfSlot(const estimate::FusedSlot& slot) {
  return BytesOfVector(slot.subjects) + BytesOfVector(slot.means) + BytesOfVector(slot.cholesky) +
         BytesOfVector(slot.log_probabilities) + BytesOfVector(slot.contributors) +
         BytesOfVector(slot.consistency) + BytesOfVector(slot.velocities);
}

std::int64_t MinIntervalNs(double max_rate_hz) {
  // NaN and negative rates, too, mean no limit. A rate below one slot per hour becomes one per hour.
  if (!(max_rate_hz > 0)) return 0;
  return static_cast<std::int64_t>(std::min(1e9 / max_rate_hz, 3600e9));
}

}  // namespace

WatchQueue::WatchQueue(double max_rate_hz, bool contributions)
    : min_interval_ns_(MinIntervalNs(max_rate_hz)), contributions_(contributions) {}

bool WatchQueue::Admit(const estimate::FusedSlot& slot, std::int64_t share_interval_ns) {
  const std::int64_t now = slot.fused_unix_ns;
  if (!IsDue(now)) {
    Skip(1);
    return false;
  }
  SkipHeld();
  if (HasShare(now, share_interval_ns)) return true;
  Keep(slot, held_);
  holds_ = true;
  return false;
}

void WatchQueue::Keep(const estimate::FusedSlot& slot, estimate::FusedSlot& place) const {
  place = slot;
  if (!contributions_) place.contributions.reset();
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
  bytes_ -= BytesOfSlot(ring_[at]);
  Keep(slot, ring_[at]);
  bytes_ += BytesOfSlot(ring_[at]);
  ++size_;
  if (bytes_ > kMostBytes) FreeSent();
  if (bytes_ > kMostBytes) KeepNewest();
}

void WatchQueue::FreeSent() {
  for (std::size_t i = size_; i < kCapacity; ++i) {
    const std::size_t at = (first_ + i) % kCapacity;
    if (at >= ring_.size()) continue;
    bytes_ -= BytesOfSlot(ring_[at]);
    ring_[at] = {};
  }
}

void WatchQueue::KeepNewest() {
  estimate::FusedSlot newest = std::move(ring_[(first_ + size_ - 1) % kCapacity]);
  Skip(size_ - 1);
  ring_.clear();
  ring_.push_back(std::move(newest));
  first_ = 0;
  size_ = 1;
  bytes_ = BytesOfSlot(ring_.front());
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

void ReaderShare::Spent(std::int64_t ns, std::int64_t now_steady_ns) {
  spent_ns_.fetch_add(std::max<std::int64_t>(ns, 0), std::memory_order_relaxed);
  std::int64_t begin_ns = period_begin_ns_.load(std::memory_order_relaxed);
  const std::int64_t passed_ns = now_steady_ns - begin_ns;
  if (passed_ns < kPeriodNs) return;
  // One thread closes the period.
  if (!period_begin_ns_.compare_exchange_strong(begin_ns, now_steady_ns, std::memory_order_relaxed)) return;
  Adjust(spent_ns_.exchange(0, std::memory_order_relaxed), passed_ns);
}

void ReaderShare::Adjust(std::int64_t spent_ns, std::int64_t passed_ns) {
  const double used = static_cast<double>(spent_ns) / static_cast<double>(passed_ns * threads_);
  std::int64_t interval_ns = interval_ns_.load(std::memory_order_relaxed);
  if (used > kShare) {
    const double factor = std::clamp(used / kShare, 1.0, 1.0 / kShare);
    interval_ns = static_cast<std::int64_t>(factor * static_cast<double>(std::max(interval_ns, kFirstNs)));
  } else if (used < kRelaxBelow * kShare) {
    // Readers may be served rarely: apply the factor once for every period that has passed.
    const std::int64_t periods = passed_ns / kPeriodNs;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(periods, 100); ++i) {
      interval_ns = static_cast<std::int64_t>(kRelax * static_cast<double>(interval_ns));
    }
    if (interval_ns < kFirstNs) interval_ns = 0;
  }
  interval_ns_.store(std::min(interval_ns, kLongestNs), std::memory_order_relaxed);
}

}  // namespace tributary::publish
