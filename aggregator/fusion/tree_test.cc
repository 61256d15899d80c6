// Trees of aggregators, panels that arrive by two paths, and sources that contradict the others.
#include <Eigen/LU>
#include <cmath>
#include <random>

#include "aggregator/fusion/fusion_fixture.h"
#include "core/estimate/conflation.h"
#include "core/estimate/random_gaussian_fixture.h"

namespace tributary::fusion {
namespace {

class TreeTest : public FusionFixture {
 protected:
  std::mt19937_64 random_{7};
  std::normal_distribution<float> normal_;

  estimate::TupleFrame RandomFrame(std::size_t subjects, double condition) {
    estimate::TupleFrame frame = Frame(kEpoch, std::vector<float>(subjects));
    for (std::size_t i = 0; i < subjects; ++i) {
      const estimate::Gaussian<2> tuple = estimate::RandomGaussian<2>(random_, condition, 0.05, 0.05);
      for (std::size_t k = 0; k < 2; ++k)
        frame.means[2 * i + k] = static_cast<float>(tuple.mean[static_cast<int>(k)]);
      frame.cholesky[3 * i] = static_cast<float>(tuple.cholesky(0, 0));
      frame.cholesky[3 * i + 1] = static_cast<float>(tuple.cholesky(1, 0));
      frame.cholesky[3 * i + 2] = static_cast<float>(tuple.cholesky(1, 1));
    }
    return frame;
  }

  static estimate::TupleFrame AsFrame(const estimate::FusedSlot& slot, bool with_contributors) {
    estimate::TupleFrame frame;
    static_cast<estimate::SlotTuples&>(frame) = slot;
    if (!with_contributors) frame.contributors.clear();
    return frame;
  }

  // The output of an engine for the frames of these leaves.
  estimate::FusedSlot Fuse(const std::vector<std::string>& leaves,
                           const std::map<std::string, estimate::TupleFrame>& frames) {
    SiteConfig site = site_;
    site.leaves = leaves;
    const auto engine = *FusionEngine::Create(site);
    FusedSlots out;
    for (const std::string& leaf : leaves) {
      engine->Offer(*engine->Join({leaf, 2, {leaf}}), frames.at(leaf), now_, out);
    }
    EXPECT_EQ(out.size(), 1u);
    return out[0];
  }

  std::map<std::string, estimate::TupleFrame> FourFrames(double condition) {
    return {{"north", RandomFrame(16, condition)},
            {"east", RandomFrame(16, condition)},
            {"south", RandomFrame(16, condition)},
            {"west", RandomFrame(16, condition)}};
  }
};

TEST_F(TreeTest, TwoLeafAggregatorsAndARootFuseLikeOneFlatAggregator) {
  for (const double condition : {1.0, 1e2, 1e4}) {
    const auto frames = FourFrames(condition);
    const estimate::FusedSlot flat = Fuse(site_.leaves, frames);
    StartEmpty();
    Join("left", {"north", "east"});
    Join("right", {"south", "west"});
    out_.Clear();
    Offer("left", AsFrame(Fuse({"north", "east"}, frames), true));
    Offer("right", AsFrame(Fuse({"south", "west"}, frames), false));
    ASSERT_EQ(out_.size(), 1u);
    EXPECT_EQ(out_[0].contributors, flat.contributors);
    EXPECT_EQ(out_[0].subjects, flat.subjects);
    // The inner nodes' tuples are rounded to fp32 once more, amplified by the condition of the factor.
    const double bound = 8 * 0x1p-24 * std::sqrt(condition);
    ASSERT_LT(bound, 1e-4);
    for (std::size_t row = 0; row < 16; ++row) {
      const estimate::Gaussian<2> expected =
          estimate::Gaussian<2>::FromTuple(&flat.means[2 * row], &flat.cholesky[3 * row]);
      const estimate::Gaussian<2> found =
          estimate::Gaussian<2>::FromTuple(&out_[0].means[2 * row], &out_[0].cholesky[3 * row]);
      EXPECT_LT((found.cholesky - expected.cholesky).norm(), bound * expected.cholesky.norm());
      EXPECT_LT((found.mean - expected.mean).norm(),
                bound * (expected.mean.norm() + expected.cholesky.norm()));
    }
  }
}

TEST_F(TreeTest, APanelReachedByTwoPathsIsNotCountedTwice) {
  const auto frames = FourFrames(10);
  const estimate::FusedSlot pair = Fuse({"north", "east"}, frames);
  StartEmpty();
  Join("pair", {"north", "east"});
  Join("north", {"north"});
  Join("south", {"south"});
  Offer("north", frames.at("north"));
  Offer("pair", AsFrame(pair, true));
  Offer("south", frames.at("south"));
  engine_->Drain(now_, out_);
  ASSERT_EQ(out_.size(), 1u);
  const estimate::FusedSlot expected = Fuse({"north", "east", "south"}, frames);
  EXPECT_NEAR(out_[0].cholesky[0], expected.cholesky[0], 1e-5 * expected.cholesky[0]);
  EXPECT_NEAR(out_[0].means[0], expected.means[0], 1e-6);
  EXPECT_EQ(engine_->counters().tuples_redundant, 16u);
}

TEST_F(TreeTest, SourcesThatShareAPanelInPartAreIntersected) {
  const auto frames = FourFrames(10);
  StartEmpty();
  Join("left", {"north", "east"});
  Join("right", {"east", "south"});
  Join("west", {"west"});
  Offer("left", AsFrame(Fuse({"north", "east"}, frames), false));
  Offer("right", AsFrame(Fuse({"east", "south"}, frames), false));
  Offer("west", frames.at("west"));
  ASSERT_EQ(out_.size(), 1u);
  const estimate::FusedSlot all = Fuse(site_.leaves, frames);
  for (std::size_t row = 0; row < 16; ++row) {
    const estimate::Gaussian<2> fused =
        estimate::Gaussian<2>::FromTuple(&out_[0].means[2 * row], &out_[0].cholesky[3 * row]);
    const estimate::Gaussian<2> best =
        estimate::Gaussian<2>::FromTuple(&all.means[2 * row], &all.cholesky[3 * row]);
    // The result never claims more than all four panels know.
    EXPECT_GT(fused.cholesky.determinant(), best.cholesky.determinant());
    EXPECT_EQ(out_[0].contributors[row], 0b1111u);
  }
}

TEST_F(TreeTest, IntersectionAsTheMethodIsConservative) {
  site_.tuning.method = FusionMethod::kIntersection;
  Start();
  OfferAll(Frame(kEpoch, {1.0f}));
  ASSERT_EQ(out_.size(), 1u);
  EXPECT_NEAR(out_[0].cholesky[0], 0.1f, 1e-6) << "four times the same knowledge";
}

TEST_F(TreeTest, TheOrderOfArrivalDoesNotMatter) {
  const auto frames = FourFrames(1e3);
  std::vector<std::string> order = {"east", "north", "south", "west"};
  std::vector<estimate::FusedSlot> results;
  do {
    StartEmpty();
    for (const std::string& leaf : site_.leaves) Join(leaf, {leaf});
    out_.Clear();
    for (const std::string& leaf : order) Offer(leaf, frames.at(leaf));
    ASSERT_EQ(out_.size(), 1u);
    results.push_back(out_[0]);
  } while (std::next_permutation(order.begin(), order.end()));
  for (const estimate::FusedSlot& result : results) {
    for (std::size_t i = 0; i < result.means.size(); ++i)
      EXPECT_NEAR(result.means[i], results[0].means[i], 1e-8);
    for (std::size_t i = 0; i < result.cholesky.size(); ++i) {
      EXPECT_FLOAT_EQ(result.cholesky[i], results[0].cholesky[i]);
    }
  }
}

class GateTest : public TreeTest {
 protected:
  static constexpr int kSlots = 500;

  // Consistent panels, except one with an error of `drift` deviations.
  void Run(float drift) {
    Start();
    for (int slot = 0; slot < kSlots; ++slot) {
      SetTime(kEpoch + static_cast<estimate::Epoch>(slot), slot * kMs);
      for (const auto& [name, handle] : handles_) {
        estimate::TupleFrame frame = Frame(kEpoch + static_cast<estimate::Epoch>(slot), {1.0f, 2.0f});
        for (float& value : frame.means)
          value += 0.1f * normal_(random_) + (name == "west" ? 0.1f * drift : 0.0f);
        engine_->Offer(handle, frame, now_, out_);
      }
    }
  }
  double ConsistencyOf(const std::string& name) { return engine_->sources()[handles_.at(name)].consistency; }
};

TEST_F(GateTest, ConsistentSourcesMeasureAboutOne) {
  Run(0);
  // 1,000 tuples: the mean of NIS/2 has a deviation of 1/√1000.
  for (const auto& [name, handle] : handles_) EXPECT_NEAR(ConsistencyOf(name), 1, 0.13) << name;
  for (const SourceStatus& source : engine_->sources()) {
    ASSERT_TRUE(source.consistency_band.has_value()) << source.name;
    // All 1,000 tuples, of which the oldest count by a fifth less.
    EXPECT_NEAR(source.consistency_band->tuples, 1000, 10);
    EXPECT_GT(source.consistency, source.consistency_band->low) << source.name;
    EXPECT_LT(source.consistency, source.consistency_band->high) << source.name;
  }
}

TEST_F(GateTest, ADriftingSourceIsVisible) {
  Run(3);
  // ν = 3 deviations on both axes, S = (1 + 1/3)σ²: 1 + 9·2 / (4/3) / 2 = 7.75.
  EXPECT_NEAR(ConsistencyOf("west"), 7.75, 0.8);
  EXPECT_LT(engine_->sources()[handles_.at("west")].consistency_band->high, 1.2);
  EXPECT_LT(ConsistencyOf("north"), 3);
}

TEST_F(GateTest, TheGateLeavesOutWhatContradictsTheOthers) {
  site_.tuning.gate_probability = 0.999;
  Run(10);
  EXPECT_EQ(out_.gated.size(),
            engine_->counters().tuples_refused[static_cast<std::size_t>(RefusalReason::kGated)]);
  EXPECT_GE(engine_->sources()[handles_.at("west")].tuples_gated, 2 * kSlots * 99 / 100);
  // 0.1 % of three honest sources' tuples, with a margin of four deviations.
  EXPECT_LE(engine_->sources()[handles_.at("north")].tuples_gated, 8u);
  double sum = 0;
  for (const estimate::FusedSlot& slot : out_.slots()) sum += slot.means[0];
  EXPECT_NEAR(sum / kSlots, 1.0, 4 * 0.1 / std::sqrt(3.0 * kSlots)) << "the drift does not reach the result";
  EXPECT_LT(ConsistencyOf("north"), 1.3);
}

TEST_F(GateTest, OfTwoNobodyIsLeftOut) {
  site_.leaves = {"north", "west"};
  site_.tuning.gate_probability = 0.999;
  Run(10);
  EXPECT_TRUE(out_.gated.empty());
  EXPECT_GT(out_[0].consistency[0], 5);
}

TEST_F(GateTest, AGateMayBeSwitchedOnWhileRunning) {
  Run(10);
  EXPECT_TRUE(out_.gated.empty());
  FusionTuning tuning = site_.tuning;
  tuning.gate_probability = 0.999;
  ASSERT_TRUE(engine_->Reconfigure(tuning).ok());
  SetTime(kEpoch + kSlots, kSlots * kMs);
  for (const auto& [name, handle] : handles_) {
    engine_->Offer(handle, Frame(kEpoch + kSlots, {name == "west" ? 9.0f : 1.0f}), now_, out_);
  }
  EXPECT_EQ(out_.gated.size(), 1u);
  EXPECT_EQ(out_.gated[0].epoch, kEpoch + kSlots);
}

}  // namespace
}  // namespace tributary::fusion
