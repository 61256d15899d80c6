#include "cli/evaluate/positioning_evaluation.h"

#include <gtest/gtest.h>

#include "cli/model/model_source.h"

namespace tributary::cli {
namespace {

class ShippedModelTest : public ::testing::Test {
 protected:
  ErrorFigures FourPanels(fpga::NumberFormat format) {
    const auto model = LoadPositioningModel(TRIBUTARY_SOURCE_DIR "/models/positioning.safetensors");
    EXPECT_TRUE(model.ok()) << model.status();
    const auto evaluation = EvaluatePositioning(model->network, {.format = format});
    EXPECT_TRUE(evaluation.ok()) << evaluation.status();
    return evaluation->back();
  }
};

// docs/models.md has 0.691 and 1.255 cm; the evaluation's users are always the same.
TEST_F(ShippedModelTest, LocatesWithFourPanelsWithinACentimetre) {
  const ErrorFigures figures = FourPanels(fpga::NumberFormat::kFloat);
  EXPECT_LE(figures.mean_m, 0.0072);
  EXPECT_LE(figures.p90_m, 0.0131);
  EXPECT_NEAR(figures.nees, 2.0, 0.2);
}

TEST_F(ShippedModelTest, LosesLittleInTheFormatsOfTheHardware) {
  const double exact = FourPanels(fpga::NumberFormat::kFloat).mean_m;
  EXPECT_NEAR(FourPanels(fpga::NumberFormat::kInt16).mean_m, exact, 0.02 * exact);
  const ErrorFigures mixed = FourPanels(fpga::NumberFormat::kInt8Int16);
  EXPECT_LE(mixed.mean_m, 1.06 * exact);
  EXPECT_NEAR(mixed.nees, 2.0, 0.5);
  EXPECT_GT(FourPanels(fpga::NumberFormat::kInt8).mean_m,
            1.4 * exact);  // [LIS], table 4.3: 3.39 against 2.30 cm
}

TEST_F(ShippedModelTest, MorePanelsAreBetter) {
  const auto model = LoadPositioningModel(TRIBUTARY_SOURCE_DIR "/models/positioning.safetensors");
  ASSERT_TRUE(model.ok()) << model.status();
  const auto evaluation = EvaluatePositioning(model->network, {.points = 1'000});
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  for (std::size_t p = 1; p < 4; ++p) {
    EXPECT_LT((*evaluation)[p].mean_m, (*evaluation)[p - 1].mean_m);
  }
}

}  // namespace
}  // namespace tributary::cli
