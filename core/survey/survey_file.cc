#include "core/survey/survey_file.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "core/config/config.h"
#include "core/status/macros.h"

namespace tributary::survey {
namespace {

using scene::Point3;
using scene::Rotation;
using scene::Survey;

constexpr double kFarthestM = 10'000.0;  // a hall or a yard; float32 models keep 1 mm there
constexpr double kLargestBodyM = 100.0;
constexpr double kLeastDistanceM = 0.01;  // two anchors at one place are one anchor named twice
constexpr double kUnitsM[] = {1.0, 0.01, 0.001};

double ReadUnit(const config::ConfigSection& section, const char* what) {
  std::size_t unit = 0;
  section.Choose("unit", unit, {"m", "cm", "mm"}, what);
  return kUnitsM[unit];
}

std::vector<Point3> ReadPositions(const config::ConfigSection& root, const char* table, std::size_t most,
                                  double unit_m, double farthest_m) {
  std::vector<Point3> positions;
  const std::vector<config::ConfigSection> sections = root.List(table);
  if (sections.empty()) root.Fault(table, fmt::format("at least one table [[{}]] is required", table));
  if (sections.size() > most) {
    root.Fault(table,
               fmt::format("expected at most {} tables [[{}]], found {}", most, table, sections.size()));
    return positions;
  }
  for (const config::ConfigSection& section : sections) {
    std::vector<double> values;
    section.Read("position", values, {-farthest_m / unit_m, farthest_m / unit_m},
                 config::Required("x, y and z in the survey's unit"));
    if (values.size() != 3) {
      section.Fault("position", fmt::format("expected three numbers [x, y, z], found {}", values.size()));
      values.assign(3, 0.0);
    }
    positions.push_back({unit_m * values[0], unit_m * values[1], unit_m * values[2]});
  }
  return positions;
}

// Angles about the fixed axes x, y, z, in this order.
Rotation TurnOf(const std::vector<double>& degrees) {
  Rotation turn = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double angle = degrees[axis] * std::numbers::pi / 180.0;
    const double c = std::cos(angle), s = std::sin(angle);
    const std::size_t u = (axis + 1) % 3, v = (axis + 2) % 3;
    const Rotation before = turn;
    for (std::size_t column = 0; column < 3; ++column) {
      turn[u][column] = c * before[u][column] - s * before[v][column];
      turn[v][column] = s * before[u][column] + c * before[v][column];
    }
  }
  return turn;
}

Rotation ReadTurn(const config::ConfigSection& truth) {
  std::vector<double> degrees = {0.0, 0.0, 0.0};
  truth.Read("turn_deg", degrees, {-360, 360},
             "turns about x, y, z, in this order, from the tags' frame to motion capture's");
  if (degrees.size() != 3) {
    truth.Fault("turn_deg", fmt::format("expected three angles, found {}", degrees.size()));
    degrees.assign(3, 0.0);
  }
  return TurnOf(degrees);
}

// The first anchor that stands where an earlier one stands.
void CheckDistinct(const config::ConfigSection& root, const std::vector<Point3>& anchors_m) {
  for (std::size_t i = 0; i < anchors_m.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const double distance_m =
          std::hypot(anchors_m[i][0] - anchors_m[k][0], anchors_m[i][1] - anchors_m[k][1],
                     anchors_m[i][2] - anchors_m[k][2]);
      if (distance_m >= kLeastDistanceM) continue;
      root.Fault("anchor", fmt::format("anchors {} and {} stand at one place", k, i));
      return;
    }
  }
}

absl::StatusOr<Survey> SurveyOf(const config::ConfigFile& file) {
  const config::ConfigSection root = file.Root();
  Survey survey;
  const double unit_m = ReadUnit(root, "of the positions of anchors and tags");
  survey.anchors_m = ReadPositions(root, "anchor", Survey::kMaxAnchors, unit_m, kFarthestM);
  survey.tags_m = ReadPositions(root, "tag", Survey::kMaxTags, unit_m, kLargestBodyM);
  const config::ConfigSection ranges = root.Section("ranges");
  survey.range_unit_m = ReadUnit(ranges, "of the ranges in the recording");
  ranges.Choose("order", survey.order, {"anchors", "tags"},
                "anchors: a row has all tags of the first anchor, then those of the next");
  const config::ConfigSection truth = root.Section("truth");
  survey.truth_unit_m = ReadUnit(truth, "of the positions of motion capture");
  truth.Choose("quaternion", survey.quaternion, {"wxyz", "xyzw"}, "order of the orientation's columns");
  survey.turn = ReadTurn(truth);
  CheckDistinct(root, survey.anchors_m);
  RETURN_IF_ERROR(file.Finish());
  return survey;
}

}  // namespace

absl::StatusOr<Survey> ParseSurvey(std::string_view text, std::string_view path) {
  ASSIGN_OR_RETURN(const config::ConfigFile file, config::ConfigFile::Parse(text, path));
  return SurveyOf(file);
}

absl::StatusOr<Survey> ReadSurvey(const std::string& path) {
  if (path.empty()) return ParseSurvey(kExampleSurvey, "the built-in survey");
  ASSIGN_OR_RETURN(const config::ConfigFile file, config::ConfigFile::Read(path));
  return SurveyOf(file);
}

}  // namespace tributary::survey
