#include "core/parameters/task_decline.h"

#include <array>

namespace tributary::parameters {

std::string_view DeclineReasonName(DeclineReason reason) {
  static constexpr std::array<std::string_view, kDeclineReasons> kNames = {
      "unspecified", "task", "images", "model", "fetch", "memory", "training", "update", "keys", "nodes"};
  return kNames[static_cast<std::size_t>(reason)];
}

}  // namespace tributary::parameters
