#include "core/estimate/surprise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/estimate/categorical.h"
#include "core/estimate/confusion_fixture.h"

namespace tributary::estimate {
namespace {

// An exponential of -20 in single precision has a relative error of 20 · 2⁻²⁴.
constexpr double kRounding = 2e-6;
const std::vector<double> kPrior = {0.4, 0.3, 0.2, 0.1};

// A source that is judged by another one, both with known confusion.
class SurpriseTest : public ::testing::Test {
 protected:
  // Calls with the probability of each pair of answers, where the judged source claims `confidence` times the
  // evidence that it has and says `shift` classes further than it believes.
  void ForEach(double confidence, std::size_t shift,
               const std::function<void(double probability, double surprise)>& use) {
    const Confusion judged = ClassifierOf(0.7);
    const Confusion others = ClassifierOf(0.99);
    for (std::size_t x = 0; x < kConfusedClasses; ++x) {
      const std::vector<float> evidence = EvidenceOf(judged, (x + shift) % kConfusedClasses, confidence);
      for (std::size_t y = 0; y < kConfusedClasses; ++y) {
        std::vector<double> reference = log_prior_;
        AddEvidence<float>(EvidenceOf(others, y), 1, reference);
        double probability = 0;
        for (std::size_t c = 0; c < kConfusedClasses; ++c)
          probability += kPrior[c] * judged[c][x] * others[c][y];
        use(probability, std::exp(LogSurprise(evidence, log_prior_, reference)));
      }
    }
  }
  double Mean(double confidence, std::size_t shift = 0) {
    double mean = 0;
    ForEach(confidence, shift, [&](double probability, double surprise) { mean += probability * surprise; });
    return mean;
  }

  const std::vector<double> log_prior_ = LogPrior(kPrior, kConfusedClasses);
};

TEST_F(SurpriseTest, IsOneInTheMeanForACalibratedSource) { EXPECT_NEAR(Mean(1), 1, 1e-6); }

TEST_F(SurpriseTest, GrowsWithWhatASourceClaimsTooMuch) {
  EXPECT_GT(Mean(2), 3);
  EXPECT_GT(Mean(3), 3 * Mean(2));
  EXPECT_GT(Mean(5), 2.5 * Mean(3));
}

TEST_F(SurpriseTest, StaysBelowOneForASourceThatClaimsTooLittle) {
  EXPECT_LT(Mean(0.5), 0.85);
  EXPECT_NEAR(Mean(0), 1, 1e-6) << "who claims nothing surprises nobody";
}

TEST_F(SurpriseTest, ShowsASourceThatLies) {
  for (const std::size_t shift : {1u, 2u, 3u}) EXPECT_GT(Mean(1, shift), 1.8) << shift;
}

TEST_F(SurpriseTest, OfACalibratedSourceRarelyReachesTheGate) {
  for (const double probability : {0.5, 0.8, 0.9, 0.99, 0.999}) {
    double outside = 0;
    ForEach(1, 0, [&](double of_pair, double surprise) {
      if (std::log(surprise) >= LogSurpriseGate(probability)) outside += of_pair;
    });
    EXPECT_LE(outside, 1 - probability) << probability;
    if (probability <= 0.8) {
      EXPECT_GT(outside, 0) << probability;
    }
  }
}

TEST_F(SurpriseTest, IsFiniteForCertainContradictions) {
  const std::vector<float> certain = {0.0f, -20.0f, -20.0f, -20.0f};
  std::vector<double> others = {-5100, 0, -5100, -5100};
  const double contradicted = LogSurprise(certain, log_prior_, others);
  EXPECT_NEAR(contradicted, 20 + std::log(kPrior[0]), kRounding);
  for (double& value : others) value -= 1e4;
  EXPECT_NEAR(LogSurprise(certain, log_prior_, others), contradicted, kRounding)
      << "a constant does not count";
  EXPECT_NEAR(LogSurprise(certain, log_prior_, std::vector<double>{0, -5100, -5100, -5100}),
              std::log(kPrior[0]), 1e-6);
}

TEST(LogSurpriseGateTest, IsMarkovsBound) { EXPECT_NEAR(std::exp(LogSurpriseGate(0.99)), 100, 1e-9); }

}  // namespace
}  // namespace tributary::estimate
