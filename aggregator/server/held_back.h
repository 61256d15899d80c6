// Who waits, so that panels and watchers do not.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "aggregator/server/read_cost.h"
#include "aggregator/server/socket.h"

namespace tributary::server {

// What the threads that fuse have done for others than panels and watchers since the last look, and for whom
// they did a notable part of it.
struct OtherWork {
  std::chrono::nanoseconds time{0};
  std::vector<Socket> of;
};

// Other work may take a part of the time. Once it has taken more, those for whom it was done are not read
// until that is made up for: calls that come too fast are slow, and nobody is cut for them. One thread's.
class HeldBack {
 public:
  static constexpr int kPart = 7;                          // of the time: one in seven
  static constexpr std::chrono::milliseconds kSavings{2};  // so much more at once
  static constexpr int kHandshakesPart = 3;                // for handshakes: a fleet comes back soon
  // No more has to be made up for: who waits does not wait for long after a flood.
  static constexpr std::chrono::milliseconds kDebt{20};

  ~HeldBack() { End(); }
  // Nobody waits any more: there are no panels, so the time is everybody's.
  void End() {
    left_ = kSavings;
    Release(held_.size());
    AllowOtherReads(std::chrono::nanoseconds::max());
    AllowHandshakes(std::chrono::nanoseconds::max());
  }

  // Call it every few milliseconds; `past`: since the last look.
  void Look(const OtherWork& work, std::chrono::nanoseconds past) {
    left_ = std::min<std::chrono::nanoseconds>(left_ + past / kPart, kSavings) - work.time;
    left_ = std::max<std::chrono::nanoseconds>(left_, -kDebt);
    AllowOtherReads(std::max<std::chrono::nanoseconds>(left_, past / (2 * kPart)));
    AllowHandshakes(past / kHandshakesPart);
    // Who has waited longest comes first, and few at a time: all at once would take the time of many.
    if (left_.count() >= 0) return Release((held_.size() + kLooks - 1) / kLooks);
    for (const Socket& each : work.of) {
      HoldReads(each);
      held_.push_back(each);
    }
    times_.fetch_add(work.of.size(), std::memory_order_relaxed);
  }

  // How often a connection had to wait. Any thread.
  std::uint64_t times() const { return times_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kLooks = 8;

  void Release(std::size_t count) {
    for (; count > 0; --count) {
      ReleaseReads(held_.front());
      held_.pop_front();
    }
  }

  std::chrono::nanoseconds left_ = kSavings;
  std::deque<Socket> held_;
  std::atomic<std::uint64_t> times_ = 0;
};

}  // namespace tributary::server
