#include "core/link/outage_log.h"

#include <utility>

#include "core/runtime/log.h"

namespace tributary::link {

void OutageLog::Lost(const absl::Status& why, std::int64_t now_ns) {
  // A link that comes and goes is said less often than one that stays away.
  const std::int64_t pause_ns = said_ ? kRepeatNs : 2 * kRepeatNs;
  std::string reason = why.ToString();
  if (reason == reason_ && now_ns < said_ns_ + pause_ns) return;
  const auto more = lines_.Admit(now_ns);
  if (!more) return;
  runtime::LogWarning("{}: {}; retrying{}", lost_, reason, *more);
  said_ = true;
  reason_ = std::move(reason);
  said_ns_ = now_ns;
}

void OutageLog::Found() {
  if (std::exchange(said_, false)) runtime::LogInfo("{}", found_);
}

}  // namespace tributary::link
