// Partial sums, from both sides: what a run takes from a child, and a child's run whose rounds are the
// parent's.
#include <gmock/gmock.h>

#include "aggregator/learning/round/run_fixture.h"

namespace tributary::learning {
namespace {

using Verdict = AdmissionVerdict;

// Names and samples.
using Contributors = std::vector<std::pair<std::string, std::uint64_t>>;

void SetContributors(const Contributors& contributors, v1::UpdateHeader& header) {
  header.clear_contributors();
  for (const auto& [node, samples] : contributors) {
    v1::Contributor& contributor = *header.add_contributors();
    contributor.set_node(node);
    contributor.set_sample_count(samples);
  }
}

class PartialSumTest : public RunFixture {
 protected:
  // ash and birch train, hall adds up nodes of its own.
  void JoinWithAChild() {
    v1::ParticipateRequest hall = Declaration("hall");
    hall.set_partial_sums(true);
    ASSERT_TRUE(Join(hall).ok());
    Join("ash");
    Join("birch");
  }
  v1::UpdateHeader Sum(const Contributors& contributors) const {
    v1::UpdateHeader header = Header("hall", 1);
    header.set_encoding(v1::UPDATE_ENCODING_FIXED32);
    SetContributors(contributors, header);
    return header;
  }
};

TEST_F(PartialSumTest, CountsWithTheSamplesOfItsContributors) {
  JoinWithAChild();
  EXPECT_EQ(Offer(Sum({{"elm", 60}, {"oak", 40}})).weight, 100);
  EXPECT_EQ(Offer(Sum({{"elm", 60}, {"oak", 40}})).verdict, Verdict::kAlreadyAccepted);
}

TEST_F(PartialSumTest, WithContributorsThatDoNotAddUpIsRefused) {
  const std::vector<Contributors> wrong = {{{"elm", 60}, {"oak", 41}},
                                           {{"elm", 60}, {"oak", 39}},
                                           {{"elm", 50}, {"elm", 50}},
                                           {{"elm", 100}, {"oak", 0}},
                                           {{"elm", UINT64_MAX}, {"oak", 101}},
                                           {{"", 100}},
                                           {{"hall", 100}}};
  for (const Contributors& contributors : wrong) {
    Create();
    JoinWithAChild();
    EXPECT_EQ(Offer(Sum(contributors)).reason, v1::SUBMIT_REFUSAL_CONTRIBUTORS);
    EXPECT_EQ(Accepted(), 0u);
  }
}

TEST_F(PartialSumTest, CannotSpeakForANodeThatIsAskedItselfWhoeverComesFirst) {
  for (const bool first : {true, false}) {
    Create();
    JoinWithAChild();
    if (!first) Submit("ash");
    const Admission refused = Offer(Sum({{"ash", 60}, {"oak", 40}}));
    EXPECT_EQ(refused.reason, v1::SUBMIT_REFUSAL_CONTRIBUTORS);
    EXPECT_THAT(refused.counted_elsewhere, ::testing::ElementsAre("ash"));
    if (first) Submit("ash");
    Submit("birch");
    // What is left of the sum is waited for.
    Advance(now_ns_);
    EXPECT_EQ(Count<RoundClosed>(), 0u);
    v1::UpdateHeader rest = Sum({{"oak", 40}});
    rest.set_sample_count(40);
    EXPECT_EQ(Offer(rest).weight, 40);
    EXPECT_EQ(Last<RoundClosed>().total_weight, 240);
  }
}

TEST_F(PartialSumTest, OfWhichNothingWouldBeLeftIsNotWaitedFor) {
  JoinWithAChild();
  const Admission refused = Offer(Sum({{"ash", 60}, {"birch", 40}}));
  EXPECT_EQ(refused.reason, v1::SUBMIT_REFUSAL_CONTRIBUTORS);
  EXPECT_TRUE(refused.counted_elsewhere.empty());
  Submit("ash");
  Submit("birch");
  EXPECT_EQ(Last<RoundClosed>().total_weight, 200);
}

// The answer has to fit a message; the rest is named when the sum comes again.
TEST_F(PartialSumTest, ThatIsMostlyCountedElsewhereIsToldSoInParts) {
  for (const char* name : {"attic", "hall"}) {
    v1::ParticipateRequest child = Declaration(name);
    child.set_partial_sums(true);
    child.set_sample_count(5'000);
    ASSERT_TRUE(Join(child).ok());
  }
  Join("ash");
  Contributors leaves;
  for (int i = 0; i < 4'999; ++i) leaves.push_back({"leaf " + std::to_string(i), 1});
  v1::UpdateHeader sum = Sum(leaves);
  sum.set_sample_count(4'999);
  ASSERT_EQ(Offer(sum).verdict, Verdict::kGo);
  sum.set_node("attic");
  sum.set_sample_count(5'000);
  sum.add_contributors()->set_node("oak");
  sum.mutable_contributors()->rbegin()->set_sample_count(1);
  EXPECT_EQ(Offer(sum).counted_elsewhere.size(), Admission::kNamed);
}

TEST_F(PartialSumTest, CountsALeafOfTwoChildrenOnce) {
  for (const char* name : {"attic", "hall"}) {
    v1::ParticipateRequest child = Declaration(name);
    child.set_partial_sums(true);
    ASSERT_TRUE(Join(child).ok());
  }
  Join("ash");
  EXPECT_EQ(Offer(Sum({{"elm", 60}, {"oak", 40}})).verdict, Verdict::kGo);
  v1::UpdateHeader again = Sum({{"oak", 40}, {"yew", 10}});
  again.set_node("attic");
  again.set_sample_count(50);
  EXPECT_THAT(Offer(again).counted_elsewhere, ::testing::ElementsAre("oak"));
  SetContributors({{"yew", 10}}, again);
  again.set_sample_count(10);
  EXPECT_EQ(Offer(again).weight, 10);
  Submit("ash");
  EXPECT_EQ(Last<RoundClosed>().total_weight, 210);
}

TEST_F(PartialSumTest, ComesFromWhoSaidSoAndFromNobodyElse) {
  JoinWithAChild();
  v1::UpdateHeader plain = Header("hall", 1);
  EXPECT_EQ(Offer(plain).reason, v1::SUBMIT_REFUSAL_CONTRIBUTORS);
  v1::UpdateHeader sum = Sum({{"elm", 100}});
  sum.set_node("ash");
  EXPECT_EQ(Offer(sum).reason, v1::SUBMIT_REFUSAL_CONTRIBUTORS);
}

TEST_F(PartialSumTest, IsKnownAsOneAfterARestartBeforeTheChildHasJoinedAgain) {
  JoinWithAChild();
  Restart();
  EXPECT_EQ(Offer(Sum({{"elm", 100}})).verdict, Verdict::kGo);
  Restart();
  EXPECT_EQ(Offer(Sum({{"elm", 100}})).verdict, Verdict::kAlreadyAccepted);
}

TEST_F(PartialSumTest, IsRefusedAtTheDoorOfARunThatLooksAtSingleUpdates) {
  const RunConfig good = config_;
  const auto status = [this](auto change) {
    change(config_);
    Create();
    v1::ParticipateRequest hall = Declaration("hall");
    hall.set_partial_sums(true);
    return Join(hall);
  };
  const auto expect = [&](auto change, std::string_view why) {
    config_ = good;
    const absl::Status joined = status(change);
    EXPECT_EQ(joined.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(joined.message()), ::testing::HasSubstr(std::string(why)));
  };
  expect([](RunConfig& config) { config.client.set_clip_norm(1); }, "scales single updates");
  expect([](RunConfig& config) { config.weighting = UpdateWeighting::kUniform; }, "one vote");
  expect([](RunConfig& config) { config.strategy.kind = StrategyKind::kMedian; }, "looks at single updates");
  expect([](RunConfig& config) { config.privacy.secure_aggregation = true; }, "masks updates");
  expect(
      [](RunConfig& config) {
        config.strategy.kind = StrategyKind::kFedBuff;
        config.buffer.size = 2;
      },
      "fedbuff");
}

// Comparing each name with each would take minutes.
TEST_F(PartialSumTest, OfTensOfThousandsOfNodesCounts) {
  constexpr std::uint64_t kLeaves = 65'536;
  for (const char* name : {"attic", "hall"}) {
    v1::ParticipateRequest child = Declaration(name);
    child.set_partial_sums(true);
    child.set_sample_count(kLeaves);
    ASSERT_TRUE(Join(child).ok());
  }
  Join("ash");
  for (const char* name : {"attic", "hall"}) {
    Contributors leaves;
    for (std::uint64_t leaf = 0; leaf < kLeaves; ++leaf) {
      leaves.emplace_back(std::string("leaf ") + name + std::to_string(leaf), 1);
    }
    v1::UpdateHeader header = Sum(leaves);
    header.set_node(name);
    header.set_sample_count(kLeaves);
    EXPECT_EQ(Offer(header).verdict, Verdict::kGo);
  }
  Submit("ash");
  EXPECT_EQ(Last<RoundClosed>().total_weight, 2 * kLeaves + 100);
}

class RelayedRunTest : public RunFixture {
 protected:
  RelayedRunTest() {
    config_.relayed = true;
    config_.quorum = 1;
    Create();
    now_ns_ = 5;
  }
  static ParentRound Round(std::uint32_t number, std::uint64_t samples = 300) {
    return {number, Identity(number), {.fraction_bits = 7, .bound = 8}, samples, 1'000'000};
  }
  void Begin(const ParentRound& round) {
    ASSERT_TRUE(Take(rules_->Begin(round, now_ns_)).ok());
    Advance(now_ns_);
  }
  std::vector<std::string> Asked() const {
    std::vector<std::string> names;
    for (const v1::AskedNode& node : run_->under_way()->started().asked()) names.push_back(node.node());
    return names;
  }
};

TEST_F(RelayedRunTest, StartsNoRoundOfItsOwn) {
  JoinThree();
  Advance(now_ns_);
  EXPECT_EQ(run_->round(), 0u);
  EXPECT_EQ(run_->TaskOf("ash").reason, "the parent asks for no round");
}

TEST_F(RelayedRunTest, TakesNumberModelFixedPointAndDeadlineFromTheParent) {
  JoinThree();
  Begin(Round(7));
  EXPECT_EQ(run_->round(), 7u);
  EXPECT_EQ(run_->model().model, Identity(7));
  EXPECT_EQ(Last<RoundStarted>().started.fraction_bits(), 7);
  EXPECT_EQ(run_->TaskOf("ash").deadline_ns, 1'000'000);
  for (const char* node : {"ash", "birch", "cedar"}) Submit(node);
  EXPECT_TRUE(run_->closed());
  EXPECT_EQ(Last<RoundClosed>().total_weight, 300);
}

TEST_F(RelayedRunTest, AsksNoMoreThanItHadDeclared) {
  JoinThree();
  Begin(Round(1, 200));
  EXPECT_THAT(Asked(), ::testing::ElementsAre("ash", "birch"));
}

TEST_F(RelayedRunTest, WaitsForTheNodesThatItHadDeclaredButNotForEver) {
  Join("ash");
  Begin(Round(1));
  EXPECT_EQ(run_->round(), 0u);
  Join("birch");
  EXPECT_EQ(run_->round(), 0u);
  Join("cedar");
  EXPECT_THAT(Asked(), ::testing::ElementsAre("ash", "birch", "cedar"));

  Create();
  Join("ash");
  Begin(Round(1));
  EXPECT_EQ(Advance(now_ns_), now_ns_ + (1'000'000 - now_ns_) / 2);
  Advance(500'003);
  EXPECT_THAT(Asked(), ::testing::ElementsAre("ash"));
}

TEST_F(RelayedRunTest, GoesOnWithTheSameRoundAfterARestart) {
  JoinThree();
  Begin(Round(3));
  Submit("ash");
  model_.model = Identity(3);
  Restart();
  ParentRound later = Round(3);
  later.deadline_ns = 2'000'000;
  Begin(later);
  EXPECT_EQ(run_->deadline_ns(), 2'000'000);
  EXPECT_EQ(Accepted(), 1u);
  EXPECT_EQ(run_->TaskOf("birch").round, 3u);
}

TEST_F(RelayedRunTest, LeavesARoundThatTheParentHasLeft) {
  JoinThree();
  Begin(Round(1));
  Submit("ash");
  Begin(Round(2));
  EXPECT_EQ(Last<RoundFailed>().failure(), "the parent has gone on to round 2");
  EXPECT_EQ(run_->round(), 2u);
  EXPECT_EQ(Accepted(), 0u);
  EXPECT_EQ(rules_->Begin(Round(1), now_ns_).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(RelayedRunTest, ForgetsARoundThatIsGivenUpBeforeItStarted) {
  Begin(Round(1));
  Take(rules_->FailRound(1, "withdrawn", now_ns_));
  JoinThree();
  EXPECT_FALSE(run_->begun());
  EXPECT_EQ(Advance(now_ns_), kNoDeadline);
}

TEST_F(RelayedRunTest, GoesOnForAsManyRoundsAsTheParentWants) {
  JoinThree();
  for (std::uint32_t round = 1; round <= config_.rounds + 2; ++round) {
    Begin(Round(round));
    for (const char* node : {"ash", "birch", "cedar"}) Submit(node);
    ASSERT_TRUE(Commit(run_->model().model).ok());
  }
  EXPECT_EQ(run_->phase(), v1::RUN_STATE_WAITING);
  Begin(Round(99));
  ASSERT_TRUE(Take(rules_->Stop()).ok());
  EXPECT_EQ(Advance(now_ns_), kNoDeadline);
  EXPECT_EQ(run_->TaskOf("ash").kind, TaskKind::kEnded);
}

}  // namespace
}  // namespace tributary::learning
