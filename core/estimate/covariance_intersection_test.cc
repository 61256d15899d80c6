#include "core/estimate/covariance_intersection.h"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <vector>

#include "core/estimate/random_gaussian_fixture.h"

namespace tributary::estimate {
namespace {

template <int D>
double LogDeterminant(const std::vector<Gaussian<D>>& inputs, const Eigen::VectorXd& weights) {
  Matrix<D> sum = Matrix<D>::Zero();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    sum += weights[static_cast<Eigen::Index>(i)] * inputs[i].Covariance().inverse();
  }
  return -std::log(sum.determinant());
}

template <int D>
std::vector<Gaussian<D>> Inputs(std::uint64_t seed, int n, double condition = 50) {
  std::mt19937_64 random(seed);
  std::vector<Gaussian<D>> inputs;
  for (int i = 0; i < n; ++i) inputs.push_back(RandomGaussian<D>(random, condition, 1, 1));
  return inputs;
}

TEST(CovarianceIntersectionTest, OfTwoFindsTheBestOfAFineGrid) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto inputs = Inputs<3>(seed, 2);
    const double found = LogDeterminant<3>(inputs, *IntersectionWeights<3>(inputs));
    for (int step = 0; step <= 1000; ++step) {
      const double weight = step / 1000.0;
      EXPECT_LE(found, LogDeterminant<3>(inputs, Eigen::Vector2d(1 - weight, weight)) + 1e-9);
    }
  }
}

TEST(CovarianceIntersectionTest, OfManyMeetsTheOptimalityCondition) {
  for (const int n : {3, 4, 8, 16}) {
    const auto inputs = Inputs<2>(static_cast<std::uint64_t>(n), n);
    const Eigen::VectorXd weights = *IntersectionWeights<2>(inputs);
    EXPECT_NEAR(weights.sum(), 1, 1e-12);
    EXPECT_GE(weights.minCoeff(), 0);
    Matrix<2> sum = Matrix<2>::Zero();
    for (int i = 0; i < n; ++i)
      sum += weights[i] * inputs[static_cast<std::size_t>(i)].Covariance().inverse();
    // Kuhn and Tucker: no input has a gradient above D. For a convex function the excess bounds the gap to
    // the minimum.
    for (const auto& input : inputs)
      EXPECT_LE((sum.inverse() * input.Covariance().inverse()).trace(), 2 + 1e-6);
  }
}

TEST(CovarianceIntersectionTest, TakesTheBetterOneIfItIsBetterInEveryDirection) {
  std::vector<Gaussian<2>> inputs(3);
  inputs[1].cholesky *= 0.1;
  inputs[1].mean = {3, 4};
  const Gaussian<2> fused = *Intersect<2>(inputs);
  EXPECT_TRUE(fused.cholesky.isApprox(inputs[1].cholesky, 1e-6));
  EXPECT_TRUE(fused.mean.isApprox(inputs[1].mean, 1e-6));
}

TEST(CovarianceIntersectionTest, IsIdempotent) {
  const auto one = Inputs<3>(5, 1)[0];
  for (const std::size_t copies : {1u, 2u, 5u}) {
    const Gaussian<3> fused = *Intersect<3>(std::vector<Gaussian<3>>(copies, one));
    EXPECT_TRUE(fused.cholesky.isApprox(one.cholesky, 1e-9)) << copies;
    EXPECT_TRUE(fused.mean.isApprox(one.mean, 1e-9)) << copies;
  }
}

TEST(CovarianceIntersectionTest, DoesNotDependOnTheOrder) {
  auto inputs = Inputs<2>(9, 6);
  inputs.push_back(inputs[0]);  // several weights are optimal
  const Gaussian<2> forward = *Intersect<2>(inputs);
  std::reverse(inputs.begin(), inputs.end());
  const Gaussian<2> backward = *Intersect<2>(inputs);
  EXPECT_TRUE(forward.cholesky.isApprox(backward.cholesky, 1e-6));
  EXPECT_TRUE(forward.mean.isApprox(backward.mean, 1e-6));
}

// Conservative whatever the correlation: the fused covariance is not below the true one of any joint
// covariance with these blocks. Checked on the worst case for two: fully correlated errors.
TEST(CovarianceIntersectionTest, CoversTheErrorOfFullyCorrelatedInputs) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto inputs = Inputs<2>(seed, 2);
    const Eigen::VectorXd weights = *IntersectionWeights<2>(inputs);
    const Matrix<2> claimed = Intersect<2>(inputs)->Covariance();
    // mean = Σ Kᵢ meanᵢ, and the same unit vector e drives both errors: error = (K₁L₁ + K₂L₂)e.
    Matrix<2> gain = Matrix<2>::Zero();
    for (int i = 0; i < 2; ++i) {
      const auto& input = inputs[static_cast<std::size_t>(i)];
      gain += weights[i] * claimed * input.Covariance().inverse() * input.cholesky;
    }
    const Matrix<2> margin = claimed - gain * gain.transpose();
    EXPECT_GT(Eigen::SelfAdjointEigenSolver<Matrix<2>>(margin).eigenvalues().minCoeff(), -1e-9);
  }
}

TEST(CovarianceIntersectionTest, HoldsForNearlySingularAndVeryDifferentInputs) {
  for (const double condition : {1e6, 1e12}) {
    std::mt19937_64 random(11);
    std::vector<Gaussian<2>> inputs;
    for (int i = 0; i < 5; ++i)
      inputs.push_back(RandomGaussian<2>(random, condition, std::pow(10.0, 2 * i - 4), 1));
    const auto fused = Intersect<2>(inputs);
    ASSERT_TRUE(fused.ok());
    EXPECT_TRUE(Validate(*fused).ok());
    EXPECT_NEAR(IntersectionWeights<2>(inputs)->sum(), 1, 1e-9);
  }
}

TEST(CovarianceIntersectionTest, RefusesNothingAndWhatIsNotValid) {
  EXPECT_FALSE(Intersect<2>({}).ok());
  std::vector<Gaussian<2>> inputs(2);
  inputs[1].cholesky(0, 0) = -1;
  EXPECT_NE(Intersect<2>(inputs).status().message().find("estimate 1"), std::string::npos);
}

}  // namespace
}  // namespace tributary::estimate
