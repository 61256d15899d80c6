#include "core/scene/room.h"

#include <array>
#include <string>

#include "absl/strings/str_cat.h"

namespace tributary::scene {
namespace {

struct WallFrame {
  std::string_view name;
  double angle_deg;
  double x_east, x_north;  // the panel's x axis in the site's frame; its y axis is (-x_north, x_east)
};

constexpr std::array<WallFrame, 4> kWalls = {{
    {"south", 0, 1, 0},
    {"east", 90, 0, 1},
    {"north", 180, -1, 0},
    {"west", 270, 0, -1},
}};

const WallFrame& Frame(Wall wall) { return kWalls[static_cast<std::size_t>(wall)]; }

}  // namespace

absl::StatusOr<Wall> ParseWall(std::string_view name) {
  for (std::size_t i = 0; i < kWalls.size(); ++i) {
    if (kWalls[i].name == name) return static_cast<Wall>(i);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown wall \"", std::string(name), "\": south, east, north or west"));
}

std::string_view WallName(Wall wall) { return Frame(wall).name; }

double WallAngleDeg(Wall wall) { return Frame(wall).angle_deg; }

RoomPosition ToPanelFrame(Wall wall, RoomPosition site) {
  const WallFrame& frame = Frame(wall);
  return {frame.x_east * site.x + frame.x_north * site.y, frame.x_east * site.y - frame.x_north * site.x};
}

RoomPosition ToSiteFrame(Wall wall, RoomPosition panel) {
  const WallFrame& frame = Frame(wall);
  return {frame.x_east * panel.x - frame.x_north * panel.y, frame.x_north * panel.x + frame.x_east * panel.y};
}

}  // namespace tributary::scene
