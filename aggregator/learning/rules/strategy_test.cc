#include "aggregator/learning/rules/strategy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "aggregator/learning/round/accumulator.h"

namespace tributary::learning {
namespace {

// tests/reference/strategies.py
nlohmann::json Recorded() {
  std::ifstream file(TRIBUTARY_SOURCE_DIR "/tests/reference/strategies.json");
  return nlohmann::json::parse(file);
}

StrategyOptions RecordedOptions(StrategyKind kind, const nlohmann::json& options) {
  StrategyOptions result;
  result.kind = kind;
  const bool adaptive = kind == StrategyKind::kFedAdam || kind == StrategyKind::kFedYogi;
  result.learning_rate = options[adaptive ? "adaptive_learning_rate" : "learning_rate"];
  result.momentum = options["momentum"];
  result.beta1 = options["beta1"];
  result.beta2 = options["beta2"];
  result.tau = options["tau"];
  result.trim = options["trim"];
  result.byzantine = options["byzantine"];
  return result;
}

class StrategyReferenceTest : public ::testing::TestWithParam<StrategyKind> {};

// In float against NumPy in double, three rounds: a model below 8 rounds to 2^-22 per round, and a step below
// 2 carries some ten float roundings of 2^-24: 3 · (2^-22 + 2 · 10 · 2^-24) = 4.3e-6.
TEST_P(StrategyReferenceTest, EqualsNumpyOnRecordedUpdates) {
  const nlohmann::json recorded = Recorded();
  const std::vector<std::string> nodes = recorded["nodes"];
  const std::vector<double> samples = recorded["samples"];
  std::vector<float> model = recorded["initial"];
  const auto strategy = Strategy::Create(RecordedOptions(GetParam(), recorded["options"]), model.size());
  const nlohmann::json& expected = recorded["expected"][std::string(StrategyName(GetParam()))];

  Accumulator sum(model.size());
  for (std::size_t round = 0; round < expected.size(); ++round) {
    const std::vector<std::vector<float>> deltas = recorded["updates"][round];
    std::vector<float> combined(model.size());
    if (strategy->needs_every_update()) {
      std::vector<NodeUpdate> updates;
      for (std::size_t k = nodes.size(); k-- > 0;) updates.push_back({nodes[k], samples[k], deltas[k]});
      ASSERT_TRUE(strategy->Combine(updates, combined).ok());
    } else {
      double total_weight = 0;
      for (const double count : samples) total_weight += count;
      sum.Start(*parameters::FixedPoint::For(8, total_weight, nodes.size()));
      for (std::size_t k = 0; k < nodes.size(); ++k) ASSERT_TRUE(sum.Add(0, deltas[k], samples[k]).ok());
      std::ranges::copy(*sum.TakeMean(total_weight), combined.begin());
    }
    ASSERT_TRUE(strategy->Step(combined, model).ok());
    for (std::size_t i = 0; i < model.size(); ++i) {
      EXPECT_NEAR(model[i], expected[round][i].get<double>(), 4.3e-6)
          << "round " << round << " element " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, StrategyReferenceTest,
                         ::testing::Values(StrategyKind::kFedAvg, StrategyKind::kFedProx,
                                           StrategyKind::kFedEma, StrategyKind::kFedAvgM,
                                           StrategyKind::kFedAdam, StrategyKind::kFedYogi,
                                           StrategyKind::kFedBuff, StrategyKind::kMedian,
                                           StrategyKind::kTrimmedMean, StrategyKind::kMultiKrum),
                         [](const auto& suite) { return std::string(StrategyName(suite.param)); });

// A run that goes on from stored state gives the same bits.
TEST(StrategyTest, GoesOnFromItsState) {
  for (const StrategyKind kind : {StrategyKind::kFedAvgM, StrategyKind::kFedAdam, StrategyKind::kFedYogi}) {
    StrategyOptions options;
    options.kind = kind;
    std::mt19937_64 random(3);
    std::normal_distribution<float> normal(0, 0.1f);
    std::vector<float> model(100, 1.0f), delta(100);
    const auto uninterrupted = Strategy::Create(options, 100);
    auto restarted = Strategy::Create(options, 100);
    std::vector<float> restarted_model = model;
    for (int round = 0; round < 4; ++round) {
      for (float& value : delta) value = normal(random);
      ASSERT_TRUE(uninterrupted->Step(delta, model).ok());
      auto next = Strategy::Create(options, 100);
      for (std::size_t s = 0; s < next->state().size(); ++s) {
        std::ranges::copy(restarted->state()[s], next->state()[s].begin());
      }
      restarted = std::move(next);
      ASSERT_TRUE(restarted->Step(delta, restarted_model).ok());
      EXPECT_EQ(restarted_model, model);
    }
  }
}

// A mean and a variance in the midst of the model: whatever the server does to weights, these move by the
// nodes' average, and the weights move as if the statistics were not there.
TEST(StrategyTest, TakesRunningStatisticsAsTheyAre) {
  const std::vector<parameters::TensorShape> tensors = {{"block1.kernel", {2, 2}},
                                                        {"block1.norm.running_mean", {2}},
                                                        {"block1.norm.running_variance", {2}},
                                                        {"block2.kernel", {3}}};
  const std::vector<parameters::StatisticRange> statistics = parameters::FindStatistics(tensors);
  ASSERT_EQ(statistics.size(), 2u);
  for (const StrategyKind kind : {StrategyKind::kFedAvg, StrategyKind::kFedAvgM, StrategyKind::kFedAdam,
                                  StrategyKind::kFedYogi, StrategyKind::kMedian}) {
    StrategyOptions options;
    options.kind = kind;
    options.learning_rate = 0.5;
    const auto whole = Strategy::Create(options, 11, statistics);
    const auto learned = Strategy::Create(options, 7);
    std::vector<float> model(11, 1.0f), weights(7, 1.0f);
    for (int round = 1; round <= 3; ++round) {
      ASSERT_TRUE(whole->Step(std::vector<float>{1, 2, 3, 4, 8, 16, 32, 64, 5, 6, 7}, model).ok());
      ASSERT_TRUE(learned->Step(std::vector<float>{1, 2, 3, 4, 5, 6, 7}, weights).ok());
      const auto n = static_cast<float>(round);
      EXPECT_EQ(std::vector<float>(model.begin() + 4, model.begin() + 8),
                (std::vector<float>{1 + 8 * n, 1 + 16 * n, 1 + 32 * n, 1 + 64 * n}));
      std::vector<float> rest(model.begin(), model.begin() + 4);
      rest.insert(rest.end(), model.begin() + 8, model.end());
      EXPECT_EQ(rest, weights) << StrategyName(kind);
    }
  }
}

TEST(StrategyTest, LeavesNoVarianceBelowZero) {
  const auto strategy = Strategy::Create({}, 2, {{0, 1, false}, {1, 1, true}});
  std::vector<float> model = {1, 1};
  ASSERT_TRUE(strategy->Step(std::vector<float>{-3, -3}, model).ok());
  EXPECT_EQ(model, (std::vector<float>{-2, 0}));
}

TEST(StrategyTest, RefusesToLeaveTheModelNotFinite) {
  const auto strategy = Strategy::Create({}, 2);
  std::vector<float> model = {1, 3e38f};
  EXPECT_EQ(strategy->Step(std::vector<float>{0, 3e38f}, model).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(strategy->Step(std::vector<float>{0}, model).code(), absl::StatusCode::kInvalidArgument);
}

class RobustTest : public ::testing::TestWithParam<StrategyKind> {
 protected:
  RobustTest() {
    StrategyOptions options;
    options.kind = GetParam();
    options.byzantine = 2;
    options.trim = 0.25;
    strategy_ = Strategy::Create(options, kElements);
    std::mt19937_64 random(11);
    std::normal_distribution<float> normal(0.1f, 0.01f);
    for (std::size_t node = 0; node < kNodes; ++node) {
      deltas_.emplace_back(kElements);
      for (float& value : deltas_.back()) value = normal(random);
    }
  }
  std::vector<NodeUpdate> Updates() const {
    std::vector<NodeUpdate> updates;
    for (std::size_t node = 0; node < kNodes; ++node) {
      updates.push_back({"node" + std::to_string(node), 1, deltas_[node]});
    }
    return updates;
  }
  // The honest nodes' values lie within 0.1 ± 4.5 · 0.01 (seeded).
  void ExpectHonest() const {
    std::vector<float> combined(kElements);
    ASSERT_TRUE(strategy_->Combine(Updates(), combined).ok());
    for (const float value : combined) EXPECT_NEAR(value, 0.1, 0.045);
  }

  static constexpr std::size_t kElements = 50;
  static constexpr std::size_t kNodes = 9;
  std::unique_ptr<Strategy> strategy_;
  std::vector<std::vector<float>> deltas_;
};

TEST_P(RobustTest, IsNotSteeredByAFlippedSign) {
  for (const std::size_t node : {2, 5}) {
    for (float& value : deltas_[node]) value = -value;
  }
  ExpectHonest();
}

TEST_P(RobustTest, IsNotSteeredByAHundredfoldUpdate) {
  for (const std::size_t node : {0, 8}) {
    for (float& value : deltas_[node]) value *= 100;
  }
  ExpectHonest();
}

TEST_P(RobustTest, IsNotSteeredByNoise) {
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal(0, 3);
  for (const std::size_t node : {3, 4}) {
    for (float& value : deltas_[node]) value = normal(random);
  }
  ExpectHonest();
}

TEST_P(RobustTest, DoesNotDependOnTheOrderOfUpdates) {
  std::vector<NodeUpdate> updates = Updates();
  std::vector<float> expected(kElements), combined(kElements);
  ASSERT_TRUE(strategy_->Combine(updates, expected).ok());
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    std::shuffle(updates.begin(), updates.end(), std::mt19937_64(seed));
    ASSERT_TRUE(strategy_->Combine(updates, combined).ok());
    EXPECT_EQ(combined, expected);
  }
}

TEST_P(RobustTest, RefusesUpdatesThatItCannotCompare) {
  std::vector<float> combined(kElements);
  EXPECT_FALSE(strategy_->Combine({}, combined).ok());
  std::vector<NodeUpdate> updates = Updates();
  updates[1].node = updates[0].node;
  EXPECT_FALSE(strategy_->Combine(updates, combined).ok());
  updates = Updates();
  updates[1].delta = updates[1].delta.first(kElements - 1);
  EXPECT_FALSE(strategy_->Combine(updates, combined).ok());
  deltas_[3][7] = std::nanf("");
  EXPECT_FALSE(strategy_->Combine(Updates(), combined).ok());
}

INSTANTIATE_TEST_SUITE_P(All, RobustTest,
                         ::testing::Values(StrategyKind::kMedian, StrategyKind::kTrimmedMean,
                                           StrategyKind::kMultiKrum),
                         [](const auto& suite) { return std::string(StrategyName(suite.param)); });

}  // namespace
}  // namespace tributary::learning
