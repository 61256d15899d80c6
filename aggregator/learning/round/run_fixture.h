// Tests of RunState in few words: one run of three nodes or more, at a time that the test sets.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "aggregator/learning/round/run_state.h"

namespace tributary {

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

  static Sha256 Identity(unsigned number) {
    Sha256 identity{};
    for (std::size_t byte = 0; byte < 4; ++byte) identity[byte] = static_cast<std::byte>(number >> 8 * byte);
    return identity;
  }

  void Create() {
    auto run = RunState::Create(config_, model_);
    ASSERT_TRUE(run.ok()) << run.status();
    run_ = std::move(*run);
    events_.clear();
  }
  // As the aggregator does: from the snapshot and the model that is stored.
  void Restart(const RunSnapshot& snapshot) {
    ModelFacts present = model_;
    present.model = run_->model().model;
    auto run = RunState::Restore(config_, present, snapshot);
    ASSERT_TRUE(run.ok()) << run.status();
    run_ = std::move(*run);
    events_.clear();
    Advance(now_ns_);
  }

  static NodeDeclaration Declaration(std::string node, std::string boot_id = "first boot") {
    NodeDeclaration declaration;
    declaration.node = std::move(node);
    declaration.boot_id = std::move(boot_id);
    declaration.sample_count = 100;
    declaration.secure_aggregation = true;
    return declaration;
  }
  void Join(std::string node, std::string boot_id = "first boot") {
    const absl::Status status =
        run_->Join(Declaration(std::move(node), std::move(boot_id)), now_ns_, events_);
    ASSERT_TRUE(status.ok()) << status;
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
  // Admit and, if that goes, Accept.
  Admission Offer(const SubmissionHeader& header) {
    const Admission admission = run_->Admit(header, now_ns_);
    return admission.verdict == AdmissionVerdict::kGo ? run_->Accept(header, now_ns_, events_) : admission;
  }
  Admission Offer(std::string node, std::uint32_t round) { return Offer(Header(std::move(node), round)); }
  void Submit(std::string node) {
    const Admission admission = Offer(std::move(node), run_->round());
    ASSERT_EQ(admission.verdict, AdmissionVerdict::kGo) << admission.message;
  }
  void Commit() {
    ASSERT_TRUE(run_->Commit(run_->round(), Identity(1000 + run_->round()), now_ns_, events_).ok());
  }
  void CommitOneRoundOf(std::initializer_list<const char*> nodes) {
    for (const char* node : nodes) Submit(node);
    Commit();
  }
  std::int64_t Advance(std::int64_t now_ns) {
    now_ns_ = now_ns;
    return run_->Advance(now_ns, events_);
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
    for (const ParticipantStatus& status : run_->participants()) {
      if (status.node == node) return status;
    }
    return {};
  }

  RunConfig config_;
  ModelFacts model_;
  std::optional<RunState> run_;
  RunEvents events_;
  std::int64_t now_ns_ = 0;
};

}  // namespace tributary
