// The simulated room: geometry, radio and frames. Pure.
#pragma once

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"

namespace tributary::scene {

// In the horizontal plane, m; users are kUserHeightM above the floor.
struct RoomPosition {
  double x;
  double y;
};

inline constexpr double kRoomSideM = 10.0;
inline constexpr double kRoomHeightM = 3.0;
inline constexpr double kUserHeightM = 1.0;
inline constexpr double kPanelHeightM = 2.0;  // of the panel's centre
inline constexpr double kWallMarginM = 0.5;   // users keep this distance from every wall
inline constexpr double kUserRangeM = kRoomSideM / 2 - kWallMarginM;  // |x|, |y| of a user

inline constexpr double kSpeedOfLightMPerS = 299'792'458.0;
inline constexpr double kCarrierHz = 3.7e9;
inline constexpr double kSubcarrierSpacingHz = 12.5e6;
inline constexpr double kWavelengthM = kSpeedOfLightMPerS / kCarrierHz;
inline constexpr std::size_t kPanelRows = 8;
inline constexpr std::size_t kPanelColumns = 8;
inline constexpr std::size_t kPanelAntennas = kPanelRows * kPanelColumns;
inline constexpr std::size_t kSubcarriers = 8;
inline constexpr std::size_t kChannelFeatures = 2 * kPanelAntennas * kSubcarriers;
inline constexpr double kReflection = -0.3;

// Features are divided by the line of sight's amplitude at this distance; the noise is 20 dB below it.
inline constexpr double kReferenceDistanceM = 5.0;
inline constexpr double kNoiseDeviation = 0.1;  // of the complex noise, in units of the features

// The wall that carries a panel. The site's frame has its origin at the room's centre, x east and y north.
enum class Wall { kSouth, kEast, kNorth, kWest };

// "south", "east", "north" or "west"; InvalidArgument for anything else.
absl::StatusOr<Wall> ParseWall(std::string_view name);
std::string_view WallName(Wall wall);

// The panel's frame has the same origin and is turned so that the panel's wall is y = -5 m and its normal +y.
// Turn the panel's frame by this angle (counter-clockwise, degrees) to get the site's.
double WallAngleDeg(Wall wall);
RoomPosition ToPanelFrame(Wall wall, RoomPosition site);
RoomPosition ToSiteFrame(Wall wall, RoomPosition panel);

}  // namespace tributary::scene
