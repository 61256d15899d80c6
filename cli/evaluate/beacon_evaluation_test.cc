#include "cli/evaluate/beacon_evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/nn/beacon/beacon_trainer.h"
#include "core/nn/geometry/geometry_trainer.h"
#include "gtest/gtest.h"

namespace tributary::cli {
namespace {

// Chosen on the first half of the recording alone: trained on its first three quarters, the best board on the
// last quarter, then one by one the board that lowered the fused error there most.
constexpr std::array<std::array<int, 3>, 4> kBoards = {{{2, 5, 7}, {2, 3, 4}, {1, 6, 7}, {0, 4, 5}}};

// The real recording; without it these tests are skipped.
class BeaconRecordingTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* configured = std::getenv("TRIBUTARY_DATA_DIR");
    const std::filesystem::path data =
        configured != nullptr ? configured : std::filesystem::path(TRIBUTARY_SOURCE_DIR) / "../shared/data";
    const std::string ranges = data / "uwb/lias/UWB_dynamic_exp_fast.csv";
    const std::string truth = data / "uwb/lias/motion_capture_dynamic_exp_fast.csv";
    if (configured == nullptr && !std::filesystem::exists(ranges)) GTEST_SKIP() << "set TRIBUTARY_DATA_DIR";
    auto loaded = BeaconRecording::Load({.ranges = ranges, .truth = truth, .survey = ""});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    recording_ = std::make_unique<BeaconRecording>(*std::move(loaded));
  }

  std::unique_ptr<BeaconRecording> recording_;
};

TEST_F(BeaconRecordingTest, TruthAgreesWithTheRangesOfEveryTag) {
  for (int tag = 0; tag < recording_->tags(); ++tag) {
    for (int anchor = 0; anchor < recording_->anchors(); ++anchor) {
      std::vector<double> errors;
      for (const auto& sample : recording_->Samples({&anchor, 1}, tag, {})) {
        const scene::Point3& a = recording_->AnchorM(anchor);
        errors.push_back(recording_->Range(sample, anchor, tag) - std::hypot(sample.truth_m[0] - a[0],
                                                                             sample.truth_m[1] - a[1],
                                                                             sample.truth_m[2] - a[2]));
      }
      std::ranges::sort(errors);
      const double median = errors[errors.size() / 2];
      for (double& e : errors) e = std::abs(e - median);
      std::ranges::sort(errors);
      // Half of the errors lie within 0.06 m of the bias; a wrong lever arm moves that to 0.09 m or more.
      EXPECT_LT(errors[errors.size() / 2], 0.062) << "anchor " << anchor << ", tag " << tag;
    }
  }
}

TEST_F(BeaconRecordingTest, FourBoardsBeatTheBestOfThemAndGaussNewton) {
  std::vector<BeaconModel> networks;
  for (const std::array<int, 3>& anchors : kBoards) {
    auto network = nn::TrainBeacon(recording_->Examples(anchors, 0, {.start = 0.0, .end = 0.5}), {});
    ASSERT_TRUE(network.ok()) << network.status();
    network->anchors = anchors;
    networks.push_back(*std::move(network));
  }
  const auto figures = EvaluateBeacons(networks, *recording_, {.part = {.start = 0.5, .end = 1.0}});
  ASSERT_TRUE(figures.ok()) << figures.status();
  const ErrorFigures fused = figures->fused.estimate.Figures();
  EXPECT_LT(fused.mean_m, 0.10);
  EXPECT_LT(fused.mean_m, figures->fused.gauss_newton.Figures().mean_m);
  for (const BeaconErrors& board : figures->boards) EXPECT_LT(fused.mean_m, board.estimate.Figures().mean_m);
  EXPECT_GT(fused.nees, 1.0);
  EXPECT_LT(fused.nees, 4.0);
}

// Boards of disjoint anchors, so that their errors are independent.
constexpr std::array<std::array<int, 4>, 2> kDisjoint = {{{0, 2, 4, 6}, {1, 3, 5, 7}}};

BeaconEvaluation ByGeometry(const BeaconRecording& recording, const RecordingPart& training,
                            const RecordingPart& evaluated) {
  std::vector<BeaconModel> models;
  for (const auto& anchors : kDisjoint) {
    const auto board = recording.SurveyOf({anchors.begin(), anchors.end()}, {0, 1, 2}, 0);
    auto geometry = nn::TrainGeometry(recording.Examples(board, training), board, {});
    EXPECT_TRUE(geometry.ok()) << geometry.status();
    if (geometry.ok()) models.push_back(*std::move(geometry));
  }
  auto figures = EvaluateBeacons(models, recording, {.part = evaluated});
  EXPECT_TRUE(figures.ok()) << figures.status();
  return figures.ok() ? *std::move(figures) : BeaconEvaluation();
}

TEST_F(BeaconRecordingTest, GeometryIsRightAndHonestOnTheOtherHalfOfTheTime) {
  const auto figures = ByGeometry(*recording_, {.start = 0.0, .end = 0.5}, {.start = 0.5, .end = 1.0});
  const ErrorFigures fused = figures.fused.estimate.Figures(), tracked = figures.tracked.Figures();
  EXPECT_LT(fused.mean_m, 0.031);
  EXPECT_LT(fused.p90_m, 0.058);
  EXPECT_LT(fused.mean_m, figures.corrected.Figures().mean_m);
  EXPECT_GT(fused.nees, 1.5);
  EXPECT_LT(fused.nees, 2.7);
  EXPECT_LT(tracked.mean_m, fused.mean_m);
  EXPECT_GT(tracked.nees, 1.2);
  EXPECT_LT(tracked.nees, 2.9);
}

TEST_F(BeaconRecordingTest, GeometryIsRightAndHonestAtPlacesThatItHasNotSeen) {
  const auto figures =
      ByGeometry(*recording_, {.place = RecordingPlace::kWest}, {.place = RecordingPlace::kEast});
  EXPECT_LT(figures.fused.estimate.Figures().mean_m, 0.033);
  EXPECT_LT(figures.fused.estimate.Figures().nees, 2.7);
  EXPECT_LT(figures.fused.estimate.Figures().mean_m, figures.corrected.Figures().mean_m);
}

TEST_F(BeaconRecordingTest, RefusesBoardsOfDifferentTags) {
  nn::BeaconNetwork other;
  other.tag = 1;
  const std::vector<BeaconModel> networks = {nn::BeaconNetwork(), other};
  EXPECT_EQ(EvaluateBeacons(networks, *recording_, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ParseAnchorsTest, TakesThreeDifferentOnes) {
  EXPECT_EQ(*ParseAnchors("1,4,6", 8), (std::array{1, 4, 6}));
  for (const char* bad : {"", "1,4", "1,4,4", "1,4,8", "1,4,-1", "1,4,6,7", "a,b,c"})
    EXPECT_FALSE(ParseAnchors(bad, 8).ok()) << bad;
}

}  // namespace
}  // namespace tributary::cli
