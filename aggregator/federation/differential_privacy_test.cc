#include "aggregator/federation/differential_privacy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/privacy/rdp_accountant.h"

namespace tributary {
namespace {

RunConfig Private() {
  RunConfig config;
  config.name = "private";
  config.weighting = UpdateWeighting::kUniform;
  config.clip_norm = 2;
  config.privacy.noise_multiplier = 1.5;
  config.privacy.noise_seed = 11;
  return config;
}

// Deviation 1.5 · 2 / 10 on the mean of ten; five standard errors.
TEST(DifferentialPrivacyTest, AddsNoiseInProportionToTheClippingNorm) {
  std::vector<float> mean(100'000);
  ASSERT_TRUE(AddPrivacyNoise(Private(), 1, 10, mean).ok());
  double squares = 0;
  for (const float value : mean) squares += static_cast<double>(value) * value;
  const double n = static_cast<double>(mean.size());
  EXPECT_NEAR(squares / n, 0.09, 5 * 0.09 * std::sqrt(2 / n));
}

TEST(DifferentialPrivacyTest, RepeatsARoundWithItsSeedAndNoOther) {
  const auto noise = [](std::uint32_t round) {
    std::vector<float> mean(5);
    EXPECT_TRUE(AddPrivacyNoise(Private(), round, 10, mean).ok());
    return mean;
  };
  EXPECT_EQ(noise(4), noise(4));
  EXPECT_NE(noise(4), noise(5));
}

TEST(DifferentialPrivacyTest, ARunWithoutNoiseSpendsNothingAndPromisesNothing) {
  RunConfig config = Private();
  config.privacy.noise_multiplier = 0;
  std::vector<float> mean(5, 1.0f);
  ASSERT_TRUE(AddPrivacyNoise(config, 1, 10, mean).ok());
  EXPECT_EQ(mean, std::vector<float>(5, 1.0f));
  EXPECT_EQ(SpentEpsilon(config, 10), 0);
}

TEST(DifferentialPrivacyTest, CountsCommittedRounds) {
  const RunConfig config = Private();
  EXPECT_EQ(SpentEpsilon(config, 0), 0);
  EXPECT_EQ(SpentEpsilon(config, 7), RdpAccountant::Create(1.5, 1)->Epsilon(7, 1e-5));
  std::vector<float> mean(5);
  EXPECT_FALSE(AddPrivacyNoise(config, 1, 0, mean).ok());
}

}  // namespace
}  // namespace tributary
