// What the log says of an uplink.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "core/link/refusals.h"
#include "core/link/uplink.h"

namespace tributary::link {

// One thread's.
class UplinkLog {
 public:
  // "hub:7400 as north of site lab", "the spool of 16384 frames is full".
  UplinkLog(std::string link, std::string cause_of_drops)
      : link_(std::move(link)), cause_of_drops_(std::move(cause_of_drops)) {}

  void Reporting(std::size_t waiting_frames, const UplinkCounters& counters) const;
  void Refused(const absl::Status& why, std::int64_t now_ns);
  // The end of a stream that was reporting is said at once, attempts in vain every ten seconds.
  void Lost(const absl::Status& why, bool reported, const UplinkCounters& counters, std::int64_t now_ns);
  // Frames that were dropped, and those that the aggregator has refused, each by its cause. The first drops
  // are said at once, the first refusals two seconds later, what follows every ten seconds. Call it often.
  void Losses(const UplinkCounters& counters, std::int64_t now_ns);
  // What has not been said.
  void RestOfLosses(const UplinkCounters& counters);

 private:
  static constexpr std::int64_t kRepeatNs = 10'000'000'000;
  static constexpr std::int64_t kGatherNs = 2'000'000'000;

  // Frames of one cause.
  struct Series {
    std::uint64_t said = 0;
    std::int64_t next_ns = 0;  // 0: none yet
  };
  void Say(Series& series, std::uint64_t frames, std::int64_t now_ns, std::string_view what,
           std::string_view cause) const;

  const std::string link_;
  const std::string cause_of_drops_;
  std::int64_t next_lost_ns_ = 0;
  Series spool_drops_, disk_drops_;
  std::array<Series, kRefusalReasonCount> refusals_ = {};
};

// How an uplink was when it was told to stop.
struct UplinkEnd {
  UplinkState state = UplinkState::kConnecting;
  absl::Status refusal;  // as of Uplink::refusal

  explicit UplinkEnd(const Uplink& uplink) : state(uplink.state()), refusal(uplink.refusal()) {}
};

// Why frames were left when it had stopped.
std::string WhyLeft(const UplinkEnd& end, std::string_view aggregator, double drain_s);

}  // namespace tributary::link
