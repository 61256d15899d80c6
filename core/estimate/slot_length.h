// The slots of a site: their numbers, and their length, which converts numbers to times and back.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace tributary::estimate {

// A slot's number: how many of a site's slots have passed since the Unix epoch.
using Epoch = std::uint64_t;

// A value; pure. Slot k of a site spans [k · ns, (k + 1) · ns) since the Unix epoch. Epochs come from peers,
// so nothing overflows: a time beyond the range of int64 becomes the last one.
class SlotLength {
 public:
  // Clocks do not agree on a shorter slot; a longer one is beyond any deadline.
  static constexpr std::int64_t kShortestNs = 10'000;
  static constexpr std::int64_t kLongestNs = 3'600'000'000'000;
  static constexpr double kShortestMs = kShortestNs / 1e6;
  static constexpr double kLongestMs = kLongestNs / 1e6;

  // The pilot slot of 0.5 ms ([LIS], section 2.1).
  constexpr SlotLength() = default;

  // nullopt outside the limits.
  static constexpr std::optional<SlotLength> FromNs(std::uint64_t ns) {
    if (ns < kShortestNs || ns > kLongestNs) return std::nullopt;
    return SlotLength(static_cast<std::int64_t>(ns));
  }
  // Rounded to whole nanoseconds, so that sites and nodes with the same number agree.
  static std::optional<SlotLength> FromMs(double ms);

  constexpr std::int64_t ns() const { return ns_; }
  constexpr double ms() const { return static_cast<double>(ns_) / 1e6; }
  constexpr double seconds() const { return 1e-9 * static_cast<double>(ns_); }
  constexpr double rate_hz() const { return 1e9 / static_cast<double>(ns_); }

  // The slot that a time lies in; 0 for times before 1970.
  constexpr Epoch EpochAt(std::int64_t unix_ns) const { return SlotsIn(unix_ns); }
  // Where a slot begins.
  constexpr std::int64_t StartNs(Epoch epoch) const {
    std::int64_t start_ns = 0;
    return __builtin_mul_overflow(epoch, ns_, &start_ns) ? kLastNs : start_ns;
  }
  // Where the next one begins.
  constexpr std::int64_t EndNs(Epoch epoch) const {
    std::int64_t end_ns = 0;
    return __builtin_add_overflow(StartNs(epoch), ns_, &end_ns) ? kLastNs : end_ns;
  }
  // Whole slots in a duration; 0 if it is negative.
  constexpr Epoch SlotsIn(std::int64_t duration_ns) const {
    return duration_ns < 0 ? 0 : static_cast<Epoch>(duration_ns / ns_);
  }

  // "0.5 ms", in the form of a configuration.
  std::string Text() const;

  friend constexpr bool operator==(SlotLength, SlotLength) = default;

 private:
  static constexpr std::int64_t kLastNs = std::numeric_limits<std::int64_t>::max();

  explicit constexpr SlotLength(std::int64_t ns) : ns_(ns) {}

  std::int64_t ns_ = 500'000;
};

// The default deadline: how long a slot waits after its first frame. Sensors that share no phase report up to
// a slot apart; the rest is for computing and the network.
constexpr std::int64_t DefaultDeadlineNs(SlotLength slot) { return slot.ns() + 4'500'000; }

}  // namespace tributary::estimate
