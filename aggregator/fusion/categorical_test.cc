// A site of categorical tuples: the product with the prior counted once, bad tuples, and revisions.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "aggregator/fusion/class_fixture.h"

namespace tributary::fusion {
namespace {

class CategoricalFusionTest : public ClassFixture {};

const std::vector<double> kMostlyFirst = {0.7, 0.2, 0.1};
const std::vector<double> kMostlySecond = {0.3, 0.6, 0.1};
const std::vector<double> kUniform = {1.0 / 3, 1.0 / 3, 1.0 / 3};
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST_F(CategoricalFusionTest, MultipliesIndependentSources) {
  Start();
  Offer("north", Classes({kMostlyFirst, kUniform}));
  Offer("east", Classes({kMostlyFirst, kUniform}));
  Offer("south", Classes({kMostlySecond, kUniform}));
  Offer("west", Classes({kMostlyFirst, kUniform}));
  ASSERT_EQ(out_.size(), 1u);
  const estimate::FusedSlot& slot = out_[0];
  EXPECT_EQ(slot.dimension, 0u);
  EXPECT_TRUE(slot.means.empty());
  EXPECT_TRUE(slot.cholesky.empty());
  EXPECT_EQ(slot.contributors, (std::vector<std::uint64_t>{0b1111, 0b1111}));
  ExpectRow(slot, 0, Product({kMostlyFirst, kMostlyFirst, kMostlySecond, kMostlyFirst}, kUniform));
  ExpectRow(slot, 1, kUniform);
  EXPECT_NEAR(slot.consistency[1], 1, 1e-6) << "who says nothing surprises nobody";
  EXPECT_EQ(engine_->counters().tuples_fused, 2u);
}

TEST_F(CategoricalFusionTest, CountsTheSitesPriorOnceAndNoSourcesPrior) {
  site_.prior = {0.2, 0.3, 0.5};
  StartEmpty();
  Join("north", {"north"});
  const std::vector<double> skewed = {0.5, 0.25, 0.25};
  handles_["east"] = *engine_->Join({"east", 0, {"east"}, site_.classes, {0.5f, 0.25f, 0.25f}});
  Offer("north", Classes({kMostlyFirst}));
  Offer("east", Classes({Product({kMostlySecond}, skewed)}));
  engine_->Drain(now_, out_);
  ASSERT_EQ(out_.size(), 1u);
  ExpectRow(out_[0], 0, Product({kMostlyFirst, kMostlySecond}, site_.prior));
}

TEST_F(CategoricalFusionTest, FusesSubjectsThatOnlySomeReceiversHear) {
  Start();
  estimate::TupleFrame few = Classes({kMostlySecond});
  few.subjects = {9};
  Offer("north", Classes({kMostlyFirst, kMostlySecond}));
  Offer("east", few);
  Offer("south", Classes({}));
  Offer("west", Classes({kMostlyFirst}));
  ASSERT_EQ(out_.size(), 1u);
  EXPECT_EQ(out_[0].subjects, (std::vector<std::uint32_t>{1, 2, 9}));
  ExpectRow(out_[0], 0, Product({kMostlyFirst, kMostlyFirst}, kUniform));
  ExpectRow(out_[0], 1, kMostlySecond);
  ExpectRow(out_[0], 2, kMostlySecond);
  EXPECT_EQ(out_[0].contributors, (std::vector<std::uint64_t>{0b1001, 0b0001, 0b0010}));
  EXPECT_GT(out_[0].consistency[0], 0);
  EXPECT_EQ(out_[0].consistency[1], 0);
}

TEST_F(CategoricalFusionTest, CertaintiesThatContradictEachOtherStayFinite) {
  Start();
  const std::vector<std::vector<double>> certain = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  Offer("north", Classes({certain[0], certain[0]}));
  Offer("east", Classes({certain[1], certain[0]}));
  Offer("south", Classes({certain[2], certain[1]}));
  Offer("west", Classes({kUniform, kUniform}));
  ASSERT_EQ(out_.size(), 1u);
  ExpectRow(out_[0], 0, kUniform);
  // Two against one: 20 nats remain.
  EXPECT_NEAR(out_[0].log_probabilities[3], 0, 1e-6);
  EXPECT_NEAR(out_[0].log_probabilities[4], -20, 1e-5);
  EXPECT_NEAR(out_[0].log_probabilities[5], -40, 1e-5);
  for (const float each : out_[0].consistency) EXPECT_TRUE(std::isfinite(each));
  EXPECT_EQ(engine_->counters().tuples_unusable, 0u);
}

TEST_F(CategoricalFusionTest, TakesTheSoundTuplesOfAFrameAndRefusesTheOthers) {
  Start();
  estimate::TupleFrame frame = Classes({kMostlyFirst, kMostlyFirst, kMostlyFirst, kMostlyFirst, {1, 0, 0}});
  frame.log_probabilities[0] = std::nanf("");
  frame.log_probabilities[4] = kInfinity;
  frame.log_probabilities[6] = -0.1f;
  for (int c = 9; c < 12; ++c) frame.log_probabilities[static_cast<std::size_t>(c)] = -kInfinity;
  const OfferResult result = Offer("north", frame);
  EXPECT_TRUE(result.accepted);
  ASSERT_EQ(result.refusals.size(), 2u);
  EXPECT_EQ(result.refusals[0].reason, RefusalReason::kNotFinite);
  EXPECT_EQ(result.refusals[0].subjects, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(result.refusals[1].reason, RefusalReason::kNotNormalised);
  EXPECT_EQ(result.refusals[1].subjects, (std::vector<std::uint32_t>{3, 4}));
  EXPECT_NE(result.refusals[1].message.find("must sum to 1"), std::string::npos);
  engine_->Drain(now_, out_);
  ASSERT_EQ(out_.size(), 1u);
  EXPECT_EQ(out_[0].subjects, (std::vector<std::uint32_t>{5}));
  ExpectRow(out_[0], 0, {1, 0, 0}, 1e-8);
  EXPECT_EQ(engine_->counters().tuples_refused[static_cast<std::size_t>(RefusalReason::kNotNormalised)], 2u);
}

TEST_F(CategoricalFusionTest, RefusesFramesOfTheWrongShape) {
  Start();
  const auto reason = [&](auto change) {
    estimate::TupleFrame frame = Classes({kMostlyFirst, kMostlySecond});
    change(frame);
    return ReasonOf(Offer("north", frame));
  };
  EXPECT_EQ(reason([](estimate::TupleFrame& f) { f.log_probabilities.pop_back(); }), RefusalReason::kShape);
  EXPECT_EQ(reason([](estimate::TupleFrame& f) { f.log_probabilities.clear(); }), RefusalReason::kShape);
  EXPECT_EQ(reason([](estimate::TupleFrame& f) { f.means = {1}; }), RefusalReason::kShape);
  EXPECT_EQ(reason([](estimate::TupleFrame& f) { f.classes = 2; }), RefusalReason::kShape);
  EXPECT_EQ(reason([](estimate::TupleFrame& f) { f.dimension = 2; }), RefusalReason::kShape);
}

TEST_F(CategoricalFusionTest, WithdrawsWhatARevisionReplaces) {
  site_.tuning.late = LatePolicy::kRevise;
  Start();
  Offer("north", Classes({kMostlyFirst}));
  now_.steady_ns = 10 * kMs;
  engine_->Advance(now_, out_);
  EXPECT_TRUE(Offer("east", Classes({kMostlySecond})).accepted);
  estimate::TupleFrame corrected = Classes({kUniform});
  corrected.revision = 1;
  EXPECT_TRUE(Offer("north", corrected).accepted);
  ASSERT_EQ(out_.size(), 3u);
  ExpectRow(out_[1], 0, Product({kMostlyFirst, kMostlySecond}, kUniform));
  ExpectRow(out_[2], 0, kMostlySecond);
  EXPECT_EQ(out_[2].revision, 2u);
}

// The slots of one thread serve all its sites in turn.
TEST_F(CategoricalFusionTest, LeavesNothingBehindForASiteOfPositions) {
  Start();
  OfferAll(Classes({kMostlyFirst}));
  ASSERT_EQ(out_.size(), 1u);
  const std::unique_ptr<FusionEngine> classes = std::move(owned_);
  out_.Clear();
  site_.classes.clear();
  site_.dimension = 2;
  Start();
  OfferAll(Frame(kEpoch, {1.0f}));
  ASSERT_EQ(out_.size(), 1u);
  EXPECT_TRUE(out_[0].log_probabilities.empty());
  EXPECT_EQ(out_[0].shape(), (estimate::TupleShape{2, 0}));
  out_.Clear();
  estimate::TupleFrame next = Classes({kMostlyFirst}, kEpoch + 1);
  next.set_shape({.dimension = 0, .classes = 3});
  for (SourceHandle each = 0; each < 4; ++each) classes->Offer(each, next, now_, out_);
  ASSERT_EQ(out_.size(), 1u);
  EXPECT_TRUE(out_[0].means.empty());
  EXPECT_EQ(out_[0].log_probabilities.size(), 3u);
}

TEST_F(CategoricalFusionTest, JoinSaysHowTheClassesDifferFromTheSites) {
  StartEmpty();
  const auto fault = [&](const SourceDeclaration& declaration) {
    const absl::Status status = engine_->Join(declaration).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(fault({"a", 2, {"north"}}), "has no classes, must have the site's 3 classes: BPSK, QPSK, GFSK");
  has(fault({"a", 0, {"north"}, {"BPSK", "QPSK"}}), "has 2 classes, must have the site's 3");
  has(fault({"a", 0, {"north"}, std::vector<std::string>(1000, "x")}), "has 1000 classes");
  has(fault({"a", 0, {"north"}, {"BPSK", "GFSK", "QPSK"}}), "class 1 is 'GFSK', must be the site's 'QPSK'");
  has(fault({"a", 0, {"north"}, {"BPSK", "QPSK", "gfsk"}}), "class 2 is 'gfsk', must be the site's 'GFSK'");
  has(fault({"a", 2, {"north"}, site_.classes}), "dimension is 2, must be the site's 0");
  has(fault({"a", 0, {"north"}, site_.classes, {1.0f}}), "prior: has 1 probabilities for 3 classes");
  for (const float bad : {0.0f, -1.0f, 2.0f, std::nanf(""), kInfinity, -kInfinity}) {
    has(fault({"a", 0, {"north"}, site_.classes, {bad, 0.5f, 0.5f}}), "prior: the probability of class 0");
  }
  has(fault({"a", 0, {"north"}, site_.classes, {0.5f, 0.5f, 0.5f}}), "prior: the probabilities sum to 1.5");
  EXPECT_TRUE(engine_->Join({"a", 0, {"north"}, site_.classes, {0.2f, 0.3f, 0.5f}}).ok());

  site_.classes.clear();
  site_.dimension = 2;
  StartEmpty();
  has(fault({"a", 0, {"north"}, {"BPSK", "QPSK"}}), "has 2 classes, the site has positions");
}

TEST_F(CategoricalFusionTest, ConfigurationNamesEveryFault) {
  const auto faults = [&] { return std::string(FusionEngine::Create(site_).status().message()); };
  const auto has = [&](const std::string& part) {
    EXPECT_NE(faults().find(part), std::string::npos) << part << " in: " << faults();
  };
  site_.dimension = 2;
  site_.tuning.track = true;
  site_.prior = {0.5, 0.5};
  has("dimension: a site with classes has none");
  has("track: only positions");
  has("prior: has 2 probabilities for 3 classes");
  site_.prior = {1, 1e-9, 0.1};
  has("prior: the probability of class 1 is 1e-09");
  site_.classes = {"one"};
  has("classes: expected the names of 2 to 256 classes, found 1");
  site_.classes = {"one", "one"};
  has("classes: \"one\" is named twice");
  site_.classes.clear();
  for (int i = 0; i < 1000; ++i) site_.classes.push_back(absl::StrCat(i));
  has("found 1000");
  site_.classes.resize(256);
  site_.max_subjects = 1024;
  has("subjects of 256 classes each are");
  has("a slot may have 131072");
  site_.classes.clear();
  has("prior: is for a site with classes");
}

TEST_F(CategoricalFusionTest, AReloadTurnsNoTracksOn) {
  Start();
  FusionTuning tuning = site_.tuning;
  tuning.track = true;
  EXPECT_EQ(engine_->Reconfigure(tuning).code(), absl::StatusCode::kInvalidArgument);
  tuning.track = false;
  tuning.gate_probability = 0.99;
  EXPECT_TRUE(engine_->Reconfigure(tuning).ok());
}

}  // namespace
}  // namespace tributary::fusion
