#include "core/estimate/log_linear_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/estimate/categorical.h"
#include "core/estimate/confusion_fixture.h"

namespace tributary::estimate {
namespace {

const std::vector<double> kUniform = LogPrior({}, kConfusedClasses);

std::vector<double> Pool(const std::vector<std::vector<float>>& inputs) {
  std::vector<double> weights;
  for (const std::vector<float>& each : inputs) weights.push_back(InformationOf<float>(each, kUniform));
  WeighByInformation(weights);
  std::vector<double> fused = kUniform;
  for (std::size_t i = 0; i < inputs.size(); ++i) AddEvidence<float>(inputs[i], weights[i], fused);
  Normalise(fused);
  return fused;
}

TEST(InformationTest, IsTheDivergenceFromThePrior) {
  const std::vector<double> prior = {0.5, 0.25, 0.125, 0.125};
  const std::vector<float> nothing(4, 0.0f);
  EXPECT_NEAR(InformationOf<float>(nothing, LogPrior(prior, 4)), 0, 1e-12);
  const std::vector<double> evidence = {0, -1, -2, -0.5};
  double sum = 0;
  for (std::size_t c = 0; c < 4; ++c) sum += prior[c] * std::exp(evidence[c]);
  double expected = 0;
  for (std::size_t c = 0; c < 4; ++c) {
    const double p = prior[c] * std::exp(evidence[c]) / sum;
    expected += p * std::log(p / prior[c]);
  }
  EXPECT_NEAR(InformationOf<double>(evidence, LogPrior(prior, 4)), expected, 1e-12);
}

TEST(InformationTest, OfACertainTupleIsThatOfOneClass) {
  const std::vector<double> certain = {-5120, 0, -5120, -5120};
  EXPECT_NEAR(InformationOf<double>(certain, kUniform), std::log(4), 1e-12);
}

TEST(LogLinearPoolTest, CountsEqualInputsOnce) {
  const std::vector<float> one = EvidenceOf(ClassifierOf(0.8), 2);
  const std::vector<double> alone = Pool({one});
  const std::vector<double> often = Pool({one, one, one, one});
  for (std::size_t c = 0; c < kConfusedClasses; ++c) EXPECT_NEAR(often[c], alone[c], 1e-12);
}

TEST(LogLinearPoolTest, LeavesOutInputsThatKnowNothing) {
  const std::vector<float> one = EvidenceOf(ClassifierOf(0.8), 2);
  const std::vector<float> nothing(kConfusedClasses, 0.0f);
  const std::vector<double> alone = Pool({one});
  const std::vector<double> pooled = Pool({nothing, one, nothing});
  for (std::size_t c = 0; c < kConfusedClasses; ++c) EXPECT_NEAR(pooled[c], alone[c], 1e-9);
  for (const double each : Pool({nothing, nothing})) EXPECT_NEAR(each, -std::log(4), 1e-12);
}

TEST(LogLinearPoolTest, ClaimsNothingThatNoInputClaims) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<float> depth(-20.0f, 0.0f);
  for (int run = 0; run < 1'000; ++run) {
    std::vector<std::vector<float>> inputs(2 + run % 5, std::vector<float>(kConfusedClasses));
    for (std::vector<float>& input : inputs) {
      for (float& value : input) value = depth(random);
      input[static_cast<std::size_t>(run) % kConfusedClasses] = 0;
    }
    const std::vector<double> fused = Pool(inputs);
    for (std::size_t a = 0; a < kConfusedClasses; ++a) {
      for (std::size_t b = 0; b < kConfusedClasses; ++b) {
        const auto odds = [&](const std::vector<float>& input) {
          return double{input[a]} - double{input[b]};
        };
        const auto [least, most] = std::ranges::minmax(inputs, {}, odds);
        EXPECT_GE(fused[a] - fused[b], odds(least) - 1e-9);
        EXPECT_LE(fused[a] - fused[b], odds(most) + 1e-9);
      }
    }
  }
}

// Four times the same classifier, taken for four independent ones: the product claims (0.7 / 0.1…)^4.
TEST(LogLinearPoolTest, StaysCalibratedWhereTheProductOfCopiesDoesNot) {
  const Confusion confusion = ClassifierOf(0.7);
  double product_claims = 0;
  double pool_claims = 0;
  double right = 0;
  for (std::size_t said = 0; said < kConfusedClasses; ++said) {
    const std::vector<float> one = EvidenceOf(confusion, said);
    std::vector<double> product = kUniform;
    for (int copy = 0; copy < 4; ++copy) AddEvidence<float>(one, 1, product);
    Normalise(product);
    const std::vector<double> pooled = Pool({one, one, one, one});
    for (std::size_t c = 0; c < kConfusedClasses; ++c) {
      const double probability = confusion[c][said] / kConfusedClasses;
      product_claims += probability * std::exp(*std::ranges::max_element(product));
      pool_claims += probability * std::exp(*std::ranges::max_element(pooled));
      right += said == c ? probability : 0;
    }
  }
  EXPECT_NEAR(right, 0.7, 1e-12);
  EXPECT_NEAR(pool_claims, right, 1e-6);
  EXPECT_GT(product_claims, 0.99);
}

}  // namespace
}  // namespace tributary::estimate
