// What a node is told to do.
#pragma once

#include <cstdint>
#include <string>

namespace tributary::learning {

enum class TaskKind : std::uint8_t { kWait, kAdvertiseKeys, kShareKeys, kTrain, kUnmask, kEnded };

struct NodeTask {
  TaskKind kind = TaskKind::kWait;
  std::uint32_t round = 0;
  std::int64_t deadline_ns = 0;  // steady
  std::string reason;            // of kWait and kEnded

  friend bool operator==(const NodeTask&, const NodeTask&) = default;
};

}  // namespace tributary::learning
