#include "core/estimate/covariance_intersection.h"

#include <Eigen/Cholesky>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/estimate/conflation.h"
#include "core/status/macros.h"

namespace tributary::estimate {
namespace {

// The barrier's weight at each stage. At the end the log determinant is above its minimum by at most the last
// weight times the number of inputs.
constexpr double kBarriers[] = {1e-1, 1e-3, 1e-5, 1e-7, 1e-9};
constexpr int kNewtonSteps = 50;

// Two inputs: with λ the eigenvalues of Λ₂ relative to Λ₁, log det(w₁Λ₁ + w₂Λ₂) = const + Σ log(1 + w₂(λ -
// 1)) is concave in w₂. Its derivative is bisected.
template <int D>
Eigen::VectorXd WeightsOfTwo(const Information<D>& first, const Information<D>& second) {
  const Matrix<D> relative = Product<D, D, D>(second.root(), InverseOfLower<D>(first.root()));
  Vector<D> excess = relative.jacobiSvd().singularValues();
  double most = 0;
  for (int i = 0; i < D; ++i) {
    excess[i] = excess[i] * excess[i] - 1;
    most = std::max(most, std::abs(excess[i]));
  }
  const auto slope = [&](double weight) {
    double sum = 0;
    for (int i = 0; i < D; ++i) sum += excess[i] / (1 + weight * excess[i]);
    return sum;
  };
  double low = 0;
  double high = 1;
  if (most < 1e-9) low = high = 0.5;  // equal: every weight is optimal
  if (slope(0) <= 0) high = low;
  if (slope(1) >= 0) low = high;
  for (int i = 0; i < 52 && low < high; ++i) {
    const double middle = (low + high) / 2;
    (slope(middle) > 0 ? low : high) = middle;
  }
  return Eigen::Vector2d(1 - high, high);
}

// More inputs: minimises -log det Λ(w) + D·Σw over w ≥ 0. As log det is homogeneous, the minimum has Σw = 1
// by itself, and only the bounds remain: they are handled by a logarithmic barrier. Both terms are
// self-concordant, so the damped Newton steps converge from any interior point.
template <int D>
class WeightSearch {
 public:
  explicit WeightSearch(const std::vector<Information<D>>& inputs)
      : inputs_(inputs), n_(static_cast<Eigen::Index>(inputs.size())), relative_(inputs.size()) {}

  Eigen::VectorXd Run() {
    Eigen::VectorXd weights = Eigen::VectorXd::Constant(n_, 1.0 / static_cast<double>(n_));
    for (const double barrier : kBarriers) {
      for (int step = 0; step < kNewtonSteps && !Step(weights, barrier); ++step) {
      }
      weights /= weights.sum();
    }
    return weights;
  }

 private:
  // One damped Newton step; true once it is short.
  bool Step(Eigen::VectorXd& weights, double barrier) {
    Whiten(weights);
    // In units of each weight (δwᵢ = wᵢ·step), where the Hessian is well scaled down to vanishing weights.
    Eigen::VectorXd gradient(n_);
    Eigen::MatrixXd hessian(n_, n_);
    for (Eigen::Index i = 0; i < n_; ++i) {
      const Matrix<D>& a = relative_[static_cast<std::size_t>(i)];
      gradient[i] = weights[i] * (D - a.trace()) - barrier;
      for (Eigen::Index j = 0; j <= i; ++j) {
        const Matrix<D>& b = relative_[static_cast<std::size_t>(j)];
        double trace = 0;
        for (int k = 0; k < D * D; ++k) trace += a.data()[k] * b.data()[k];
        hessian(i, j) = hessian(j, i) = weights[i] * weights[j] * trace;
      }
      hessian(i, i) += barrier;
    }
    const Eigen::VectorXd step = hessian.ldlt().solve(-gradient);
    const double decrement = std::sqrt(std::max(0.0, -gradient.dot(step) / barrier));
    if (!std::isfinite(decrement)) return true;
    // Inside this radius the full step is feasible and converges quadratically.
    weights.array() *= 1 + step.array() / (decrement < 0.25 ? 1 : 1 + decrement);
    return decrement < 1e-4;
  }

  // relative_[i] = LᵀΛᵢL, with L the Cholesky factor of Λ(w)⁻¹.
  void Whiten(const Eigen::VectorXd& weights) {
    Information<D> sum;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      sum.Add(inputs_[i], weights[static_cast<Eigen::Index>(i)]);
    const Matrix<D> factor = InverseOfLower<D>(sum.root());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      relative_[i] = Gram<D>(Product<D, D, D>(inputs_[i].root(), factor));
    }
  }

  const std::vector<Information<D>>& inputs_;
  const Eigen::Index n_;
  std::vector<Matrix<D>> relative_;
};

template <int D>
Eigen::VectorXd Weights(const std::vector<Information<D>>& inputs) {
  if (inputs.size() == 1) return Eigen::VectorXd::Ones(1);
  if (inputs.size() == 2) return WeightsOfTwo<D>(inputs[0], inputs[1]);
  return WeightSearch<D>(inputs).Run();
}

}  // namespace

template <int D>
absl::StatusOr<Eigen::VectorXd> IntersectionWeights(std::span<const Gaussian<D>> inputs) {
  ASSIGN_OR_RETURN(const std::vector<Information<D>> information, InformationOf(inputs, "intersect"));
  return Weights<D>(information);
}

template <int D>
absl::StatusOr<Gaussian<D>> Intersect(std::span<const Gaussian<D>> inputs) {
  ASSIGN_OR_RETURN(const std::vector<Information<D>> information, InformationOf(inputs, "intersect"));
  const Eigen::VectorXd weights = Weights<D>(information);
  Information<D> sum;
  for (std::size_t i = 0; i < information.size(); ++i) {
    sum.Add(information[i], weights[static_cast<Eigen::Index>(i)]);
  }
  return sum.ToGaussian();
}

template absl::StatusOr<Eigen::VectorXd> IntersectionWeights(std::span<const Gaussian<1>>);
template absl::StatusOr<Eigen::VectorXd> IntersectionWeights(std::span<const Gaussian<2>>);
template absl::StatusOr<Eigen::VectorXd> IntersectionWeights(std::span<const Gaussian<3>>);
template absl::StatusOr<Gaussian<1>> Intersect(std::span<const Gaussian<1>>);
template absl::StatusOr<Gaussian<2>> Intersect(std::span<const Gaussian<2>>);
template absl::StatusOr<Gaussian<3>> Intersect(std::span<const Gaussian<3>>);

}  // namespace tributary::estimate
