#include "cli/adapt/point_batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

namespace tributary::cli {
namespace {

constexpr std::size_t kHalfOfFeatures = nn::PositioningNetwork::kInputs / 2;
constexpr Augmentation kNone{.gain_db = 0, .phase_deg = 0, .clock_ns = 0, .loudness_db = 0, .noise = 0};

std::vector<float> Snapshot() {
  std::vector<float> features(nn::PositioningNetwork::kInputs);
  scene::RoomExamples{4}.Sense(2, scene::Wall::kSouth, nn::FeatureSpan(features));
  return features;
}

std::vector<float> Augmented(const Augmentation& augmentation, std::uint64_t seed = 1) {
  std::vector<float> features = Snapshot();
  nn::RandomStream random(seed);
  Augment(augmentation, random, nn::FeatureSpan(features));
  return features;
}

// What each feature was multiplied by.
std::complex<double> Factor(const std::vector<float>& changed, std::size_t i) {
  const std::vector<float> before = Snapshot();
  return std::complex<double>(changed[i], changed[i + kHalfOfFeatures]) /
         std::complex<double>(before[i], before[i + kHalfOfFeatures]);
}

TEST(AugmentTest, NothingChangesWithoutAStrength) {
  const std::vector<float> before = Snapshot(), after = Augmented(kNone);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-6);
}

// A clock turns each subcarrier by as much more than the one before, on all antennas alike.
TEST(AugmentTest, AClockTurnsSubcarriers) {
  Augmentation clock = kNone;
  clock.clock_ns = 1;
  const std::vector<float> turned = Augmented(clock);
  const double step = std::arg(Factor(turned, 1) / Factor(turned, 0));
  EXPECT_GT(std::abs(step), 1e-4);
  for (std::size_t i = 0; i < kHalfOfFeatures; ++i) {
    EXPECT_NEAR(std::abs(Factor(turned, i)), 1, 1e-3);
    EXPECT_NEAR(
        std::remainder(std::arg(Factor(turned, i)) - step * static_cast<double>(i % 8), 2 * std::numbers::pi),
        0, 1e-3);
  }
}

// An antenna's gain and phase are the same on all of its subcarriers, and differ between antennas.
TEST(AugmentTest, AntennasAreOffOnAllSubcarriersAlike) {
  Augmentation antennas = kNone;
  antennas.gain_db = 1;
  antennas.phase_deg = 10;
  const std::vector<float> changed = Augmented(antennas);
  for (std::size_t i = 0; i < kHalfOfFeatures; ++i) {
    EXPECT_LT(std::abs(Factor(changed, i) - Factor(changed, i / 8 * 8)), 1e-3);
  }
  EXPECT_GT(std::abs(Factor(changed, 0) - Factor(changed, 8)), 1e-3);
}

TEST(AugmentTest, EqualSeedsGiveEqualSnapshots) {
  EXPECT_EQ(Augmented({}), Augmented({}));
  EXPECT_NE(Augmented({}), Augmented({}, 2));
}

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
