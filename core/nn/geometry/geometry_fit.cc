#include "core/nn/geometry/geometry_fit.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/nn/geometry/range_fix.h"

namespace tributary::nn {
namespace {

constexpr int kReweightings = 6;
constexpr double kFitFreedom = 4.0;  // of the Student-t distribution, as in FixOf
constexpr double kStartDeviationM = 0.1;
constexpr double kLeastDeviationM = 0.005;  // ranges are rounded to 1 cm or worse
constexpr double kMedianToDeviation = 1.4826;
constexpr double kFarOut = 4.0;  // deviations: a longer echo does not count more
constexpr double kFreeM = 10.0;  // the mean bias is not bounded by a prior

// One range with a known position: its error and what the error depends on.
struct Link {
  std::size_t anchor;
  std::size_t tag;
  double error_m;  // range - distance to the surveyed anchor
  double distance_m;
  std::array<double, 2> towards;  // unit vector from tag to anchor, in the plane
  double cos_bearing, sin_bearing;
};

// Where each parameter stands in the vector.
struct Columns {
  std::size_t anchors, tags;
  bool pattern;
  std::size_t Bias(std::size_t anchor, std::size_t tag) const { return anchor * tags + tag; }
  std::size_t Mean() const { return anchors * tags; }
  std::size_t Slope(std::size_t tag) const { return Mean() + 1 + tag; }
  std::size_t Anchor(std::size_t anchor) const { return Mean() + 1 + tags + 2 * anchor; }
  std::size_t Pattern(std::size_t tag) const {
    return Mean() + 1 + tags + 2 * anchors + tag * RangeGeometry::kPattern;
  }
  std::size_t count() const { return Pattern(pattern ? tags : 0); }
};

// The derivatives of a link's error: nine at most, all others are zero.
struct Row {
  std::array<std::size_t, 9> column;
  std::array<double, 9> value;
  std::size_t size = 0;
  void Add(std::size_t where, double what) {
    column[size] = where;
    value[size++] = what;
  }
};

Row RowOf(const Columns& columns, const Link& link) {
  Row row;
  row.Add(columns.Bias(link.anchor, link.tag), 1.0);
  row.Add(columns.Mean(), 1.0);
  row.Add(columns.Slope(link.tag), link.distance_m);
  row.Add(columns.Anchor(link.anchor), link.towards[0]);
  row.Add(columns.Anchor(link.anchor) + 1, link.towards[1]);
  if (columns.pattern) {
    const double c = link.cos_bearing, s = link.sin_bearing;
    const double values[] = {c, s, c * c - s * s, 2.0 * c * s};
    for (std::size_t i = 0; i < RangeGeometry::kPattern; ++i)
      row.Add(columns.Pattern(link.tag) + i, values[i]);
  }
  return row;
}

// The heading that turns the levers onto the tags' offsets from `own` in the plane, by least squares.
std::array<double, 2> HeadingOf(const GeometryExample& example, const RangeGeometry& geometry,
                                std::size_t own) {
  double along = 0.0, across = 0.0;
  for (std::size_t k = 0; k < geometry.tags.size(); ++k) {
    const double x = example.tags_m[k][0] - example.tags_m[own][0];
    const double y = example.tags_m[k][1] - example.tags_m[own][1];
    along += geometry.lever_m[2 * k] * x + geometry.lever_m[2 * k + 1] * y;
    across += geometry.lever_m[2 * k] * y - geometry.lever_m[2 * k + 1] * x;
  }
  const double length = std::max(std::hypot(along, across), 1e-12);
  return {along / length, across / length};  // cos, sin
}

std::vector<Link> LinksOf(std::span<const GeometryExample* const> examples, const GeometrySurvey& survey,
                          const RangeGeometry& geometry, std::size_t own) {
  std::vector<Link> links;
  for (const GeometryExample* example : examples) {
    const auto [c, s] = HeadingOf(*example, geometry, own);
    for (std::size_t a = 0; a < survey.anchors.size(); ++a) {
      for (std::size_t k = 0; k < survey.tags.size(); ++k) {
        const double range_m = example->ranges_m[a * survey.tags.size() + k];
        if (!std::isfinite(range_m)) continue;
        const double x = survey.anchors_m[a][0] - example->tags_m[k][0];
        const double y = survey.anchors_m[a][1] - example->tags_m[k][1];
        const double z = survey.anchors_m[a][2] - example->tags_m[k][2];
        const double distance = std::max(std::hypot(x, y, z), 1e-6);
        const double plane = std::max(std::hypot(x, y), 1e-6);
        links.push_back({.anchor = a,
                         .tag = k,
                         .error_m = range_m - distance,
                         .distance_m = distance,
                         .towards = {x / distance, y / distance},
                         .cos_bearing = (c * x + s * y) / plane,
                         .sin_bearing = (c * y - s * x) / plane});
      }
    }
  }
  return links;
}

Eigen::VectorXd PriorInformation(const Columns& columns, const GeometryPriors& priors) {
  Eigen::VectorXd information(static_cast<Eigen::Index>(columns.count()));
  const auto set = [&](std::size_t from, std::size_t to, double deviation) {
    for (std::size_t i = from; i < to; ++i)
      information[static_cast<Eigen::Index>(i)] = 1.0 / (deviation * deviation);
  };
  set(0, columns.Mean(), priors.bias_m);
  set(columns.Mean(), columns.Slope(0), kFreeM);
  set(columns.Slope(0), columns.Anchor(0), priors.slope);
  set(columns.Anchor(0), columns.Pattern(0), priors.anchor_m);
  set(columns.Pattern(0), columns.count(), priors.pattern_m);
  return information;
}

double Residual(const Columns& columns, const Link& link, const Eigen::VectorXd& parameters) {
  const Row row = RowOf(columns, link);
  double residual = link.error_m;
  for (std::size_t i = 0; i < row.size; ++i)
    residual -= row.value[i] * parameters[static_cast<Eigen::Index>(row.column[i])];
  return residual;
}

Eigen::VectorXd Solve(const Columns& columns, std::span<const Link> links, std::span<const double> residuals,
                      std::span<const double> deviations, double share, const Eigen::VectorXd& prior) {
  Eigen::MatrixXd information = prior.asDiagonal();
  Eigen::VectorXd gradient = Eigen::VectorXd::Zero(prior.size());
  for (std::size_t l = 0; l < links.size(); ++l) {
    const double deviation = deviations[columns.Bias(links[l].anchor, links[l].tag)];
    const double scaled = residuals[l] / deviation;
    const double weight =
        share * (kFitFreedom + 1.0) / (kFitFreedom + scaled * scaled) / (deviation * deviation);
    const Row row = RowOf(columns, links[l]);
    for (std::size_t i = 0; i < row.size; ++i) {
      const auto at = static_cast<Eigen::Index>(row.column[i]);
      gradient[at] += weight * row.value[i] * links[l].error_m;
      for (std::size_t k = 0; k < row.size; ++k) {
        information(at, static_cast<Eigen::Index>(row.column[k])) += weight * row.value[i] * row.value[k];
      }
    }
  }
  return information.ldlt().solve(gradient);
}

// The deviation of each pair: the root of the mean square of its residuals, far ones cut at a multiple of the
// deviation that their median implies.
std::vector<double> Deviations(const Columns& columns, std::span<const Link> links,
                               std::span<const double> residuals) {
  std::vector<std::vector<double>> magnitudes(columns.Mean());
  for (std::size_t l = 0; l < links.size(); ++l)
    magnitudes[columns.Bias(links[l].anchor, links[l].tag)].push_back(std::abs(residuals[l]));
  std::vector<double> deviations;
  for (std::vector<double>& of_pair : magnitudes) {
    if (of_pair.empty()) {
      deviations.push_back(kStartDeviationM);
      continue;
    }
    const auto middle = of_pair.begin() + static_cast<std::ptrdiff_t>(of_pair.size() / 2);
    std::nth_element(of_pair.begin(), middle, of_pair.end());
    const double robust = std::max(kMedianToDeviation * *middle, kLeastDeviationM);
    double squares = 0.0;
    for (const double magnitude : of_pair) {
      const double bounded = std::min(magnitude, kFarOut * robust);
      squares += bounded * bounded;
    }
    deviations.push_back(
        std::max(std::sqrt(squares / static_cast<double>(of_pair.size())), kLeastDeviationM));
  }
  return deviations;
}

void FillSurvey(std::span<const GeometryExample* const> examples, const GeometrySurvey& survey,
                std::size_t own, RangeGeometry& geometry) {
  geometry.anchors = survey.anchors;
  geometry.tags = survey.tags;
  geometry.tag = survey.tag;
  for (std::size_t k = 0; k < survey.tags.size(); ++k) {
    geometry.lever_m.push_back(survey.tags_m[k][0] - survey.tags_m[own][0]);
    geometry.lever_m.push_back(survey.tags_m[k][1] - survey.tags_m[own][1]);
    double height = 0.0;
    for (const GeometryExample* example : examples) height += example->tags_m[k][2];
    geometry.height_m.push_back(height / static_cast<double>(examples.size()));
  }
}

void FillParameters(const Columns& columns, const GeometrySurvey& survey, const Eigen::VectorXd& parameters,
                    RangeGeometry& geometry) {
  const auto at = [&](std::size_t column) { return parameters[static_cast<Eigen::Index>(column)]; };
  for (std::size_t a = 0; a < columns.anchors; ++a) {
    geometry.anchor_m.push_back(survey.anchors_m[a][0] + at(columns.Anchor(a)));
    geometry.anchor_m.push_back(survey.anchors_m[a][1] + at(columns.Anchor(a) + 1));
    geometry.anchor_m.push_back(survey.anchors_m[a][2]);
  }
  for (std::size_t i = 0; i < columns.Mean(); ++i) geometry.bias_m.push_back(at(i) + at(columns.Mean()));
  for (std::size_t k = 0; k < columns.tags; ++k) {
    geometry.slope.push_back(at(columns.Slope(k)));
    for (std::size_t i = 0; i < RangeGeometry::kPattern; ++i)
      geometry.pattern_m.push_back(columns.pattern ? at(columns.Pattern(k) + i) : 0.0);
  }
}

}  // namespace

RangeGeometry FitGeometry(std::span<const GeometryExample* const> examples, const GeometrySurvey& survey,
                          const GeometryOptions& options) {
  RangeGeometry geometry;
  const auto own = static_cast<std::size_t>(std::ranges::find(survey.tags, survey.tag) - survey.tags.begin());
  FillSurvey(examples, survey, own, geometry);
  const Columns columns{survey.anchors.size(), survey.tags.size(), geometry.HasHeading()};
  const std::vector<Link> links = LinksOf(examples, survey, geometry, own);
  // Rows are correlated in time: together they tell as much as one row per correlation_s.
  const double seconds = static_cast<double>(examples.back()->unix_ns - examples.front()->unix_ns) * 1e-9;
  const double share =
      std::min(1.0, (1.0 + seconds / options.correlation_s) / static_cast<double>(examples.size()));
  const Eigen::VectorXd prior = PriorInformation(columns, options.priors);
  std::vector<double> deviations(columns.Mean(), kStartDeviationM);
  std::vector<double> residuals(links.size(), 0.0);
  Eigen::VectorXd parameters;
  for (int i = 0; i < kReweightings; ++i) {
    parameters = Solve(columns, links, residuals, deviations, share, prior);
    for (std::size_t l = 0; l < links.size(); ++l) residuals[l] = Residual(columns, links[l], parameters);
    deviations = Deviations(columns, links, residuals);
  }
  FillParameters(columns, survey, parameters, geometry);
  geometry.deviation_m = std::move(deviations);
  return geometry;
}

}  // namespace tributary::nn
