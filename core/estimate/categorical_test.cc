#include "core/estimate/categorical.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/estimate/confusion_fixture.h"

namespace tributary::estimate {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const std::vector<double> kSkewed = {0.6, 0.2, 0.15, 0.05};

std::vector<float> Logs(const std::vector<double>& probabilities) {
  std::vector<float> logs;
  for (const double each : probabilities) logs.push_back(static_cast<float>(std::log(each)));
  return logs;
}

std::vector<float> Evidence(const std::vector<float>& log_probabilities, std::size_t leaves = 1,
                            const std::vector<float>& log_prior = {}) {
  std::vector<float> evidence(log_probabilities.size());
  ToEvidence<float>(log_probabilities, log_prior, leaves, evidence);
  return evidence;
}

TEST(LogProbabilitiesTest, AreRefusedUnlessTheyAreNumbersThatSumToOne) {
  const auto fault = [](const std::vector<float>& values) { return FaultOf<float>(values); };
  EXPECT_EQ(fault(Logs({0.5, 0.25, 0.25})), std::nullopt);
  EXPECT_EQ(fault({0.0f, -kInfinity, -kInfinity}), std::nullopt) << "certain, with zeros";
  EXPECT_EQ(fault({0.0f, -1e30f}), std::nullopt);
  EXPECT_EQ(fault({std::nanf(""), 0.0f}), ProbabilityFault::kNotFinite);
  EXPECT_EQ(fault({0.0f, kInfinity}), ProbabilityFault::kNotFinite);
  for (const std::vector<float>& bad : {std::vector<float>{-kInfinity, -kInfinity},
                                        {0.0f, 0.0f},
                                        {0.5f, -2.0f},
                                        {1e30f, 0.0f},
                                        {-3.0f, -3.0f},
                                        {0.6f, 0.4f}}) {
    EXPECT_EQ(fault(bad), ProbabilityFault::kNotNormalised) << bad[0];
  }
  EXPECT_EQ(fault(Logs({0.5, 0.5009})), std::nullopt) << "rounded";
  EXPECT_EQ(fault(Logs({0.5, 0.5011})), ProbabilityFault::kNotNormalised);
}

TEST(EvidenceTest, IsWhatIsSaidBeyondThePrior) {
  const std::vector<float> evidence = Evidence(Logs({0.5, 0.3, 0.2}));
  EXPECT_FLOAT_EQ(evidence[0], 0);
  EXPECT_NEAR(evidence[1], std::log(0.3 / 0.5), 1e-6);
  for (const float each : Evidence(Logs(kSkewed), 1, Logs(kSkewed))) EXPECT_NEAR(each, 0, 1e-6);
}

TEST(EvidenceTest, OfZeroProbabilityIsDeepAndFinite) {
  for (const std::size_t leaves : {1u, 3u, 256u}) {
    const std::vector<float> evidence = Evidence({-kInfinity, 0.0f, -1e30f}, leaves);
    EXPECT_FLOAT_EQ(evidence[1], 0);
    EXPECT_FLOAT_EQ(evidence[0], static_cast<float>(-kDeepestEvidence * static_cast<double>(leaves)));
    EXPECT_FLOAT_EQ(evidence[2], evidence[0]);
  }
}

// The product of what independent classifiers say is the posterior of all that they say, by enumeration.
TEST(EvidenceTest, OfIndependentClassifiersAddsUpToThePosterior) {
  const Confusion first = ClassifierOf(0.7);
  const Confusion second = ClassifierOf(0.4);
  for (std::size_t x = 0; x < kConfusedClasses; ++x) {
    for (std::size_t y = 0; y < kConfusedClasses; ++y) {
      std::vector<double> fused = LogPrior(kSkewed, kConfusedClasses);
      // One source gives probabilities with the site's prior in them, the other with a uniform one.
      const std::vector<double> with_prior = PosteriorOf(first, x, kSkewed);
      std::vector<double> evidence(kConfusedClasses);
      ToEvidence<double>(with_prior, LogPrior(kSkewed, kConfusedClasses), 1, evidence);
      AddEvidence<double>(evidence, 1, fused);
      AddEvidence<float>(EvidenceOf(second, y), 1, fused);
      Normalise(fused);
      double sum = 0;
      for (std::size_t c = 0; c < kConfusedClasses; ++c) sum += kSkewed[c] * first[c][x] * second[c][y];
      for (std::size_t c = 0; c < kConfusedClasses; ++c) {
        EXPECT_NEAR(std::exp(fused[c]), kSkewed[c] * first[c][x] * second[c][y] / sum, 1e-6);
      }
    }
  }
}

// A child aggregator's result, floored for as many leaves as it contains, is the evidence that it summed.
TEST(EvidenceTest, OfAChildIsTheSumOfItsLeaves) {
  const std::vector<double> log_prior = LogPrior(kSkewed, 4);
  const std::vector<float> certain = Evidence({0.0f, -kInfinity, -kInfinity, -kInfinity});
  const std::vector<float> opposed = Evidence(Logs({1e-12, 0.4, 0.3, 0.3}));
  std::vector<double> fused = log_prior;
  for (const std::vector<float>* each : {&certain, &certain, &certain, &opposed})
    AddEvidence<float>(*each, 1, fused);
  Normalise(fused);
  std::vector<double> again(4);
  ToEvidence<double>(fused, log_prior, 4, again);
  for (std::size_t c = 1; c < 4; ++c) {
    EXPECT_NEAR(again[c] - again[0], 3 * certain[c] + opposed[c] - opposed[0], 1e-5);
  }
}

TEST(LogSumExpTest, NeitherOverflowsNorVanishes) {
  EXPECT_NEAR(LogSumExp(std::vector<double>{-5000, -5000}), -5000 + std::log(2), 1e-12);
  EXPECT_NEAR(LogSumExp(std::vector<double>{700, -700}), 700, 1e-12);
  std::vector<double> logs = {3000, -3000};
  Normalise(logs);
  EXPECT_DOUBLE_EQ(logs[0], 0);
  EXPECT_DOUBLE_EQ(logs[1], -6000);
}

TEST(LogPriorTest, IsUniformUnlessGiven) {
  EXPECT_NEAR(LogPrior({}, 10)[9], -std::log(10), 1e-15);
  EXPECT_NEAR(LogPrior(kSkewed, 4)[3], std::log(0.05), 1e-15);
}

}  // namespace
}  // namespace tributary::estimate
