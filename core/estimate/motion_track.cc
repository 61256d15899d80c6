#include "core/estimate/motion_track.h"

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
  filter.state.setZero();
  filter.covariance.setZero();
  const Matrix<D> noise = measured.Covariance();
  for (int row = 0; row < D; ++row) {
    filter.state[row] = measured.mean[row];
    filter.covariance(kVelocity + row, kVelocity + row) = kVelocityDeviation * kVelocityDeviation;
    for (int column = 0; column < D; ++column) {
      const double lasting = model_.lasting_share * noise(row, column);
      filter.covariance(row, column) = noise(row, column);
      filter.covariance(kLasting + row, kLasting + column) = lasting;
      // The position is the measurement less its error.
      filter.covariance(row, kLasting + column) = filter.covariance(kLasting + row, column) = -lasting;
    }
  }
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
    State apart;
    for (int i = 0; i < kSize; ++i) {
      apart[i] = filters_[from].state[i] - filters_[to].state[i];
      mixed[to].state[i] = filters_[to].state[i] + share * apart[i];
    }
    for (int row = 0; row < kSize; ++row) {
      for (int column = 0; column < kSize; ++column) {
        mixed[to].covariance(row, column) = (1.0 - share) * filters_[to].covariance(row, column) +
                                            share * filters_[from].covariance(row, column) +
                                            share * (1.0 - share) * apart[row] * apart[column];
      }
    }
  }
  probability_ = predicted;
  return mixed;
}

// x' = x + v·t; the integral of white acceleration adds q·[t³/3 t²/2; t²/2 t] per axis. The lasting error
// fades and is renewed, so that its variance stays.
template <int D>
void MotionTrack<D>::Predict(Filter& filter, double density, double seconds, const Matrix<D>& noise) const {
  const double kept = std::exp(-seconds / model_.lasting_s);
  const double renewed = (1.0 - kept * kept) * model_.lasting_share;
  State& state = filter.state;
  Covariance& covariance = filter.covariance;
  for (int axis = 0; axis < D; ++axis) {
    state[axis] += seconds * state[kVelocity + axis];
    state[kLasting + axis] *= kept;
    for (int i = 0; i < kSize; ++i) {
      covariance(axis, i) += seconds * covariance(kVelocity + axis, i);
      covariance(kLasting + axis, i) *= kept;
    }
  }
  for (int axis = 0; axis < D; ++axis) {
    const int velocity = kVelocity + axis, lasting = kLasting + axis;
    for (int i = 0; i < kSize; ++i) {
      covariance(i, axis) += seconds * covariance(i, velocity);
      covariance(i, lasting) *= kept;
    }
    covariance(axis, axis) += density * seconds * seconds * seconds / 3;
    covariance(axis, velocity) += density * seconds * seconds / 2;
    covariance(velocity, axis) += density * seconds * seconds / 2;
    covariance(velocity, velocity) += density * seconds;
  }
  for (int row = 0; row < D; ++row) {
    for (int column = 0; column < D; ++column) {
      covariance(kLasting + row, kLasting + column) += renewed * noise(row, column);
    }
  }
}

// Joseph's form, (I − K·H)·P·(I − K·H)ᵀ + K·R·Kᵀ: the covariance stays positive whatever the rounding. H adds
// position and lasting error, so that products with it are sums of blocks.
template <int D>
double MotionTrack<D>::Correct(Filter& filter, const Vector<D>& measured, const Matrix<D>& noise) const {
  using Across = Eigen::Matrix<double, kSize, D>;
  Covariance& covariance = filter.covariance;
  const auto seen = [&](int row, int axis) {
    return covariance(row, axis) + covariance(row, kLasting + axis);
  };
  Across across;
  for (int row = 0; row < kSize; ++row) {
    for (int axis = 0; axis < D; ++axis) across(row, axis) = seen(row, axis);
  }
  Matrix<D> fresh, innovation_covariance;
  Gaussian<D> expected;
  for (int row = 0; row < D; ++row) {
    expected.mean[row] = filter.state[row] + filter.state[kLasting + row];
    for (int axis = 0; axis < D; ++axis) {
      fresh(row, axis) = (1.0 - model_.lasting_share) * noise(row, axis);
      innovation_covariance(row, axis) = across(row, axis) + across(kLasting + row, axis) + fresh(row, axis);
    }
  }
  expected.cholesky = LowerRoot<D>(innovation_covariance);
  const Across gain = Product<kSize, D, D>(across, Gram<D>(InverseOfLower<D>(expected.cholesky)));
  const State step = Product<kSize, D, 1>(gain, measured - expected.mean);
  const Covariance known = TransposedProduct<kSize, D, kSize>(gain, across);
  for (int row = 0; row < kSize; ++row) {
    filter.state[row] += step[row];
    for (int column = 0; column < kSize; ++column) covariance(row, column) -= known(row, column);
  }
  const Across noisy = Product<kSize, D, D>(gain, fresh);
  Across rest;
  for (int row = 0; row < kSize; ++row) {
    for (int axis = 0; axis < D; ++axis) rest(row, axis) = seen(row, axis) - noisy(row, axis);
  }
  const Covariance added = TransposedProduct<kSize, D, kSize>(rest, gain);
  for (int row = 0; row < kSize; ++row) {
    for (int column = 0; column <= row; ++column) {
      const double below = covariance(row, column) - added(row, column);
      const double above = covariance(column, row) - added(column, row);
      covariance(row, column) = covariance(column, row) = 0.5 * (below + above);
    }
  }
  double log_likelihood = -0.5 * expected.SquaredDistance(measured);
  for (int axis = 0; axis < D; ++axis) log_likelihood -= std::log(expected.cholesky(axis, axis));
  return log_likelihood;
}

template <int D>
Gaussian<D> MotionTrack<D>::Position() const {
  const Filter& calm = filters_[0];
  const Filter& agile = filters_[1];
  Vector<D> apart;
  for (int i = 0; i < D; ++i) apart[i] = agile.state[i] - calm.state[i];
  Gaussian<D> position;
  Matrix<D> covariance;
  for (int row = 0; row < D; ++row) {
    position.mean[row] = calm.state[row] + probability_[1] * apart[row];
    for (int column = 0; column < D; ++column) {
      covariance(row, column) = probability_[0] * calm.covariance(row, column) +
                                probability_[1] * agile.covariance(row, column) +
                                probability_[0] * probability_[1] * apart[row] * apart[column];
    }
  }
  position.cholesky = LowerRoot<D>(covariance);
  return position;
}

template <int D>
Vector<D> MotionTrack<D>::Velocity() const {
  Vector<D> velocity;
  for (int i = 0; i < D; ++i) {
    velocity[i] = probability_[0] * filters_[0].state[kVelocity + i] +
                  probability_[1] * filters_[1].state[kVelocity + i];
  }
  return velocity;
}

template class MotionTrack<1>;
template class MotionTrack<2>;
template class MotionTrack<3>;

}  // namespace tributary::estimate
