#include "core/estimate/motion_track.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace tributary::estimate {
namespace {

// The deviation of the velocity at the start, m/s: twice a runner's speed.
constexpr double kVelocityDeviation = 20.0;
constexpr double kLeastProbability = 1e-6;  // a filter that is never likely must be able to come back

}  // namespace

template <int D>
void MotionTrack<D>::Start(const Gaussian<D>& measured) {
  Filter filter;
  filter.state.template head<D>() = measured.mean;
  filter.covariance.setZero();
  const Matrix<D> noise = measured.Covariance();
  const Matrix<D> lasting = model_.lasting_share * noise;
  filter.covariance.template block<D, D>(0, 0) = noise;
  filter.covariance.template block<D, D>(D, D).diagonal().setConstant(kVelocityDeviation *
                                                                      kVelocityDeviation);
  filter.covariance.template block<D, D>(2 * D, 2 * D) = lasting;
  // The position is the measurement less its error.
  filter.covariance.template block<D, D>(0, 2 * D) = -lasting;
  filter.covariance.template block<D, D>(2 * D, 0) = -lasting;
  filters_.fill(filter);
  probability_ = {0.5, 0.5};
}

template <int D>
void MotionTrack<D>::Update(double seconds, const Gaussian<D>& measured) {
  const Matrix<D> noise = measured.Covariance();
  filters_ = Mixed(seconds);
  std::array<double, 2> likelihood;
  for (std::size_t i = 0; i < 2; ++i) {
    Predict(filters_[i], model_.acceleration_density[i], seconds, noise);
    likelihood[i] = Correct(filters_[i], measured.mean, noise);
  }
  const double best = std::max(likelihood[0], likelihood[1]);
  double sum = 0.0;
  for (std::size_t i = 0; i < 2; ++i) {
    probability_[i] = std::max(probability_[i] * std::exp(likelihood[i] - best), kLeastProbability);
    sum += probability_[i];
  }
  for (double& probability : probability_) probability /= sum;
}

// Each filter begins a step from both, weighted by how likely the subject has come from the other model.
template <int D>
auto MotionTrack<D>::Mixed(double seconds) -> std::array<Filter, 2> {
  const double change = 0.5 * (1.0 - std::exp(-2.0 * model_.switches_per_s * seconds));
  std::array<Filter, 2> mixed;
  std::array<double, 2> predicted;
  for (std::size_t to = 0; to < 2; ++to) {
    const std::size_t from = 1 - to;
    predicted[to] = probability_[to] * (1.0 - change) + probability_[from] * change;
    const double share = probability_[from] * change / predicted[to];
    const State apart = filters_[from].state - filters_[to].state;
    mixed[to].state = filters_[to].state + share * apart;
    mixed[to].covariance = (1.0 - share) * filters_[to].covariance + share * filters_[from].covariance +
                           share * (1.0 - share) * apart * apart.transpose();
  }
  probability_ = predicted;
  return mixed;
}

// x' = x + v·t; the integral of white acceleration adds q·[t³/3 t²/2; t²/2 t] per axis. The lasting error
// fades and is renewed, so that its variance stays.
template <int D>
void MotionTrack<D>::Predict(Filter& filter, double density, double seconds, const Matrix<D>& noise) const {
  const double kept = std::exp(-seconds / model_.lasting_s);
  filter.state.template head<D>() += seconds * filter.state.template segment<D>(D);
  filter.state.template tail<D>() *= kept;
  Covariance& covariance = filter.covariance;
  covariance.template topRows<D>() += seconds * covariance.template middleRows<D>(D);
  covariance.template leftCols<D>() += seconds * covariance.template middleCols<D>(D);
  covariance.template bottomRows<D>() *= kept;
  covariance.template rightCols<D>() *= kept;
  for (int axis = 0; axis < D; ++axis) {
    covariance(axis, axis) += density * seconds * seconds * seconds / 3;
    covariance(axis, D + axis) += density * seconds * seconds / 2;
    covariance(D + axis, axis) += density * seconds * seconds / 2;
    covariance(D + axis, D + axis) += density * seconds;
  }
  covariance.template bottomRightCorner<D, D>() += (1.0 - kept * kept) * model_.lasting_share * noise;
}

// Joseph's form, (I − K·H)·P·(I − K·H)ᵀ + K·R·Kᵀ: the covariance stays positive whatever the rounding. H adds
// position and lasting error, so that products with it are sums of blocks.
template <int D>
double MotionTrack<D>::Correct(Filter& filter, const Vector<D>& measured, const Matrix<D>& noise) const {
  using Across = Eigen::Matrix<double, kSize, D>;
  Covariance& covariance = filter.covariance;
  const auto seen = [&]() -> Across {
    return covariance.template leftCols<D>() + covariance.template rightCols<D>();
  };
  const Matrix<D> fresh = (1.0 - model_.lasting_share) * noise;
  const Across across = seen();
  const Matrix<D> innovation_covariance =
      across.template topRows<D>() + across.template bottomRows<D>() + fresh;
  const Gaussian<D> expected{filter.state.template head<D>() + filter.state.template tail<D>(),
                             Matrix<D>(innovation_covariance.llt().matrixL())};
  const Matrix<D> root = InverseOfLower<D>(expected.cholesky);
  const Across gain = across * (root.transpose() * root);
  filter.state += gain * (measured - expected.mean);
  covariance -= gain * across.transpose();
  const Across rest = seen() - gain * fresh;
  covariance -= rest * gain.transpose();
  covariance = (0.5 * (covariance + covariance.transpose())).eval();
  return -0.5 * expected.SquaredDistance(measured) - expected.cholesky.diagonal().array().log().sum();
}

template <int D>
Gaussian<D> MotionTrack<D>::Position() const {
  const auto at = [&](std::size_t i) -> Vector<D> { return filters_[i].state.template head<D>(); };
  const Vector<D> apart = at(1) - at(0);
  const Matrix<D> covariance = probability_[0] * filters_[0].covariance.template topLeftCorner<D, D>() +
                               probability_[1] * filters_[1].covariance.template topLeftCorner<D, D>() +
                               probability_[0] * probability_[1] * apart * apart.transpose();
  return {at(0) + probability_[1] * apart, Matrix<D>(covariance.llt().matrixL())};
}

template <int D>
Vector<D> MotionTrack<D>::Velocity() const {
  return probability_[0] * filters_[0].state.template segment<D>(D) +
         probability_[1] * filters_[1].state.template segment<D>(D);
}

template class MotionTrack<1>;
template class MotionTrack<2>;
template class MotionTrack<3>;

}  // namespace tributary::estimate
