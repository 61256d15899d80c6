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
  Covariance transition = Covariance::Identity();
  transition.template block<D, D>(0, D).diagonal().setConstant(seconds);
  transition.template block<D, D>(2 * D, 2 * D).diagonal().setConstant(kept);
  filter.state = (transition * filter.state).eval();
  filter.covariance = (transition * filter.covariance * transition.transpose()).eval();
  filter.covariance.template block<D, D>(0, 0).diagonal().array() +=
      density * seconds * seconds * seconds / 3;
  filter.covariance.template block<D, D>(0, D).diagonal().array() += density * seconds * seconds / 2;
  filter.covariance.template block<D, D>(D, 0).diagonal().array() += density * seconds * seconds / 2;
  filter.covariance.template block<D, D>(D, D).diagonal().array() += density * seconds;
  filter.covariance.template block<D, D>(2 * D, 2 * D) += (1.0 - kept * kept) * model_.lasting_share * noise;
}

// Joseph's form: the covariance stays symmetric and positive whatever the rounding.
template <int D>
double MotionTrack<D>::Correct(Filter& filter, const Vector<D>& measured, const Matrix<D>& noise) const {
  Eigen::Matrix<double, D, kSize> sees = Eigen::Matrix<double, D, kSize>::Zero();
  sees.template leftCols<D>().setIdentity();
  sees.template rightCols<D>().setIdentity();
  const Matrix<D> fresh = (1.0 - model_.lasting_share) * noise;
  const Eigen::Matrix<double, D, kSize> across = sees * filter.covariance;
  const Matrix<D> innovation_covariance = across * sees.transpose() + fresh;
  const Eigen::LLT<Matrix<D>> factor(innovation_covariance);
  const Vector<D> innovation = measured - sees * filter.state;
  const Eigen::Matrix<double, kSize, D> gain = factor.solve(across).transpose();
  filter.state += gain * innovation;
  const Covariance remaining = Covariance::Identity() - gain * sees;
  filter.covariance =
      (remaining * filter.covariance * remaining.transpose() + gain * fresh * gain.transpose()).eval();
  const Matrix<D> lower = factor.matrixL();
  return -0.5 * innovation.dot(factor.solve(innovation)) - lower.diagonal().array().log().sum();
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
