// What the log says of an uplink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace tributary::link {

// One thread's.
class UplinkLog {
 public:
  // "hub:7400 as north of site lab", "the spool of 16384 frames is full".
  UplinkLog(std::string link, std::string cause_of_drops)
      : link_(std::move(link)), cause_of_drops_(std::move(cause_of_drops)) {}

  void Reporting(std::size_t waiting_frames) const;
  void Refused(const absl::Status& why, std::int64_t now_ns);
  // The end of a stream that was reporting is said at once, attempts in vain every ten seconds.
  void Lost(const absl::Status& why, bool reported, std::uint64_t held_frames, std::int64_t now_ns);
  // So many in all. The first ones are said at once, what follows every ten seconds. Call it often.
  void Dropped(std::uint64_t frames, std::int64_t now_ns);

 private:
  static constexpr std::int64_t kRepeatNs = 10'000'000'000;

  const std::string link_;
  const std::string cause_of_drops_;
  std::int64_t next_lost_ns_ = 0;
  std::uint64_t said_drops_ = 0;  // frames
  std::int64_t next_drops_ns_ = 0;
};

}  // namespace tributary::link
