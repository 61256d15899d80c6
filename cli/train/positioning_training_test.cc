#include "cli/train/positioning_training.h"

#include <gtest/gtest.h>

#include <vector>

#include "cli/evaluate/positioning_evaluation.h"

namespace tributary::cli {
namespace {

// A thousandth of the shipped model's training: from 3.4 m (the mean distance from the room's centre) to
// below 1 m, and calibrated: the mean of the squared normalised errors of 1,000 users lies within 20 % of 2
// even with heavy tails.
TEST(PositioningTrainingTest, LearnsAndCalibrates) {
  std::vector<PositioningTrainingProgress> progress;
  const nn::PositioningNetwork network =
      TrainPositioning({.samples = 12'800, .epochs = 3, .batch = 64},
                       [&](const PositioningTrainingProgress& step) { progress.push_back(step); });
  ASSERT_EQ(progress.size(), 3u);
  EXPECT_EQ(progress.back().epoch, 3u);
  EXPECT_EQ(progress.back().remaining_s, 0);
  EXPECT_LT(progress.back().loss, progress.front().loss);
  EXPECT_LT(progress.back().held_out_error_cm, 100);
  for (const float range : network.activation_range) EXPECT_GT(range, 0);

  const auto evaluation = EvaluatePositioning(network, {.points = 1'000});
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_NEAR(evaluation->front().nees, 2, 0.4);
}

}  // namespace
}  // namespace tributary::cli
