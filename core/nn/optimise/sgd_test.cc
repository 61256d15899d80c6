#include <gtest/gtest.h>

#include <vector>

#include "core/nn/optimise/gradient_descent.h"

namespace tributary::nn {
namespace {

TEST(CosineScheduleTest, FallsFromTheBaseOverHalfAtTheMiddleToZero) {
  const CosineSchedule schedule{0.8, 100};
  EXPECT_DOUBLE_EQ(schedule.Rate(0), 0.8);
  EXPECT_NEAR(schedule.Rate(50), 0.4, 1e-15);
  EXPECT_NEAR(schedule.Rate(100), 0.0, 1e-15);
  EXPECT_NEAR(schedule.Rate(1000), 0.0, 1e-15);
}

TEST(CosineScheduleTest, IsConstantWithoutAnEnd) { EXPECT_EQ((CosineSchedule{0.3, 0}.Rate(12345)), 0.3); }

// By hand, w = (1, 2), gradient (0.5, −1), rate 0.5, decay 0.25:
// v = g + 0.25 w = (0.75, −0.5), w = (0.625, 2.25); then v = 0.5 v + g + 0.25 w = (1.03125, −0.6875).
TEST(SgdTest, CarriesMomentumAndDecaysWeights) {
  Sgd sgd(2, /*momentum=*/0.5, /*weight_decay=*/0.25);
  std::vector<float> w = {1, 2};
  const std::vector<float> gradient = {0.5f, -1};
  sgd.Step(0, w, gradient, 0.5);
  EXPECT_EQ(w, (std::vector<float>{0.625f, 2.25f}));
  sgd.Step(0, w, gradient, 0.5);
  EXPECT_EQ(w, (std::vector<float>{0.625f - 0.515625f, 2.25f + 0.34375f}));
}

TEST(SgdTest, StepsApartOfTheVectorWithItsOwnMomentum) {
  Sgd sgd(3, 0.5, 0);
  std::vector<float> part = {1};
  sgd.Step(2, part, std::vector<float>{1}, 1);
  sgd.Step(0, part, std::vector<float>{1}, 1);  // its momentum is still zero
  EXPECT_EQ(part[0], -1.0f);
  sgd.Step(2, part, std::vector<float>{0}, 1);
  EXPECT_EQ(part[0], -1.5f);
}

TEST(SgdTest, ForgetsItsMomentumOnReset) {
  Sgd sgd(1, 0.9, 0);
  std::vector<float> w = {0};
  sgd.Step(0, w, std::vector<float>{1}, 1);
  sgd.Reset();
  sgd.Step(0, w, std::vector<float>{0}, 1);
  EXPECT_EQ(w[0], -1.0f);
}

}  // namespace
}  // namespace tributary::nn
