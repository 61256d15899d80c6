#include "node/panel_config.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <optional>

namespace tributary {
namespace {

constexpr double kMaxDistanceM = 1e6;  // a site is a room or an area

NumberFormat ReadFormat(const ConfigSection& section) {
  const auto format =
      ParseNumberFormat(section.Choice("format", "int8_16", {"float", "int32", "int16", "int8", "int8_16"}));
  return format.ok() ? *format : NumberFormat::kInt8Int16;
}

// The wall is named, or follows from the panel's orientation.
Wall ReadWall(const ConfigSection& source, const ConfigSection& panel, double orientation_deg) {
  constexpr Wall kWalls[] = {Wall::kSouth, Wall::kEast, Wall::kNorth, Wall::kWest};
  const bool named = source.Has("wall");
  const std::string name = source.Choice("wall", "south", {"south", "east", "north", "west"});
  for (const Wall wall : kWalls) {
    const bool fits = std::abs(std::remainder(orientation_deg - WallAngleDeg(wall), 360.0)) < 1e-6;
    if (named ? WallName(wall) == name && (fits || !panel.Has("orientation_deg")) : fits) return wall;
  }
  panel.Fault(
      "orientation_deg",
      named ? fmt::format("{} does not fit the {} wall of the simulated room", orientation_deg, name)
            : fmt::format("expected 0, 90, 180 or 270 for a simulated room, found {}", orientation_deg));
  return Wall::kSouth;
}

RoomSource::Options ReadRoom(const ConfigSection& source, const ConfigSection& panel, PanelConfig& config) {
  RoomSource::Options room;
  room.wall = ReadWall(source, panel, config.orientation_deg);
  config.orientation_deg = WallAngleDeg(room.wall);
  room.subjects = static_cast<std::uint32_t>(source.Integer("subjects", 16, {1, 1024}));
  room.rate_hz = source.Real("rate_hz", 2000, {0.1, 2000});
  room.motion.seed = static_cast<std::uint64_t>(source.Integer("seed", 1, {0}));
  room.motion.snapshots =
      static_cast<std::uint32_t>(source.Integer("snapshots", room.motion.snapshots, {1, 1 << 20}));
  return room;
}

SourceConfig ReadSource(const ConfigSection& panel, PanelConfig& config) {
  const ConfigSection source = panel.Section("source");
  if (!panel.Has("source")) panel.Fault("source", "a table [panel.source] with its kind is required");
  const std::string kind = source.Choice("kind", "room", {"room"});
  return ReadRoom(source, panel, config);
}

}  // namespace

PanelConfig ReadPanel(const ConfigSection& section, const std::string& folder) {
  PanelConfig panel;
  panel.name = section.RequiredText("name");
  panel.workload = section.Choice("workload", "positioning", {"positioning", "beacon"}) == "positioning"
                       ? WorkloadKind::kPositioning
                       : WorkloadKind::kBeacon;
  panel.model = (std::filesystem::path(folder) / section.RequiredText("model")).lexically_normal().string();
  section.Choice("accelerator", "cpu", {"cpu"});
  panel.format = ReadFormat(section);
  panel.orientation_deg = section.Real("orientation_deg", 0, {-360, 360});
  panel.x_m = section.Real("x_m", 0, {-kMaxDistanceM, kMaxDistanceM});
  panel.y_m = section.Real("y_m", 0, {-kMaxDistanceM, kMaxDistanceM});
  panel.source = ReadSource(section, panel);
  return panel;
}

}  // namespace tributary
