// Nodes that say that they cannot train: what the aggregator makes of it and shows, over gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "aggregator/learning/relay/tree_fixture.h"
#include "aggregator/learning/service/federation_metrics.h"
#include "aggregator/learning/service/rounds_fixture.h"

namespace tributary::learning {
namespace {

using testing::Child;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::Leaf;
using ::testing::Not;
using testing::RoundsHost;
using testing::TestNode;

// With a deadline that no test would live to see.
std::string RunOf(int nodes) {
  return "name = \"r\"\nrounds = 3\nquorum = 2\ndeadline_s = 3600\nmin_nodes = " + std::to_string(nodes) +
         "\n";
}

class DeclinesTest : public ::testing::Test {
 protected:
  DeclinesTest() { host_.Start(); }

  void StartRun(int nodes) {
    const grpc::Status status = host_.StartRun(RunOf(nodes), RoundsHost::ModelFile(3));
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  v1::DeclineTaskResponse Decline(const std::string& node, std::uint32_t round, const std::string& message,
                                  bool for_good = true) const {
    v1::DeclineTaskRequest request;
    request.set_run("r");
    request.set_round(round);
    request.set_node(node);
    request.set_boot_id(std::string(16, 'b'));
    request.set_reason(v1::DECLINE_REASON_IMAGES);
    request.set_for_good(for_good);
    request.set_message(message);
    return Send(request);
  }
  v1::DeclineTaskResponse Send(const v1::DeclineTaskRequest& request) const {
    const auto stub = v1::FederationService::NewStub(host_.channel());
    grpc::ClientContext context;
    v1::DeclineTaskResponse response;
    const grpc::Status status = stub->DeclineTask(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  v1::Participant Node(const std::string& name, const std::string& run = "r") const {
    const v1::GetRunResponse response = host_.Run(run);
    for (const v1::Participant& each : response.participants()) {
      if (each.node() == name) return each;
    }
    return {};
  }

  RoundsHost host_;
};

TEST_F(DeclinesTest, TheRoundGoesOnWithTheOthersAndTheNodeShowsWhy) {
  StartRun(3);
  TestNode a(host_, "a"), b(host_, "b"), c(host_, "c");
  const std::uint32_t round = c.NextTrain().round();
  EXPECT_TRUE(Decline("c", round, "images of side 32").accepted());
  EXPECT_TRUE(Decline("c", round, "images of side 32").accepted()) << "once more is no fault";
  for (TestNode* node : {&a, &b}) ASSERT_TRUE(node->Submit(node->NextTrain(), {1, 1, 1}).accepted());
  const v1::Round line = host_.WaitForRound(round);
  EXPECT_EQ(line.failure(), "");
  EXPECT_EQ(line.declined(), 1u);
  ASSERT_EQ(line.declines_size(), 1);
  EXPECT_EQ(line.declines(0).node(), "c");
  EXPECT_EQ(line.declines(0).reason(), "images");
  EXPECT_EQ(line.declines(0).message(), "images of side 32");
  EXPECT_TRUE(Node("c").connected());
  EXPECT_EQ(Node("c").declined_tasks(), 1u);
  EXPECT_EQ(Node("c").cannot_train(), "images: images of side 32");
  EXPECT_THAT(Node("c").last_refusal(), HasSubstr("images of side 32"));
  EXPECT_EQ(Node("a").cannot_train(), "");
  runtime::Metrics metrics;
  metrics.AddCollector(
      [&](runtime::Reading& reading) { CollectCounters(host_.coordinator().counters(), reading); });
  EXPECT_THAT(metrics.Text(), HasSubstr("tributary_tasks_declined_total{reason=\"images\"} 1"));
}

TEST_F(DeclinesTest, ARestartKeepsTheTotalsOfTheRun) {
  StartRun(3);
  {
    TestNode a(host_, "a"), b(host_, "b"), c(host_, "c");
    EXPECT_TRUE(Decline("c", c.NextTrain().round(), "images of side 32").accepted());
    v1::UpdateHeader header = a.Header(a.NextTrain());
    header.set_sample_count(0);
    EXPECT_FALSE(a.Submit(header, {1, 1, 1}).accepted());
    header.set_sample_count(1);
    EXPECT_TRUE(a.Submit(header, {1, 1, 1}).accepted());
    // Readers see the update after its node has its answer.
    for (int tries = 0; tries < 10'000 && host_.Run().run().accepted_updates() == 0; ++tries) {
    }
    EXPECT_EQ(host_.Run().run().accepted_updates(), 1u) << "in the round under way";
    EXPECT_EQ(host_.Run().run().round_refused_updates(), 1u);
    EXPECT_TRUE(b.Submit(b.NextTrain(), {1, 1, 1}).accepted());
    EXPECT_EQ(host_.WaitForRound(1).accepted(), 2u);
  }
  const auto expect_totals = [&] {
    const v1::Run run = host_.Run().run();
    EXPECT_EQ(run.total_accepted_updates(), 2u);
    EXPECT_EQ(run.refused_updates(), 1u);
    EXPECT_EQ(run.total_declined_tasks(), 1u);
    EXPECT_EQ(run.round_refused_updates(), 0u) << "no round is under way";
  };
  expect_totals();
  host_.Restart();
  expect_totals();
}

TEST_F(DeclinesTest, ARoundThatTooManyDeclineFailsAtOnceAndTheRunSaysWhatItWaitsFor) {
  StartRun(2);
  TestNode a(host_, "a"), b(host_, "b");
  (void)a.NextTrain();
  EXPECT_TRUE(Decline("b", b.NextTrain().round(), "images of side 32").accepted());
  EXPECT_THAT(host_.WaitForRound(1).failure(), HasSubstr("b because of images: images of side 32"));
  EXPECT_THAT(host_.Run().run().message(), HasSubstr("1 more cannot train"));
  EXPECT_EQ(host_.coordinator().board().Find("r")->failed_rounds, 1u);
}

// No node can fetch the model from now on, so that rounds would fail for ever.
TEST_F(DeclinesTest, ARunWhoseModelIsAwayFailsAndGoesOnWhenItIsBack) {
  StartRun(2);
  const std::string models = host_.store() + "/models";
  {
    TestNode a(host_, "a"), b(host_, "b");
    const std::uint32_t round = a.NextTrain().round();
    std::filesystem::rename(models, models + ".away");
    Decline("a", round, "cannot fetch", /*for_good=*/false);
  }
  EXPECT_TRUE(Eventually([&] { return host_.Run().run().state() == v1::RUN_STATE_FAILED; }));
  EXPECT_THAT(host_.Run().run().message(), HasSubstr("is missing from the store"));
  EXPECT_THAT(host_.Run().run().message(), HasSubstr("tributary run resume r"));
  std::filesystem::rename(models + ".away", models);
  const auto stub = v1::RunService::NewStub(host_.channel());
  grpc::ClientContext context;
  v1::ResumeRunRequest request;
  request.set_run("r");
  v1::ResumeRunResponse response;
  ASSERT_TRUE(stub->ResumeRun(&context, request, &response).ok());
  TestNode a(host_, "a"), b(host_, "b");
  for (TestNode* node : {&a, &b}) ASSERT_TRUE(node->Submit(node->NextTrain(), {1, 1, 1}).accepted());
  EXPECT_TRUE(Eventually([&] { return host_.Run().run().committed_rounds() == 1; }));
}

TEST_F(DeclinesTest, AMessageIsShortenedAndWritesNothingOnATerminal) {
  StartRun(2);
  TestNode a(host_, "a"), b(host_, "b");
  const std::uint32_t round = b.NextTrain().round();
  EXPECT_TRUE(Decline("b", round, "\x1b[2J\n" + std::string(100'000, 'x')).accepted());
  EXPECT_THAT(Node("b").last_refusal(), Not(HasSubstr("\x1b")));
  EXPECT_THAT(Node("b").last_refusal(), Not(HasSubstr("\n")));
  EXPECT_LT(Node("b").last_refusal().size(), 500u);
}

TEST_F(DeclinesTest, WhatIsNotANodesToDeclineIsAnsweredWithWhy) {
  StartRun(2);
  TestNode a(host_, "a"), b(host_, "b");
  const std::uint32_t round = a.NextTrain().round();
  (void)b.NextTrain();
  EXPECT_THAT(Decline("c", round, "x").message(), HasSubstr("has not joined"));
  EXPECT_THAT(Decline("b", round + 1, "x").message(), HasSubstr("not under way"));
  v1::DeclineTaskRequest request;
  request.set_run("r");
  request.set_round(round);
  request.set_node("b");
  EXPECT_THAT(Send(request).message(), HasSubstr("boot_id"));
  request.set_boot_id(std::string(16, 'x'));
  EXPECT_FALSE(Send(request).accepted()) << "another process of that name";
  request.set_run("nosuch");
  EXPECT_THAT(Send(request).message(), HasSubstr("no run"));
  request.set_node("b\n");
  EXPECT_THAT(Send(request).message(), HasSubstr("control characters"));
  EXPECT_EQ(Node("b").cannot_train(), "");
}

TEST_F(DeclinesTest, ANewerNodesReasonIsTakenAsUnspecified) {
  StartRun(2);
  TestNode a(host_, "a"), b(host_, "b");
  v1::DeclineTaskRequest request;
  request.set_run("r");
  request.set_round(b.NextTrain().round());
  request.set_node("b");
  request.set_boot_id(std::string(16, 'b'));
  request.set_reason(static_cast<v1::DeclineReason>(1000));
  request.set_for_good(true);
  EXPECT_TRUE(Send(request).accepted());
  EXPECT_THAT(Node("b").cannot_train(), HasSubstr("unspecified"));
}

// The child's parent waits for it no longer than the child for its nodes.
TEST_F(DeclinesTest, AChildPassesOnThatNoneOfItsNodesCanTrain) {
  StartRun(3);
  Child child(host_, "hall", 1);
  Leaf here(host_, "here"), there(host_, "there");
  TestNode unable(child.host(), "unable", 10, "");
  const std::uint32_t round = unable.NextTrain().round();
  v1::DeclineTaskRequest request;
  request.set_run("r");
  request.set_round(round);
  request.set_node("unable");
  request.set_boot_id(std::string(16, 'b'));
  request.set_reason(v1::DECLINE_REASON_IMAGES);
  request.set_for_good(true);
  request.set_message("images of side 32");
  const auto stub = v1::FederationService::NewStub(child.host().channel());
  grpc::ClientContext context;
  v1::DeclineTaskResponse response;
  ASSERT_TRUE(stub->DeclineTask(&context, request, &response).ok());
  EXPECT_TRUE(response.accepted()) << response.message();
  const v1::Round line = host_.WaitForRound(1);
  EXPECT_EQ(line.accepted(), 2u);
  EXPECT_EQ(line.declined(), 1u);
  EXPECT_EQ(Node("hall").declined_tasks(), 1u);
  EXPECT_THAT(Node("hall").last_refusal(), HasSubstr("unable because of images: images of side 32"));
  EXPECT_TRUE(Eventually([&] { return Node("hall").sample_count() == 0; })) << "it has nobody who can";
}

TEST_F(DeclinesTest, AChildThatHasARunOfThatNameItselfSaysSo) {
  StartRun(3);
  Child child(host_, "hall", 1);
  ASSERT_TRUE(child.host().StartRun(RunOf(2), RoundsHost::ModelFile(3)).ok());
  TestNode waiting(child.host(), "waiting", 10, "elsewhere");
  Leaf here(host_, "here"), there(host_, "there");
  EXPECT_EQ(host_.WaitForRound(1).accepted(), 2u);
  EXPECT_THAT(Node("hall").cannot_train(), HasSubstr("has a run \"r\" of its own"));
}

}  // namespace
}  // namespace tributary::learning
