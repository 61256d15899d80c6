// A room of another size, with another carrier and other places for its panels. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/scene/room.h"

namespace tributary::scene {

inline constexpr std::size_t kWallCount = 4;

struct PanelPlace {
  double along_m = 0;  // of its centre, in the site's frame: x on the south and north wall, else y
  double height_m = kPanelHeightM;
};

// The site's frame has its origin at the room's centre. One panel hangs on each wall and faces the room. Its
// array is half a wavelength wide per antenna. A panel's frame is that of the ideal room wherever the panel
// hangs: the panel is at (0, -5 m), its wall along x, its normal +y. So a network finds a line of sight where
// it was in the room of its training. The defaults are that room.
struct RoomPlan {
  double width_m = kRoomSideM;  // along x
  double depth_m = kRoomSideM;  // along y
  double height_m = kRoomHeightM;
  double carrier_hz = kCarrierHz;
  std::array<PanelPlace, kWallCount> panels = {};  // in the order of Wall
};

// Users keep kWallMarginM from the walls: |x| and |y| are at most these.
RoomPosition UserRange(const RoomPlan& plan);

// From the site's frame to that of the panel on `wall`. A point p of the panel's frame is at
// PanelOrigin + R(WallAngleDeg) · p in the site's.
RoomPosition ToPanelFrame(const RoomPlan& plan, Wall wall, RoomPosition site);
RoomPosition PanelOrigin(const RoomPlan& plan, Wall wall);

// Where the surfaces are that reflect towards a panel, in its frame, m.
struct Surroundings {
  double right = kRoomSideM / 2;
  double left = -kRoomSideM / 2;
  double front = kRoomSideM / 2;
  double ceiling = kRoomHeightM;
};
Surroundings SurroundingsOf(const RoomPlan& plan, Wall wall);

// Rooms drawn at random, the same for the same seed: sides of 6 to 20 m, 2.5 to 5 m high, a carrier of 2.4 to
// 6 GHz, panels 1.5 to 3 m high (0.3 m below the ceiling at most) and at least 1 m from the corners.
RoomPlan DrawRoomPlan(std::uint64_t seed);

}  // namespace tributary::scene
