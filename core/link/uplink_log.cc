#include "core/link/uplink_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/runtime/log.h"
#include "core/runtime/printable.h"
#include "core/wire/json.h"

namespace tributary::link {
namespace {

using runtime::Counted;

std::string OnDisk(const UplinkCounters& counters) {
  const std::uint64_t frames = counters.disk ? counters.disk->stored_frames : 0;
  return frames == 0 ? "" : fmt::format(" and {} on the disk", frames);
}

std::string_view RemedyFor(v1::RefusalReason reason) {
  switch (reason) {
    case v1::REFUSAL_REASON_EPOCH_PAST:
      return "max_age_s of the site says how old a frame may be; without an outage, check the clocks of this "
             "machine and of the aggregator";
    case v1::REFUSAL_REASON_EPOCH_FUTURE:
      return "check the clocks of this machine and of the aggregator";
    default:
      return "";
  }
}

}  // namespace

void UplinkLog::Reporting(std::size_t waiting_frames, const UplinkCounters& counters) const {
  runtime::LogInfo("reporting to {}; {}{} to send", link_, Counted(waiting_frames, "frame"),
                   OnDisk(counters));
}

void UplinkLog::Refused(const absl::Status& why, std::int64_t now_ns) {
  runtime::LogError("{} refuses this node: {}", link_, why.ToString());
  next_lost_ns_ = now_ns + kRepeatNs;
}

void UplinkLog::Lost(const absl::Status& why, bool reported, const UplinkCounters& counters,
                     std::int64_t now_ns) {
  if (!reported && now_ns < next_lost_ns_) return;
  runtime::LogWarning("no connection to {}: {}; {}{} held, retrying", link_, why.ToString(),
                      Counted(counters.spool.held_frames, "frame"), OnDisk(counters));
  next_lost_ns_ = now_ns + kRepeatNs;
}

void UplinkLog::Say(Series& series, std::uint64_t frames, std::int64_t now_ns, std::string_view what,
                    std::string_view cause) const {
  if (frames <= series.said || now_ns < series.next_ns) return;
  series.next_ns = now_ns + kRepeatNs;
  const std::uint64_t more = frames - std::exchange(series.said, frames);
  const std::string in_all = more == frames ? "" : fmt::format(", {} in all", frames);
  runtime::LogWarning("{}: {} {}{}{}{}", link_, Counted(more, "frame"), what, in_all,
                      cause.empty() ? "" : ": ", cause);
}

void UplinkLog::Losses(const UplinkCounters& counters, std::int64_t now_ns) {
  // What the disk drops because it is too old, or damaged, it says itself.
  const std::uint64_t by_disk = counters.disk ? DroppedByDisk(*counters.disk) : 0;
  const std::uint64_t dropped = counters.spool.dropped_frames;
  Say(spool_drops_, dropped - std::min(dropped, by_disk), now_ns, "dropped", cause_of_drops_);
  if (counters.disk) {
    Say(disk_drops_, counters.disk->over_budget_frames, now_ns, "dropped",
        "spool_dir has its spool_dir_bytes");
  }
  for (std::size_t i = 0; i < refusals_.size(); ++i) {
    const auto reason = static_cast<v1::RefusalReason>(i);
    const std::uint64_t frames = counters.refusals.frames[i];
    if (frames == refusals_[i].said) continue;
    if (refusals_[i].next_ns == 0) refusals_[i].next_ns = now_ns + kGatherNs;
    Say(refusals_[i], frames, now_ns, fmt::format("refused ({})", wire::EnumLabel(reason)),
        RemedyFor(reason));
  }
}

void UplinkLog::RestOfLosses(const UplinkCounters& counters) {
  for (Series* each : {&spool_drops_, &disk_drops_}) each->next_ns = 0;
  for (Series& each : refusals_) each.next_ns = 1;
  Losses(counters, 1);
}

std::string WhyLeft(const UplinkEnd& end, std::string_view aggregator, double drain_s) {
  const std::string why(end.refusal.message());
  switch (end.state) {
    case UplinkState::kRefused:
      return fmt::format("{} refuses this node: {}", aggregator, why);
    case UplinkState::kConnecting:
      return fmt::format("no connection to {} within {} s{}{}", aggregator, drain_s, why.empty() ? "" : ": ",
                         why);
    default:
      return fmt::format("{} did not acknowledge them within {} s", aggregator, drain_s);
  }
}

}  // namespace tributary::link
