#include "core/radio/burst.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "core/scene/gaussian_noise.h"

namespace tributary::radio {
namespace {

class BurstTest : public testing::Test {
 protected:
  BurstTest() { scene::FillGaussianNoise(1, 2, burst_); }

  void Scale(float gain) {
    for (float& component : burst_) component *= gain;
  }

  double Power() const {
    double energy = 0;
    for (const float component : burst_) energy += static_cast<double>(component) * component;
    return energy / kBurstSamples;
  }

  std::array<float, kBurstFeatures> burst_;
};

TEST_F(BurstTest, HasPowerOneAfterwards) {
  for (const float gain : {1.0f, 1e-20f, 1e15f}) {
    Scale(gain);
    EXPECT_EQ(NormaliseBurst(burst_), std::nullopt);
    EXPECT_NEAR(Power(), 1, 1e-5) << gain;
  }
}

TEST_F(BurstTest, RefusesNumbersThatAreNotFiniteAndLeavesThem) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    for (const std::size_t place : {std::size_t{0}, kBurstFeatures - 1}) {
      auto burst = burst_;
      burst[place] = bad;
      const float neighbour = burst[1];
      EXPECT_EQ(NormaliseBurst(burst), BurstFault::kNotFinite);
      EXPECT_EQ(burst[1], neighbour);
    }
  }
}

TEST_F(BurstTest, RefusesSilence) {
  burst_.fill(0);
  EXPECT_EQ(NormaliseBurst(burst_), BurstFault::kZero);
  burst_.fill(-0.0f);
  EXPECT_EQ(NormaliseBurst(burst_), BurstFault::kZero);
}

TEST_F(BurstTest, RefusesPowerThatFloatCannotScale) {
  burst_.fill(0);
  burst_[3] = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(NormaliseBurst(burst_), BurstFault::kZero);
}

TEST_F(BurstTest, TakesTheLargestNumbers) {
  Scale(5e37f);
  burst_.back() = std::numeric_limits<float>::max();
  EXPECT_EQ(NormaliseBurst(burst_), std::nullopt);
  EXPECT_NEAR(Power(), 1, 1e-5);
}

// Saturated at half of the standard deviation, 62 % of the components are at the rail; at 2, 5 % are.
TEST_F(BurstTest, RefusesWhatAConverterClipped) {
  const auto saturate = [&](float rail) {
    auto burst = burst_;
    for (float& component : burst) component = std::clamp(component, -rail, rail);
    return NormaliseBurst(burst);
  };
  EXPECT_EQ(saturate(0.5f), BurstFault::kClipped);
  EXPECT_EQ(saturate(2.0f), std::nullopt);
}

TEST_F(BurstTest, ToleratesAsManyComponentsAtTheRailAsItSays) {
  for (std::size_t k = 0; k < kMostAtRail; ++k) burst_[k] = k % 2 == 0 ? 7.0f : -7.0f;
  auto one_more = burst_;
  one_more[kMostAtRail] = 7.0f;
  EXPECT_EQ(NormaliseBurst(burst_), std::nullopt);
  EXPECT_EQ(NormaliseBurst(one_more), BurstFault::kClipped);
}

}  // namespace
}  // namespace tributary::radio
