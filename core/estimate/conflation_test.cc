#include "core/estimate/conflation.h"

#include <gtest/gtest.h>

#include <Eigen/QR>
#include <limits>
#include <vector>

#include "core/estimate/random_gaussian_fixture.h"

namespace tributary::estimate {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// Conflation in long double by a Householder factorisation of all rows at once: another arithmetic and
// another algorithm than those under test.
template <int D>
struct Reference {
  using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;

  explicit Reference(const std::vector<Gaussian<D>>& inputs) {
    const auto n = static_cast<Eigen::Index>(inputs.size());
    LongMatrix rows(n * D, D);
    LongVector rhs(n * D);
    for (Eigen::Index i = 0; i < n; ++i) {
      const auto& input = inputs[static_cast<std::size_t>(i)];
      const LongMatrix factor = input.cholesky.template cast<long double>();
      const LongMatrix inverse =
          factor.template triangularView<Eigen::Lower>().solve(LongMatrix::Identity(D, D));
      rows.middleRows(i * D, D) = inverse;
      rhs.segment(i * D, D) = inverse * input.mean.template cast<long double>();
    }
    const Eigen::HouseholderQR<LongMatrix> qr(rows);
    root = qr.matrixQR().topRows(D).template triangularView<Eigen::Upper>();
    const LongVector projected = qr.householderQ().adjoint() * rhs;
    mean = root.template triangularView<Eigen::Upper>().solve(projected.head(D));
  }

  // Largest relative error of the covariance over all directions.
  double CovarianceError(const Gaussian<D>& result) const {
    const LongMatrix white = root * result.cholesky.template cast<long double>();
    return static_cast<double>(
        (white * white.transpose() - LongMatrix::Identity(D, D)).cwiseAbs().maxCoeff());
  }
  // In standard deviations.
  double MeanError(const Gaussian<D>& result) const {
    return static_cast<double>(
        (root * (result.mean.template cast<long double>() - mean)).cwiseAbs().maxCoeff());
  }

  LongMatrix root;  // upper, rootᵀ·root = Λ
  LongVector mean;
};

template <int D>
void ExpectAgreesWithReference(double condition, double scale) {
  std::mt19937_64 random(static_cast<std::uint64_t>(D) * 1000);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<Gaussian<D>> inputs;
    for (int i = 0; i < 4; ++i) inputs.push_back(RandomGaussian<D>(random, condition, scale, 3 * scale));
    std::normal_distribution<double> normal;
    for (auto& input : inputs) {
      // Half of the time all are alike in shape: the sum is as ill-conditioned as each.
      if (repeat % 2 == 1) input.cholesky = inputs[0].cholesky;
      // Estimates of the same point.
      input.mean = inputs[0].mean + input.cholesky * Vector<D>::NullaryExpr([&] { return normal(random); });
    }
    const absl::StatusOr<Gaussian<D>> result = Conflate<D>(inputs);
    ASSERT_TRUE(result.ok()) << result.status();
    const Reference<D> reference(inputs);
    // A backward error of a few units in the last place per rotation (4 inputs × D rows × D columns) and per
    // element of the inversions, amplified by the condition of the factor; the means lie within a few
    // deviations.
    const double bound = 16 * D * D * kEpsilon * std::sqrt(condition);
    EXPECT_LT(reference.CovarianceError(*result), bound) << "condition " << condition << " scale " << scale;
    EXPECT_LT(reference.MeanError(*result), 10 * bound) << "condition " << condition << " scale " << scale;
  }
}

TEST(InformationTest, AgreesWithLongDoubleFromWellConditionedToNearlySingular) {
  for (const double condition : {1.0, 1e3, 1e6, 1e9, 1e12}) {
    for (const double scale : {1e-6, 1e-3, 1.0, 1e4}) {
      ExpectAgreesWithReference<1>(1.0, scale);
      ExpectAgreesWithReference<2>(condition, scale);
      ExpectAgreesWithReference<3>(condition, scale);
    }
  }
}

TEST(InformationTest, ReturnsWhatItWasMadeFrom) {
  std::mt19937_64 random(1);
  for (const double condition : {1.0, 1e6, 1e12}) {
    const Gaussian<3> before = RandomGaussian<3>(random, condition, 2.0, 10.0);
    const Gaussian<3> after = *Information<3>::From(before)->ToGaussian();
    const double bound = 64 * kEpsilon * std::sqrt(condition);
    EXPECT_TRUE(after.cholesky.isApprox(before.cholesky, bound));
    EXPECT_LT(std::sqrt(before.SquaredDistance(after.mean)), bound * std::sqrt(condition) * 10);
  }
}

TEST(InformationTest, AddsInformationMatrices) {
  std::mt19937_64 random(2);
  const Information<2> a = *Information<2>::From(RandomGaussian<2>(random, 100, 1, 1));
  const Information<2> b = *Information<2>::From(RandomGaussian<2>(random, 100, 1, 1));
  Information<2> sum = a;
  sum.Add(b);
  const auto matrix = [](const Information<2>& one) -> Matrix<2> {
    return one.root().transpose() * one.root();
  };
  EXPECT_TRUE(matrix(sum).isApprox(matrix(a) + matrix(b), 1e-13));
}

TEST(InformationTest, AnEmptySumHasNoGaussian) {
  EXPECT_EQ(Information<2>().ToGaussian().status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(InformationTest, RefusesHostileGaussians) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const auto refused = [](auto change) {
    Gaussian<2> gaussian;
    change(gaussian);
    return Information<2>::From(gaussian).status().code() == absl::StatusCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused([&](auto& g) { g.mean[1] = nan; }));
  EXPECT_TRUE(refused([&](auto& g) { g.mean[0] = -infinity; }));
  EXPECT_TRUE(refused([&](auto& g) { g.cholesky(1, 0) = nan; }));
  EXPECT_TRUE(refused([&](auto& g) { g.cholesky(0, 0) = infinity; }));
  EXPECT_TRUE(refused([&](auto& g) { g.cholesky(1, 1) = 0; }));
  EXPECT_TRUE(refused([&](auto& g) { g.cholesky(1, 1) = -1; }));
  EXPECT_FALSE(refused([&](auto& g) { g.mean[0] = 1e300; }));
}

TEST(ConflationTest, DoesNotDependOnTheOrder) {
  std::mt19937_64 random(6);
  std::vector<Gaussian<2>> inputs;
  for (int i = 0; i < 6; ++i) inputs.push_back(RandomGaussian<2>(random, 1e4, 1, 1));
  const Gaussian<2> forward = *Conflate<2>(inputs);
  std::reverse(inputs.begin(), inputs.end());
  const Gaussian<2> backward = *Conflate<2>(inputs);
  EXPECT_TRUE(forward.cholesky.isApprox(backward.cholesky, 1e-12));
  EXPECT_TRUE(forward.mean.isApprox(backward.mean, 1e-12));
}

TEST(ConflationTest, HalvesTheCovarianceOfADuplicate) {
  std::mt19937_64 random(7);
  const Gaussian<3> one = RandomGaussian<3>(random, 1e3, 1, 1);
  const std::vector<Gaussian<3>> twice = {one, one};
  EXPECT_TRUE(Conflate<3>(twice)->Covariance().isApprox(one.Covariance() / 2, 1e-12));
}

TEST(ConflationTest, NamesTheInputThatIsNotValid) {
  std::vector<Gaussian<1>> inputs(3);
  inputs[2].cholesky(0, 0) = 0;
  EXPECT_NE(Conflate<1>(inputs).status().message().find("estimate 2"), std::string::npos);
  EXPECT_FALSE(Conflate<1>({}).ok());
}

}  // namespace
}  // namespace tributary::estimate
