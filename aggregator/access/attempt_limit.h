// How many refused tokens one address may show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace tributary::access {

// Counts by the minute. Addresses beyond kMostAddresses share one count. One thread's.
class AttemptLimit {
 public:
  static constexpr int kMostAMinute = 20;
  static constexpr std::size_t kMostAddresses = 1'024;

  // False: the address has shown too many in this minute. Counts it otherwise.
  bool Admit(const std::string& address, std::int64_t now_ns) {
    constexpr std::int64_t kMinuteNs = std::int64_t{60} * 1'000'000'000;
    const std::int64_t minute = now_ns / kMinuteNs;
    if (minute != minute_) counts_.clear();
    minute_ = minute;
    const bool known = counts_.contains(address) || counts_.size() < kMostAddresses;
    int& count = counts_[known ? address : std::string()];
    if (count >= kMostAMinute) return false;
    ++count;
    return true;
  }

 private:
  std::int64_t minute_ = 0;
  std::unordered_map<std::string, int> counts_;
};

}  // namespace tributary::access
