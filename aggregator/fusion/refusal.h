// Why a frame or a tuple was refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::fusion {

// As RefusalReason of fusion.proto; the numbers are equal.
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
};
inline constexpr std::size_t kRefusalReasons = 12;

// "shape", "not_finite" …: the label of a metric.
std::string_view RefusalReasonName(RefusalReason reason);

struct Refusal {
  RefusalReason reason = RefusalReason::kUnspecified;
  std::string message;                  // which field, what was found, what is allowed
  std::vector<std::uint32_t> subjects;  // empty: the whole frame is refused
};

}  // namespace tributary::fusion
