// Time, injected, so that tests never sleep.
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

  // Nanoseconds since an arbitrary point; never steps. Deadlines and intervals are measured with it.
  virtual std::int64_t SteadyNs() const = 0;

  // Returns at the given Unix time, or early once stop is requested.
  virtual void SleepUntil(std::int64_t unix_ns, std::stop_token stop) const = 0;

  // Returns after so long, or early once stop is requested. Of a clock that may be stepped (SystemClock), as
  // SteadyNs has it.
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

// A clock that only moves when a test moves it; both readings move together.
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
