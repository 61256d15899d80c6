#include "core/radio/emitter.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace tributary::radio {
namespace {

TEST(EmitterTest, KeepsItsModulationForAnEmission) {
  const EmitterOptions options{
      .seed = 3, .frames_per_emission = 50, .lowest_snr_db = -4, .highest_snr_db = 6};
  int changes = 0;
  for (std::uint64_t frame = 1; frame < 5000; ++frame) {
    const Emission before = EmissionAt(options, 1, frame - 1);
    const Emission now = EmissionAt(options, 1, frame);
    changes += before.snr_db != now.snr_db;
    EXPECT_TRUE(before.snr_db != now.snr_db || before.modulation == now.modulation);
    EXPECT_GE(now.snr_db, -4);
    EXPECT_LT(now.snr_db, 6);
  }
  EXPECT_NEAR(changes, 100, 1);
}

// 10,000 emissions: each modulation has 1,000 with a standard deviation of 30.
TEST(EmitterTest, SendsEveryModulationEquallyOften) {
  const EmitterOptions options{.seed = 5, .frames_per_emission = 1};
  std::array<int, kModulations.size()> sent{};
  for (std::uint64_t frame = 0; frame < 10'000; ++frame) {
    ++sent[static_cast<std::size_t>(EmissionAt(options, 2, frame).modulation)];
  }
  for (const int count : sent) EXPECT_NEAR(count, 1000, 150);
}

TEST(EmitterTest, TellsEmittersSeedsAndFramesApart) {
  std::set<double> ratios;
  for (const std::uint64_t seed : {1, 2}) {
    for (const std::uint32_t emitter : {0u, 1u, 2u}) {
      ratios.insert(EmissionAt({.seed = seed, .frames_per_emission = 10}, emitter, 4).snr_db);
    }
  }
  EXPECT_EQ(ratios.size(), 6u);
  std::set<std::uint64_t> indices;
  for (std::uint32_t emitter = 0; emitter < 10; ++emitter) {
    for (std::uint64_t frame = 0; frame < 100; ++frame) indices.insert(BurstIndex(emitter, frame));
  }
  EXPECT_EQ(indices.size(), 1000u);
}

}  // namespace
}  // namespace tributary::radio
