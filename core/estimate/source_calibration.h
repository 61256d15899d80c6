// How far each source of a site is off, learnt from what the others say: its claimed uncertainty by a factor,
// its mounting by a shift and a turn. Pure; not thread-safe.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "core/estimate/gaussian.h"
#include "core/estimate/tuple_planes.h"

namespace tributary::estimate {

// What a source's estimates need: mean ← place + turn·(mean − place) + shift, L ← scale · turn·L. The
// opposite of its mounting's error.
struct Correction {
  Vector<2> place = Vector<2>::Zero();  // the turn's centre: where the source stands, m
  Vector<2> shift = Vector<2>::Zero();  // m
  double turn = 0;                      // rad, counter-clockwise
  double scale = 1;

  Gaussian<2> Apply(const Gaussian<2>& tuple) const;
  void Apply(TuplePlanes& tuples) const;
};

// How sure the site's plan is of where its sources stand, as standard deviations. Without it nothing tells a
// turn of all sources from a shift of each.
struct MountingPrior {
  double shift_m = 0.02;
  double turn_deg = 2;
};

struct CalibrationState {
  Correction correction;
  Vector<2> shift_deviation = Vector<2>::Zero();
  double turn_deviation = 0;  // rad
  double observations = 0;    // tuples that count, after forgetting
};

// All that a SourceCalibration knows, as plain numbers: another process goes on with it as if it were the
// same one.
struct LearntCalibration {
  static constexpr int kUnknowns = 3;  // of a source: shift and turn

  struct Source {
    CalibrationState state;  // as Solve left it
    double agreed = 1;       // the scale that the residuals ask for
    double squares = 0;      // bounded squared residuals
    double redundancy = 0;   // what they should come to
    double expected = 0;     // the same, as long as the mounting's observations count
    double observations = 0;
  };
  std::vector<Source> sources;
  // normal · unknowns = rhs, about the corrections as they were at each observation. The normal matrix is
  // symmetric: only its lower triangle is read.
  Eigen::MatrixXd normal;  // [kUnknowns × sources, the same]
  Eigen::VectorXd rhs;     // [kUnknowns × sources]
};

// Every tuple is compared with the conflation of all tuples of its subject:
//
// - The scale is a variance component [Foerstner79]: the sum of squared normalised residuals divided by what
//   it should be, D − tr(Λᵢ·Σ) a tuple, with Σ the conflation's covariance. Residuals are bounded, so an
//   outlier does not dominate. Errors that sources share are in no residual: agreement says less than
//   disagreement, so a scale below 1 is followed three quarters of the way, in its logarithm.
// - Shifts and turns of all sources together minimise the residuals and their own squares in units of the
//   prior. A shift or turn of the whole site is in no residual: there the prior alone decides. Tuples far off
//   weigh less, as by Student's t [Lange89].
//
// Both forget: older observations count less. The cost of an observation grows with the square of the
// subject's sources, which are at most kMostSources; that of Solve with their third power.
class SourceCalibration {
 public:
  static constexpr std::size_t kMostSources = 16;
  // What is beyond is no calibration: of the deviation, and of shift and turn in deviations of the prior.
  static constexpr double kLeastScale = 0.25, kMostScale = 30, kMostDeviations = 5;

  // For sources at these places, at most kMostSources.
  SourceCalibration(const MountingPrior& prior, std::span<const Vector<2>> places);

  std::size_t size() const { return learnt_.sources.size(); }

  const LearntCalibration& learnt() const { return learnt_; }
  // Replaces all that it knows. InvalidArgument, naming every fault: what no calibration of these places with
  // this prior learns (FaultsOf in learnt_calibration.h).
  absl::Status Restore(LearntCalibration learnt);

  struct Observation {
    std::size_t source;  // below size(), each at most once
    Gaussian<2> tuple;   // corrected by its state
  };
  // Independent tuples of one subject at one moment; less than two say nothing.
  void Observe(std::span<const Observation> tuples);

  // What was observed before counts `kept` times from now on: 0 … 1.
  void Forget(double kept);

  // Works out shifts, turns and scales from what was observed.
  void Solve();

  const CalibrationState& state(std::size_t source) const { return learnt_.sources[source].state; }

  // Variance of the shift that all sources have in common, m² along each axis: it is in no residual, but
  // sources that are off by different shifts are as likely off by a common one. Nothing averages it away, so
  // it belongs to the conflation and not to its tuples.
  double CommonVariance() const;
  // The conflation with that variance.
  Gaussian<2> WithCommon(const Gaussian<2>& fused) const;

 private:
  // One tuple of a subject among the others.
  struct Part {
    Matrix<2> information;
    Vector<2> mean;
    double weight = 1;
  };

  struct Conflation;

  using Source = LearntCalibration::Source;

  void ObserveMounting(std::span<const Observation> tuples, std::span<const Part> parts);
  void SolveMounting();

  const MountingPrior prior_;
  LearntCalibration learnt_;
};

}  // namespace tributary::estimate
