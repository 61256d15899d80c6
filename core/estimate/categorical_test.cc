#include "core/estimate/categorical.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tributary::estimate {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> Log(std::vector<double> probabilities) {
  for (double& p : probabilities) p = std::log(p);
  return probabilities;
}

void ExpectProbabilities(const absl::StatusOr<std::vector<double>>& found,
                         const std::vector<double>& expected) {
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(std::exp((*found)[i]), expected[i], 1e-12);
}

TEST(CategoricalTest, MultipliesAndNormalises) {
  const std::vector<std::vector<double>> sources = {Log({0.5, 0.3, 0.2}), Log({0.2, 0.6, 0.2})};
  ExpectProbabilities(ConflateCategorical(sources, {}), {0.10 / 0.32, 0.18 / 0.32, 0.04 / 0.32});
}

TEST(CategoricalTest, DividesThePriorOutOncePerSource) {
  // Two sources learned nothing beyond the prior: the result is the prior, not its square.
  const std::vector<double> prior = Log({0.7, 0.2, 0.1});
  const std::vector<std::vector<double>> sources = {prior, prior};
  ExpectProbabilities(ConflateCategorical(sources, prior), {0.7, 0.2, 0.1});
}

TEST(CategoricalTest, DoesNotNeedNormalisedInput) {
  const std::vector<std::vector<double>> sources = {{1000.0, 1000.0 + std::log(3.0)}, {-2000.0, -2000.0}};
  ExpectProbabilities(ConflateCategorical(sources, {}), {0.25, 0.75});
}

TEST(CategoricalTest, OneSourceCannotVetoTheOthers) {
  const std::vector<std::vector<double>> sources = {
      {-kInfinity, 0.0}, Log({1 - 1e-7, 1e-7}), Log({1 - 1e-7, 1e-7})};
  const auto fused = ConflateCategorical(sources, {});
  ASSERT_TRUE(fused.ok());
  EXPECT_GT((*fused)[0], (*fused)[1]);
}

TEST(CategoricalTest, RefusesHostileInput) {
  const std::vector<double> good = {0.0, 0.0};
  const auto refused = [&](std::vector<double> bad) {
    return !ConflateCategorical(std::vector<std::vector<double>>{good, std::move(bad)}, {}).ok();
  };
  EXPECT_TRUE(refused({0.0, std::nan("")}));
  EXPECT_TRUE(refused({0.0, kInfinity}));
  EXPECT_TRUE(refused({-kInfinity, -kInfinity}));
  EXPECT_TRUE(refused({0.0, 0.0, 0.0}));
  EXPECT_TRUE(refused({}));
  EXPECT_FALSE(ConflateCategorical({}, {}).ok());
  EXPECT_FALSE(ConflateCategorical(std::vector<std::vector<double>>{good}, std::vector<double>{0.0}).ok());
}

TEST(CategoricalTest, LogSumExpDoesNotOverflow) {
  EXPECT_NEAR(LogSumExp(std::vector<double>{1e5, 1e5}), 1e5 + std::log(2.0), 1e-9);
  EXPECT_EQ(LogSumExp({}), -kInfinity);
}

}  // namespace
}  // namespace tributary::estimate
