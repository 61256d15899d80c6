#include "aggregator/server/stall_watch.h"

#include <algorithm>
#include <utility>

namespace tributary::server {

void StallWatch::Forget() {
  before_.clear();
  suspects_.clear();
  held_ = std::chrono::nanoseconds(0);
  read_ = 0;
}

std::vector<std::uint64_t> StallWatch::Look(std::span<const Sample> samples, std::chrono::nanoseconds held) {
  const auto before = std::exchange(before_, {});
  for (const Sample& each : samples) {
    before_[each.connection] = each;
    const auto found = before.find(each.connection);
    if (found == before.end() || found->second.heard != each.heard) {
      suspects_.erase(each.connection);
      continue;
    }
    const std::uint64_t now_read = each.read - std::min(found->second.read, each.read);
    read_ += now_read;
    if (now_read >= kFew) suspects_.insert(each.connection);
  }
  if (before.empty()) return {};
  held_ += held;
  const double held_ms = std::chrono::duration<double, std::milli>(held_).count();
  if (static_cast<double>(read_) >= held_ms * static_cast<double>(kReadPerMs)) {
    suspects_.clear();
    held_ = std::chrono::nanoseconds(0);
    read_ = 0;
    return {};
  }
  if (held_ < kHeld) return {};
  return {suspects_.begin(), suspects_.end()};
}

}  // namespace tributary::server
