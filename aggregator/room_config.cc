#include "aggregator/room_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace tributary::aggregator {
namespace {

// Larger than any site, and small enough that fp32 resolves 6 cm there.
constexpr double kFarthestM = 1e6;
constexpr config::RealLimits kCoordinate = {-kFarthestM, kFarthestM};
constexpr config::RealLimits kTurn = {-360, 360};
constexpr std::size_t kMostWalls = 4096;

bool Holds(const v1::Room& room, double x_m, double y_m) {
  return x_m >= room.min_x_m() && x_m <= room.max_x_m() && y_m >= room.min_y_m() && y_m <= room.max_y_m();
}

void ReadBounds(const config::ConfigSection& section, v1::Room& room) {
  std::vector<double> bounds;
  section.Read("bounds", bounds, kCoordinate,
               config::Hot("required; what a map shows: least x, least y, greatest x, greatest y, m"));
  if (bounds.size() != 4) {
    section.Fault(
        "bounds",
        fmt::format("has {} numbers, expected 4: least x, least y, greatest x, greatest y", bounds.size()));
    return;
  }
  if (!(bounds[0] < bounds[2]) || !(bounds[1] < bounds[3])) {
    section.Fault("bounds", "the greatest x and y must be above the least ones");
  }
  room.set_min_x_m(bounds[0]);
  room.set_min_y_m(bounds[1]);
  room.set_max_x_m(bounds[2]);
  room.set_max_y_m(bounds[3]);
}

void ReadWalls(const config::ConfigSection& section, v1::Room& room) {
  std::vector<double> ends;
  section.Read("walls", ends, kCoordinate,
               config::Hot("four numbers for each straight piece of a wall, from x, y to x, y, m"));
  if (ends.size() % 4 != 0 || ends.size() > 4 * kMostWalls) {
    section.Fault("walls", fmt::format("has {} numbers, expected 4 for each of at most {} walls", ends.size(),
                                       kMostWalls));
    return;
  }
  for (std::size_t i = 0; i < ends.size(); i += 4) {
    v1::RoomWall& wall = *room.add_walls();
    wall.set_from_x_m(ends[i]);
    wall.set_from_y_m(ends[i + 1]);
    wall.set_to_x_m(ends[i + 2]);
    wall.set_to_y_m(ends[i + 3]);
    if (!Holds(room, ends[i], ends[i + 1]) || !Holds(room, ends[i + 2], ends[i + 3])) {
      section.Fault("walls", fmt::format("wall {} leaves the bounds", i / 4 + 1));
    }
  }
}

void ReadPanels(const config::ConfigSection& section, const std::vector<std::string>& sources,
                v1::Room& room) {
  std::set<std::string> named;
  for (const config::ConfigSection& table : section.List("panel")) {
    std::string source;
    double x_m = 0;
    double y_m = 0;
    double orientation_deg = 0;
    table.ReadName("source", source, config::Hot("one of the site's sources"));
    table.Read("x_m", x_m, kCoordinate, config::Hot(config::Required("where it is in the site's frame")));
    table.Read("y_m", y_m, kCoordinate, config::Hot(config::Required("where it is in the site's frame")));
    table.Read("orientation_deg", orientation_deg, kTurn,
               config::Hot("0: it faces along y; counter-clockwise, as in the node's [[panel]]"));
    if (!source.empty() && std::ranges::count(sources, source) == 0) {
      table.Fault("source", fmt::format("\"{}\" is not one of the site's sources", source));
    }
    if (!named.insert(source).second) {
      table.Fault("source", fmt::format("\"{}\" is the source of two panels", source));
    }
    if (!Holds(room, x_m, y_m)) table.Fault("x_m", "the panel is outside the bounds");
    v1::RoomPanel& panel = *room.add_panels();
    panel.set_source(source);
    panel.set_x_m(x_m);
    panel.set_y_m(y_m);
    panel.set_orientation_deg(orientation_deg);
  }
}

void ReadOrigin(const config::ConfigSection& section, v1::GeographicOrigin& origin) {
  double latitude_deg = 0;
  double longitude_deg = 0;
  double heading_deg = 0;
  section.Read("latitude_deg", latitude_deg, {-90, 90},
               config::Hot(config::Required("of the site's point (0, 0), WGS 84, north is positive")));
  section.Read("longitude_deg", longitude_deg, {-180, 180},
               config::Hot(config::Required("of the site's point (0, 0), WGS 84, east is positive")));
  section.Read("heading_deg", heading_deg, kTurn,
               config::Hot("direction of the site's y axis, clockwise from true north"));
  origin.set_latitude_deg(latitude_deg);
  origin.set_longitude_deg(longitude_deg);
  origin.set_heading_deg(heading_deg);
}

}  // namespace

std::optional<v1::Room> ReadRoom(const config::ConfigSection& site, const std::vector<std::string>& sources) {
  if (!site.Has("room")) return std::nullopt;
  const config::ConfigSection section = site.Section("room");
  v1::Room room;
  ReadBounds(section, room);
  ReadWalls(section, room);
  ReadPanels(section, sources, room);
  if (section.Has("origin")) ReadOrigin(section.Section("origin"), *room.mutable_origin());
  return room;
}

}  // namespace tributary::aggregator
