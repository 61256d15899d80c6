// What happens to all that is offered: why a frame or a tuple is refused, and the counts. Each frame and each
// tuple has exactly one of these outcomes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "core/estimate/consistency.h"
#include "core/estimate/slot_length.h"

namespace tributary::fusion {

// As RefusalReason of fusion.proto; the numbers are equal. wire::EnumLabel names them.
enum class RefusalReason : std::uint8_t {
  kUnspecified = 0,
  kShape = 1,
  kNotFinite = 2,
  kNotPositive = 3,
  kUnknownSource = 4,
  kEpochPast = 5,
  kEpochFuture = 6,
  kDuplicate = 7,
  kLate = 8,
  kGated = 9,
  kTooLarge = 10,
  kDuplicateSubject = 11,
  kNotNormalised = 12,
};
inline constexpr std::size_t kRefusalReasons = 13;

struct Refusal {
  RefusalReason reason = RefusalReason::kUnspecified;
  std::string message;                       // which field, what was found, what is allowed
  std::vector<std::uint32_t> subjects = {};  // empty: the whole frame is refused
};

using ReasonCounts = std::array<std::uint64_t, kRefusalReasons>;
inline std::uint64_t Sum(const ReasonCounts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

// All since the engine was created.
struct FusionCounters {
  std::uint64_t frames_accepted = 0;
  std::uint64_t frames_replaced = 0;  // of the accepted: replaced an earlier revision
  ReasonCounts frames_refused = {};
  ReasonCounts tuples_refused = {};  // in frames otherwise accepted; includes gated ones

  std::uint64_t tuples_accepted = 0;   // taken into the window
  std::uint64_t tuples_replaced = 0;   // of the accepted: in frames that a later revision replaced
  std::uint64_t tuples_redundant = 0;  // left out of a fusion: a larger contribution has their leaves
  std::uint64_t tuples_fused = 0;      // fused results published (without revisions)
  std::uint64_t tuples_unusable = 0;   // fused results outside the range of fp32, not published

  std::uint64_t slots_complete = 0;     // fused because every expected leaf had reported
  std::uint64_t slots_at_deadline = 0;  // fused incomplete
  std::uint64_t slots_evicted = 0;      // fused early: the window was full
  std::uint64_t slots_drained = 0;      // fused at shutdown
  std::uint64_t revisions = 0;          // slots published again
  std::uint64_t open_slots = 0;         // now
};

// What a source needs to agree with the others: the opposite of its mounting's error, and a factor for what
// it claims.
struct LeafCalibration {
  bool corrected = false;  // false: its tuples are fused as sent
  double scale = 1;        // of the standard deviation
  std::array<double, 2> shift_m = {};
  std::array<double, 2> shift_deviation_m = {};
  double turn_deg = 0;  // counter-clockwise, about its place
  double turn_deviation_deg = 0;
  double observations = 0;  // tuples that count
};

// The counts of one source.
struct SourceStatus {
  std::string name;
  std::uint64_t frames_accepted = 0;
  std::uint64_t frames_refused = 0;
  std::uint64_t tuples_accepted = 0;
  std::uint64_t tuples_gated = 0;
  estimate::Epoch last_epoch = 0;
  // From the beginning of its latest frame's slot to the frame's arrival, by this aggregator's clock, taken
  // or refused. Negative: the source's clock is ahead.
  std::int64_t frame_age_ns = 0;
  // Running mean of the normalised innovation squared against the fusion of the others, divided by the
  // dimension, or of the surprise: about 1 for a consistent source, larger for one that claims too much or
  // drifts. 0 until measured.
  double consistency = 0;
  // Nothing until measured, and for classes.
  std::optional<estimate::ConsistencyBand> consistency_band = {};
  // Nothing unless the source is one leaf and the site calibrates.
  std::optional<LeafCalibration> calibration = {};
};

// The counts of one leaf.
struct LeafStatus {
  std::string name;
  std::uint64_t missed_slots = 0;  // slots fused without it
  bool absent = false;             // not expected at present
  std::uint32_t missed_in_a_row = 0;
};

}  // namespace tributary::fusion
