// How long a thread has worked, without asking the system each time.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace tributary::server {

inline std::int64_t ThreadProcessorNs() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * 1'000'000'000LL + used.tv_nsec;
}

// One thread's. Asking for its processor's time is a system call, which takes a twentieth of what a frame
// takes; the time that has passed needs none. Between two waits of a thread the two differ only while it has
// no processor. So the time that has passed is taken while it is short. After a longer one it is the
// processor's since the system was last asked, at most kStaleNs before Begin.
class WorkTime {
 public:
  static constexpr std::int64_t kShortNs = 50'000, kStaleNs = 2'000'000;

  // From now on no time counts in which the thread waits: Begin is called after it.
  void WaitsAreTold() { waits_are_told_ = true; }

  void Begin() {
    began_ns_ = NowNs();
    if (!waits_are_told_ || began_ns_ - asked_at_ns_ > kStaleNs) UsedSinceAsked(began_ns_);
  }
  // Nanoseconds since Begin or the last Take. Too many by less than kShortNs, or by what the thread did since
  // it asked, if it had no processor meanwhile.
  std::int64_t Take() {
    const std::int64_t now_ns = NowNs();
    const std::int64_t passed_ns = now_ns - std::exchange(began_ns_, now_ns);
    if (waits_are_told_ && passed_ns < kShortNs) return passed_ns;
    return std::min(passed_ns, UsedSinceAsked(now_ns));
  }

 private:
  static std::int64_t NowNs() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::nanoseconds(now).count();
  }
  std::int64_t UsedSinceAsked(std::int64_t now_ns) {
    asked_at_ns_ = now_ns;
    const std::int64_t used_ns = ThreadProcessorNs();
    return used_ns - std::exchange(used_ns_, used_ns);
  }

  bool waits_are_told_ = false;
  std::int64_t began_ns_ = 0;
  std::int64_t asked_at_ns_ = 0;
  std::int64_t used_ns_ = 0;  // of the processor, when it was asked
};

}  // namespace tributary::server
