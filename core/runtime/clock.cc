#include "core/runtime/clock.h"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>

namespace tributary::runtime {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
// A sleeping thread notices a stop request within this time.
constexpr std::int64_t kStopPollNs = 50'000'000;

std::int64_t Read(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return now.tv_sec * kSecondNs + now.tv_nsec;
}

void LowerTimerSlackOnce() {
  // The default slack of 50 us is a tenth of a slot.
  thread_local const int lowered = prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  (void)lowered;
}

// Sleeps until `left_ns` gives nothing more, in short pieces: a clock that is set ahead shifts the end by one
// piece at most.
void SleepWhile(const std::stop_token& stop, const auto& left_ns) {
  while (!stop.stop_requested()) {
    const std::int64_t piece_ns = std::min(left_ns(), kStopPollNs);
    if (piece_ns <= 0) return;
    const timespec piece{piece_ns / kSecondNs, piece_ns % kSecondNs};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &piece, nullptr);
  }
}

}  // namespace

std::int64_t SystemClock::UnixNs() const { return Read(CLOCK_REALTIME); }

std::int64_t SystemClock::SteadyNs() const { return Read(CLOCK_MONOTONIC); }

void SystemClock::SleepUntil(std::int64_t unix_ns, std::stop_token stop) const {
  LowerTimerSlackOnce();
  // By both clocks, because the wall clock may be set back by hours.
  const std::int64_t longest_ns = SteadyNs() + (unix_ns - UnixNs()) + kStopPollNs;
  SleepWhile(stop, [&] { return std::min(unix_ns - UnixNs(), longest_ns - SteadyNs()); });
}

void SystemClock::SleepFor(std::int64_t ns, std::stop_token stop) const {
  const std::int64_t end_ns = SteadyNs() + ns;
  SleepWhile(stop, [&] { return end_ns - SteadyNs(); });
}

std::int64_t ManualClock::UnixNs() const {
  const MutexLock lock(mutex_);
  return now_ns_;
}

void ManualClock::SleepUntil(std::int64_t unix_ns, std::stop_token stop) const {
  MutexLock lock(mutex_);
  const std::stop_callback wake(stop, [this] { moved_.notify_all(); });
  while (now_ns_ < unix_ns && !stop.stop_requested()) {
    moved_.wait_for(lock, std::chrono::milliseconds(10));
  }
}

void ManualClock::Advance(std::int64_t ns) {
  {
    const MutexLock lock(mutex_);
    now_ns_ += ns;
  }
  moved_.notify_all();
}

}  // namespace tributary::runtime
