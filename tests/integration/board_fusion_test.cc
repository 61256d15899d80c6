// Fusion on the board and fusion on the aggregator must give the same result.
#include "node/panel/board_fusion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "aggregator/fusion/fusion_fixture.h"
#include "core/estimate/random_gaussian_fixture.h"
#include "node/accelerator/create.h"

namespace tributary {
namespace {

class CollectingSink final : public link::TupleSink {
 public:
  void Offer(estimate::TupleFrame& frame) override { frames.push_back(frame); }
  std::vector<estimate::TupleFrame> frames;
};

class FusedOnBoardTest : public fusion::FusionFixture {
 protected:
  static constexpr std::uint32_t kSubjects = 60;

  // Tuples around each subject's place, as the panels of a room see it; each lacks some subjects.
  estimate::TupleFrame PanelFrame(std::uint32_t panel, double condition) {
    std::uniform_real_distribution<double> chance;
    estimate::TupleFrame frame;
    frame.epoch = kEpoch;
    frame.sequence = 1;
    frame.source = panel;
    frame.captured_unix_ns = estimate::SlotLength().StartNs(kEpoch);
    for (std::uint32_t subject = 1; subject <= kSubjects; ++subject) {
      if (chance(random_) < 0.2) continue;
      const estimate::Gaussian<2> tuple = estimate::RandomGaussian<2>(random_, condition, 0.3, 0.1);
      frame.subjects.push_back(subject);
      frame.means.push_back(static_cast<float>(tuple.mean[0] + 0.02 * subject));
      frame.means.push_back(static_cast<float>(tuple.mean[1] - 2.0));
      frame.cholesky.push_back(static_cast<float>(tuple.cholesky(0, 0)));
      frame.cholesky.push_back(static_cast<float>(tuple.cholesky(1, 0)));
      frame.cholesky.push_back(static_cast<float>(tuple.cholesky(1, 1)));
    }
    return frame;
  }

  std::vector<estimate::TupleFrame> FusedOnBoard(const std::vector<estimate::TupleFrame>& panels) {
    const runtime::ManualClock clock(0);
    runtime::Metrics metrics;
    CollectingSink sink;
    panel::BoardFusion fusion({"board", panels.size(), kMs},
                              *accelerator::CreateCpuFusion(panels.size(), 256), clock, sink, metrics);
    for (estimate::TupleFrame panel : panels) fusion.Offer(panel);
    fusion.Start();
    fusion.Stop();
    return sink.frames;
  }

  std::mt19937_64 random_{11};
};

TEST_F(FusedOnBoardTest, TheSiteGetsWhatItWouldHaveFusedFromThePanels) {
  for (const double condition : {1.0, 1e2, 1e4}) {
    std::vector<estimate::TupleFrame> panels;
    for (std::uint32_t panel = 0; panel < 4; ++panel) panels.push_back(PanelFrame(panel, condition));
    out_.Clear();
    Start();
    for (std::size_t i = 0; i < panels.size(); ++i) ASSERT_TRUE(Offer(site_.leaves[i], panels[i]).accepted);
    ASSERT_EQ(out_.size(), 1u);
    const estimate::FusedSlot apart = out_[0];

    out_.Clear();
    StartEmpty();
    Join("board", site_.leaves);
    const std::vector<estimate::TupleFrame> fused = FusedOnBoard(panels);
    ASSERT_EQ(fused.size(), 1u);
    ASSERT_TRUE(Offer("board", fused[0]).accepted);
    ASSERT_EQ(out_.size(), 1u);
    const estimate::FusedSlot& together = out_[0];

    ASSERT_EQ(together.subjects, apart.subjects);
    EXPECT_EQ(together.contributors, apart.contributors);
    for (std::size_t i = 0; i < apart.subjects.size(); ++i) {
      // The bounds of the block's model (fpga/model/fusion_model_test.cc, docs/fpga/fusion.md).
      const float* a = &apart.cholesky[3 * i];
      const float* t = &together.cholesky[3 * i];
      const double row = std::hypot(a[1], a[2]);
      EXPECT_NEAR(t[0], a[0], 1e-5 * a[0]);
      EXPECT_NEAR(t[1], a[1], 1e-5 * row);
      EXPECT_NEAR(t[2], a[2], 1e-5 * a[2]);
      for (std::size_t axis = 0; axis < 2; ++axis) {
        const double mean = apart.means[2 * i + axis];
        const double deviation = axis == 0 ? a[0] : row;
        EXPECT_NEAR(together.means[2 * i + axis], mean, 1e-3 * std::max(std::abs(mean), deviation));
      }
    }
  }
}

}  // namespace
}  // namespace tributary
