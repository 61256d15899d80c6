#include "cli/adapt/labelled_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/parameters/npy.h"
#include "core/recordings/labelled_positions.h"
#include "core/runtime/file.h"
#include "core/status/context.h"
#include "core/status/macros.h"

namespace tributary::cli {
namespace {

constexpr std::size_t kInputs = nn::PositioningNetwork::kInputs;
constexpr std::size_t kMostPositionBytes = std::size_t{64} << 20;
constexpr std::size_t kMostFeatureBytes = std::size_t{16} << 30;
constexpr double kLeastSpreadM = 0.5;

}  // namespace

LabelledPoints LabelledPoints::Subset(std::span<const std::size_t> points) const {
  LabelledPoints subset{.walls = walls, .positions = {}, .features = {}};
  subset.features.reserve(points.size() * walls.size() * kInputs);
  for (const std::size_t point : points) {
    subset.positions.push_back(positions[point]);
    const auto snapshot = std::span(features).subspan(point * walls.size() * kInputs, walls.size() * kInputs);
    subset.features.insert(subset.features.end(), snapshot.begin(), snapshot.end());
  }
  return subset;
}

absl::Status CheckLabelledPoints(const LabelledPoints& points, const scene::RoomPlan& plan) {
  if (points.size() < kFewestLabelledPoints) {
    return absl::InvalidArgumentError(
        fmt::format("{} labelled points; measure at least {}, better 100, spread over the room",
                    points.size(), kFewestLabelledPoints));
  }
  scene::RoomPosition least = points.positions.front(), most = least;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto [x, y] = points.positions[i];
    if (!(std::abs(x) <= plan.width_m / 2 && std::abs(y) <= plan.depth_m / 2)) {
      return absl::InvalidArgumentError(fmt::format(
          "point {} at ({:.3f}, {:.3f}) m is outside of the room of {:g} x {:g} m; positions count from the "
          "room's centre, in metres: check --room and the origin",
          i + 1, x, y, plan.width_m, plan.depth_m));
    }
    least = {std::min(least.x, x), std::min(least.y, y)};
    most = {std::max(most.x, x), std::max(most.y, y)};
    for (std::size_t panel = 0; panel < points.walls.size(); ++panel) {
      const nn::ConstFeatureSpan features = points.Features(i, panel);
      const auto bad = std::ranges::find_if(features, [](float v) { return !std::isfinite(v); });
      if (bad != features.end()) {
        return absl::InvalidArgumentError(
            fmt::format("point {}, panel {}, feature {} is not finite; leave this point out of both files",
                        i + 1, scene::WallName(points.walls[panel]), bad - features.begin()));
      }
      if (std::ranges::all_of(features, [](float v) { return v == 0; })) {
        return absl::InvalidArgumentError(
            fmt::format("point {}, panel {}: all features are zero; leave this point out of both files",
                        i + 1, scene::WallName(points.walls[panel])));
      }
    }
  }
  if (std::hypot(most.x - least.x, most.y - least.y) < kLeastSpreadM) {
    return absl::InvalidArgumentError(
        fmt::format("all {} points lie within {:g} m of each other; spread them over the room", points.size(),
                    kLeastSpreadM));
  }
  return absl::OkStatus();
}

absl::StatusOr<LabelledPoints> ReadLabelledPoints(const std::string& features, const std::string& positions,
                                                  const std::vector<scene::Wall>& walls,
                                                  const scene::RoomPlan& plan) {
  LabelledPoints points{.walls = walls, .positions = {}, .features = {}};
  ASSIGN_OR_RETURN(const std::string text, runtime::ReadFile(positions, kMostPositionBytes));
  ASSIGN_OR_RETURN(points.positions, WithContext(positions, recordings::ParsePositions(text)));
  ASSIGN_OR_RETURN(const std::string file, runtime::ReadFile(features, kMostFeatureBytes));
  ASSIGN_OR_RETURN(parameters::NpyArray array, WithContext(features, parameters::DecodeNpy(file)));
  const std::vector<std::uint64_t>& shape = array.shape;
  const bool one_panel = shape.size() == 2 && walls.size() == 1 && shape[1] == kInputs;
  if (!one_panel && !(shape.size() == 3 && shape[1] == walls.size() && shape[2] == kInputs)) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: the array is [{}], not [points, {}, {}]: one snapshot of each panel for each point, the panels "
        "in the order of --panel",
        features, fmt::join(shape, ", "), walls.size(), kInputs));
  }
  if (shape[0] != points.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} positions for {} points of {}", positions, points.size(), shape[0], features));
  }
  points.features = std::move(array.values);
  RETURN_IF_ERROR(WithContext(features, CheckLabelledPoints(points, plan)));
  return points;
}

LabelledPoints SimulatePoints(const scene::RoomExamples& room, const std::vector<scene::Wall>& walls,
                              std::size_t count) {
  LabelledPoints points{.walls = walls, .positions = {}, .features = {}};
  points.features.resize(count * walls.size() * kInputs);
  for (std::size_t i = 0; i < count; ++i) {
    points.positions.push_back(room.User(i));
    for (std::size_t panel = 0; panel < walls.size(); ++panel) {
      room.Sense(i, walls[panel],
                 std::span(points.features).subspan((i * walls.size() + panel) * kInputs).first<kInputs>());
    }
  }
  return points;
}

}  // namespace tributary::cli
