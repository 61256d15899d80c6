#include "core/nn/geometry/geometry_trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/nn/geometry/geometry_fit.h"
#include "core/nn/geometry/range_fix.h"
#include "core/status/macros.h"

namespace tributary::nn {
namespace {

using ExampleRows = std::vector<const GeometryExample*>;

constexpr std::size_t kTimeFolds = 5;
constexpr std::size_t kPlaces = 128;  // about 0.5 m apart in a hall of 30 m²
constexpr double kResidualQuantile = 0.99;
constexpr double kLeastSolved = 0.9;  // of the held-out rows

absl::Status CheckExamples(std::span<const GeometryExample> examples, const GeometrySurvey& survey) {
  if (examples.size() < kLeastExamples) {
    return absl::InvalidArgumentError(
        absl::StrCat(examples.size(), " examples to train from; ", kLeastExamples, " are needed"));
  }
  if (std::ranges::count(survey.tags, survey.tag) != 1) {
    return absl::InvalidArgumentError(absl::StrCat("tag ", survey.tag, " is not one of the board's tags"));
  }
  for (const GeometryExample& example : examples) {
    if (example.ranges_m.size() != survey.anchors.size() * survey.tags.size() ||
        example.tags_m.size() != survey.tags.size()) {
      return absl::InvalidArgumentError("an example has another number of ranges or tags than the board");
    }
    for (const Place3& tag : example.tags_m) {
      if (!std::ranges::all_of(tag, [](double v) { return std::isfinite(v); }))
        return absl::InvalidArgumentError("a true position is not finite");
    }
  }
  return absl::OkStatus();
}

ExampleRows Thinned(std::span<const GeometryExample> examples, std::size_t most) {
  ExampleRows rows;
  const std::size_t count = std::min(most, examples.size());
  for (std::size_t i = 0; i < count; ++i) rows.push_back(&examples[i * examples.size() / count]);
  return rows;
}

struct Fold {
  ExampleRows training;
  ExampleRows held_out;
};

std::vector<Fold> FoldsOf(const ExampleRows& rows, std::size_t own) {
  std::vector<Fold> folds(kTimeFolds);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t f = 0; f < kTimeFolds; ++f)
      (i * kTimeFolds / rows.size() == f ? folds[f].held_out : folds[f].training).push_back(rows[i]);
  }
  for (const std::size_t axis : {0, 1}) {
    std::vector<double> values;
    for (const GeometryExample* row : rows) values.push_back(row->tags_m[own][axis]);
    std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
    const double median = values[values.size() / 2];
    Fold below, above;
    for (const GeometryExample* row : rows) {
      const bool low = row->tags_m[own][axis] < median;
      (low ? below.training : below.held_out).push_back(row);
      (low ? above.held_out : above.training).push_back(row);
    }
    for (Fold* fold : {&below, &above}) {
      // A body that does not move along this axis cannot be split.
      if (std::min(fold->training.size(), fold->held_out.size()) >= kLeastExamples / 4)
        folds.push_back(std::move(*fold));
    }
  }
  return folds;
}

double NormalisedSquaredError(const RangeFix& fix, const Place3& truth_m) {
  const double x = fix.position_m[0] - truth_m[0], y = fix.position_m[1] - truth_m[1];
  const auto [xx, xy, yy] = fix.covariance;
  return (yy * x * x - 2.0 * xy * x * y + xx * y * y) / (xx * yy - xy * xy);
}

// The factor on the variance that makes the mean of these errors 2. An estimate in a wrong minimum, metres
// off, counts as one at the end of the distribution: no variance would describe it, and the others would
// suffer.
double ScaleOf(std::span<const double> errors) {
  constexpr double kFarthest = 30.0;  // chi-squared of 2 degrees of freedom: once in 3 million
  double scale = 1.0;
  for (int i = 0; i < 50; ++i) {
    double sum = 0.0;
    for (const double error : errors) sum += std::min(error, kFarthest * scale);
    scale = std::max(sum / (2.0 * static_cast<double>(errors.size())), 1e-6);
  }
  return scale;
}

// variance_scale and residual_limit.
absl::Status Calibrate(const ExampleRows& rows, const GeometrySurvey& survey, const GeometryOptions& options,
                       std::size_t own, RangeGeometry& geometry) {
  std::vector<double> errors;
  std::size_t asked = 0;
  std::vector<double> residuals;
  for (const Fold& fold : FoldsOf(rows, own)) {
    RangeGeometry others = FitGeometry(fold.training, survey, options);
    others.place_m = {0.0, 0.0};
    for (std::size_t i = 0; i < 2; ++i) {
      for (const GeometryExample* row : fold.training)
        others.place_m[i] += row->tags_m[own][i] / static_cast<double>(fold.training.size());
    }
    for (const GeometryExample* row : fold.held_out) {
      ++asked;
      const std::optional<RangeFix> fix = FixOf(others, row->ranges_m);
      if (!fix) continue;
      errors.push_back(NormalisedSquaredError(*fix, row->tags_m[own]));
      residuals.push_back(fix->mean_squared_residual);
    }
  }
  if (static_cast<double>(residuals.size()) < kLeastSolved * static_cast<double>(asked)) {
    return absl::InvalidArgumentError(absl::StrCat("the ranges determine the position in ", residuals.size(),
                                                   " of ", asked, " rows only; take more anchors"));
  }
  geometry.variance_scale = ScaleOf(errors);
  const auto at = residuals.begin() +
                  static_cast<std::ptrdiff_t>(kResidualQuantile * static_cast<double>(residuals.size() - 1));
  std::ranges::nth_element(residuals, at);
  geometry.residual_limit = std::max(*at, 1e-6);
  return absl::OkStatus();
}

// Places that lie as far apart as possible, each the farthest from those before, and the distance within
// which all rows have one of them.
void MarkPlaces(const ExampleRows& rows, std::size_t own, RangeGeometry& geometry) {
  std::vector<double> nearest(rows.size(), std::numeric_limits<double>::infinity());
  std::size_t next = 0;
  for (std::size_t i = 0; i < std::min(kPlaces, rows.size()); ++i) {
    const Place3 place = rows[next]->tags_m[own];
    geometry.place_m.insert(geometry.place_m.end(), {place[0], place[1]});
    for (std::size_t r = 0; r < rows.size(); ++r) {
      nearest[r] = std::min(
          nearest[r], std::hypot(rows[r]->tags_m[own][0] - place[0], rows[r]->tags_m[own][1] - place[1]));
    }
    next = static_cast<std::size_t>(std::ranges::max_element(nearest) - nearest.begin());
    if (nearest[next] == 0.0) break;
  }
  // Between two ways of the body, a place is as near to either as their distance lets it be.
  constexpr double kLeastRadiusM = 0.25;
  geometry.place_radius_m = std::max(nearest[next], kLeastRadiusM);
}

}  // namespace

absl::StatusOr<RangeGeometry> TrainGeometry(std::span<const GeometryExample> examples,
                                            const GeometrySurvey& survey, const GeometryOptions& options) {
  RETURN_IF_ERROR(CheckExamples(examples, survey));
  const auto own = static_cast<std::size_t>(std::ranges::find(survey.tags, survey.tag) - survey.tags.begin());
  const ExampleRows rows = Thinned(examples, options.most_rows);
  RangeGeometry geometry = FitGeometry(rows, survey, options);
  MarkPlaces(rows, own, geometry);
  RETURN_IF_ERROR(Calibrate(rows, survey, options, own, geometry));
  return geometry;
}

}  // namespace tributary::nn
