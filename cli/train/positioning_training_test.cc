#include "cli/train/positioning_training.h"

#include <gtest/gtest.h>

#include <vector>

#include "cli/evaluate/positioning_evaluation.h"

namespace tributary::cli {
namespace {

// A thousandth of the shipped model's training: from 3.4 m (the mean distance from the room's centre) to
// below 1 m, and calibrated: of four panels in installations that work, the median of the squared normalised
// errors of 1,000 users. Its standard error is 4 %; three of them.
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

  const auto evaluation =
      EvaluatePositioning(network, {.points = 1'000, .conditions = scene::RoomConditions::Working()});
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_NEAR(evaluation->back().nees_median, 1.386, 0.17);
}

}  // namespace
}  // namespace tributary::cli
