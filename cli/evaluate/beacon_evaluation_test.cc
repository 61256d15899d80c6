#include "cli/evaluate/beacon_evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/nn/beacon/beacon_trainer.h"
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
    auto loaded = BeaconRecording::Load(ranges, truth);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    recording_ = std::make_unique<BeaconRecording>(*std::move(loaded));
  }

  std::unique_ptr<BeaconRecording> recording_;
};

TEST_F(BeaconRecordingTest, TruthAgreesWithTheRangesOfEveryTag) {
  for (int tag = 0; tag < scene::kTags; ++tag) {
    for (int anchor = 0; anchor < scene::kAnchors; ++anchor) {
      std::vector<double> errors;
      for (const auto& sample : recording_->Samples({&anchor, 1}, tag, {})) {
        const scene::Point3& a = scene::kAnchorPositionsM[static_cast<std::size_t>(anchor)];
        errors.push_back(sample.row->Range(anchor, tag) - std::hypot(sample.truth_m[0] - a[0],
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
  std::vector<nn::BeaconNetwork> networks;
  for (const std::array<int, 3>& anchors : kBoards) {
    auto network = nn::TrainBeacon(recording_->Examples(anchors, 0, {.start = 0.0, .end = 0.5}), {});
    ASSERT_TRUE(network.ok()) << network.status();
    network->anchors = anchors;
    networks.push_back(*std::move(network));
  }
  const auto figures = EvaluateBeacons(networks, *recording_, {.part = {.start = 0.5, .end = 1.0}});
  ASSERT_TRUE(figures.ok()) << figures.status();
  const ErrorFigures fused = figures->fused.network.Figures();
  EXPECT_LT(fused.mean_m, 0.10);
  EXPECT_LT(fused.mean_m, figures->fused.gauss_newton.Figures().mean_m);
  for (const BeaconErrors& board : figures->boards) EXPECT_LT(fused.mean_m, board.network.Figures().mean_m);
  EXPECT_GT(fused.nees, 1.0);
  EXPECT_LT(fused.nees, 4.0);
}

TEST_F(BeaconRecordingTest, RefusesBoardsOfDifferentTags) {
  std::vector<nn::BeaconNetwork> networks(2);
  networks[1].tag = 1;
  EXPECT_EQ(EvaluateBeacons(networks, *recording_, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ParseAnchorsTest, TakesThreeDifferentOnes) {
  EXPECT_EQ(*ParseAnchors("1,4,6"), (std::array{1, 4, 6}));
  for (const char* bad : {"", "1,4", "1,4,4", "1,4,8", "1,4,-1", "1,4,6,7", "a,b,c"})
    EXPECT_FALSE(ParseAnchors(bad).ok()) << bad;
}

}  // namespace
}  // namespace tributary::cli
