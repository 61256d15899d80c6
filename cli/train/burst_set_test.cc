#include "cli/train/burst_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace tributary::cli {
namespace {

using radio::SnrDefinition;

BurstSet SetOf(std::optional<SnrDefinition> snr, std::uint64_t seed,
               BurstPurpose purpose = BurstPurpose::kTraining) {
  auto set = BurstSet::Create(radio::ReferenceDomain(), snr, seed, purpose);
  EXPECT_TRUE(set.ok()) << set.status();
  return *std::move(set);
}

recordings::LabelledBursts Drawn(const BurstSet& set, std::uint64_t first, std::size_t count) {
  recordings::LabelledBursts bursts;
  set.Draw(first, count, bursts);
  return bursts;
}

TEST(BurstSetTest, ABurstDependsOnTheSeedAndItsNumberAlone) {
  const recordings::LabelledBursts all = Drawn(SetOf(std::nullopt, 3), 0, 12),
                                   part = Drawn(SetOf(std::nullopt, 3), 7, 2);
  EXPECT_TRUE(std::equal(part.classes.begin(), part.classes.end(), all.classes.begin() + 7));
  EXPECT_TRUE(std::equal(part.bursts.begin(), part.bursts.end(), all.bursts.begin() + 7 * 256));
}

TEST(BurstSetTest, PurposesAndSeedsShareNoBurst) {
  const auto first = [](std::uint64_t seed, BurstPurpose purpose) {
    return Drawn(SetOf(SnrDefinition::kTrue, seed, purpose), 0, 1).bursts;
  };
  const auto training = first(1, BurstPurpose::kTraining);
  EXPECT_NE(training, first(2, BurstPurpose::kTraining));
  for (const BurstPurpose other :
       {BurstPurpose::kProgress, BurstPurpose::kCalibration, BurstPurpose::kEvaluation}) {
    EXPECT_NE(training, first(1, other));
  }
}

TEST(BurstSetTest, EveryOtherBurstHasTheLabelIfNoDefinitionIsGiven) {
  constexpr std::size_t kCount = 20;
  const recordings::LabelledBursts both = Drawn(SetOf(std::nullopt, 4), 0, kCount);
  const recordings::LabelledBursts by_true = Drawn(SetOf(SnrDefinition::kTrue, 4), 0, kCount);
  const recordings::LabelledBursts by_label = Drawn(SetOf(SnrDefinition::kLabel, 4), 0, kCount);
  for (std::size_t n = 0; n < kCount; ++n) {
    const recordings::LabelledBursts& expected = n % 2 == 0 ? by_true : by_label;
    EXPECT_TRUE(std::ranges::equal(std::span(both.bursts).subspan(n * 256, 256),
                                   std::span(expected.bursts).subspan(n * 256, 256)));
  }
}

TEST(BurstSetTest, DrawsTheSameNumberOfEachModulation) {
  const recordings::LabelledBursts bursts = SetOf(std::nullopt, 6).DrawOfEach(3);
  ASSERT_EQ(bursts.classes.size(), 30u);
  ASSERT_EQ(bursts.bursts.size(), 30u * 256);
  for (std::size_t n = 0; n < 30; ++n) EXPECT_EQ(bursts.classes[n], n / 3);
  const auto burst = [&](std::size_t n) { return std::span(bursts.bursts).subspan(n * 256, 256); };
  EXPECT_FALSE(std::ranges::equal(burst(0), burst(1)));
  EXPECT_TRUE(std::ranges::equal(bursts.bursts, SetOf(std::nullopt, 6).DrawOfEach(3).bursts));
}

// Each count is binomial with a deviation of √(2000 · 0.1 · 0.9) = 13; five of them.
TEST(BurstSetTest, DrawsEveryModulationAsOften) {
  std::array<int, 10> counts = {};
  for (const std::uint8_t drawn : Drawn(SetOf(SnrDefinition::kTrue, 5), 0, 2'000).classes) ++counts.at(drawn);
  for (const int count : counts) EXPECT_NEAR(count, 200, 67);
}

}  // namespace
}  // namespace tributary::cli
