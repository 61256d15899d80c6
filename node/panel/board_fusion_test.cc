#include "node/panel/board_fusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "node/accelerator/create.h"

namespace tributary::panel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FusedSink final : public link::TupleSink {
 public:
  void Offer(estimate::TupleFrame& frame) override { frames.push_back(frame); }
  std::vector<estimate::TupleFrame> frames;  // read once the fusion has stopped
};

// A device that fails every other batch.
class FlakyFusion final : public accelerator::Accelerator {
 public:
  FlakyFusion() : Accelerator(accelerator::CreateCpuFusion(2, 4).value()->shape()) {}
  std::string description() const override { return "flaky"; }

 private:
  absl::Status Run(std::span<const float> tuples, std::size_t batch, std::span<float> fused) override {
    if (++batches_ % 2 == 1) return absl::UnavailableError("device 0 is gone");
    return cpu_->Infer(tuples, batch, fused);
  }

  std::unique_ptr<accelerator::Accelerator> cpu_ = *accelerator::CreateCpuFusion(2, 4);
  int batches_ = 0;
};

class BoardFusionTest : public ::testing::Test {
 protected:
  void Create(std::unique_ptr<accelerator::Accelerator> accelerator = *accelerator::CreateCpuFusion(2, 4)) {
    fusion_ = std::make_unique<BoardFusion>(BoardFusion::Options{"board", 2, 1'000'000},
                                            std::move(accelerator), clock_, sink_, metrics_);
  }
  // Every tuple with a deviation of 1 m along both axes.
  void Offer(std::uint32_t panel, estimate::Epoch epoch, const std::vector<std::uint32_t>& subjects,
             float x) {
    estimate::TupleFrame frame;
    frame.source = panel;
    frame.epoch = epoch;
    frame.captured_unix_ns = 1000 - panel;
    frame.subjects = subjects;
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      frame.means.insert(frame.means.end(), {x, 2.0f});
      frame.cholesky.insert(frame.cholesky.end(), {1.0f, 0.0f, 1.0f});
    }
    fusion_->Offer(frame);
  }
  // Frames offered so far are fused when the thread ends.
  void Run() {
    fusion_->Start();
    fusion_->Stop();
  }

  const runtime::ManualClock clock_{0};
  FusedSink sink_;
  runtime::Metrics metrics_;
  std::unique_ptr<BoardFusion> fusion_;
};

TEST_F(BoardFusionTest, ShipsOneTuplePerSubjectThatNamesItsPanels) {
  Create();
  Offer(1, 7, {5, 3}, 1.0f);
  Offer(0, 7, {3, 9}, 3.0f);
  Run();
  ASSERT_EQ(sink_.frames.size(), 1u);
  const estimate::TupleFrame& frame = sink_.frames[0];
  EXPECT_EQ(frame.epoch, 7u);
  EXPECT_EQ(frame.source, 0u);
  EXPECT_EQ(frame.captured_unix_ns, 999);
  EXPECT_THAT(frame.subjects, ElementsAre(3, 5, 9));
  EXPECT_THAT(frame.contributors, ElementsAre(3, 2, 1));
  EXPECT_NEAR(frame.means[0], 2.0f, 1e-5);
  EXPECT_NEAR(frame.cholesky[0], std::sqrt(0.5f), 1e-5);
  EXPECT_THAT(std::vector(frame.means.begin() + 2, frame.means.end()), ElementsAre(1.0f, 2.0f, 3.0f, 2.0f));
  const BoardFusionCounters counters = fusion_->counters();
  EXPECT_EQ(counters.slots, 1u);
  EXPECT_EQ(counters.incomplete_slots, 0u);
  EXPECT_EQ(counters.tuples, 3u);
}

TEST_F(BoardFusionTest, FusesMoreSubjectsThanTheAcceleratorTakesAtATime) {
  Create();
  Offer(0, 7, {1, 2, 3, 4, 5, 6}, 1.0f);
  Offer(1, 7, {1, 2, 3, 4, 5, 6}, 1.0f);
  Run();
  ASSERT_EQ(sink_.frames.size(), 1u);
  EXPECT_THAT(sink_.frames[0].contributors, ElementsAre(3, 3, 3, 3, 3, 3));
}

TEST_F(BoardFusionTest, FusesWhatWaitsHoweverSoonItIsStopped) {
  for (int i = 0; i < 200; ++i) {
    sink_.frames.clear();
    Create();
    Offer(1, 7, {5}, 1.0f);
    Run();
    ASSERT_EQ(sink_.frames.size(), 1u) << i;
  }
}

TEST_F(BoardFusionTest, ShipsWhatThereIsWhenAPanelIsMissing) {
  Create();
  Offer(1, 7, {5}, 1.0f);
  Run();
  ASSERT_EQ(sink_.frames.size(), 1u);
  EXPECT_THAT(sink_.frames[0].contributors, ElementsAre(2));
  EXPECT_EQ(fusion_->counters().incomplete_slots, 1u);
}

TEST_F(BoardFusionTest, LosesAndCountsTheSlotThatItsAcceleratorFailed) {
  Create(std::make_unique<FlakyFusion>());
  for (const estimate::Epoch epoch : {7, 8}) {
    Offer(0, epoch, {5}, 1.0f);
    Offer(1, epoch, {5}, 1.0f);
  }
  Run();
  ASSERT_EQ(sink_.frames.size(), 1u);
  EXPECT_EQ(sink_.frames[0].epoch, 8u);
  EXPECT_EQ(fusion_->counters().failed_slots, 1u);
  EXPECT_THAT(metrics_.Text(), HasSubstr("tributary_board_fusion_failed_slots_total{panel=\"board\"} 1"));
}

TEST_F(BoardFusionTest, LeavesOutATupleThatIsNotValid) {
  Create();
  Offer(0, 7, {5, 6}, 1.0f);
  Offer(1, 7, {5}, std::numeric_limits<float>::infinity());
  Run();
  ASSERT_EQ(sink_.frames.size(), 1u);
  EXPECT_THAT(sink_.frames[0].subjects, ElementsAre(6));
  EXPECT_EQ(fusion_->counters().unusable_tuples, 1u);
}

TEST_F(BoardFusionTest, FusesWhilePanelsReport) {
  Create();
  fusion_->Start();
  std::jthread other([&] {
    for (estimate::Epoch epoch = 1; epoch <= 50; ++epoch) Offer(1, epoch, {5}, 1.0f);
  });
  for (estimate::Epoch epoch = 1; epoch <= 50; ++epoch) Offer(0, epoch, {5}, 1.0f);
  other.join();
  fusion_->Stop();
  std::size_t contributors = 0;
  for (const estimate::TupleFrame& frame : sink_.frames) contributors += frame.contributors[0] == 3 ? 2 : 1;
  const BoardFusionCounters counters = fusion_->counters();
  EXPECT_EQ(contributors + counters.late_frames, 100u) << "no frame is lost uncounted";
  EXPECT_EQ(counters.dropped_slots, 0u);
}

}  // namespace
}  // namespace tributary::panel
