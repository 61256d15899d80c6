#include "aggregator/learning/run/run_view.h"

namespace tributary {

std::string_view RunConditionName(RunCondition condition) {
  switch (condition) {
    case RunCondition::kWaiting:
      return "waiting";
    case RunCondition::kRunning:
      return "running";
    case RunCondition::kPaused:
      return "paused";
    case RunCondition::kFinished:
      return "finished";
    case RunCondition::kStopped:
      return "stopped";
    case RunCondition::kFailed:
      return "failed";
  }
  return "unknown";
}

}  // namespace tributary
