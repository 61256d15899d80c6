// What a node says of itself, within bounds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tributary/v1/fusion.pb.h"

namespace tributary::wire {

inline constexpr std::size_t kMostSensors = 32;
inline constexpr std::size_t kMostProblems = 16;
inline constexpr std::size_t kMostChecks = 8;
inline constexpr std::size_t kMostStatusText = 256;  // bytes of each text

// Version, bitstream and error; a name, a problem; check, what was found, remedy.
inline constexpr std::size_t kMostStatusTexts = 3 + kMostSensors + kMostProblems + 3 * kMostChecks;

// The most frames or bytes that a node is believed to count: the sum of all nodes fits into 64 bits.
inline constexpr std::uint64_t kMostStatusCount = std::uint64_t{1} << 48;

// The most fields that the parts of a status have together; a message with more is not parsed.
inline constexpr std::size_t kMostStatusFields = 1024;

// A copy that is safe to keep, to add up and to print: bounded counts, the first sensors whose values are
// finite, the first problems and checks, and the beginnings of texts, which are UTF-8 without control
// characters. Unknown fields are left out.
v1::NodeStatus BoundedStatus(const v1::NodeStatus& said);

}  // namespace tributary::wire
