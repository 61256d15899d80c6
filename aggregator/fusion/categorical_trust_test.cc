// Categorical sources that lie, claim too much, share receivers or come through another aggregator.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "aggregator/fusion/class_fixture.h"

namespace tributary::fusion {
namespace {

// Receivers of equal accuracy, whose errors are independent: the posterior of each is known.
class CategoricalTrustTest : public ClassFixture {
 protected:
  static constexpr int kSlots = 2'000;
  static constexpr double kAccuracy = 0.8;
  static constexpr double kError = (1 - kAccuracy) / 2;

  // The posterior after `said`, with `confidence` times the evidence.
  Probabilities Claim(std::size_t said, double confidence) const {
    Probabilities probabilities(3, std::pow(kError, confidence));
    probabilities[said] = std::pow(kAccuracy, confidence);
    return Product({probabilities}, {1, 1, 1});
  }

  // One subject in each slot. "west" says `shift` classes further than it believes, with `confidence` times
  // the evidence.
  void Run(std::size_t shift, double confidence) {
    Start();
    out_.Clear();
    std::mt19937_64 random(11);
    std::discrete_distribution<std::size_t> error({kAccuracy, kError, kError});
    right_ = 0;
    for (int slot = 0; slot < kSlots; ++slot) {
      const auto epoch = kEpoch + static_cast<estimate::Epoch>(slot);
      SetTime(epoch, slot * kMs);
      const auto heard = static_cast<std::size_t>(slot) % 3;
      for (const std::string& leaf : site_.leaves) {
        const std::size_t said = (heard + error(random)) % 3;
        const bool west = leaf == "west";
        Offer(leaf, Classes({west ? Claim((said + shift) % 3, confidence) : Claim(said, 1)}, epoch));
      }
      const std::vector<float>& fused = out_.slots().back().log_probabilities;
      right_ += std::ranges::max_element(fused) == fused.begin() + static_cast<std::ptrdiff_t>(heard);
    }
  }
  double ConsistencyOf(const std::string& name) { return engine_->sources()[handles_.at(name)].consistency; }

  int right_ = 0;  // slots whose likeliest class was heard
};

// Mean and deviation of the surprise follow from the accuracies by enumeration; the margins are four standard
// errors.
TEST_F(CategoricalTrustTest, CalibratedSourcesMeasureAboutOne) {
  Run(0, 1);
  for (const std::string& leaf : site_.leaves) {
    EXPECT_NEAR(ConsistencyOf(leaf), 1, 4 * 1.017 / std::sqrt(kSlots)) << leaf;
  }
}

TEST_F(CategoricalTrustTest, ASourceThatClaimsTooMuchIsVisible) {
  Run(0, 2);
  EXPECT_NEAR(ConsistencyOf("west"), 3.136, 4 * 6.134 / std::sqrt(kSlots));
  EXPECT_LT(ConsistencyOf("north"), 1.3);
  Run(0, 3);
  EXPECT_NEAR(ConsistencyOf("west"), 10.52, 4 * 26.1 / std::sqrt(kSlots));
}

TEST_F(CategoricalTrustTest, ASourceThatLiesIsVisible) {
  Run(1, 1);
  EXPECT_NEAR(ConsistencyOf("west"), 2.551, 4 * 1.001 / std::sqrt(kSlots));
  EXPECT_LT(ConsistencyOf("north"), 1.3);
}

TEST_F(CategoricalTrustTest, ASourceThatClaimsTooLittleStaysBelowOne) {
  Run(0, 0.5);
  EXPECT_NEAR(ConsistencyOf("west"), 0.821, 4 * 0.39 / std::sqrt(kSlots));
}

TEST_F(CategoricalTrustTest, TheGateLeavesOutWhatContradictsTheOthers) {
  Run(1, 3);
  const int without = right_;
  EXPECT_TRUE(out_.gated.empty());
  site_.tuning.gate_probability = 0.9;
  Run(1, 3);
  EXPECT_EQ(out_.gated.size(),
            engine_->counters().tuples_refused[static_cast<std::size_t>(RefusalReason::kGated)]);
  // It exceeds a surprise of 10 in 65.7 % of the slots.
  EXPECT_NEAR(static_cast<double>(engine_->sources()[handles_.at("west")].tuples_gated) / kSlots, 0.657,
              0.05);
  EXPECT_GT(right_, without + kSlots / 10);
}

TEST_F(CategoricalTrustTest, TheGateLeavesOutCalibratedSourcesAtMostAsOftenAsItSays) {
  site_.tuning.gate_probability = 0.5;
  Run(0, 1);
  EXPECT_FALSE(out_.gated.empty());
  for (const SourceStatus& source : engine_->sources()) {
    EXPECT_LE(source.tuples_gated, static_cast<std::uint64_t>(kSlots) / 2) << source.name;
  }
}

TEST_F(CategoricalTrustTest, OfTwoNobodyIsLeftOut) {
  site_.leaves = {"north", "west"};
  site_.tuning.gate_probability = 0.5;
  Run(1, 5);
  EXPECT_TRUE(out_.gated.empty());
  EXPECT_GT(ConsistencyOf("west"), 2);
}

// A child aggregator of two receivers, or both receivers at the parent: the same probabilities.
TEST_F(CategoricalTrustTest, ATreeFusesLikeOneFlatAggregator) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> depth(-30, 0);
  site_.prior = {0.2, 0.5, 0.3};
  std::map<std::string, estimate::TupleFrame> frames;
  for (const std::string& leaf : site_.leaves) {
    std::vector<Probabilities> rows = {{1, 0, 0},
                                       {0, leaf == "north" ? 1.0 : 0.0, leaf == "north" ? 0.0 : 1.0}};
    for (int row = 0; row < 30; ++row) {
      const Probabilities weights = {std::exp(depth(random)), std::exp(depth(random)),
                                     std::exp(depth(random))};
      rows.push_back(Product({weights}, {1, 1, 1}));
    }
    frames[leaf] = Classes(rows);
  }
  Start();
  for (const std::string& leaf : site_.leaves) Offer(leaf, frames.at(leaf));
  ASSERT_EQ(out_.size(), 1u);
  const estimate::FusedSlot flat = out_[0];

  // The child has a prior of its own, and says so.
  SiteConfig child_site = site_;
  child_site.leaves = {"north", "east"};
  child_site.prior = {0.6, 0.3, 0.1};
  const auto child = *FusionEngine::Create(child_site);
  FusedSlots below;
  for (const std::string& leaf : child_site.leaves) {
    child->Offer(*child->Join({leaf, 0, {leaf}, site_.classes}), frames.at(leaf), now_, below);
  }
  ASSERT_EQ(below.size(), 1u);
  StartEmpty();
  Join("south", {"south"});
  Join("west", {"west"});
  handles_["child"] = *engine_->Join({"child", 0, child_site.leaves, site_.classes, {0.6f, 0.3f, 0.1f}});
  out_.Clear();
  for (const std::string leaf : {"south", "west"}) Offer(leaf, frames.at(leaf));
  Offer("child", AsFrame(below[0]));
  ASSERT_EQ(out_.size(), 1u);
  EXPECT_EQ(out_[0].contributors, flat.contributors);
  for (std::size_t i = 0; i < flat.log_probabilities.size(); ++i) {
    EXPECT_NEAR(out_[0].log_probabilities[i], flat.log_probabilities[i], 1e-4) << i;
  }
}

TEST_F(CategoricalTrustTest, AReceiverReachedByTwoPathsIsNotCountedTwice) {
  StartEmpty();
  Join("pair", {"north", "east"});
  Join("north", {"north"});
  Join("south", {"south"});
  const Probabilities pair = Product({Claim(0, 1), Claim(1, 1)}, {1, 1, 1});
  Offer("north", Classes({Claim(0, 1)}));
  Offer("pair", Classes({pair}));
  Offer("south", Classes({Claim(0, 1)}));
  engine_->Drain(now_, out_);
  ASSERT_EQ(out_.size(), 1u);
  ExpectRow(out_[0], 0, Product({pair, Claim(0, 1)}, {1, 1, 1}));
  EXPECT_EQ(engine_->counters().tuples_redundant, 1u);
  EXPECT_EQ(out_[0].contributors, std::vector<std::uint64_t>{0b111});
}

TEST_F(CategoricalTrustTest, SourcesThatShareAReceiverInPartArePooled) {
  StartEmpty();
  Join("left", {"north", "east"});
  Join("right", {"east", "south"});
  Join("west", {"west"});
  Offer("left", Classes({Claim(0, 2)}));
  Offer("right", Classes({Claim(0, 2)}));
  Offer("west", Classes({Claim(1, 1)}));
  ASSERT_EQ(out_.size(), 1u);
  ExpectRow(out_[0], 0, Product({Claim(0, 2), Claim(1, 1)}, {1, 1, 1}));
}

TEST_F(CategoricalTrustTest, IntersectionAsTheMethodClaimsNoMoreThanOneOfThem) {
  site_.tuning.method = FusionMethod::kIntersection;
  Start();
  OfferAll(Classes({Claim(2, 1)}));
  ASSERT_EQ(out_.size(), 1u);
  ExpectRow(out_[0], 0, Claim(2, 1));
  EXPECT_LE(ConsistencyOf("north"), 1);
  EXPECT_GT(ConsistencyOf("north"), 0);
}

TEST_F(CategoricalTrustTest, TheOrderOfArrivalDoesNotMatter) {
  std::vector<std::string> order = {"east", "north", "south", "west"};
  const std::map<std::string, Probabilities> claims = {
      {"north", Claim(0, 3)}, {"east", Claim(1, 1)}, {"south", Claim(0, 1)}, {"west", Claim(2, 5)}};
  for (const FusionMethod method : {FusionMethod::kProduct, FusionMethod::kIntersection}) {
    site_.tuning.method = method;
    std::vector<float> first;
    do {
      Start();
      out_.Clear();
      for (const std::string& leaf : order) Offer(leaf, Classes({claims.at(leaf)}));
      ASSERT_EQ(out_.size(), 1u);
      if (first.empty()) first = out_[0].log_probabilities;
      for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(out_[0].log_probabilities[c], first[c], 1e-5);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

}  // namespace
}  // namespace tributary::fusion
