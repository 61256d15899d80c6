#include "core/link/uplink_log.h"

#include <fmt/format.h>

#include <utility>

#include "core/runtime/log.h"
#include "core/runtime/printable.h"

namespace tributary::link {

using runtime::Counted;

void UplinkLog::Reporting(std::size_t waiting_frames) const {
  runtime::LogInfo("reporting to {}; {} to send", link_, Counted(waiting_frames, "frame"));
}

void UplinkLog::Refused(const absl::Status& why, std::int64_t now_ns) {
  runtime::LogError("{} refuses this node: {}", link_, why.ToString());
  next_lost_ns_ = now_ns + kRepeatNs;
}

void UplinkLog::Lost(const absl::Status& why, bool reported, std::uint64_t held_frames, std::int64_t now_ns) {
  if (!reported && now_ns < next_lost_ns_) return;
  runtime::LogWarning("no connection to {}: {}; {} held, retrying", link_, why.ToString(),
                      Counted(held_frames, "frame"));
  next_lost_ns_ = now_ns + kRepeatNs;
}

void UplinkLog::Dropped(std::uint64_t frames, std::int64_t now_ns) {
  if (frames == said_drops_ || now_ns < next_drops_ns_) return;
  next_drops_ns_ = now_ns + kRepeatNs;
  const std::uint64_t more = frames - std::exchange(said_drops_, frames);
  const std::string in_all = more == frames ? "" : fmt::format(", {} in all", frames);
  runtime::LogWarning("{}: {} dropped{}: {}", link_, Counted(more, "frame"), in_all, cause_of_drops_);
}

}  // namespace tributary::link
