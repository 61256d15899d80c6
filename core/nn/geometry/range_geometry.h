// A board's estimator by geometry: ranges of its anchors to the tags of one body → position of one tag. The
// biases of the ranges are learned. Its file: tensors and metadata of a safetensors file. Pure over bytes.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/nn/kernel/network_file.h"

namespace tributary::nn {

// A range is modelled as distance · (1 + slope of the tag) + bias of the anchor and tag + pattern of the tag,
// where the pattern depends on the direction to the anchor in the body's frame: an antenna and the body
// around it delay a pulse differently from each side. The pattern needs the body's heading. It is estimated
// with the position where the board hears two or more tags that lie apart; otherwise the pattern is zero.
struct RangeGeometry : Provenance {
  static constexpr std::size_t kMaxAnchors = 64;
  static constexpr std::size_t kMaxTags = 16;
  static constexpr std::size_t kPattern = 4;  // cos φ, sin φ, cos 2φ, sin 2φ
  static constexpr std::size_t kMaxPlaces = 256;

  // Numbers in the survey. The inputs are the ranges in m: for each anchor, those to all tags; NaN: missing.
  std::vector<int> anchors;
  std::vector<int> tags;
  int tag = 0;  // whose position is estimated; one of `tags`

  std::vector<double> anchor_m;     // [anchors × 3], site frame, as calibrated
  std::vector<double> lever_m;      // [tags × 2] from `tag`, in the plane of the body
  std::vector<double> height_m;     // [tags], site frame
  std::vector<double> bias_m;       // [anchors × tags]
  std::vector<double> deviation_m;  // [anchors × tags], of what the model leaves
  std::vector<double> pattern_m;    // [tags × kPattern]
  std::vector<double> slope;        // [tags], m of bias per m of distance

  // Factor on the variance, found on data held out by time and by place.
  double variance_scale = 1.0;

  // Where training has been. Beyond `place_radius_m` from all places the biases were never seen.
  std::vector<double> place_m;  // [n × 2]
  double place_radius_m = 0.0;
  // Mean squared residual in units of the deviations that 99 % of the held-out estimates stay below.
  double residual_limit = 1.0;

  std::size_t inputs() const { return anchors.size() * tags.size(); }
  // Whether the tags lie so far apart that ranges tell how the body is turned.
  bool HasHeading() const;
};

// As a safetensors file; kind "range-geometry". The identity covers all tensors.
std::string EncodeRangeGeometry(const RangeGeometry& geometry);

// Fills sha256. Errors: DataLoss as DecodeSafetensors; InvalidArgument for another kind, convention, shape or
// type, more anchors, tags or places than the limits, values that are not finite, and deviations or scales
// that are not positive.
absl::StatusOr<RangeGeometry> DecodeRangeGeometry(std::string_view file);

// Whether a file says that it is of this kind; false for what cannot be read.
bool IsRangeGeometry(std::string_view file);

}  // namespace tributary::nn
