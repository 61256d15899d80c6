#include "core/recordings/snapshot_augmentation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "core/scene/room_examples.h"

namespace tributary::recordings {
namespace {

constexpr std::size_t kHalfOfFeatures = nn::PositioningNetwork::kInputs / 2;
constexpr SnapshotAugmentation kNone{
    .gain_db = 0, .phase_deg = 0, .clock_ns = 0, .loudness_db = 0, .noise = 0};

std::vector<float> Snapshot() {
  std::vector<float> features(nn::PositioningNetwork::kInputs);
  scene::RoomExamples{4}.Sense(2, scene::Wall::kSouth, nn::FeatureSpan(features));
  return features;
}

std::vector<float> Augmented(const SnapshotAugmentation& augmentation, std::uint64_t seed = 1) {
  std::vector<float> features = Snapshot();
  nn::RandomStream random(seed);
  AugmentSnapshot(augmentation, random, nn::FeatureSpan(features));
  return features;
}

// What each feature was multiplied by.
std::complex<double> Factor(const std::vector<float>& changed, std::size_t i) {
  const std::vector<float> before = Snapshot();
  return std::complex<double>(changed[i], changed[i + kHalfOfFeatures]) /
         std::complex<double>(before[i], before[i + kHalfOfFeatures]);
}

TEST(SnapshotAugmentationTest, NothingChangesWithoutAStrength) {
  const std::vector<float> before = Snapshot(), after = Augmented(kNone);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-6);
}

// A clock turns each subcarrier by as much more than the one before, on all antennas alike.
TEST(SnapshotAugmentationTest, AClockTurnsSubcarriers) {
  SnapshotAugmentation clock = kNone;
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
TEST(SnapshotAugmentationTest, AntennasAreOffOnAllSubcarriersAlike) {
  SnapshotAugmentation antennas = kNone;
  antennas.gain_db = 1;
  antennas.phase_deg = 10;
  const std::vector<float> changed = Augmented(antennas);
  for (std::size_t i = 0; i < kHalfOfFeatures; ++i) {
    EXPECT_LT(std::abs(Factor(changed, i) - Factor(changed, i / 8 * 8)), 1e-3);
  }
  EXPECT_GT(std::abs(Factor(changed, 0) - Factor(changed, 8)), 1e-3);
}

TEST(SnapshotAugmentationTest, EqualSeedsGiveEqualSnapshots) {
  EXPECT_EQ(Augmented({}), Augmented({}));
  EXPECT_NE(Augmented({}), Augmented({}, 2));
}

}  // namespace
}  // namespace tributary::recordings
