#include "core/nn/geometry/range_geometry.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/parameters/safetensors.h"
#include "core/status/macros.h"

namespace tributary::nn {
namespace {

constexpr double kLeastLeverM = 0.05;  // below it, range noise hides the heading

constexpr Convention kGeometryConventions[] = {
    {"kind", "range-geometry"},
    {"model", "range = distance * (1 + slope) + bias + pattern(cos, sin, cos 2, sin 2 of the bearing)"},
    {"bearing", "from tag to anchor, in the body's frame, counter-clockwise"},
    {"inputs", "ranges in m, anchor-major, NaN where missing"},
    {"outputs", "x,y; m, site frame"},
};

// Every tensor of the file and the member that holds it, for both directions.
template <class Geometry, class Visit>
void VisitGeometry(Geometry& geometry, std::uint64_t places, Visit visit) {
  const std::uint64_t anchors = geometry.anchors.size();
  const std::uint64_t tags = geometry.tags.size();
  visit("anchor.position", Shape{anchors, 3}, geometry.anchor_m);
  visit("tag.lever", Shape{tags, 2}, geometry.lever_m);
  visit("tag.height", Shape{tags}, geometry.height_m);
  visit("range.bias", Shape{anchors, tags}, geometry.bias_m);
  visit("range.deviation", Shape{anchors, tags}, geometry.deviation_m);
  visit("tag.pattern", Shape{tags, RangeGeometry::kPattern}, geometry.pattern_m);
  visit("tag.slope", Shape{tags}, geometry.slope);
  visit("calibration.variance_scale", Shape{1}, std::span(&geometry.variance_scale, 1));
  visit("reach.place", Shape{places, 2}, geometry.place_m);
  visit("reach.radius", Shape{1}, std::span(&geometry.place_radius_m, 1));
  visit("reach.residual_limit", Shape{1}, std::span(&geometry.residual_limit, 1));
}

// "0,2,4" to distinct numbers, at least one.
absl::StatusOr<std::vector<int>> ReadNumbers(const parameters::TensorSet& set, const char* key,
                                             std::size_t most) {
  const std::string text = MetadataOf(set, key);
  std::vector<int> numbers;
  for (const absl::string_view name : absl::StrSplit(absl::string_view(text), ',')) {
    int number = -1;
    if (numbers.size() == most || !absl::SimpleAtoi(name, &number) || number < 0 ||
        std::ranges::count(numbers, number) != 0) {
      constexpr std::size_t kMostShown = 60;
      return absl::InvalidArgumentError(absl::StrCat("metadata \"", key, "\" is \"",
                                                     text.substr(0, kMostShown), "\", expected at most ",
                                                     most, " different indices as \"1,4,6\""));
    }
    numbers.push_back(number);
  }
  return numbers;
}

absl::Status CheckValues(const RangeGeometry& geometry) {
  const auto positive = [](double value) { return value > 0.0; };
  if (!std::ranges::all_of(geometry.deviation_m, positive) || !positive(geometry.variance_scale) ||
      !positive(geometry.residual_limit) || geometry.place_radius_m < 0.0) {
    return absl::InvalidArgumentError(
        "a deviation, the variance's scale or a limit of reach is not positive");
  }
  // A range would shrink as the distance grows.
  if (!std::ranges::all_of(geometry.slope, [](double slope) { return std::abs(slope) < 0.5; })) {
    return absl::InvalidArgumentError("tag.slope is not within ±0.5");
  }
  return absl::OkStatus();
}

}  // namespace

bool RangeGeometry::HasHeading() const {
  for (std::size_t i = 0; i < tags.size(); ++i) {
    if (std::hypot(lever_m[2 * i], lever_m[2 * i + 1]) >= kLeastLeverM) return true;
  }
  return false;
}

std::string EncodeRangeGeometry(const RangeGeometry& geometry) {
  parameters::TensorSet set;
  VisitGeometry(geometry, geometry.place_m.size() / 2, TensorWriter{set});
  WriteMetadata(kGeometryConventions, geometry, set);
  set.metadata.emplace("anchors", absl::StrJoin(geometry.anchors, ","));
  set.metadata.emplace("tags", absl::StrJoin(geometry.tags, ","));
  set.metadata.emplace("tag", absl::StrCat(geometry.tag));
  return parameters::EncodeSafetensors(set);
}

absl::StatusOr<RangeGeometry> DecodeRangeGeometry(std::string_view file) {
  ASSIGN_OR_RETURN(const parameters::TensorSet set, parameters::DecodeSafetensors(file));
  RangeGeometry geometry;
  RETURN_IF_ERROR(ReadMetadata(set, kGeometryConventions, geometry));
  ASSIGN_OR_RETURN(geometry.anchors, ReadNumbers(set, "anchors", RangeGeometry::kMaxAnchors));
  ASSIGN_OR_RETURN(geometry.tags, ReadNumbers(set, "tags", RangeGeometry::kMaxTags));
  if (!absl::SimpleAtoi(MetadataOf(set, "tag"), &geometry.tag) ||
      std::ranges::count(geometry.tags, geometry.tag) != 1) {
    return absl::InvalidArgumentError("metadata \"tag\" is not one of the tags");
  }
  const auto place = set.tensors.find("reach.place");
  if (place == set.tensors.end() || place->second.shape.size() != 2 || place->second.shape[0] == 0 ||
      place->second.shape[0] > RangeGeometry::kMaxPlaces) {
    return absl::InvalidArgumentError(
        absl::StrCat("reach.place is not there or has more than ", RangeGeometry::kMaxPlaces, " places"));
  }
  absl::Status status;
  VisitGeometry(geometry, place->second.shape[0], TensorReader{set, status});
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(CheckValues(geometry));
  return geometry;
}

bool IsRangeGeometry(std::string_view file) {
  const auto set = parameters::DecodeSafetensors(file);
  return set.ok() && MetadataOf(*set, "kind") == kGeometryConventions[0].second;
}

}  // namespace tributary::nn
