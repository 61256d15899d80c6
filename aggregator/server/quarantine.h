// The addresses that have flooded the port, and how long each stays out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "aggregator/server/connection_fault.h"

namespace tributary::server {

// A flood costs the thread that fuses some ten milliseconds before it is cut. An address that comes back and
// floods again stays out twice as long, up to a limit; one that has kept the peace for as long as it stayed
// out begins anew. Seconds are those of any clock. One thread at a time.
class Quarantine {
 public:
  struct Limits {
    std::int64_t first_s = 10;
    std::int64_t longest_s = 60;
    std::int64_t suspect_s = 120;  // after that
    std::size_t addresses = 4096;  // beyond it those are forgotten that may come in; others are not kept out
    std::size_t filtered = 256;    // of these the kernel turns away (AddressFilter), the others the door
  };

  explicit Quarantine(const Limits& limits) : limits_(limits) {}

  // `fault`: why.
  void KeepOut(const std::string& address, ConnectionFault fault, std::int64_t second) {
    if (addresses_.size() >= limits_.addresses) {
      std::erase_if(addresses_, [second](const auto& each) { return each.second.until <= second; });
    }
    const auto found = addresses_.find(address);
    if (found == addresses_.end()) {
      if (addresses_.size() < limits_.addresses)
        addresses_[address] = {second + limits_.first_s, limits_.first_s, fault};
      return;
    }
    Stay& stay = found->second;
    // The connections that were open before go on with the same flood.
    if (second >= stay.until) {
      const bool again = second < stay.until + stay.length_s;
      stay.length_s = again ? std::min(2 * stay.length_s, limits_.longest_s) : limits_.first_s;
      stay.fault = fault;
    }
    stay.until = second + stay.length_s;
  }

  struct Stay {
    std::int64_t until = 0;
    std::int64_t length_s = 0;
    ConnectionFault fault = ConnectionFault::kQuarantined;  // the first one
  };
  // Nothing: it does not stay out.
  std::optional<Stay> StayOf(const std::string& address, std::int64_t second) const {
    const auto found = addresses_.find(address);
    if (found == addresses_.end() || second >= found->second.until) return std::nullopt;
    return found->second;
  }

  bool Holds(const std::string& address, std::int64_t second) const {
    return !addresses_.empty() && StayOf(address, second).has_value();
  }

  // Who is to be turned away by the kernel.
  std::vector<std::string> Filtered(std::int64_t second) const {
    std::vector<std::string> filtered;
    for (const auto& [address, stay] : addresses_) {
      if (filtered.size() == limits_.filtered) break;
      if (second < stay.until) filtered.push_back(address);
    }
    return filtered;
  }

  // Whether it has flooded and may come in again, but not for long enough to be trusted.
  bool Suspects(const std::string& address, std::int64_t second) const {
    if (addresses_.empty()) return false;
    const auto found = addresses_.find(address);
    return found != addresses_.end() && second < found->second.until + limits_.suspect_s;
  }

 private:
  const Limits limits_;
  std::unordered_map<std::string, Stay> addresses_;
};

}  // namespace tributary::server
