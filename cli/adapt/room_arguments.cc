#include "cli/adapt/room_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace tributary::cli {
namespace {

constexpr double kLeastSideM = 3, kMostSideM = 60;
constexpr double kLeastCeilingM = 2, kMostCeilingM = 20;

bool ReadMetres(const std::string& text, double& value) {
  return absl::SimpleAtod(text, &value) && std::isfinite(value);
}

}  // namespace

std::string ReadRoomSize(const std::string& text, scene::RoomPlan& plan) {
  const std::vector<std::string> parts = absl::StrSplit(text, 'x');
  double width = 0, depth = 0, height = 0;
  const auto side = [](double m) { return m >= kLeastSideM && m <= kMostSideM; };
  if (parts.size() != 3 || !ReadMetres(parts[0], width) || !ReadMetres(parts[1], depth) ||
      !ReadMetres(parts[2], height) || !side(width) || !side(depth) || height < kLeastCeilingM ||
      height > kMostCeilingM) {
    return fmt::format(
        "\"{}\" is not a room; write width x depth x height in metres, as 12x8x3 (sides {:g} to "
        "{:g}, height {:g} to {:g})",
        text, kLeastSideM, kMostSideM, kLeastCeilingM, kMostCeilingM);
  }
  plan.width_m = width;
  plan.depth_m = depth;
  plan.height_m = height;
  return "";
}

std::string ReadPanelPlace(const std::string& text, RoomArguments& room) {
  const std::vector<std::string> parts = absl::StrSplit(text, ',');
  scene::PanelPlace place;
  for (std::size_t w = 0; parts.size() == 3 && w < scene::kWallCount; ++w) {
    const auto wall = static_cast<scene::Wall>(w);
    if (parts[0] != scene::WallName(wall)) continue;
    if (!ReadMetres(parts[1], place.along_m) || !ReadMetres(parts[2], place.height_m)) break;
    if (std::ranges::find(room.walls, wall) != room.walls.end()) {
      return fmt::format("two panels on the {} wall; give each wall one panel", parts[0]);
    }
    room.plan.panels[w] = place;
    room.walls.push_back(wall);
    return "";
  }
  return fmt::format(
      "\"{}\" is not a panel; write WALL,ALONG,HEIGHT with south, east, north or west and metres, "
      "as south,1.5,2.0",
      text);
}

std::string CheckRoom(const RoomArguments& room) {
  const scene::RoomPlan& plan = room.plan;
  for (std::size_t w = 0; w < scene::kWallCount; ++w) {
    const auto wall = static_cast<scene::Wall>(w);
    const bool along_x = wall == scene::Wall::kSouth || wall == scene::Wall::kNorth;
    const double half = (along_x ? plan.width_m : plan.depth_m) / 2;
    const auto [along_m, height_m] = plan.panels[w];
    if (!(std::abs(along_m) <= half) || !(height_m > 0 && height_m < plan.height_m)) {
      return fmt::format(
          "the {} panel at {:g} m along its wall, {:g} m high, is not in the room; the wall reaches from "
          "{:g} to "
          "{:g} m, the ceiling is at {:g} m",
          scene::WallName(wall), along_m, height_m, -half, half, plan.height_m);
    }
  }
  return "";
}

}  // namespace tributary::cli
