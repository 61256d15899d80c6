// Tests of RunState in few words: one run of three nodes or more, at a time that the test sets.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "aggregator/learning/round/run_state.h"

namespace tributary::learning {

// An update that Accept has taken.
struct UpdateAccepted {
  std::uint32_t round = 0;  // under way; header.round is older for a stale update of FedBuff
  AcceptedUpdate update;
};
// What the outcomes say, in order.
using RunEvent = std::variant<RoundFailed, RoundStarted, StepStarted, RoundClosed, UpdateAccepted>;
using RunEvents = std::vector<RunEvent>;

class RunFixture : public ::testing::Test {
 protected:
  static constexpr std::int64_t kDeadline = 1'000;

  RunFixture() {
    config_.name = "test";
    config_.rounds = 3;
    config_.quorum = 2;
    config_.min_nodes = 3;
    config_.max_nodes = 8;
    config_.deadline_ns = kDeadline;
    model_ = {.schema = Identity(1), .model = Identity(2), .element_count = 10};
    Create();
  }

  static parameters::Sha256 Identity(unsigned number) {
    parameters::Sha256 identity{};
    for (std::size_t byte = 0; byte < 4; ++byte) identity[byte] = static_cast<std::byte>(number >> 8 * byte);
    return identity;
  }

  void Create(std::uint64_t lots = 0) {
    auto run = RunState::Create(config_, model_, lots);
    ASSERT_TRUE(run.ok()) << run.status();
    run_ = std::move(*run);
    events_.clear();
    stored_.clear();
  }
  // What the aggregator stores: the snapshot, and with each accepted update its header.
  RunSnapshot Stored() const {
    RunSnapshot snapshot = run_->Snapshot();
    EXPECT_TRUE(snapshot.accepted.empty());
    snapshot.accepted = stored_;
    return snapshot;
  }
  // As the aggregator does: from the snapshot and the model that is stored.
  void Restart(const RunSnapshot& snapshot) {
    ModelFacts present = model_;
    present.model = run_->model().model;
    auto run = RunState::Restore(config_, present, snapshot);
    ASSERT_TRUE(run.ok()) << run.status();
    run_ = std::move(*run);
    events_.clear();
    stored_ = snapshot.accepted;
    Advance(now_ns_);
  }
  // Stores what an operation has changed, as a caller has to.
  void Take(const RunOutcome& outcome) {
    if (outcome.failed) {
      stored_.clear();
      events_.emplace_back(*outcome.failed);
    }
    if (outcome.started) {
      EXPECT_TRUE(stored_.empty());
      events_.emplace_back(*outcome.started);
    }
    if (outcome.step) events_.emplace_back(*outcome.step);
    if (outcome.closed) events_.emplace_back(*outcome.closed);
  }
  absl::Status Take(const absl::StatusOr<RunOutcome>& outcome) {
    if (outcome.ok()) Take(*outcome);
    return outcome.status();
  }

  static NodeDeclaration Declaration(std::string node, std::string boot_id = "first boot") {
    NodeDeclaration declaration;
    declaration.node = std::move(node);
    declaration.boot_id = std::move(boot_id);
    declaration.sample_count = 100;
    declaration.secure_aggregation = true;
    return declaration;
  }
  absl::Status Join(const NodeDeclaration& declaration) { return Take(run_->Join(declaration, now_ns_)); }
  void Join(std::string node, std::string boot_id = "first boot") {
    const absl::Status status = Join(Declaration(std::move(node), std::move(boot_id)));
    ASSERT_TRUE(status.ok()) << status;
  }
  void Leave(std::string_view node, std::string_view boot_id = "first boot") {
    Take(run_->Leave(node, boot_id, now_ns_));
  }
  absl::StatusOr<bool> Decline(std::string_view node, std::string_view boot_id, std::uint32_t round,
                               const parameters::TaskDecline& decline) {
    const absl::StatusOr<Declined> declined = run_->Decline(node, boot_id, round, decline, now_ns_);
    if (!declined.ok()) return declined.status();
    Take(declined->outcome);
    return declined->news;
  }
  absl::Status FinishStep(std::string_view node, RoundStep step) {
    return Take(run_->FinishStep(node, run_->round(), step, now_ns_));
  }
  void JoinThree() {
    for (const char* node : {"ash", "birch", "cedar"}) Join(node);
  }

  SubmissionHeader Header(std::string node, std::uint32_t round) const {
    SubmissionHeader header;
    header.round = round;
    header.node = std::move(node);
    header.schema = model_.schema;
    header.base_model = run_->model().model;
    header.element_count = model_.element_count;
    header.sample_count = 100;
    return header;
  }
  Admission Accept(const SubmissionHeader& header) {
    const Acceptance answer = run_->Accept(header, now_ns_);
    if (answer.admission.go()) {
      stored_.push_back({header, answer.admission.weight});
      events_.emplace_back(UpdateAccepted{run_->Snapshot().round, stored_.back()});
    }
    Take(answer.outcome);
    return answer.admission;
  }
  // Admit and, if that goes, Accept.
  Admission Offer(const SubmissionHeader& header) {
    const Admission admission = run_->Admit(header, now_ns_);
    return admission.go() ? Accept(header) : admission;
  }
  Admission Offer(std::string node, std::uint32_t round) { return Offer(Header(std::move(node), round)); }
  void Submit(std::string node) {
    const Admission admission = Offer(std::move(node), run_->round());
    ASSERT_EQ(admission.verdict, AdmissionVerdict::kGo) << admission.message;
  }
  absl::Status Commit(const parameters::Sha256& model) {
    const absl::StatusOr<RunOutcome> outcome = run_->Commit(run_->round(), model, now_ns_);
    if (outcome.ok()) stored_.clear();
    return Take(outcome);
  }
  void Commit() { ASSERT_TRUE(Commit(Identity(1000 + run_->round())).ok()); }
  void CommitOneRoundOf(std::initializer_list<const char*> nodes) {
    for (const char* node : nodes) Submit(node);
    Commit();
  }
  std::int64_t Advance(std::int64_t now_ns) {
    now_ns_ = now_ns;
    const Advanced advanced = run_->Advance(now_ns);
    Take(advanced.outcome);
    return advanced.next_ns;
  }

  template <class Event>
  std::size_t Count() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        events_, [](const RunEvent& event) { return std::holds_alternative<Event>(event); }));
  }
  // The last event of that kind; an empty one, and a failure, if there is none.
  template <class Event>
  Event Last() const {
    for (auto event = events_.rbegin(); event != events_.rend(); ++event) {
      if (const Event* found = std::get_if<Event>(&*event)) return *found;
    }
    ADD_FAILURE() << "no such event";
    return {};
  }
  ParticipantStatus Status(std::string_view node) const {
    const Roster::Node* known = run_->roster().Find(node);
    return known == nullptr ? ParticipantStatus{} : known->status;
  }
  // Updates in the round under way.
  std::size_t Accepted() const {
    return run_->under_way() == nullptr ? 0 : run_->under_way()->updates().count();
  }

  RunConfig config_;
  ModelFacts model_;
  std::optional<RunState> run_;
  RunEvents events_;
  std::vector<AcceptedUpdate> stored_;  // of the round under way
  std::int64_t now_ns_ = 0;
};

}  // namespace tributary::learning
