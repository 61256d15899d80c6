// An injected clock, so that tests never sleep.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <stop_token>
#include <utility>

#include "core/runtime/mutex.h"

namespace tributary::runtime {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;

  // Nanoseconds since the Unix epoch. Boards share PTP or NTP time; it may be stepped.
  virtual std::int64_t UnixNs() const = 0;

  // Nanoseconds since an arbitrary point; never steps. Use it for deadlines and intervals.
  virtual std::int64_t SteadyNs() const = 0;

  // Returns at the given Unix time, or early once stop is requested. If the clock is set back meanwhile,
  // returns after the time that it was to take.
  virtual void SleepUntil(std::int64_t unix_ns, std::stop_token stop) const = 0;

  // Returns after this time, or early once stop is requested. Measures with SteadyNs, so a step of the wall
  // clock has no effect.
  virtual void SleepFor(std::int64_t ns, std::stop_token stop) const {
    SleepUntil(UnixNs() + ns, std::move(stop));
  }
};

// The machine's clock. SleepUntil wakes within some tens of microseconds (it lowers the thread's timer
// slack).
class SystemClock final : public Clock {
 public:
  std::int64_t UnixNs() const override;
  std::int64_t SteadyNs() const override;
  void SleepUntil(std::int64_t unix_ns, std::stop_token stop) const override;
  void SleepFor(std::int64_t ns, std::stop_token stop) const override;
};

// A clock that a test moves; both readings move together.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(std::int64_t unix_ns) : now_ns_(unix_ns) {}

  std::int64_t UnixNs() const override;
  std::int64_t SteadyNs() const override { return UnixNs(); }
  void SleepUntil(std::int64_t unix_ns, std::stop_token stop) const override;
  void Advance(std::int64_t ns);

 private:
  mutable Mutex mutex_;
  mutable std::condition_variable_any moved_;
  std::int64_t now_ns_ GUARDED_BY(mutex_);
};

}  // namespace tributary::runtime
