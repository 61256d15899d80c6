#include "cli/adapt/panel_estimates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "cli/model/model_source.h"
#include "core/scene/gaussian_noise.h"

namespace tributary::cli {
namespace {

// Estimates of two panels that are right, but for noise, in the frames in which the panels really hang.
class PanelEstimatesTest : public ::testing::Test {
 protected:
  static constexpr double kDeviationM = 0.02;

  PanelEstimatesTest() {
    std::vector<float> noise(4 * kPoints);
    scene::FillGaussianNoise(5, 0, noise);
    for (std::size_t i = 0; i < kPoints; ++i) {
      points_.positions.push_back(
          {5 * (2 * scene::UniformAt(1, 2 * i) - 1), 3 * (2 * scene::UniformAt(1, 2 * i + 1) - 1)});
      for (std::size_t panel = 0; panel < 2; ++panel) {
        const auto seen = scene::ToTrueFrame(
            hung_[panel], scene::ToPanelFrame(plan_, points_.walls[panel], points_.positions[i]));
        estimate::Gaussian<2> estimate;
        estimate.mean << seen.x + kDeviationM * noise[4 * i + 2 * panel],
            seen.y + kDeviationM * noise[4 * i + 2 * panel + 1];
        estimate.cholesky << kDeviationM, 0, 0, kDeviationM;
        estimates_.push_back(estimate);
      }
    }
  }

  static constexpr std::size_t kPoints = 200;
  scene::RoomPlan plan_{.width_m = 12, .depth_m = 8, .panels = {{{.along_m = 2}, {}, {.along_m = -3}, {}}}};
  Mountings hung_ = {{{0.015, -0.01}, 1.5}, {{-0.02, 0.01}, -2}};
  LabelledPoints points_{
      .walls = {scene::Wall::kSouth, scene::Wall::kNorth}, .positions = {}, .features = {}};
  std::vector<estimate::Gaussian<2>> estimates_;
};

// Standard errors over 200 points of 2 cm: about 2 mm for a shift and 0.03 degrees for a turn; four of them.
TEST_F(PanelEstimatesTest, TellHowThePanelsHang) {
  const Mountings found = FitMountings(estimates_, points_, plan_);
  ASSERT_EQ(found.size(), 2u);
  for (std::size_t panel = 0; panel < 2; ++panel) {
    EXPECT_NEAR(found[panel].shift.x, hung_[panel].shift.x, 0.012);
    EXPECT_NEAR(found[panel].shift.y, hung_[panel].shift.y, 0.008);
    EXPECT_NEAR(found[panel].turn_deg, hung_[panel].turn_deg, 0.12);
  }
}

TEST_F(PanelEstimatesTest, AFewThatAreFarOffDoNotMoveThePanels) {
  for (std::size_t i = 0; i < 20; ++i) estimates_[2 * i].mean.x() += 1.0;
  EXPECT_NEAR(FitMountings(estimates_, points_, plan_)[0].shift.x, hung_[0].shift.x, 0.012);
}

// Noise of 3 m says nothing about centimetres, whatever the network claims: the prior of 3 cm and 2 degrees
// keeps the plan.
TEST_F(PanelEstimatesTest, WithoutGoodEstimatesThePlanStays) {
  for (std::size_t i = 0; i < estimates_.size(); ++i) {
    const std::size_t panel = i % 2;
    const auto seen = scene::ToTrueFrame(
        hung_[panel], scene::ToPanelFrame(plan_, points_.walls[panel], points_.positions[i / 2]));
    const estimate::Vector<2> truth(seen.x, seen.y);
    estimates_[i].mean = truth + 3 / kDeviationM * (estimates_[i].mean - truth);
  }
  for (const scene::PanelMounting& mounting : FitMountings(estimates_, points_, plan_)) {
    EXPECT_LT(std::hypot(mounting.shift.x, mounting.shift.y), 0.03);
    EXPECT_LT(std::abs(mounting.turn_deg), 5);
  }
}

TEST_F(PanelEstimatesTest, ThePoseLeadsFromThePanelToTheSite) {
  for (std::size_t panel = 0; panel < 2; ++panel) {
    const workload::PanelPose pose = PoseOf(plan_, points_.walls[panel], hung_[panel]);
    const double angle = pose.angle_deg * std::numbers::pi / 180;
    const scene::RoomPosition site = points_.positions[3];
    const auto seen =
        scene::ToTrueFrame(hung_[panel], scene::ToPanelFrame(plan_, points_.walls[panel], site));
    EXPECT_NEAR(pose.x_m + std::cos(angle) * seen.x - std::sin(angle) * seen.y, site.x, 1e-9);
    EXPECT_NEAR(pose.y_m + std::sin(angle) * seen.x + std::cos(angle) * seen.y, site.y, 1e-9);
  }
}

// Two panels of 2 cm each: 2 cm · sqrt(π / 2) / sqrt(2), with a standard error of 4 %; NEES 2 with one of 7
// %.
TEST_F(PanelEstimatesTest, FusedErrorsAgreeWithTheClaim) {
  const auto errors = FuseErrors(estimates_, points_, plan_, hung_);
  ASSERT_TRUE(errors.ok()) << errors.status();
  EXPECT_NEAR(errors->Figures().mean_m, 0.0177, 3 * 0.04 * 0.0177);
  EXPECT_NEAR(errors->Figures().nees, 2, 3 * 0.07 * 2);
  const auto wrong = FuseErrors(estimates_, points_, plan_, Mountings(2));
  ASSERT_TRUE(wrong.ok()) << wrong.status();
  EXPECT_GT(wrong->Figures().mean_m, 0.05);
}

// The ideal room's plan: the shipped model locates in it without any adaptation, as in docs/models.md.
TEST_F(PanelEstimatesTest, TheShippedModelLocatesInTheRoomOfItsTraining) {
  const auto model = LoadPositioningModel(TRIBUTARY_SOURCE_DIR "/models/positioning.safetensors");
  ASSERT_TRUE(model.ok()) << model.status();
  const std::vector<scene::Wall> walls = {scene::Wall::kSouth, scene::Wall::kEast, scene::Wall::kNorth,
                                          scene::Wall::kWest};
  const LabelledPoints points = SimulatePoints({9, {}, {}}, walls, 500);
  const auto estimates = Locate(model->network, fpga::NumberFormat::kInt8Int16, points);
  ASSERT_TRUE(estimates.ok()) << estimates.status();
  const auto errors = FuseErrors(*estimates, points, {}, Mountings(4));
  ASSERT_TRUE(errors.ok()) << errors.status();
  EXPECT_LT(errors->Figures().mean_m, 0.0115);
}

}  // namespace
}  // namespace tributary::cli
