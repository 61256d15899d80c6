// Levenberg-Marquardt least squares: W ← W − (JᵀJ + μI)⁻¹Jᵀe ([BEACON], section 5).
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace tributary::nn {

// JᵀJ and Jᵀe of a least-squares problem with its squared error; J itself is never stored. Allocates at
// construction only.
struct NormalEquations {
  explicit NormalEquations(std::size_t parameters)
      : matrix(parameters, parameters), gradient(static_cast<Eigen::Index>(parameters)) {}

  Eigen::MatrixXd matrix;      // JᵀJ, its lower triangle
  Eigen::VectorXd gradient;    // Jᵀe
  double squared_error = 0.0;  // eᵀe
};

// Sum of squared errors over patterns.
class LeastSquaresProblem {
 public:
  virtual ~LeastSquaresProblem() = default;

  virtual std::size_t parameters() const = 0;
  virtual std::size_t errors() const = 0;  // over all patterns

  // Sets the equations from every pattern's rows of J = ∂e/∂W and errors.
  virtual void Linearise(std::span<const double> parameters, NormalEquations& equations) const = 0;

  virtual double SquaredError(std::span<const double> parameters) const = 0;
};

// The usual damping: μ at the start, its factors after a step that lowered the error and after one that did
// not, and where to give up.
inline constexpr double kFirstMu = 1e-3;
inline constexpr double kMuDecrease = 0.1;
inline constexpr double kMuIncrease = 10.0;
inline constexpr double kMaxMu = 1e10;

// Solves (JᵀJ + μI) step = Jᵀe. Keeps its memory from call to call. One thread at a time.
class DampedStep {
 public:
  // W − step is the next W. Null if the damped matrix is not positive definite.
  const Eigen::VectorXd* Solve(const NormalEquations& equations, double mu);

 private:
  Eigen::MatrixXd damped_;
  Eigen::LLT<Eigen::MatrixXd> factor_;
  Eigen::VectorXd step_;
};

struct LevenbergMarquardtOptions {
  double min_gradient = 1e-7;  // of the mean squared error: largest component of 2·Jᵀe / errors
  double min_mean_squared_error = 0.0;
  int max_epochs = 1000;
  int max_failures = 6;  // successive epochs in which the validation error rose
  // The error on held-out data for given parameters; the result is the parameters with the lowest one. Empty:
  // no validation.
  std::function<double(std::span<const double>)> validation;
  // Asked before each epoch; true ends the training. Empty: never.
  std::function<bool()> withdrawn;
};

enum class LevenbergMarquardtStop { kGradient, kTarget, kMuMax, kValidation, kEpochs, kWithdrawn };

struct LevenbergMarquardtResult {
  std::vector<double> parameters;
  double mean_squared_error = 0.0;  // of these parameters
  double validation = 0.0;          // 0 without validation
  int epochs = 0;
  LevenbergMarquardtStop stop = LevenbergMarquardtStop::kEpochs;
};

// Errors: InvalidArgument for a wrong number of parameters or a problem without errors; Internal if the error
// at the start is not finite.
absl::StatusOr<LevenbergMarquardtResult> MinimiseLevenbergMarquardt(const LeastSquaresProblem& problem,
                                                                    std::span<const double> start,
                                                                    const LevenbergMarquardtOptions& options);

}  // namespace tributary::nn
