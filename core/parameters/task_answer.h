// What a node answers to a task besides an update: why it declines, how the training went.
#pragma once

#include <array>
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
constexpr std::string_view DeclineReasonName(DeclineReason reason) {
  constexpr std::array<std::string_view, kDeclineReasons> kNames = {
      "unspecified", "task", "images", "model", "fetch", "memory", "training", "update", "keys", "nodes"};
  return kNames[static_cast<std::size_t>(reason)];
}

struct TaskDecline {
  DeclineReason reason = DeclineReason::kUnspecified;
  bool for_good = false;  // every task of this run would be declined
  std::string message;    // what was found, what is allowed

  friend bool operator==(const TaskDecline&, const TaskDecline&) = default;
};

// How a training went, for the history, never for the aggregation.
struct TrainingMetrics {
  double loss = 0;     // mean over the local steps
  double spread = 0;   // of the last step: near 1 if healthy, 0 if collapsed
  double seconds = 0;  // of training
  std::uint64_t steps = 0;
};

}  // namespace tributary::parameters
