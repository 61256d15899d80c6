#include "cli/adapt/room_adaptation.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/model/model_source.h"

namespace tributary::cli {
namespace {

// One room that is not that of the training, with a tenth of the steps on its plan.
class RoomAdaptationTest : public ::testing::Test {
 protected:
  RoomAdaptationTest() {
    auto model = LoadPositioningModel(TRIBUTARY_SOURCE_DIR "/models/positioning.safetensors");
    EXPECT_TRUE(model.ok()) << model.status();
    base_ = std::move(model->network);
  }

  LabelledPoints Points(std::uint64_t users, std::size_t count) const {
    return SimulatePoints({users, scene::RoomConditions::OfOneRoom(3), plan_}, walls_, count);
  }
  double ErrorOf(const absl::StatusOr<RoomModel>& model) const {
    EXPECT_TRUE(model.ok()) << model.status();
    const auto figures = Judge(*model, fpga::NumberFormat::kFloat, Points(2, 300), plan_);
    EXPECT_TRUE(figures.ok()) << figures.status();
    return figures->mean_m;
  }
  AdaptationProgress Count() {
    return [this](std::string_view stage, std::uint64_t done, std::uint64_t all, double) {
      EXPECT_LE(done, all);
      stages_.emplace_back(stage);
    };
  }

  const scene::RoomPlan plan_{.width_m = 14,
                              .depth_m = 9,
                              .height_m = 3.5,
                              .carrier_hz = 5.2e9,
                              .panels = {{{3, 2.2}, {-1.5, 2.5}, {-4, 1.8}, {2, 2}}}};
  const std::vector<scene::Wall> walls_ = {scene::Wall::kSouth, scene::Wall::kEast, scene::Wall::kNorth,
                                           scene::Wall::kWest};
  const AdaptationOptions options_{.plan_steps = 1'200, .point_steps = 100, .scratch_steps = 500};
  nn::PositioningNetwork base_;
  std::vector<std::string> stages_;
};

// The order that docs/models.md states, and an honest covariance.
TEST_F(RoomAdaptationTest, PlanAndPointsBeatTheBaseAndPointsAlone) {
  const LabelledPoints points = Points(1, 100);
  const double unadapted = ErrorOf(RoomModel{base_, Mountings(4)});
  const double nothing = ErrorOf(LearnFromNothing(plan_, points, options_, Count()));
  const auto planned = LearnPlan(base_, plan_, walls_, options_, Count());
  ASSERT_TRUE(planned.ok()) << planned.status();
  const auto adapted = LearnPoints(*planned, plan_, points, options_, Count());
  EXPECT_LT(ErrorOf(adapted), 0.6 * unadapted);
  EXPECT_LT(unadapted, nothing);
  const auto figures = Judge(*adapted, fpga::NumberFormat::kInt8Int16, Points(2, 300), plan_);
  ASSERT_TRUE(figures.ok()) << figures.status();
  EXPECT_GT(figures->nees, 1.2);
  EXPECT_LT(figures->nees, 3.5);
  EXPECT_EQ(stages_.size(), 30u);  // ten reports of each
}

TEST_F(RoomAdaptationTest, EqualSeedsGiveEqualModels) {
  const LabelledPoints points = Points(1, 20);
  const AdaptationOptions few{.scratch_steps = 20};
  const auto a = LearnPointsAlone(base_, plan_, points, few, Count());
  const auto b = LearnPointsAlone(base_, plan_, points, few, Count());
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(nn::EncodePositioning(a->network), nn::EncodePositioning(b->network));
}

// The fewest points that are allowed: two are held out. The start is a candidate, so nothing gets much worse.
TEST_F(RoomAdaptationTest, TenPointsAreEnoughToRun) {
  EXPECT_LT(ErrorOf(LearnPointsAlone(base_, plan_, Points(1, 10), {.scratch_steps = 20}, Count())),
            1.5 * ErrorOf(RoomModel{base_, Mountings(4)}));
}

}  // namespace
}  // namespace tributary::cli
