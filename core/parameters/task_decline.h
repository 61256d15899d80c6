// Why a node declines a task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tributary::parameters {

// As DeclineReason of federation.proto; the numbers are equal.
enum class DeclineReason : std::uint8_t {
  kUnspecified = 0,
  kTask = 1,
  kImages = 2,
  kModel = 3,
  kFetch = 4,
  kMemory = 5,
  kTraining = 6,
  kUpdate = 7,
  kKeys = 8,
  kNodes = 9,
};
inline constexpr std::size_t kDeclineReasons = 10;

// "images", "memory" …: the label of a metric.
std::string_view DeclineReasonName(DeclineReason reason);

struct TaskDecline {
  DeclineReason reason = DeclineReason::kUnspecified;
  bool for_good = false;  // every task of this run would be declined
  std::string message;    // what was found, what is allowed

  friend bool operator==(const TaskDecline&, const TaskDecline&) = default;
};

}  // namespace tributary::parameters
