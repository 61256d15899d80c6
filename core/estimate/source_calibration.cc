#include "core/estimate/source_calibration.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/estimate/learnt_calibration.h"
#include "core/status/faults.h"
#include "core/status/macros.h"

namespace tributary::estimate {
namespace {

// Student's t with so many degrees of freedom weighs residuals of the mounting.
constexpr double kDegreesOfFreedom = 4;
// The part of an observation that is news for the mounting: errors of one user at neighbouring places, and
// those that depend on the place, are no independent draws.
constexpr double kIndependentPart = 0.25;
// Mountings are corrected if they make the squared residuals larger by this part of what they should be.
// Errors that depend on the place can look like a small shift, and its correction would make them worse.
constexpr double kLeastExplained = 0.2;
// The largest squared residual that counts for the scale: ten standard deviations.
constexpr double kLargestSquare = 100;
// The least variance of a tuple, m². What a tuple tells of its source's mounting is what its information and
// that of the conflation differ by: of a tuple that claims to be far more certain than any is, that is
// rounding alone.
constexpr double kLeastVariance = 1e-10;
// As if so many tuples had been seen with the scale that the source claims: the first few decide nothing.
constexpr double kPriorRedundancy = 20;
// The part of the way to the new scale that Solve goes: the scales of all sources depend on each other.
constexpr double kScaleStep = 0.3;
// A scale below 1 is followed so far: what sources agree on may be an error of all.
constexpr double kTrustInAgreement = 0.75;
// What Solve leaves of the sums behind the scales: they are of the scales of their time.
constexpr double kKeptForScale = 0.5;
// How often the weights follow the conflation that they give: enough for three that agree to outvote one.
constexpr int kWeightings = 6;
constexpr int kUnknowns = LearntCalibration::kUnknowns;
constexpr double kPerDegree = std::numbers::pi / 180;

Matrix<2> Rotation(double angle) {
  Matrix<2> rotation;
  rotation(0, 0) = rotation(1, 1) = std::cos(angle);
  rotation(1, 0) = std::sin(angle);
  rotation(0, 1) = -rotation(1, 0);
  return rotation;
}

// The lower Cholesky factor of R·L·Lᵀ·Rᵀ, by one more rotation from the right.
Matrix<2> TurnedFactor(const Matrix<2>& rotation, const Matrix<2>& factor) {
  const Matrix<2> turned = Product<2, 2, 2>(rotation, factor);
  const double radius = std::hypot(turned(0, 0), turned(0, 1));
  const double cosine = turned(0, 0) / radius;
  const double sine = turned(0, 1) / radius;
  Matrix<2> lower;
  lower(0, 0) = radius;
  lower(0, 1) = 0;
  lower(1, 0) = cosine * turned(1, 0) + sine * turned(1, 1);
  lower(1, 1) = cosine * turned(1, 1) - sine * turned(1, 0);
  if (lower(1, 1) < 0) lower(1, 1) = -lower(1, 1);
  return lower;
}

// The inverse of the tuple's covariance, which is at least kLeastVariance along each axis.
Matrix<2> InformationOf(const Gaussian<2>& tuple) {
  const double l11 = tuple.cholesky(0, 0), l21 = tuple.cholesky(1, 0), l22 = tuple.cholesky(1, 1);
  const double xx = l11 * l11 + kLeastVariance, xy = l11 * l21, yy = l21 * l21 + l22 * l22 + kLeastVariance;
  // xx · yy − xy², without the difference.
  const double determinant = l11 * l11 * l22 * l22 + kLeastVariance * (xx + yy - kLeastVariance);
  Matrix<2> information;
  information(0, 0) = yy / determinant;
  information(1, 1) = xx / determinant;
  information(0, 1) = information(1, 0) = -xy / determinant;
  return information;
}

}  // namespace

Gaussian<2> Correction::Apply(const Gaussian<2>& tuple) const {
  const Matrix<2> rotation = Rotation(turn);
  const Vector<2> turned = Product<2, 2, 1>(rotation, tuple.mean - place);
  return {place + turned + shift, scale * TurnedFactor(rotation, tuple.cholesky)};
}

void Correction::Apply(TuplePlanes& tuples) const {
  const auto cosine = static_cast<float>(std::cos(turn)), sine = static_cast<float>(std::sin(turn));
  const auto place_x = static_cast<float>(place[0]), place_y = static_cast<float>(place[1]);
  const auto to_x = static_cast<float>(place[0] + shift[0]), to_y = static_cast<float>(place[1] + shift[1]);
  const auto factor = static_cast<float>(scale);
  for (std::size_t i = 0; i < tuples.size(); ++i) {
    const float x = tuples.mean_x()[i] - place_x, y = tuples.mean_y()[i] - place_y;
    tuples.mean_x()[i] = to_x + cosine * x - sine * y;
    tuples.mean_y()[i] = to_y + sine * x + cosine * y;
    const float l11 = factor * tuples.l11()[i], l21 = factor * tuples.l21()[i],
                l22 = factor * tuples.l22()[i];
    const float right = cosine * l11 - sine * l21, above = -sine * l22;
    const float radius = std::hypot(right, above);
    tuples.l21()[i] = (right * (sine * l11 + cosine * l21) + above * (cosine * l22)) / radius;
    tuples.l22()[i] = l22 * (l11 / radius);
    tuples.l11()[i] = radius;
  }
}

SourceCalibration::SourceCalibration(const MountingPrior& prior, std::span<const Vector<2>> places)
    : prior_(prior) {
  learnt_.sources.resize(std::min(places.size(), kMostSources));
  const std::ptrdiff_t unknowns = kUnknowns * std::ssize(learnt_.sources);
  learnt_.normal = Eigen::MatrixXd::Zero(unknowns, unknowns);
  learnt_.rhs = Eigen::VectorXd::Zero(unknowns);
  for (std::size_t i = 0; i < size(); ++i) learnt_.sources[i].state.correction.place = places[i];
}

absl::Status SourceCalibration::Restore(LearntCalibration learnt) {
  Faults faults = FaultsOf(learnt, prior_);
  faults.Check(learnt.sources.size() == size(), "source",
               absl::StrCat("expected ", size(), " sources, found ", learnt.sources.size()));
  for (std::size_t i = 0; i < std::min(size(), learnt.sources.size()); ++i) {
    faults.Check(learnt.sources[i].state.correction.place == state(i).correction.place,
                 absl::StrCat("source[", i, "].place_m"), "is another place than the plan's");
  }
  RETURN_IF_ERROR(faults.Result());
  learnt_ = std::move(learnt);
  return absl::OkStatus();
}

struct SourceCalibration::Conflation {
  explicit Conflation(std::span<const Part> parts) {
    double xx = 0, xy = 0, yy = 0, x = 0, y = 0;  // the information of all, and its product with the mean
    for (const Part& part : parts) {
      const Matrix<2> own = Weighted(part);
      xx += own(0, 0);
      xy += own(0, 1);
      yy += own(1, 1);
      x += own(0, 0) * part.mean[0] + own(0, 1) * part.mean[1];
      y += own(1, 0) * part.mean[0] + own(1, 1) * part.mean[1];
    }
    const double determinant = xx * yy - xy * xy;
    covariance(0, 0) = yy / determinant;
    covariance(1, 1) = xx / determinant;
    covariance(0, 1) = covariance(1, 0) = -xy / determinant;
    mean[0] = covariance(0, 0) * x + covariance(0, 1) * y;
    mean[1] = covariance(1, 0) * x + covariance(1, 1) * y;
  }

  static Matrix<2> Weighted(const Part& part) { return part.weight * part.information; }
  bool finite() const { return mean.allFinite() && covariance.allFinite(); }
  double SquaredResidual(const Part& part) const {
    const Vector<2> residual = part.mean - mean;
    return residual.dot(Product<2, 2, 1>(part.information, residual));
  }

  Matrix<2> covariance;
  Vector<2> mean;
};

void SourceCalibration::Observe(std::span<const Observation> tuples) {
  if (tuples.size() < 2 || tuples.size() > learnt_.sources.size()) return;
  std::array<Part, kMostSources> storage;
  const std::span<Part> parts(storage.data(), tuples.size());
  for (std::size_t i = 0; i < tuples.size(); ++i) {
    const Gaussian<2>& tuple = tuples[i].tuple;
    parts[i] = {.information = InformationOf(tuple), .mean = tuple.mean};
    if (!parts[i].information.allFinite() || !parts[i].mean.allFinite()) return;
  }
  const Conflation all(parts);
  if (!all.finite()) return;
  for (std::size_t i = 0; i < tuples.size(); ++i) {
    Source& source = learnt_.sources[tuples[i].source];
    const double square = all.SquaredResidual(parts[i]);
    source.squares += std::min(square, kLargestSquare);
    const double redundancy =
        std::max(0.0, 2 - Product<2, 2, 2>(parts[i].information, all.covariance).trace());
    source.redundancy += redundancy;
    source.expected += redundancy;
    source.observations += 1;
  }
  for (int i = 0; i < kWeightings; ++i) {
    const Conflation weighted(parts);
    for (Part& part : parts) {
      part.weight = (kDegreesOfFreedom + 2) / (kDegreesOfFreedom + weighted.SquaredResidual(part));
      if (!std::isfinite(part.weight)) return;
    }
  }
  ObserveMounting(tuples, parts);
}

// The normal equations of the weighted residuals, whose own unknown, the subject's position, is eliminated.
void SourceCalibration::ObserveMounting(std::span<const Observation> tuples, std::span<const Part> parts) {
  const Conflation weighted(parts);
  if (!weighted.finite()) return;
  using Unknowns = Eigen::Matrix<double, kUnknowns, 1>;
  std::array<Eigen::Matrix<double, kUnknowns, 2>, kMostSources> slopes;  // of the mean, by the unknowns
  std::array<Unknowns, kMostSources> present;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Correction& correction = learnt_.sources[tuples[i].source].state.correction;
    const Vector<2> arm = parts[i].mean - correction.shift - correction.place;
    slopes[i].setZero();
    slopes[i](0, 0) = slopes[i](1, 1) = 1;
    slopes[i](2, 0) = -arm[1];
    slopes[i](2, 1) = arm[0];
    present[i] = Unknowns(correction.shift[0], correction.shift[1], correction.turn);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const int row = kUnknowns * static_cast<int>(tuples[i].source);
    const Matrix<2> own = kIndependentPart * Conflation::Weighted(parts[i]);
    const Matrix<2> seen = Product<2, 2, 2>(own, weighted.covariance);
    const Vector<2> pull = Product<2, 2, 1>(own, parts[i].mean - weighted.mean);
    Unknowns rhs = -Product<kUnknowns, 2, 1>(slopes[i], pull);
    for (std::size_t j = 0; j < parts.size(); ++j) {
      const int column = kUnknowns * static_cast<int>(tuples[j].source);
      Matrix<2> core = -Product<2, 2, 2>(seen, Conflation::Weighted(parts[j]));
      if (i == j) core += own;
      const Eigen::Matrix<double, kUnknowns, kUnknowns> block =
          TransposedProduct<kUnknowns, 2, kUnknowns>(Product<kUnknowns, 2, 2>(slopes[i], core), slopes[j]);
      for (int k = 0; k < kUnknowns; ++k) {
        for (int l = 0; l < kUnknowns; ++l) learnt_.normal(row + k, column + l) += block(k, l);
      }
      rhs += Product<kUnknowns, kUnknowns, 1>(block, present[j]);
    }
    for (int k = 0; k < kUnknowns; ++k) learnt_.rhs[row + k] += rhs[k];
  }
}

void SourceCalibration::Forget(double kept) {
  learnt_.normal *= kept;
  learnt_.rhs *= kept;
  for (Source& source : learnt_.sources) {
    source.squares *= kept;
    source.redundancy *= kept;
    source.expected *= kept;
    source.observations *= kept;
  }
}

void SourceCalibration::Solve() {
  for (Source& source : learnt_.sources) {
    source.state.observations = source.observations;
    if (source.redundancy <= 0) continue;
    // Residuals were normalised with the scale of their time; after a change they count less than new ones.
    const double ratio = (source.squares + kPriorRedundancy) / (source.redundancy + kPriorRedundancy);
    double& scale = source.state.correction.scale;
    const double before = scale;
    const double step = std::pow(scale * std::sqrt(ratio) / source.agreed, kScaleStep);
    source.agreed = std::clamp(source.agreed * step, kLeastScale, kMostScale);
    scale = source.agreed < 1 ? std::pow(source.agreed, kTrustInAgreement) : source.agreed;
    source.squares *= kKeptForScale * (before * before) / (scale * scale);
    source.redundancy *= kKeptForScale;
  }
  SolveMounting();
}

double SourceCalibration::CommonVariance() const {
  Vector<2> sum = Vector<2>::Zero();
  double squares = 0, seen = 0;
  for (const Source& source : learnt_.sources) {
    if (source.state.observations <= 0) continue;
    sum += source.state.correction.shift;
    squares += source.state.correction.shift.squaredNorm();
    seen += 1;
  }
  if (seen < 2) return 0;
  const double variance = (squares - sum.squaredNorm() / seen) / (2 * (seen - 1));  // of one source's shift
  return std::max(variance, 0.0) / seen;
}

Gaussian<2> SourceCalibration::WithCommon(const Gaussian<2>& fused) const {
  Matrix<2> wider = fused.Covariance();
  wider.diagonal().array() += CommonVariance();
  return {fused.mean, LowerRoot<2>(wider)};
}

void SourceCalibration::SolveMounting() {
  Eigen::MatrixXd normal = learnt_.normal;
  const double turn_deviation = prior_.turn_deg * kPerDegree;
  for (int i = 0; i < normal.rows(); ++i) {
    const double deviation = i % kUnknowns == 2 ? turn_deviation : prior_.shift_m;
    normal(i, i) += 1 / (deviation * deviation);
  }
  const Eigen::LDLT<Eigen::MatrixXd> solver(normal);
  const Eigen::VectorXd unknowns = solver.solve(learnt_.rhs);
  const Eigen::MatrixXd covariance = solver.solve(Eigen::MatrixXd::Identity(normal.rows(), normal.cols()));
  if (!unknowns.allFinite() || !covariance.allFinite()) return;
  const Eigen::VectorXd push = 2 * learnt_.rhs - learnt_.normal.selfadjointView<Eigen::Lower>() * unknowns;
  for (std::size_t source = 0; source < learnt_.sources.size(); ++source) {
    const int first = kUnknowns * static_cast<int>(source);
    CalibrationState& state = learnt_.sources[source].state;
    const auto deviation = [&](int k) { return std::sqrt(std::max(0.0, covariance(first + k, first + k))); };
    const Vector<2> shift(unknowns[first], unknowns[first + 1]);
    const double turn = unknowns[first + 2];
    const double most_shift = kMostDeviations * prior_.shift_m;
    const bool beyond = std::abs(shift[0]) > most_shift || std::abs(shift[1]) > most_shift ||
                        std::abs(turn) > kMostDeviations * turn_deviation;
    state.shift_deviation = Vector<2>(deviation(0), deviation(1));
    state.turn_deviation = deviation(2);
    // What its mounting explains of the squared residuals, and what they should come to by themselves.
    double explained = 0;
    for (int k = first; k < first + kUnknowns; ++k) explained += unknowns[k] * push[k];
    const bool mounting =
        !beyond && explained > kLeastExplained * kIndependentPart * learnt_.sources[source].expected;
    state.correction.shift = mounting ? shift : Vector<2>::Zero();
    state.correction.turn = mounting ? turn : 0;
  }
}

}  // namespace tributary::estimate
