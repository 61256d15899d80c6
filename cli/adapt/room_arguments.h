// How commands are told of a room: --room, --carrier-ghz, --panel.
#pragma once

#include <string>
#include <vector>

#include "core/scene/room_plan.h"

namespace tributary::cli {

struct RoomArguments {
  scene::RoomPlan plan;
  std::vector<scene::Wall> walls;  // empty: none was named, and all four carry a panel
};

// "12x8x3": width along x, depth along y, height, in m. Returns what is wrong, else "".
std::string ReadRoomSize(const std::string& text, scene::RoomPlan& plan);

// "south,1.5,2.0": wall, place of its centre along that wall (x on the south and north wall, else y) and
// height, in m. Returns what is wrong, else "".
std::string ReadPanelPlace(const std::string& text, RoomArguments& room);

// What contradicts itself once all is read: a panel beyond its wall or above the ceiling. "" if nothing.
std::string CheckRoom(const RoomArguments& room);

}  // namespace tributary::cli
