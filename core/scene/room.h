// The simulated room: geometry, radio, frames, and how its users walk. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

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

std::string_view WallName(Wall wall);

// The panel's frame has the same origin and is turned so that the panel's wall is y = -5 m and its normal +y.
// Turn the panel's frame by this angle (counter-clockwise, degrees) to get the site's.
double WallAngleDeg(Wall wall);
RoomPosition ToPanelFrame(Wall wall, RoomPosition site);

// Each user follows a closed curve that covers the room evenly (as the training set does), at about 1 m/s on
// average. The curve is a pure function of the seed, so the true positions are known. Positions change once
// per snapshot, whatever the site's slots. All curves close after `snapshots` snapshots.
struct RoomMotion {
  std::uint64_t seed = 1;
  std::uint32_t snapshots = 2000;

  static constexpr std::int64_t kSnapshotNs = 16'000'000;  // about 1.6 cm of movement

  // The snapshot of a time, below `snapshots`.
  std::uint32_t SnapshotAt(std::int64_t unix_ns) const {
    return static_cast<std::uint32_t>(std::max<std::int64_t>(unix_ns, 0) / kSnapshotNs % snapshots);
  }

  // In the site's frame.
  RoomPosition AtSnapshot(std::uint32_t subject, std::uint32_t snapshot) const;
  RoomPosition At(std::uint32_t subject, std::int64_t unix_ns) const {
    return AtSnapshot(subject, SnapshotAt(unix_ns));
  }
};

}  // namespace tributary::scene
