// Keeps one cause from filling the log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/runtime/mutex.h"

namespace tributary::runtime {

// `burst` lines at once, then one for each `interval_ns` that has passed. Counts what it holds back.
// Thread-safe.
class LogLimit {
 public:
  LogLimit(int burst, std::int64_t interval_ns) : burst_(burst), interval_ns_(interval_ns) {}

  // Whether a line may be written at this steady time. If so: what to append to it, empty unless lines before
  // it were held back ("; 14 lines like this one were left out").
  std::optional<std::string> Admit(std::int64_t now_ns);

 private:
  const int burst_;
  const std::int64_t interval_ns_;
  Mutex mutex_;
  int written_ GUARDED_BY(mutex_) = 0;  // of the burst
  std::int64_t since_ns_ GUARDED_BY(mutex_) = 0;
  std::uint64_t held_back_ GUARDED_BY(mutex_) = 0;
};

}  // namespace tributary::runtime
