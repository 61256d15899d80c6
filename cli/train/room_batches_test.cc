#include "cli/train/room_batches.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>

namespace tributary::cli {
namespace {

constexpr std::size_t kBatch = 64;

nn::PositioningNetwork Standardisation() {
  nn::PositioningNetwork network;
  FitStandardisation({11}, 2'000, network);
  return network;
}

TEST(RoomBatchesTest, AreTheSameWhetherDrawnAheadOrNot) {
  const nn::PositioningNetwork network = Standardisation();
  RoomBatches ahead({5}, kBatch, network, true);
  RoomBatches on_demand({5}, kBatch, network, false);
  for (int i = 0; i < 5; ++i) {
    const RoomBatches::Batch a = ahead.Next();
    const RoomBatches::Batch b = on_demand.Next();
    EXPECT_EQ(a.features, b.features);
    EXPECT_EQ(a.targets, b.targets);
  }
}

TEST(RoomBatchesTest, NeverDrawAUserTwice) {
  RoomBatches batches({5}, kBatch, Standardisation(), false);
  const std::vector<float> first = batches.Next().targets;
  EXPECT_NE(first, batches.Next().targets);
}

// Mean 0 and variance 1 per feature; over 64 · 40 users and all features the standard errors are far below
// 0.05.
TEST(RoomBatchesTest, StandardiseTheFeaturesOfOtherUsersToo) {
  RoomBatches batches({5}, kBatch, Standardisation(), true);
  double sum = 0, squares = 0;
  std::size_t count = 0;
  for (int i = 0; i < 40; ++i) {
    const RoomBatches::Batch batch = batches.Next();
    for (const float v : batch.features) {
      sum += v;
      squares += static_cast<double>(v) * v;
      ++count;
    }
  }
  EXPECT_NEAR(sum / static_cast<double>(count), 0, 0.05);
  EXPECT_NEAR(squares / static_cast<double>(count), 1, 0.05);
}

TEST(RoomBatchesTest, StopWhileABatchIsDrawnAhead) {
  const RoomBatches batches({5}, kBatch, Standardisation(), true);
}

TEST(FitStandardisationTest, LeavesOutTheFeatureThatAlignmentClears) {
  nn::PositioningNetwork network;
  network.alignment = nn::PhaseAlignment::kFirstAntenna;
  FitStandardisation({11}, 2'000, network);
  EXPECT_EQ(network.input_inverse_deviation[scene::kChannelFeatures / 2], 0);
  EXPECT_GT(network.input_inverse_deviation[0], 0);
}

}  // namespace
}  // namespace tributary::cli
