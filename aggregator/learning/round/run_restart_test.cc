#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "aggregator/learning/round/run_fixture.h"
#include "aggregator/learning/round/run_rules.h"

namespace tributary::learning {
namespace {

class RunRestartTest : public RunFixture {};

TEST_F(RunRestartTest, GoesOnAfterARestart) {
  JoinThree();
  Submit("ash");
  const parameters::FixedPoint fixed_point = FixedPointOf(run_->under_way()->started());
  Restart();
  EXPECT_EQ(run_->round(), 1u);
  EXPECT_EQ(Accepted(), 1u);
  EXPECT_EQ(FixedPointOf(run_->under_way()->started()), fixed_point);
  EXPECT_EQ(Offer("ash", 1).verdict, AdmissionVerdict::kAlreadyAccepted);
  Join("birch");
  EXPECT_EQ(run_->TaskOf("birch").kind, TaskKind::kTrain);
  Submit("birch");
  Submit("cedar");
  EXPECT_EQ(Count<RoundClosed>(), 1u);
}

TEST_F(RunRestartTest, AClosedRoundIsClosedAgainAfterARestart) {
  JoinThree();
  for (const char* node : {"ash", "birch", "cedar"}) Submit(node);
  Restart();
  EXPECT_EQ(Count<RoundClosed>(), 1u);
  EXPECT_EQ(Last<RoundClosed>().total_weight, 300);
  Commit();
  EXPECT_EQ(run_->committed, 1u);
}

TEST_F(RunRestartTest, ARoundThatIsClosedAgainDropsNobodyTwice) {
  JoinThree();
  Submit("ash");
  Submit("birch");
  Advance(kDeadline);
  Restart();
  EXPECT_EQ(Last<RoundClosed>().dropped, std::vector<std::string>{"cedar"});
  EXPECT_EQ(Status("cedar").dropped_rounds(), 1u);
}

TEST_F(RunRestartTest, KnowsItsNodesBeforeTheyComeBack) {
  JoinThree();
  Submit("ash");
  EXPECT_EQ(Offer("birch", 7).reason, v1::SUBMIT_REFUSAL_FUTURE_ROUND);
  Restart();
  EXPECT_EQ(run_->roster.known(), 3u);
  EXPECT_EQ(Status("ash").accepted_updates(), 1u);
  EXPECT_FALSE(Status("ash").connected());
  EXPECT_EQ(Status("birch").refused_updates(), 1u);
  EXPECT_EQ(Status("cedar").sample_count(), 100u);
  EXPECT_EQ(run_->TaskOf("cedar").kind, TaskKind::kTrain);
}

TEST_F(RunRestartTest, CountsAnUpdateThatIsYoungerThanTheSnapshotOnce) {
  JoinThree();
  const v1::StoredRun before = run_->Snapshot();
  Submit("ash");
  Restore(model_, before);
  EXPECT_EQ(Status("ash").accepted_updates(), 1u);
}

TEST_F(RunRestartTest, GivesThePlaceOfANodeThatDoesNotComeBackToAnother) {
  config_.max_nodes = 3;
  Create();
  JoinThree();
  EXPECT_EQ(Join(Declaration("dogwood")).code(), absl::StatusCode::kResourceExhausted);
  Restart();
  Join("dogwood");
  Join("ash");
  Join("birch");
  EXPECT_EQ(Join(Declaration("cedar")).code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(RunRestartTest, StoresNoMoreThanAThousandNodes) {
  config_.max_nodes = 2'000;
  config_.min_nodes = 2'000;
  Create();
  for (int node = 0; node < 1'200; ++node) Join("node" + std::to_string(node));
  EXPECT_EQ(run_->Snapshot().nodes_size(), 1'000);
}

TEST_F(RunRestartTest, RefusesASnapshotThatContradictsItself) {
  JoinThree();
  Submit("ash");
  const auto restore = [this](const v1::StoredRun& snapshot) {
    return RunRules::Restore(config_, model_, snapshot, stored_).status().code();
  };
  v1::StoredRun snapshot = run_->Snapshot();
  EXPECT_EQ(restore(snapshot), absl::StatusCode::kOk);
  snapshot.add_earlier_models("short");
  EXPECT_EQ(restore(snapshot), absl::StatusCode::kDataLoss);
  snapshot = run_->Snapshot();
  for (const std::uint32_t step : {9u, 256u}) {
    snapshot.mutable_open()->set_step(step);
    EXPECT_EQ(restore(snapshot), absl::StatusCode::kDataLoss);
  }
  stored_.push_back(stored_.front());
  EXPECT_EQ(restore(run_->Snapshot()), absl::StatusCode::kDataLoss);
}

TEST_F(RunRestartTest, RefusesASnapshotWithNumbersThatTheArithmeticCannotTake) {
  JoinThree();
  Submit("ash");
  const v1::StoredRun good = run_->Snapshot();
  const std::vector<v1::StoredUpdate> updates = stored_;
  const auto restore = [&](auto damage) {
    v1::StoredRun run = good;
    std::vector<v1::StoredUpdate> accepted = updates;
    damage(run, *run.mutable_open(), accepted.front());
    return RunRules::Restore(config_, model_, run, accepted).status().code();
  };
  const double nan = std::nan("");
  using Run = v1::StoredRun;
  using Open = v1::StoredRound;
  using Stored = v1::StoredUpdate;
  EXPECT_EQ(restore([](Run&, Open&, Stored&) {}), absl::StatusCode::kOk);
  const std::vector<std::function<void(Run&, Open&, Stored&)>> damages = {
      [](Run& run, Open&, Stored&) { run.set_committed(5000); },
      [](Run& run, Open&, Stored&) { run.set_committed(run.round() + 1); },
      [](Run&, Open& open, Stored&) { open.set_fraction_bits(INT32_MIN); },
      [](Run&, Open& open, Stored&) { open.set_fraction_bits(500); },
      [=](Run&, Open& open, Stored&) { open.set_bound(static_cast<float>(nan)); },
      [](Run&, Open& open, Stored&) { open.set_bound(0); },
      [=](Run&, Open& open, Stored&) { open.mutable_asked(1)->set_weight(nan); },
      [](Run&, Open& open, Stored&) { open.mutable_asked(0)->set_weight(-1); },
      [=](Run&, Open&, Stored& update) { update.set_weight(nan); },
      [](Run&, Open&, Stored& update) { update.set_weight(INFINITY); },
      [=](Run&, Open&, Stored& update) { update.set_norm(nan); }};
  for (std::size_t i = 0; i < damages.size(); ++i) {
    EXPECT_EQ(restore(damages[i]), absl::StatusCode::kDataLoss) << i;
  }
}

}  // namespace
}  // namespace tributary::learning
