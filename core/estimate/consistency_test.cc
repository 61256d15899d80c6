#include "core/estimate/consistency.h"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <vector>

#include "core/estimate/conflation.h"
#include "core/estimate/random_gaussian_fixture.h"

namespace tributary::estimate {
namespace {

TEST(ChiSquareTest, QuantilesAreTheTablesOnes) {
  // Abramowitz and Stegun, table 26.8.
  EXPECT_NEAR(ChiSquareQuantile(1, 0.95), 3.84146, 1e-5);
  EXPECT_NEAR(ChiSquareQuantile(1, 0.999), 10.8276, 1e-4);
  EXPECT_NEAR(ChiSquareQuantile(2, 0.95), 5.99146, 1e-5);
  EXPECT_NEAR(ChiSquareQuantile(2, 0.99), 9.21034, 1e-5);
  EXPECT_NEAR(ChiSquareQuantile(2, 0.999), 13.8155, 1e-4);
  EXPECT_NEAR(ChiSquareQuantile(3, 0.95), 7.81473, 1e-5);
  EXPECT_NEAR(ChiSquareQuantile(3, 0.999), 16.2662, 1e-4);
}

TEST(ChiSquareTest, QuantileInvertsSurvival) {
  for (int degrees = 1; degrees <= 3; ++degrees) {
    for (const double probability : {1e-6, 0.1, 0.5, 0.9, 0.99999}) {
      EXPECT_NEAR(1 - ChiSquareSurvival(degrees, ChiSquareQuantile(degrees, probability)), probability,
                  1e-12);
    }
  }
}

TEST(ConsistencyBandTest, IsBetweenTheQuantilesOfChiSquare) {
  // Degrees of freedom, and the quantiles at 0.0005 and 0.9995 from the Poisson sums of the survival
  // function.
  struct Row {
    int degrees;
    double low, high, tolerance;
  };
  for (const Row& row : {Row{6, 0.29944, 24.10280, 0.05}, Row{20, 5.39807, 47.49845, 0.01},
                         Row{100, 59.89566, 153.16695, 0.001}, Row{400, 313.42679, 499.66646, 1e-4}}) {
    const ConsistencyBand band = ConsistencyBandOf(2, row.degrees / 2.0);
    const double low = row.low / row.degrees, high = row.high / row.degrees;
    EXPECT_NEAR(band.low, low, row.tolerance) << row.degrees;
    EXPECT_NEAR(band.high, high, row.tolerance) << row.degrees;
    EXPECT_LE(band.low, low);
    EXPECT_GE(band.high, high);
  }
}

TEST(ConsistencyBandTest, IsWideForOneTupleAndNarrowForMany) {
  EXPECT_EQ(ConsistencyBandOf(1, 1).low, 0);
  EXPECT_GT(ConsistencyBandOf(1, 1).high, 10.8) << "the exact quantile at 0.999 of one degree";
  EXPECT_LT(ConsistencyBandOf(3, 1).high, ConsistencyBandOf(2, 1).high);
  EXPECT_NEAR(ConsistencyBandOf(2, 8192).low, 1 - 3.29 / std::sqrt(8192), 1e-3);
  EXPECT_NEAR(ConsistencyBandOf(2, 8192).high, 1 + 3.29 / std::sqrt(8192), 1e-3);
}

TEST(NormalisedInnovationTest, AgreesWithTheExplicitInverse) {
  std::mt19937_64 random(1);
  const Gaussian<3> a = RandomGaussian<3>(random, 100, 1, 1);
  const Gaussian<3> b = RandomGaussian<3>(random, 100, 1, 1);
  const Vector<3> difference = a.mean - b.mean;
  const double expected = difference.dot((a.Covariance() + b.Covariance()).inverse() * difference);
  EXPECT_NEAR(NormalisedInnovationSquared<3>(a, b), expected, 1e-10 * expected);
}

TEST(NormalisedInnovationTest, IsFiniteWhereTheSumIsNearlySingular) {
  std::mt19937_64 random(2);
  Gaussian<2> a = RandomGaussian<2>(random, 1e12, 1, 1);
  Gaussian<2> b = a;
  b.mean += a.cholesky * Vector<2>(1, 1);
  // Both of covariance Σ, one deviation apart on each axis: 2 / 2.
  EXPECT_NEAR(NormalisedInnovationSquared<2>(a, b), 1.0, 1e-8);
}

// Four estimators of covariance I whose errors have the pairwise correlation ρ.
class CorrelatedEstimatorsTest : public ::testing::Test {
 protected:
  static constexpr int kRuns = 40'000;

  template <typename Fuse>
  double HalfNees(double correlation, Fuse fuse) {
    std::mt19937_64 random(20);
    std::normal_distribution<double> normal;
    double sum = 0;
    std::vector<Gaussian<2>> inputs(4);
    for (int run = 0; run < kRuns; ++run) {
      const Vector<2> shared(normal(random), normal(random));
      for (auto& input : inputs) {
        const Vector<2> own(normal(random), normal(random));
        input.mean = std::sqrt(correlation) * shared + std::sqrt(1 - correlation) * own;
      }
      sum += fuse(inputs)->SquaredDistance(Vector<2>::Zero());
    }
    return sum / kRuns / 2;
  }
};

// The product claims I/4, the true error's covariance is (1 + 3ρ)/4·I: NEES/2 = 1 + 3ρ for unit covariances.
// The deviation of NEES/2 is (1 + 3ρ)/√runs.
TEST_F(CorrelatedEstimatorsTest, TheProductGetsOverConfidentWithCorrelation) {
  for (const double correlation : {0.0, 0.1, 0.3, 0.6, 0.9}) {
    const double expected = 1 + 3 * correlation;
    const double found = HalfNees(correlation, [](const auto& inputs) { return Conflate<2>(inputs); });
    EXPECT_NEAR(found, expected, 4 * expected / std::sqrt(kRuns)) << "correlation " << correlation;
  }
}

TEST_F(CorrelatedEstimatorsTest, IntersectionStaysConservative) {
  for (const double correlation : {0.0, 0.3, 0.9}) {
    const double expected = (1 + 3 * correlation) / 4;
    const double found = HalfNees(correlation, [](const auto& inputs) {
      Information<2> sum;
      for (const auto& input : inputs) sum.Add(*Information<2>::From(input), 0.25);
      return sum.ToGaussian();
    });
    EXPECT_NEAR(found, expected, 4 * expected / std::sqrt(kRuns)) << "correlation " << correlation;
    EXPECT_LT(found, 1);
  }
}

}  // namespace
}  // namespace tributary::estimate
