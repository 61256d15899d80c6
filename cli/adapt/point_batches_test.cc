#include "cli/adapt/point_batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tributary::cli {
namespace {

constexpr recordings::SnapshotAugmentation kNone{
    .gain_db = 0, .phase_deg = 0, .clock_ns = 0, .loudness_db = 0, .noise = 0};

TEST(PointBatchesTest, LabelsAreThoseOfThePanelAsItHangs) {
  const scene::RoomPlan plan{.width_m = 8, .depth_m = 12};
  const std::vector<scene::Wall> walls = {scene::Wall::kEast, scene::Wall::kSouth};
  const LabelledPoints points = SimulatePoints({3, {}, plan}, walls, 1);
  const Mountings hung = {{{0.1, 0}, 0}, {{0, 0.1}, 5}};
  nn::PositioningNetwork network;
  network.input_mean.assign(nn::PositioningNetwork::kInputs, 0);
  network.input_inverse_deviation.assign(nn::PositioningNetwork::kInputs, 1);
  PointBatches batches(points, plan, hung, network, kNone, 1);
  std::vector<float> features(16 * nn::PositioningNetwork::kInputs), targets(2 * 16);
  batches.Fill(features, targets);
  std::size_t seen[2] = {};
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t panel = 0; panel < 2; ++panel) {
      const auto label =
          scene::ToTrueFrame(hung[panel], scene::ToPanelFrame(plan, walls[panel], points.positions[0]));
      if (std::hypot(label.x - targets[2 * i], label.y - targets[2 * i + 1]) > 1e-5) continue;
      ++seen[panel];
      std::vector<float> expected(points.Features(0, panel).begin(), points.Features(0, panel).end());
      nn::AlignPhase(network.alignment, nn::FeatureSpan(expected));
      EXPECT_NEAR(features[i * nn::PositioningNetwork::kInputs + 5], expected[5], 1e-5);
    }
  }
  EXPECT_EQ(seen[0] + seen[1], 16u);
  EXPECT_GT(std::min(seen[0], seen[1]), 0u);
}

}  // namespace
}  // namespace tributary::cli
