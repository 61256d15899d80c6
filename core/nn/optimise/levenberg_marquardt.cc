#include "core/nn/optimise/levenberg_marquardt.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace tributary::nn {
namespace {

// One run. State is what the algorithm keeps from epoch to epoch.
class Minimiser {
 public:
  Minimiser(const LeastSquaresProblem& problem, std::span<const double> start,
            const LevenbergMarquardtOptions& options)
      : problem_(problem),
        options_(options),
        equations_(problem.parameters()),
        parameters_(start.begin(), start.end()),
        candidate_(parameters_),
        count_(static_cast<double>(problem.errors())) {}

  absl::StatusOr<LevenbergMarquardtResult> Run() {
    Linearise();
    if (!std::isfinite(equations_.squared_error))
      return absl::InternalError("the error at the start is not finite");
    Remember();
    while (best_.epochs < options_.max_epochs) {
      if (options_.withdrawn && options_.withdrawn()) return Stop(LevenbergMarquardtStop::kWithdrawn);
      if (2.0 * equations_.gradient.lpNorm<Eigen::Infinity>() / count_ <= options_.min_gradient) {
        return Stop(LevenbergMarquardtStop::kGradient);
      }
      if (equations_.squared_error / count_ <= options_.min_mean_squared_error) {
        return Stop(LevenbergMarquardtStop::kTarget);
      }
      if (!Step()) return Stop(LevenbergMarquardtStop::kMuMax);
      Linearise();
      ++best_.epochs;
      if (!Remember()) return Stop(LevenbergMarquardtStop::kValidation);
    }
    return Stop(LevenbergMarquardtStop::kEpochs);
  }

 private:
  LevenbergMarquardtResult Stop(LevenbergMarquardtStop stop) {
    best_.stop = stop;
    return best_;
  }

  void Linearise() { problem_.Linearise(parameters_, equations_); }

  // Raises μ until a step lowers the error, and takes that step. False if μ has reached its limit.
  bool Step() {
    for (; mu_ <= kMaxMu; mu_ *= kMuIncrease) {
      const Eigen::VectorXd* const step = damped_step_.Solve(equations_, mu_);
      if (step == nullptr) continue;
      for (std::size_t i = 0; i < parameters_.size(); ++i) {
        candidate_[i] = parameters_[i] - (*step)[static_cast<Eigen::Index>(i)];
      }
      if (problem_.SquaredError(candidate_) < equations_.squared_error) {
        parameters_.swap(candidate_);
        mu_ *= kMuDecrease;
        return true;
      }
    }
    return false;
  }

  // Keeps the best parameters so far. False once validation has failed too often.
  bool Remember() {
    const double validation = options_.validation ? options_.validation(parameters_) : 0.0;
    if (options_.validation && !best_.parameters.empty() && !(validation < best_.validation)) {
      return ++failures_ < options_.max_failures;
    }
    failures_ = 0;
    best_.parameters = parameters_;
    best_.mean_squared_error = equations_.squared_error / count_;
    best_.validation = validation;
    return true;
  }

  const LeastSquaresProblem& problem_;
  const LevenbergMarquardtOptions& options_;
  NormalEquations equations_;
  std::vector<double> parameters_;
  std::vector<double> candidate_;
  DampedStep damped_step_;
  double mu_ = kFirstMu;
  const double count_;
  int failures_ = 0;
  LevenbergMarquardtResult best_;
};

}  // namespace

const Eigen::VectorXd* DampedStep::Solve(const NormalEquations& equations, double mu) {
  damped_ = equations.matrix;
  damped_.diagonal().array() += mu;
  factor_.compute(damped_);
  if (factor_.info() != Eigen::Success) return nullptr;
  step_ = factor_.solve(equations.gradient);
  return step_.allFinite() ? &step_ : nullptr;
}

absl::StatusOr<LevenbergMarquardtResult> MinimiseLevenbergMarquardt(
    const LeastSquaresProblem& problem, std::span<const double> start,
    const LevenbergMarquardtOptions& options) {
  if (start.size() != problem.parameters()) {
    return absl::InvalidArgumentError(
        absl::StrCat(start.size(), " parameters to start from, the problem has ", problem.parameters()));
  }
  if (problem.errors() == 0) return absl::InvalidArgumentError("a least-squares problem without errors");
  return Minimiser(problem, start, options).Run();
}

}  // namespace tributary::nn
