// What a node says of itself, within bounds.
#pragma once

#include <cstddef>

#include "tributary/v1/fusion.pb.h"

namespace tributary::wire {

inline constexpr std::size_t kMostSensors = 32;
inline constexpr std::size_t kMostProblems = 16;
inline constexpr std::size_t kMostStatusText = 256;  // bytes of each text

// The most fields that the parts of a status have together; a message with more is not parsed.
inline constexpr std::size_t kMostStatusFields = 1024;

// A copy that is safe to keep and to print: the first sensors whose values are finite, the first problems,
// and the beginnings of texts, which are UTF-8 without control characters. Unknown fields are left out.
v1::NodeStatus BoundedStatus(const v1::NodeStatus& said);

}  // namespace tributary::wire
