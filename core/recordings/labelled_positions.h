// A list of measured positions.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/scene/room.h"

namespace tributary::recordings {

inline constexpr std::size_t kMostLabelledPoints = 100'000;

// Lines of x,y in the site's frame, m. Skips a first line that begins with "x"; spaces around a number and
// empty lines at the end do not count. Errors: InvalidArgument, naming the line.
absl::StatusOr<std::vector<scene::RoomPosition>> ParsePositions(std::string_view csv);

}  // namespace tributary::recordings
