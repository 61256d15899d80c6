#include "core/nn/encoder/encoder_evaluation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/nn/kernel/random_stream.h"

namespace tributary::nn {
namespace {

constexpr std::size_t kWidth = 6;
constexpr std::size_t kClasses = 3;
constexpr std::size_t kCount = 150;

struct Set {
  std::vector<float> features;
  std::vector<std::uint8_t> labels;
  operator LabelledFeatures() const { return {features, labels}; }
};

// Classes `distance` deviations apart, each along a component of its own.
Set Clusters(std::uint64_t seed, double distance) {
  Set set;
  RandomStream random(seed);
  for (std::size_t n = 0; n < kCount; ++n) {
    set.labels.push_back(static_cast<std::uint8_t>(n % kClasses));
    for (std::size_t f = 0; f < kWidth; ++f) {
      set.features.push_back(static_cast<float>(random.Normal() + (f == n % kClasses ? distance : 0.0)));
    }
  }
  return set;
}

class EncoderEvaluationTest : public ::testing::Test {
 protected:
  static EncoderEvaluation Evaluate(const Set& train, const Set& test) {
    const auto result = EvaluateFeatures(train, test, kWidth);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.value_or(EncoderEvaluation{});
  }
  static void ExpectRefused(const Set& train, const Set& test, std::size_t width = kWidth) {
    EXPECT_EQ(EvaluateFeatures(train, test, width).status().code(), absl::StatusCode::kInvalidArgument);
  }
};

TEST_F(EncoderEvaluationTest, TellsClassesApartThatAreFarApart) {
  const EncoderEvaluation result = Evaluate(Clusters(1, 12), Clusters(2, 12));
  EXPECT_EQ(result.linear_accuracy, 1.0);
  EXPECT_EQ(result.knn_accuracy, 1.0);
  EXPECT_GT(result.spread, 0.5);
}

// Chance is 1/3; four deviations of 150 trials are 0.15.
TEST_F(EncoderEvaluationTest, IsNoBetterThanChanceOnFeaturesThatSayNothing) {
  const EncoderEvaluation result = Evaluate(Clusters(1, 0), Clusters(2, 0));
  EXPECT_NEAR(result.linear_accuracy, 1.0 / 3, 0.15);
  EXPECT_NEAR(result.knn_accuracy, 1.0 / 3, 0.15);
}

TEST_F(EncoderEvaluationTest, DoesNotDependOnTheScaleOfAFeature) {
  const EncoderEvaluation plain = Evaluate(Clusters(1, 3), Clusters(2, 3));
  Set train = Clusters(1, 3), test = Clusters(2, 3);
  for (Set* set : {&train, &test}) {
    for (std::size_t i = 0; i < set->features.size(); i += kWidth) set->features[i] *= 1024;
  }
  const EncoderEvaluation scaled = Evaluate(train, test);
  EXPECT_EQ(plain.linear_accuracy, scaled.linear_accuracy);
  EXPECT_EQ(plain.knn_accuracy, scaled.knn_accuracy);
}

TEST_F(EncoderEvaluationTest, RepeatsItself) {
  const EncoderEvaluation a = Evaluate(Clusters(1, 2), Clusters(2, 2)),
                          b = Evaluate(Clusters(1, 2), Clusters(2, 2));
  EXPECT_EQ(a.linear_accuracy, b.linear_accuracy);
  EXPECT_EQ(a.knn_accuracy, b.knn_accuracy);
}

TEST_F(EncoderEvaluationTest, SeesACollapseAsNoSpread) {
  Set test = Clusters(2, 3);
  for (float& feature : test.features) feature = 2.5f;
  EXPECT_NEAR(Evaluate(Clusters(1, 3), test).spread, 0.0, 1e-6);
}

TEST_F(EncoderEvaluationTest, IgnoresAFeatureThatNeverChanges) {
  Set train = Clusters(1, 12), test = Clusters(2, 12);
  for (Set* set : {&train, &test}) {
    for (std::size_t i = kWidth - 1; i < set->features.size(); i += kWidth) set->features[i] = 7;
  }
  EXPECT_EQ(Evaluate(train, test).linear_accuracy, 1.0);
}

TEST_F(EncoderEvaluationTest, RefusesSetsThatCannotBeJudged) {
  const Set good = Clusters(1, 3);
  ExpectRefused({}, good);
  ExpectRefused(good, {});
  ExpectRefused(good, good, kWidth + 1);
  ExpectRefused(good, good, 0);
  Set bad = good;
  bad.features[3] = std::nanf("");
  ExpectRefused(bad, good);
  ExpectRefused(good, bad);
  Set single = good;
  for (auto& label : single.labels) label = 4;
  ExpectRefused(single, good);
}

}  // namespace
}  // namespace tributary::nn
