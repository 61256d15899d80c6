#include "core/recordings/labelled_positions.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "core/runtime/printable.h"

namespace tributary::recordings {
namespace {

constexpr std::size_t kShownOfALine = 40;

bool ReadCoordinate(absl::string_view text, double& value) {
  return absl::SimpleAtod(absl::StripAsciiWhitespace(text), &value) && std::isfinite(value);
}

}  // namespace

absl::StatusOr<std::vector<scene::RoomPosition>> ParsePositions(std::string_view csv) {
  const absl::string_view content =
      absl::StripTrailingAsciiWhitespace(absl::string_view(csv.data(), csv.size()));
  std::vector<scene::RoomPosition> positions;
  if (content.empty()) return positions;
  std::size_t number = 0;
  for (const absl::string_view line : absl::StrSplit(content, '\n')) {
    ++number;
    if (number == 1 && absl::StartsWith(absl::StripAsciiWhitespace(line), "x")) continue;
    const std::size_t comma = line.find(',');
    scene::RoomPosition position{};
    if (comma == absl::string_view::npos || !ReadCoordinate(line.substr(0, comma), position.x) ||
        !ReadCoordinate(line.substr(comma + 1), position.y)) {
      return absl::InvalidArgumentError(
          fmt::format("line {}: \"{}\" is not a position; write x,y in metres, as 1.25,-3.5", number,
                      runtime::Printable(std::string(line.substr(0, kShownOfALine)))));
    }
    if (positions.size() == kMostLabelledPoints) {
      return absl::InvalidArgumentError(
          fmt::format("line {}: more than {} positions", number, kMostLabelledPoints));
    }
    positions.push_back(position);
  }
  return positions;
}

}  // namespace tributary::recordings
