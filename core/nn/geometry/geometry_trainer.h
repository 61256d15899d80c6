// From recorded ranges with known positions to a calibrated board's geometry. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/nn/geometry/range_geometry.h"

namespace tributary::nn {

using Place3 = std::array<double, 3>;  // m

struct GeometryExample {
  std::int64_t unix_ns = 0;
  std::vector<double> ranges_m;  // as RangeGeometry's inputs; NaN: missing
  std::vector<Place3> tags_m;    // where each tag really was, site frame
};

// What a survey says of the board.
struct GeometrySurvey {
  std::vector<int> anchors;
  std::vector<int> tags;
  int tag = 0;
  std::vector<Place3> anchors_m;  // site frame, in the order of `anchors`
  std::vector<Place3> tags_m;     // body frame, in the order of `tags`
};

// How far the parameters are expected to lie from none, as deviations; each is a prior of the fit. A board
// with few examples stays near them, one with many hardly feels them.
struct GeometryPriors {
  double bias_m = 0.10;     // of a pair of anchor and tag, about the mean of all
  double pattern_m = 0.05;  // of each of its coefficients
  double slope = 0.03;
  double anchor_m = 0.02;  // of each horizontal coordinate of the survey
};

struct GeometryOptions {
  GeometryPriors priors;
  // Errors of ranges last: rows closer than this count as one. On the "lias" recordings half of an error is
  // left after about 1 s.
  double correlation_s = 2.0;
  // Rows of the fit and of the calibration, evenly chosen: more cost time and tell nothing new.
  std::size_t most_rows = 2500;
};

// The examples ascend in time. The variance's scale and the limit of the residual come from estimates that
// were held out: each fifth of the time, and each half by place along x and along y. The caller fills in the
// provenance. Errors: InvalidArgument for less than kLeastExamples, another number of ranges or tags, or
// truth that is not finite; a board whose anchors leave the position undetermined.
inline constexpr std::size_t kLeastExamples = 100;
absl::StatusOr<RangeGeometry> TrainGeometry(std::span<const GeometryExample> examples,
                                            const GeometrySurvey& survey, const GeometryOptions& options);

}  // namespace tributary::nn
