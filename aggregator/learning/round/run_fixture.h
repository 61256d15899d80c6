// Tests of RunRules in few words: one run of three nodes or more, at a time that the test sets.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "aggregator/learning/round/run_rules.h"

namespace tributary::learning {

// An update that Accept has taken.
struct UpdateAccepted {
  std::uint32_t round = 0;  // under way; the header's is older for a stale update of FedBuff
  v1::StoredUpdate update;
};
// What the outcomes say, in order, with what the round under way was then.
using RoundFailed = v1::Round;
struct RoundStarted {
  std::uint32_t round = 0;
  v1::StoredRound started;
};
struct StepStarted {
  RoundStep step = RoundStep::kTraining;
  std::vector<std::string> nodes;
};
struct RoundClosed {
  std::uint32_t round = 0;
  double total_weight = 0;
  std::vector<std::string> dropped;
};
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
    stored_.clear();
    Restore(model_, {}, lots);
  }
  // As the aggregator does: from the snapshot, the accepted updates and the model, which are stored.
  void Restart() {
    ModelFacts present = model_;
    present.model = run_->model().model;
    v1::StoredRun snapshot;
    ASSERT_TRUE(snapshot.ParseFromString(run_->Snapshot().SerializeAsString()));
    Restore(present, snapshot);
    Advance(now_ns_);
  }
  void Restore(const ModelFacts& model, const v1::StoredRun& snapshot, std::uint64_t lots = 0) {
    auto rules = RunRules::Restore(config_, model, snapshot, stored_, lots);
    ASSERT_TRUE(rules.ok()) << rules.status();
    rules_ = std::move(*rules);
    run_ = &rules_->state();
    events_.clear();
  }
  // Stores what an operation has changed, as a caller has to.
  void Take(const RunOutcome& outcome) {
    if (outcome.failed) {
      stored_.clear();
      events_.emplace_back(*outcome.failed);
    }
    if (outcome.started) {
      EXPECT_TRUE(stored_.empty());
      events_.emplace_back(RoundStarted{run_->round(), run_->under_way()->started()});
    }
    if (outcome.step) {
      events_.emplace_back(StepStarted{run_->under_way()->step(), run_->under_way()->StepNodes()});
    }
    if (outcome.closed) {
      events_.emplace_back(RoundClosed{run_->round(), run_->under_way()->updates().total_weight(),
                                       run_->under_way()->Missing()});
    }
  }
  absl::Status Take(const absl::StatusOr<RunOutcome>& outcome) {
    if (outcome.ok()) Take(*outcome);
    return outcome.status();
  }

  static v1::ParticipateRequest Declaration(std::string node, std::string boot_id = "first boot") {
    v1::ParticipateRequest declaration;
    declaration.set_node(std::move(node));
    declaration.set_boot_id(std::move(boot_id));
    declaration.set_sample_count(100);
    declaration.set_secure_aggregation(true);
    return declaration;
  }
  absl::Status Join(const v1::ParticipateRequest& declaration) {
    return Take(rules_->Join(declaration, now_ns_));
  }
  void Join(std::string node, std::string boot_id = "first boot") {
    const absl::Status status = Join(Declaration(std::move(node), std::move(boot_id)));
    ASSERT_TRUE(status.ok()) << status;
  }
  void Leave(std::string_view node, std::string_view boot_id = "first boot") {
    Take(rules_->Leave(node, boot_id, now_ns_));
  }
  static v1::DeclineTaskRequest Because(v1::DeclineReason reason, bool for_good, std::string message) {
    v1::DeclineTaskRequest decline;
    decline.set_reason(reason);
    decline.set_for_good(for_good);
    decline.set_message(std::move(message));
    return decline;
  }
  absl::StatusOr<bool> Decline(std::string node, std::string boot_id, std::uint32_t round,
                               v1::DeclineTaskRequest decline) {
    decline.set_node(std::move(node));
    decline.set_boot_id(std::move(boot_id));
    decline.set_round(round);
    const absl::StatusOr<Declined> declined = rules_->submissions().Decline(decline, now_ns_);
    if (!declined.ok()) return declined.status();
    Take(declined->outcome);
    return declined->news;
  }
  absl::Status FinishStep(std::string_view node, RoundStep step) {
    return Take(rules_->FinishStep(node, run_->round(), step, now_ns_));
  }
  void JoinThree() {
    for (const char* node : {"ash", "birch", "cedar"}) Join(node);
  }

  v1::UpdateHeader Header(std::string node, std::uint32_t round) const {
    v1::UpdateHeader header;
    header.set_round(round);
    header.set_node(std::move(node));
    header.set_schema_sha256(parameters::BytesOf(model_.schema));
    header.set_base_model_sha256(parameters::BytesOf(run_->model().model));
    header.set_encoding(v1::UPDATE_ENCODING_FLOAT32);
    header.set_element_count(model_.element_count);
    header.set_sample_count(100);
    return header;
  }
  Admission Accept(const v1::UpdateHeader& header) {
    const Acceptance answer = rules_->submissions().Accept(header, now_ns_);
    if (answer.admission.go()) {
      *stored_.emplace_back().mutable_header() = header;
      stored_.back().set_weight(answer.admission.weight);
      events_.emplace_back(UpdateAccepted{run_->Snapshot().round(), stored_.back()});
    }
    Take(answer.outcome);
    return answer.admission;
  }
  // Admit and, if that goes, Accept.
  Admission Offer(const v1::UpdateHeader& header) {
    const Admission admission = rules_->submissions().Admit(header, now_ns_);
    return admission.go() ? Accept(header) : admission;
  }
  Admission Offer(std::string node, std::uint32_t round) { return Offer(Header(std::move(node), round)); }
  void Submit(std::string node) {
    const Admission admission = Offer(std::move(node), run_->round());
    ASSERT_EQ(admission.verdict, AdmissionVerdict::kGo) << admission.message;
  }
  absl::Status Commit(const parameters::Sha256& model) {
    const absl::StatusOr<RunOutcome> outcome = rules_->Commit(run_->round(), model, now_ns_);
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
    const Advanced advanced = rules_->Advance(now_ns);
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
  v1::Participant Status(std::string_view node) const {
    const Roster::Node* known = run_->roster.Find(node);
    return known == nullptr ? v1::Participant() : known->status;
  }
  // Updates in the round under way.
  std::size_t Accepted() const {
    return run_->under_way() == nullptr ? 0 : run_->under_way()->updates().count();
  }

  RunConfig config_;
  ModelFacts model_;
  std::optional<RunRules> rules_;
  const RunState* run_ = nullptr;  // of the rules
  RunEvents events_;
  std::vector<v1::StoredUpdate> stored_;  // of the round under way
  std::int64_t now_ns_ = 0;
};

}  // namespace tributary::learning
