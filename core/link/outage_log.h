// What the log says of a peer that is away.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "core/runtime/log.h"

namespace tributary::link {

// A new reason is said at once, the same one again after a while, and the end of an outage that was said.
// What the peer chooses, also a new reason each time, gives three lines at once and then one in ten seconds.
// One thread's.
class OutageLog {
 public:
  // "no tasks from hub:7400 for south", "hub:7400 gives south its tasks again".
  OutageLog(std::string lost, std::string found) : lost_(std::move(lost)), found_(std::move(found)) {}

  // At this steady time the peer could not be reached, or its stream ended.
  void Lost(const absl::Status& why, std::int64_t now_ns);
  // It is there.
  void Found();

 private:
  static constexpr std::int64_t kRepeatNs = 10'000'000'000;

  const std::string lost_;
  const std::string found_;
  runtime::LogLimit lines_{3, kRepeatNs};
  bool said_ = false;   // the log has the present outage
  std::string reason_;  // in the last line
  std::int64_t said_ns_ = 0;
};

}  // namespace tributary::link
