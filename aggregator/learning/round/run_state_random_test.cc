// Random sequences of everything that can happen to a run: what must hold then, whatever comes.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "aggregator/learning/round/run_fixture.h"

namespace tributary::learning {
namespace {

enum class Kind { kSynchronous, kSampled, kBuffered, kMasked };

class RandomRunTest : public RunFixture, public ::testing::WithParamInterface<std::tuple<Kind, int>> {
 protected:
  RandomRunTest() : random_(static_cast<std::uint64_t>(std::get<1>(GetParam()))) {
    kind_ = std::get<0>(GetParam());
    config_.rounds = 12;
    if (kind_ == Kind::kSampled) config_.sample_fraction = 0.6;
    if (kind_ == Kind::kMasked) config_.privacy.secure_aggregation = true;
    if (kind_ == Kind::kBuffered) {
      config_.strategy.kind = StrategyKind::kFedBuff;
      config_.buffer = {.size = 2, .max_staleness = 3, .staleness_exponent = 0.5};
    }
    Create();
  }

  std::uint64_t Draw(std::uint64_t n) { return random_() % n; }
  std::string AnyNode() { return "node" + std::to_string(Draw(9)); }

  // A submission of any round; mostly as an honest node would send it.
  void OfferSomething() {
    const std::uint64_t back = Draw(4) == 0 ? Draw(4) : 0;
    const std::uint32_t round = run_->Snapshot().round() + (Draw(12) == 0 ? 1 : 0);
    v1::UpdateHeader header =
        Header(AnyNode(), round - static_cast<std::uint32_t>(std::min<std::uint64_t>(back, round)));
    if (const auto base = bases_.find(header.round()); base != bases_.end())
      header.set_base_model_sha256(parameters::BytesOf(base->second));
    if (kind_ == Kind::kMasked) header.set_encoding(v1::UPDATE_ENCODING_FIXED32);
    header.set_sample_count(1 + Draw(Draw(10) == 0 ? 400 : 100));
    const Admission admission = rules_->submissions().Admit(header, now_ns_);
    if (admission.verdict == AdmissionVerdict::kRefused) {
      EXPECT_NE(admission.reason, v1::SUBMIT_REFUSAL_UNSPECIFIED);
      EXPECT_FALSE(admission.message.empty());
    }
    if (admission.verdict != AdmissionVerdict::kGo) return;
    if (Draw(6) == 0) return rules_->submissions().Withdraw(header, v1::SUBMIT_REFUSAL_NOT_FINITE);
    if (Draw(6) == 0) Tick();  // the upload takes its time
    if (Accept(header).verdict == AdmissionVerdict::kRefused) rules_->submissions().Withdraw(header);
  }
  void DeclineSomething() {
    const v1::DeclineTaskRequest decline = Because(v1::DECLINE_REASON_TRAINING, Draw(4) == 0, "diverged");
    (void)Decline(AnyNode(), "boot", run_->Snapshot().round(), decline);
  }
  void FinishSomething() {
    const auto step = static_cast<RoundStep>(Draw(5));
    (void)FinishStep(AnyNode(), step);
  }
  void Tick() { Advance(now_ns_ + static_cast<std::int64_t>(Draw(Draw(5) == 0 ? kDeadline : 50))); }

  void Something() {
    switch (Draw(17)) {
      case 0:
      case 1:
      case 2:
        (void)Join(Declaration(AnyNode(), "boot"));
        break;
      case 3:
        Leave(AnyNode(), "boot");
        break;
      case 4:
        if (Draw(8) == 0) paused_ |= rules_->SetPaused(true, now_ns_).ok();
        break;
      case 5:
        Resume();
        break;
      case 6:
        if (Draw(20) == 0) Take(rules_->ReplaceModel(Identity(static_cast<unsigned>(random_())), now_ns_));
        break;
      case 7:
        if (Draw(4) == 0) RestartQuietly();
        break;
      case 8:
        Tick();
        break;
      case 9:
      case 10:
        if (kind_ == Kind::kMasked) {
          for (int i = 0; i < 8; ++i) FinishSomething();
        }
        break;
      case 11:
        DeclineSomething();
        break;
      default:
        OfferSomething();
    }
    if (run_->closed() && Draw(2) == 0) {
      EXPECT_TRUE(Commit(Identity(static_cast<unsigned>(random_()))).ok());
    }
  }
  void Resume() {
    paused_ = false;
    (void)Take(rules_->SetPaused(false, now_ns_));
  }
  void RestartQuietly() {
    RunEvents before = std::move(events_);
    Check(before);
    Restart();
  }

  void Check(const RunEvents& events) {
    for (const RunEvent& event : events) std::visit([this](const auto& happened) { Check(happened); }, event);
  }
  void Check(const RoundStarted& round) {
    EXPECT_FALSE(open_);
    EXPECT_FALSE(paused_);
    EXPECT_GT(round.round, last_round_);
    EXPECT_GE(round.started.asked_size(), static_cast<int>(config_.quorum));
    open_ = true;
    last_round_ = round.round;
    bases_[round.round] = run_->model().model;
    asked_.clear();
    for (const v1::AskedNode& node : round.started.asked()) asked_[node.node()] = node.weight();
    limit_ = 0x1p31 / (FixedPointOf(round.started).scale() * round.started.bound());
    weight_ = 0;
    accepted_ = 0;
  }
  void Check(const StepStarted& step) {
    EXPECT_TRUE(open_);
    EXPECT_GE(step.nodes.size(), config_.quorum);
    for (const std::string& node : step.nodes) EXPECT_TRUE(asked_.contains(node));
  }
  void Check(const UpdateAccepted& accepted) {
    const v1::UpdateHeader& header = accepted.update.header();
    EXPECT_TRUE(open_);
    EXPECT_FALSE(closed_);
    EXPECT_EQ(accepted.round, last_round_);
    EXPECT_TRUE(ever_accepted_.insert({header.round(), header.node()}).second) << "counted twice";
    if (kind_ != Kind::kBuffered) {
      EXPECT_EQ(header.round(), last_round_);
      ASSERT_TRUE(asked_.contains(header.node()));
      EXPECT_LE(accepted.update.weight(), asked_[header.node()]);
    }
    EXPECT_GT(accepted.update.weight(), 0);
    weight_ += accepted.update.weight();
    ++accepted_;
    EXPECT_LT(weight_, limit_) << "the fixed point overflows";
  }
  void Check(const RoundClosed& closed) {
    EXPECT_TRUE(open_ || closed_);  // again after a restart
    EXPECT_EQ(closed.round, last_round_);
    EXPECT_NEAR(closed.total_weight, weight_, 1e-9 * weight_);
    EXPECT_GE(accepted_, config_.quorum);
    if (kind_ != Kind::kBuffered) {
      EXPECT_EQ(closed.dropped.size() + accepted_, asked_.size());
    }
    closed_ = true;
    open_ = false;
  }
  void Check(const RoundFailed& failed) {
    EXPECT_EQ(failed.round(), last_round_);
    EXPECT_FALSE(failed.failure().empty());
    // With secure aggregation a node may decline to unmask after its update counted.
    if (kind_ == Kind::kMasked) {
      EXPECT_LE(failed.declined(), failed.asked());
    } else if (kind_ != Kind::kBuffered) {
      EXPECT_LE(failed.declined(), failed.dropped());
    }
    open_ = closed_ = false;
  }

  Kind kind_;
  std::mt19937_64 random_;
  bool open_ = false, closed_ = false, paused_ = false;
  std::uint32_t last_round_ = 0;
  std::map<std::string, double> asked_;
  std::map<std::uint32_t, parameters::Sha256> bases_;
  std::set<std::pair<std::uint32_t, std::string>> ever_accepted_;
  double limit_ = 0, weight_ = 0;
  std::size_t accepted_ = 0;
};

TEST_P(RandomRunTest, KeepsItsPromises) {
  for (int i = 0; i < 3000 && run_->phase() != v1::RUN_STATE_FINISHED; ++i) {
    Something();
    Check(std::exchange(events_, {}));
    closed_ = run_->closed();
    ASSERT_FALSE(HasFailure()) << "after " << i << " steps";
    EXPECT_LE(run_->committed, config_.rounds);
    // No round outlives its deadline: the next Advance ends it, or FedBuff waits on.
    if (run_->deadline_ns() != kNoDeadline && kind_ != Kind::kBuffered) {
      EXPECT_LE(run_->deadline_ns(), now_ns_ + kDeadline);
    }
  }
  // Whatever happened, a run that is left alone with enough nodes comes to its end.
  Resume();
  for (int i = 0; i < 2000 && run_->phase() != v1::RUN_STATE_FINISHED; ++i) {
    for (int node = 0; node < 8; ++node) (void)Join(Declaration("node" + std::to_string(node), "last boot"));
    for (const RoundStep step :
         {RoundStep::kKeys, RoundStep::kShares, RoundStep::kTraining, RoundStep::kUnmasking}) {
      for (int node = 0; node < 8; ++node) {
        const std::string name = "node" + std::to_string(node);
        v1::UpdateHeader header = Header(name, run_->round());
        if (kind_ == Kind::kMasked) header.set_encoding(v1::UPDATE_ENCODING_FIXED32);
        if (step == RoundStep::kTraining) {
          (void)Offer(header);
        } else {
          (void)FinishStep(name, step);
        }
      }
    }
    if (run_->closed()) Commit();
    Advance(now_ns_ + kDeadline / 2);
  }
  EXPECT_EQ(run_->phase(), v1::RUN_STATE_FINISHED);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomRunTest,
                         ::testing::Combine(::testing::Values(Kind::kSynchronous, Kind::kSampled,
                                                              Kind::kBuffered, Kind::kMasked),
                                            ::testing::Range(0, 25)));

}  // namespace
}  // namespace tributary::learning
