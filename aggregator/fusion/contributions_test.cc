// What a reader who asks is told of a subject: each source's tuple, and what became of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "aggregator/fusion/class_fixture.h"
#include "aggregator/fusion/fusion_fixture.h"

namespace tributary::fusion {
namespace {

using estimate::SourceTuple;
using estimate::TupleFate;

class ContributionsTest : public FusionFixture {
 protected:
  // What was said of the subject in the latest slot; null: nothing.
  const estimate::SubjectTuples* Said(std::uint32_t subject) const {
    const auto& all = out_[out_.size() - 1].contributions;
    if (all == nullptr) return nullptr;
    for (const estimate::SubjectTuples& each : *all) {
      if (each.subject == subject) return &each;
    }
    return nullptr;
  }
  const SourceTuple* Of(std::uint32_t subject, const std::string& source) const {
    for (const SourceTuple& tuple : Said(subject)->tuples) {
      if (tuple.source == source) return &tuple;
    }
    return nullptr;
  }
};

TEST_F(ContributionsTest, NobodyIsToldUnlessHeAsks) {
  Start();
  OfferAll(Frame(kEpoch, {1, 2}));
  ASSERT_EQ(out_.size(), 1u);
  EXPECT_EQ(out_[0].contributions, nullptr);
}

TEST_F(ContributionsTest, TellsTheTupleOfEachSourceOfThatSubjectAlone) {
  Start();
  ASSERT_TRUE(engine_->Explain(2).ok());
  OfferAll(Frame(kEpoch, {1, 2}));
  ASSERT_EQ(out_.size(), 1u);
  EXPECT_EQ(Said(1), nullptr);
  ASSERT_NE(Said(2), nullptr);
  EXPECT_EQ(Said(2)->tuples.size(), 4u);
  EXPECT_FALSE(Said(2)->gate.has_value());
  const SourceTuple* const north = Of(2, "north");
  ASSERT_NE(north, nullptr);
  EXPECT_EQ(north->fate, TupleFate::kFused);
  EXPECT_EQ(north->mean, (std::vector<float>{2, 0}));
  EXPECT_EQ(north->cholesky, (std::vector<float>{0.1f, 0, 0.1f}));
  EXPECT_EQ(north->captured_unix_ns, site_.slot.StartNs(kEpoch));
  ASSERT_TRUE(north->innovation.has_value());
  EXPECT_NEAR(*north->innovation, 0, 1e-9);
}

TEST_F(ContributionsTest, EndsWithTheLastReaderOfTheSubject) {
  Start();
  ASSERT_TRUE(engine_->Explain(1).ok());
  ASSERT_TRUE(engine_->Explain(1).ok());
  engine_->Conceal(1);
  OfferAll(Frame(kEpoch, {1}));
  EXPECT_NE(Said(1), nullptr) << "one reader is left";
  engine_->Conceal(1);
  engine_->Conceal(1);  // nobody is left: changes nothing
  out_.Clear();
  OfferAll(Frame(kEpoch + 1, {1}));
  ASSERT_EQ(out_.size(), 1u);
  EXPECT_EQ(out_[0].contributions, nullptr) << "the memory of a slot is used again, not what it said";
}

TEST_F(ContributionsTest, ASubjectThatIsNotInTheSlotHasNone) {
  Start();
  ASSERT_TRUE(engine_->Explain(77).ok());
  OfferAll(Frame(kEpoch, {1}));
  EXPECT_EQ(out_[0].contributions, nullptr);
}

TEST_F(ContributionsTest, RefusesMoreReadersThanItServes) {
  Start();
  for (std::size_t i = 0; i < FusionEngine::kMaxReaders; ++i) ASSERT_TRUE(engine_->Explain(1).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(engine_->Explain(1)));
  engine_->Conceal(1);
  EXPECT_TRUE(engine_->Explain(2).ok());
}

TEST_F(ContributionsTest, SaysWhichTupleTheGateLeftOut) {
  site_.tuning.gate_probability = 0.999;
  Start();
  ASSERT_TRUE(engine_->Explain(1).ok());
  for (const char* source : {"north", "east", "south"}) Offer(source, Frame(kEpoch, {1}));
  Offer("west", Frame(kEpoch, {9}));
  ASSERT_EQ(out_.size(), 1u);
  ASSERT_EQ(out_.gated.size(), 1u);
  ASSERT_NE(Said(1), nullptr);
  ASSERT_TRUE(Said(1)->gate.has_value());
  EXPECT_NEAR(*Said(1)->gate, 13.8, 0.1) << "the quantile 0.999 of chi-square with two degrees of freedom";
  EXPECT_EQ(Of(1, "west")->fate, TupleFate::kGated);
  EXPECT_GT(*Of(1, "west")->innovation, *Said(1)->gate);
  EXPECT_EQ(Of(1, "north")->fate, TupleFate::kFused);
}

TEST_F(ContributionsTest, SaysWhichTupleIsInALargerOne) {
  StartEmpty();
  Join("both", {"north", "east"});
  Join("north", {"north"});
  Join("rest", {"south", "west"});
  ASSERT_TRUE(engine_->Explain(1).ok());
  for (const char* source : {"north", "both", "rest"}) Offer(source, Frame(kEpoch, {1}));
  ASSERT_EQ(out_.size(), 1u);
  ASSERT_NE(Said(1), nullptr);
  EXPECT_EQ(Of(1, "north")->fate, TupleFate::kRedundant);
  EXPECT_EQ(Of(1, "both")->fate, TupleFate::kFused);
  EXPECT_EQ(engine_->counters().tuples_redundant, 1u) << "asking counts nothing twice";
}

TEST_F(ContributionsTest, AskingChangesNoEstimateAndNoMeasure) {
  site_.tuning.gate_probability = 0.9;
  const auto run = [this](bool asked) {
    Start();
    if (asked) {
      EXPECT_TRUE(engine_->Explain(1).ok());
    }
    for (estimate::Epoch epoch = kEpoch; epoch < kEpoch + 5; ++epoch) {
      out_.Clear();
      float x = 1;
      for (const std::string& leaf : site_.leaves) Offer(leaf, Frame(epoch, {x += 0.13f, 3}));
    }
    std::vector<double> seen;
    for (const SourceStatus& source : engine_->sources()) {
      seen.push_back(source.consistency);
      seen.push_back(static_cast<double>(source.tuples_gated));
    }
    seen.insert(seen.end(), out_[0].means.begin(), out_[0].means.end());
    return seen;
  };
  EXPECT_EQ(run(false), run(true));
}

TEST_F(ContributionsTest, WorksInOneAndThreeDimensions) {
  for (const std::uint32_t dimension : {1u, 3u}) {
    site_.dimension = dimension;
    out_ = FusedSlots();
    Start();
    ASSERT_TRUE(engine_->Explain(1).ok());
    OfferAll(Frame(kEpoch, {4}));
    ASSERT_NE(Said(1), nullptr) << dimension;
    EXPECT_EQ(Of(1, "east")->mean.size(), dimension);
    EXPECT_EQ(Of(1, "east")->cholesky.size(), estimate::TriangleSize(dimension));
    EXPECT_EQ(Of(1, "east")->mean[0], 4);
  }
}

class ClassContributionsTest : public ClassFixture {};

TEST_F(ClassContributionsTest, TellsWhatEachSourceSaysAloneWithTheSitesPrior) {
  site_.prior = {0.5, 0.25, 0.25};
  Start();
  ASSERT_TRUE(engine_->Explain(1).ok());
  for (const std::string& leaf : site_.leaves) Offer(leaf, Classes({{0.8, 0.1, 0.1}}));
  ASSERT_EQ(out_.size(), 1u);
  ASSERT_NE(out_[0].contributions, nullptr);
  const std::vector<SourceTuple>& tuples = out_[0].contributions->at(0).tuples;
  ASSERT_EQ(tuples.size(), 4u);
  // Its uniform prior is replaced by the site's.
  const Probabilities alone = Product({{0.8, 0.1, 0.1}}, site_.prior);
  for (std::size_t c = 0; c < alone.size(); ++c) {
    EXPECT_NEAR(std::exp(tuples[0].log_probabilities.at(c)), alone[c], 1e-6) << c;
  }
  EXPECT_TRUE(tuples[0].mean.empty());
  EXPECT_TRUE(tuples[0].innovation.has_value());
}

}  // namespace
}  // namespace tributary::fusion
