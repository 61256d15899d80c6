#include "cli/train/modulation_training.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "cli/evaluate/modulation_evaluation.h"

namespace tributary::cli {
namespace {

// A fiftieth of the shipped model's training. Chance is 10 %; half of the ratios hide the modulation.
TEST(ModulationTrainingTest, LearnsAndCalibrates) {
  std::vector<ModulationTrainingProgress> progress;
  const auto network =
      TrainModulation({.bursts = 60'000, .batch = 64, .snr = radio::SnrDefinition::kTrue},
                      [&](const ModulationTrainingProgress& step) { progress.push_back(step); });
  ASSERT_TRUE(network.ok()) << network.status();
  ASSERT_GE(progress.size(), 20u);
  EXPECT_LT(progress.back().loss, progress.front().loss);
  EXPECT_GT(progress.back().held_out_accuracy, 0.3);
  for (const float range : network->activation_range) EXPECT_GT(range, 0);

  const auto evaluation =
      EvaluateModulation(*network, {.domain = radio::ReferenceDomain(), .transmissions = 3});
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  const ClassificationFigures one = evaluation->front().all(), ten = (*evaluation)[2].all();
  EXPECT_EQ(one.count(), 10u * 20 * 3 * 10);
  EXPECT_EQ(ten.count(), 10u * 20 * 3);
  EXPECT_GT(one.accuracy(), 0.3);
  EXPECT_LT(one.expected_calibration_error(), 0.05);
  EXPECT_GT(ten.accuracy(), one.accuracy());
}

}  // namespace
}  // namespace tributary::cli
