// Tracks a subject that moves straight and manoeuvres: two interacting Kalman filters [Blom88] over position,
// velocity and the lasting part of the measurement error.
#pragma once

#include <array>

#include "core/estimate/gaussian.h"

namespace tributary::estimate {

struct MotionModel {
  // Spectral densities of the white acceleration, m²/s³, about (speed change)² per second: a calm model for
  // rest and straight ways, and one for turns, starts and stops.
  std::array<double, 2> acceleration_density = {0.02, 2.0};
  double switches_per_s = 0.5;  // from either model to the other
  // Errors of positions from ranges last, because biases change with the place: this share of the variance
  // fades with this time constant. 0: every measurement errs anew, as with independent noise.
  double lasting_share = 0.0;
  double lasting_s = 1.0;
};

// On the "lias" recordings, within the training half: errors of fused positions are correlated by 0.7 to 0.85
// after 10 ms and by 0.35 to 0.5 after 1 s.
inline constexpr MotionModel kRangeMotion = {.lasting_share = 0.75, .lasting_s = 1.5};

// One subject. Not thread-safe; allocates nothing.
template <int D>
class MotionTrack {
 public:
  explicit MotionTrack(const MotionModel& model) : model_(model) {}

  // Starts anew, at rest.
  void Start(const Gaussian<D>& measured);
  // Goes on by `seconds` > 0 and corrects with the measurement. Needs a Start before.
  void Update(double seconds, const Gaussian<D>& measured);

  // Both filters together.
  Gaussian<D> Position() const;
  Vector<D> Velocity() const;
  // Probability that the subject manoeuvres.
  double manoeuvre() const { return probability_[1]; }

 private:
  // Where velocity and lasting error begin in the state, behind the position.
  static constexpr int kVelocity = D, kLasting = 2 * D, kSize = 3 * D;
  using State = Eigen::Matrix<double, kSize, 1>;
  using Covariance = Eigen::Matrix<double, kSize, kSize>;
  struct Filter {
    State state = State::Zero();
    Covariance covariance = Covariance::Identity();
  };

  std::array<Filter, 2> Mixed(double seconds);
  void Predict(Filter& filter, double density, double seconds, const Matrix<D>& noise) const;
  // Gives the log-likelihood of the measurement, without constants.
  double Correct(Filter& filter, const Vector<D>& measured, const Matrix<D>& noise) const;

  MotionModel model_;
  std::array<Filter, 2> filters_;
  std::array<double, 2> probability_ = {0.5, 0.5};
};

}  // namespace tributary::estimate
