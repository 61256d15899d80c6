#include "core/nn/geometry/range_fix.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace tributary::nn {
namespace {

constexpr int kMaxIterations = 25;
constexpr double kConvergedM = 1e-5;
constexpr double kLongestStepM = 1.0;       // keeps the first steps of a far start from overshooting
constexpr double kLongestTurnRad = 0.5;     // the same for the heading
constexpr double kLeastDistanceM = 1e-2;    // an anchor's own position has no direction
constexpr double kLeastPlaneM2 = 0.25;      // below an anchor the bearing turns faster than a step can follow
constexpr double kLeastInformation = 1e-4;  // 1/m², 1/rad²: a deviation of 100 m says nothing
constexpr double kFixFreedom = 4.0;         // of the Student-t distribution
constexpr int kHeadings = 4;                // starts: a quarter turn apart, no heading is further than 45°
constexpr double kMostSquared = 25.0;       // one long echo, which hardly counts, must not widen the tuple
constexpr double kReachM = 1.0;
constexpr double kEqualCost = 1e-3;  // minima that differ by less are mirrored or the same

using State = Eigen::Vector3d;  // x, y of the tag, heading

struct Normal {
  Eigen::Matrix3d information = Eigen::Matrix3d::Zero();
  Eigen::Vector3d gradient = Eigen::Vector3d::Zero();
  double cost = 0.0;  // negative log-likelihood, without constants
  double squared = 0.0;
  int ranges = 0;
};

// Bearing-dependent part of the bias of a tag, m, and its derivative by the bearing.
struct PatternValue {
  double value = 0.0;
  double slope = 0.0;
};

PatternValue PatternAt(std::span<const double> pattern_m, double bearing_rad) {
  const double c = std::cos(bearing_rad), s = std::sin(bearing_rad);
  const double c2 = c * c - s * s, s2 = 2.0 * c * s;
  return {.value = pattern_m[0] * c + pattern_m[1] * s + pattern_m[2] * c2 + pattern_m[3] * s2,
          .slope = -pattern_m[0] * s + pattern_m[1] * c - 2.0 * pattern_m[2] * s2 + 2.0 * pattern_m[3] * c2};
}

Normal Linearise(const RangeGeometry& g, std::span<const double> ranges_m, const State& state,
                 bool with_heading) {
  const std::size_t tags = g.tags.size();
  const double c = std::cos(state[2]), s = std::sin(state[2]);
  Normal normal;
  for (std::size_t k = 0; k < tags; ++k) {
    const double lever_x = c * g.lever_m[2 * k] - s * g.lever_m[2 * k + 1];
    const double lever_y = s * g.lever_m[2 * k] + c * g.lever_m[2 * k + 1];
    const std::span<const double> pattern(&g.pattern_m[k * RangeGeometry::kPattern], RangeGeometry::kPattern);
    for (std::size_t a = 0; a < g.anchors.size(); ++a) {
      const std::size_t link = a * tags + k;
      if (!std::isfinite(ranges_m[link])) continue;
      const double dx = state[0] + lever_x - g.anchor_m[3 * a];
      const double dy = state[1] + lever_y - g.anchor_m[3 * a + 1];
      const double dz = g.height_m[k] - g.anchor_m[3 * a + 2];
      const double distance = std::max(std::hypot(dx, dy, dz), kLeastDistanceM);
      PatternValue extra;
      if (with_heading) extra = PatternAt(pattern, std::atan2(-dy, -dx) - state[2]);
      const double residual = ranges_m[link] - distance * (1.0 + g.slope[k]) - g.bias_m[link] - extra.value;
      const double scaled = residual / g.deviation_m[link];
      const double grow = (1.0 + g.slope[k]) / distance;
      State row(dx * grow, dy * grow, 0.0);
      const double turn = extra.slope / std::max(dx * dx + dy * dy, kLeastPlaneM2);
      row[0] -= turn * dy;
      row[1] += turn * dx;
      if (with_heading) row[2] = row[1] * lever_x - row[0] * lever_y - extra.slope;
      const double weight =
          (kFixFreedom + 1.0) / (kFixFreedom + scaled * scaled) / (g.deviation_m[link] * g.deviation_m[link]);
      normal.information.noalias() += weight * row * row.transpose();
      normal.gradient.noalias() += weight * residual * row;
      normal.cost += 0.5 * (kFixFreedom + 1.0) * std::log1p(scaled * scaled / kFixFreedom);
      normal.squared += std::min(scaled * scaled, kMostSquared);
      ++normal.ranges;
    }
  }
  if (!with_heading) normal.information(2, 2) = 1.0;  // so that the inverse exists
  return normal;
}

struct Minimum {
  State state = State::Zero();
  Normal normal;
};

std::optional<Minimum> Minimise(const RangeGeometry& g, std::span<const double> ranges_m, State state,
                                bool with_heading) {
  Normal normal = Linearise(g, ranges_m, state, with_heading);
  for (int iteration = 0; iteration < kMaxIterations; ++iteration) {
    const Eigen::Matrix3d damped = normal.information + kLeastInformation * Eigen::Matrix3d::Identity();
    const Eigen::Vector3d step = damped.ldlt().solve(normal.gradient);
    if (!step.allFinite()) return std::nullopt;
    const double length = step.head<2>().norm();
    state.head<2>() += step.head<2>() * std::min(1.0, kLongestStepM / std::max(length, 1e-12));
    state[2] += std::clamp(step[2], -kLongestTurnRad, kLongestTurnRad);
    normal = Linearise(g, ranges_m, state, with_heading);
    if (length < kConvergedM && std::abs(step[2]) < kConvergedM) break;
  }
  return Minimum{state, normal};
}

// Where the search begins: the middle of the places of training, and the middle of the anchors. From far away
// it may end in a wrong minimum. With anchors in a row, two mirrored solutions are equally good, and the
// first start chooses the one on the side of training.
std::array<State, 2> StartsOf(const RangeGeometry& g) {
  const auto middle = [](std::span<const double> points, std::size_t stride) {
    const std::size_t count = points.size() / stride;
    State sum = State::Zero();
    for (std::size_t i = 0; i < count; ++i) {
      sum[0] += points[stride * i] / static_cast<double>(count);
      sum[1] += points[stride * i + 1] / static_cast<double>(count);
    }
    return sum;
  };
  return {middle(g.place_m, 2), middle(g.anchor_m, 3)};
}

// The distinct minima of a search. Few ranges may fit at two places.
class Minima {
 public:
  void Add(const Minimum& minimum) {
    for (std::size_t i = 0; i < count_; ++i) {
      if ((found_[i].state - minimum.state).head<2>().norm() < kSamePlaceM) return;
    }
    found_[count_++] = minimum;
  }

  // How far the position may lie elsewhere, m²: the other places, each by its likelihood. The costs are as
  // certain as the covariance is.
  Eigen::Matrix2d Spread(const Minimum& best, double variance_scale) const {
    Eigen::Matrix2d spread = Eigen::Matrix2d::Zero();
    double sum = 0.0;
    for (std::size_t i = 0; i < count_; ++i) {
      const Eigen::Vector2d apart = (found_[i].state - best.state).head<2>();
      const double weight =
          std::exp(-std::max(0.0, found_[i].normal.cost - best.normal.cost) / std::max(1.0, variance_scale));
      sum += weight;
      spread += weight * apart * apart.transpose();
    }
    return sum > 0.0 ? Eigen::Matrix2d(spread / sum) : spread;
  }

 private:
  static constexpr double kSamePlaceM = 0.01;
  std::array<Minimum, 2 * kHeadings> found_;
  std::size_t count_ = 0;
};

}  // namespace

std::optional<RangeFix> FixOf(const RangeGeometry& geometry, std::span<const double> ranges_m) {
  if (ranges_m.size() != geometry.inputs()) return std::nullopt;
  const bool with_heading = geometry.HasHeading();
  const int unknowns = with_heading ? 3 : 2;
  std::optional<Minimum> best;
  Minima minima;
  for (State start : StartsOf(geometry)) {
    for (int i = 0; i < (with_heading ? kHeadings : 1); ++i) {
      start[2] = i * 2.0 * std::numbers::pi / kHeadings;
      const std::optional<Minimum> minimum = Minimise(geometry, ranges_m, start, with_heading);
      if (!minimum || minimum->normal.ranges < unknowns) continue;
      minima.Add(*minimum);
      if (!best || minimum->normal.cost < best->normal.cost - kEqualCost) best = minimum;
    }
  }
  if (!best) return std::nullopt;
  const Eigen::LLT<Eigen::Matrix3d> factor(best->normal.information);
  if (factor.info() != Eigen::Success) return std::nullopt;
  Eigen::Matrix3d covariance = factor.solve(Eigen::Matrix3d::Identity()) * geometry.variance_scale;
  covariance.topLeftCorner<2, 2>() += minima.Spread(*best, geometry.variance_scale);
  RangeFix fix{.position_m = {best->state[0], best->state[1]},
               .covariance = {covariance(0, 0), covariance(0, 1), covariance(1, 1)},
               .mean_squared_residual = best->normal.squared / best->normal.ranges};
  const bool sound = best->state.allFinite() && covariance.allFinite() &&
                     covariance.diagonal().head<2>().maxCoeff() * kLeastInformation < 1.0;
  return sound ? std::optional(fix) : std::nullopt;
}

double Widening(const RangeGeometry& geometry, const RangeFix& fix) {
  double nearest_m = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i + 1 < geometry.place_m.size(); i += 2) {
    nearest_m = std::min(nearest_m, std::hypot(fix.position_m[0] - geometry.place_m[i],
                                               fix.position_m[1] - geometry.place_m[i + 1]));
  }
  const double beyond = std::max(0.0, nearest_m - geometry.place_radius_m) / kReachM;
  return (1.0 + beyond * beyond) * std::max(1.0, fix.mean_squared_residual / geometry.residual_limit);
}

std::array<double, 3> CholeskyOf(const RangeGeometry& geometry, const RangeFix& fix) {
  const double factor = std::sqrt(Widening(geometry, fix));
  const double l11 = std::sqrt(fix.covariance[0]);
  const double l21 = fix.covariance[1] / l11;
  return {factor * l11, factor * l21, factor * std::sqrt(fix.covariance[2] - l21 * l21)};
}

}  // namespace tributary::nn
