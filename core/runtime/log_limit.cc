#include "core/runtime/log_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary::runtime {

std::optional<std::string> LogLimit::Admit(std::int64_t now_ns) {
  const MutexLock lock(mutex_);
  const std::int64_t regained = written_ == 0 ? 0 : (now_ns - since_ns_) / interval_ns_;
  if (written_ == 0 || regained >= written_) {
    written_ = 0;
    since_ns_ = now_ns;
  } else {
    written_ -= static_cast<int>(regained);
    since_ns_ += regained * interval_ns_;
  }
  if (written_ >= burst_) {
    ++held_back_;
    return std::nullopt;
  }
  ++written_;
  const std::uint64_t held_back = std::exchange(held_back_, 0);
  return held_back == 0 ? "" : fmt::format("; {} lines like this one were left out", held_back);
}

}  // namespace tributary::runtime
