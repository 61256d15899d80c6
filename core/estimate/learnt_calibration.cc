#include "core/estimate/learnt_calibration.h"

#include <Eigen/Cholesky>
#include <cmath>
#include <numbers>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace tributary::estimate {
namespace {

// No sum of squares is larger: in the window of a day 32 subjects, ten times a second, are 3e7 tuples, and a
// tuple adds 100 at most.
constexpr double kMostSum = 1e12;
// No sum of the normal equations is larger: the same window with tuples that claim micrometres.
constexpr double kMostInformation = 1e20;
// What rounding may take from the diagonal of the normal matrix, as a part of it.
constexpr double kRounding = 1e-9;
constexpr double kRadiansPerDegree = std::numbers::pi / 180;

// Checks the numbers of one source.
class SourceCheck {
 public:
  SourceCheck(std::size_t index, Faults& faults)
      : prefix_(absl::StrCat("source[", index, "].")), faults_(faults) {}

  void Range(std::string_view key, double value, double least, double most) const {
    // False for what is no number.
    faults_.Check(value >= least && value <= most, absl::StrCat(prefix_, std::string(key)),
                  absl::StrCat("expected ", least, " to ", most, ", found ", value));
  }
  void Sum(std::string_view key, double value) const { Range(key, value, 0, kMostSum); }

 private:
  const std::string prefix_;
  Faults& faults_;
};

void CheckSource(const LearntCalibration::Source& source, const MountingPrior& prior,
                 const SourceCheck& check) {
  const auto& [correction, shift_deviation, turn_deviation, observations] = source.state;
  const double most_shift = SourceCalibration::kMostDeviations * prior.shift_m;
  const double most_turn = SourceCalibration::kMostDeviations * prior.turn_deg * kRadiansPerDegree;
  for (int axis = 0; axis < 2; ++axis) {
    check.Range("place_m", correction.place[axis], -kMostSum, kMostSum);
    check.Range("shift_m", correction.shift[axis], -most_shift, most_shift);
    check.Range("shift_deviation_m", shift_deviation[axis], 0, most_shift);
  }
  check.Range("turn_rad", correction.turn, -most_turn, most_turn);
  check.Range("turn_deviation_rad", turn_deviation, 0, most_turn);
  check.Range("scale", correction.scale, SourceCalibration::kLeastScale, SourceCalibration::kMostScale);
  check.Range("agreed_scale", source.agreed, SourceCalibration::kLeastScale, SourceCalibration::kMostScale);
  check.Sum("squares", source.squares);
  check.Sum("redundancy", source.redundancy);
  check.Sum("expected", source.expected);
  check.Sum("observations", source.observations);
  check.Sum("solved_observations", observations);
}

double Deviation(Eigen::Index unknown, const MountingPrior& prior) {
  return unknown % LearntCalibration::kUnknowns == 2 ? prior.turn_deg * kRadiansPerDegree : prior.shift_m;
}

// The right-hand side is a sum of weighted residuals, none of which is larger than their squares admit, and
// of what the corrections of that time took off, which are bounded.
double MostPull(const Eigen::MatrixXd& lower, Eigen::Index row, const MountingPrior& prior) {
  double most = std::sqrt(kMostSum * (1 + std::abs(lower(row, row))));
  for (Eigen::Index column = 0; column < lower.cols(); ++column) {
    const double entry = column <= row ? lower(row, column) : lower(column, row);
    most += std::abs(entry) * SourceCalibration::kMostDeviations * Deviation(column, prior);
  }
  return most;
}

// Solve inverts this matrix. Sums of squares are positive semidefinite, and the prior makes them definite.
bool PositiveDefinite(Eigen::MatrixXd normal, const MountingPrior& prior) {
  for (int i = 0; i < normal.rows(); ++i) {
    const double deviation = Deviation(i, prior);
    normal(i, i) = (1 + kRounding) * normal(i, i) + 1 / (deviation * deviation);
  }
  const Eigen::LDLT<Eigen::MatrixXd> solver(normal);
  return solver.info() == Eigen::Success && solver.vectorD().minCoeff() > 0;
}

}  // namespace

Faults FaultsOf(const LearntCalibration& learnt, const MountingPrior& prior) {
  Faults faults;
  const auto count = static_cast<Eigen::Index>(learnt.sources.size());
  const Eigen::Index unknowns = LearntCalibration::kUnknowns * count;
  faults.Check(learnt.sources.size() <= SourceCalibration::kMostSources, "source",
               absl::StrCat("expected at most ", SourceCalibration::kMostSources, " sources, found ", count));
  const bool square = learnt.normal.rows() == unknowns && learnt.normal.cols() == unknowns;
  faults.Check(square, "normal", absl::StrCat("expected a matrix of ", unknowns, " rows"));
  faults.Check(learnt.rhs.size() == unknowns, "rhs",
               absl::StrCat("expected ", unknowns, " numbers, found ", learnt.rhs.size()));
  if (!faults.Result().ok() || count == 0) return faults;

  for (std::size_t i = 0; i < learnt.sources.size(); ++i) {
    CheckSource(learnt.sources[i], prior, SourceCheck(i, faults));
  }
  const Eigen::MatrixXd lower = learnt.normal.triangularView<Eigen::Lower>();
  const bool bounded = lower.allFinite() && lower.cwiseAbs().maxCoeff() <= kMostInformation;
  faults.Check(bounded, "normal", absl::StrCat("expected finite numbers up to ", kMostInformation));
  faults.Check(!bounded || PositiveDefinite(lower, prior), "normal",
               "is not positive semidefinite: no sum of squares");
  const bool finite = learnt.rhs.allFinite() && learnt.rhs.cwiseAbs().maxCoeff() <= kMostInformation;
  faults.Check(finite, "rhs", absl::StrCat("expected finite numbers up to ", kMostInformation));
  if (!bounded || !finite) return faults;
  for (Eigen::Index i = 0; i < unknowns; ++i) {
    faults.Check(std::abs(learnt.rhs[i]) <= MostPull(lower, i, prior), "rhs",
                 absl::StrCat("row ", i, " pulls harder than its observations can"));
  }
  return faults;
}

}  // namespace tributary::estimate
