#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "aggregator/learning/service/rounds_fixture.h"

namespace tributary::learning {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RoundsHost;
using testing::TestNode;

constexpr const char* kTwoNodes = R"(
name = "r"
rounds = 3
min_nodes = 2
deadline_s = 30
[client]
local_steps = 1
)";

class RoundsTest : public ::testing::Test {
 protected:
  RoundsTest() { host_.Start(); }

  void StartRun(const std::string& config = kTwoNodes, std::size_t elements = 3) {
    const grpc::Status status = host_.StartRun(config, RoundsHost::ModelFile(elements));
    ASSERT_TRUE(status.ok()) << status.error_message();
  }

  RoundsHost host_;
};

TEST_F(RoundsTest, AveragesTheUpdatesOfTwoNodesByTheirSamples) {
  StartRun();
  TestNode a(host_, "a", 1), b(host_, "b", 3);
  EXPECT_TRUE(a.Submit(a.NextTrain(), {4, 0, 0}).accepted());
  EXPECT_TRUE(b.Submit(b.NextTrain(), {0, 4, -4}).accepted());
  const v1::Round round = host_.WaitForRound(1);
  EXPECT_EQ(round.accepted(), 2u);
  EXPECT_EQ(round.sample_count(), 4u);
  EXPECT_DOUBLE_EQ(round.loss(), -0.5);
  // 0, 1, 2 and the mean 1, 3, −3: exact in binary, so that the fixed point adds nothing.
  EXPECT_THAT(host_.Parameters(1), ElementsAre(1, 4, -1));
}

TEST_F(RoundsTest, ANodeThatDeclaresABillionSamplesAndNeverAnswersErasesNothing) {
  StartRun("name = \"r\"\nrounds = 3\nmin_nodes = 3\nquorum = 2\ndeadline_s = 1\n");
  TestNode a(host_, "a", 10), b(host_, "b", 1'000), liar(host_, "liar", 1'000'000'000);
  EXPECT_TRUE(a.Submit(a.NextTrain(), {0.01f, 0, 0}).accepted());
  EXPECT_TRUE(b.Submit(b.NextTrain(), {0, 0.01f, 0}).accepted());
  EXPECT_EQ(host_.WaitForRound(1).accepted(), 2u);
  const std::vector<float> model = host_.Parameters(1);
  EXPECT_NEAR(model[0], 0.01 * 10 / 1010, 1e-9);
  EXPECT_NEAR(model[1], 1 + 0.01 * 1000 / 1010, 1e-7);
}

TEST_F(RoundsTest, EndsEveryNodesStreamAfterTheLastRound) {
  StartRun();
  TestNode a(host_, "a"), b(host_, "b");
  for (int round = 1; round <= 3; ++round) {
    EXPECT_TRUE(a.Submit(a.NextTrain(), {1, 1, 1}).accepted());
    EXPECT_TRUE(b.Submit(b.NextTrain(), {1, 1, 1}).accepted());
  }
  EXPECT_TRUE(a.End().ok());
  EXPECT_TRUE(b.End().ok());
  EXPECT_EQ(host_.Run().run().state(), v1::RUN_STATE_FINISHED);
  EXPECT_THAT(host_.Parameters(3), ElementsAre(3, 4, 5));
}

TEST_F(RoundsTest, GivesTheNodeTheModelThatItsTaskNames) {
  StartRun();
  TestNode a(host_, "a"), b(host_, "b");
  const v1::TrainTask task = a.NextTrain();
  grpc::ClientContext context;
  v1::FetchModelRequest request;
  request.set_run("r");
  request.set_round(task.round());
  request.set_node("a");
  request.set_offset(8);
  const auto stub = v1::FederationService::NewStub(host_.channel());
  const auto reader = stub->FetchModel(&context, request);
  v1::FetchModelResponse response;
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_EQ(response.sha256(), task.model_sha256());
  EXPECT_EQ(response.file_bytes(), task.model_bytes());
  EXPECT_EQ(response.offset(), 8u);
  EXPECT_EQ(response.bytes(), RoundsHost::ModelFile(3).substr(8));
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_TRUE(reader->Finish().ok());
}

TEST_F(RoundsTest, GivesNoModelToANodeThatDoesNotTrainInTheRound) {
  StartRun();
  TestNode a(host_, "a"), b(host_, "b");
  const v1::TrainTask task = a.NextTrain();
  grpc::ClientContext context;
  v1::FetchModelRequest request;
  request.set_run("r");
  request.set_round(task.round());
  request.set_node("stranger");
  const auto stub = v1::FederationService::NewStub(host_.channel());
  const auto reader = stub->FetchModel(&context, request);
  v1::FetchModelResponse response;
  EXPECT_FALSE(reader->Read(&response));
  const grpc::Status status = reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("\"stranger\" does not train in round 1"));
}

TEST_F(RoundsTest, TakesASubmissionOnceAndAnswersARepetitionAlike) {
  StartRun();
  TestNode a(host_, "a"), b(host_, "b");
  const v1::TrainTask task = a.NextTrain();
  EXPECT_TRUE(a.Submit(task, {2, 2, 2}).accepted());
  EXPECT_TRUE(a.Submit(task, {2, 2, 2}).accepted());
  EXPECT_TRUE(b.Submit(b.NextTrain(), {0, 0, 0}).accepted());
  host_.WaitForRound(1);
  EXPECT_THAT(host_.Parameters(1), ElementsAre(1, 2, 3));
}

TEST_F(RoundsTest, GoesOnBitForBitAfterARestartInTheMiddleOfARound) {
  StartRun();
  std::vector<float> delta = {0.1f, -0.2f, 1e-6f};
  {
    TestNode a(host_, "a", 7), b(host_, "b", 5);
    EXPECT_TRUE(a.Submit(a.NextTrain(), delta).accepted());
    EXPECT_TRUE(b.Submit(b.NextTrain(), {0.3f, 0.7f, 3.0f}).accepted());
    host_.WaitForRound(1);
  }
  const std::vector<float> uninterrupted = host_.Parameters(1);

  RoundsHost other;
  other.Start();
  ASSERT_TRUE(other.StartRun(kTwoNodes, RoundsHost::ModelFile(3)).ok());
  {
    TestNode a(other, "a", 7), b(other, "b", 5);
    EXPECT_TRUE(a.Submit(a.NextTrain(), delta).accepted());
  }
  other.Restart();
  TestNode a(other, "a", 7), b(other, "b", 5);
  EXPECT_TRUE(b.Submit(b.NextTrain(), {0.3f, 0.7f, 3.0f}).accepted());
  other.WaitForRound(1);
  EXPECT_EQ(other.Parameters(1), uninterrupted);
}

TEST_F(RoundsTest, HoldsARoundNoLongerThanItsDeadline) {
  StartRun(R"(
name = "r"
rounds = 1
min_nodes = 2
quorum = 1
deadline_s = 1
)");
  TestNode a(host_, "a"), b(host_, "b");
  const v1::TrainTask late = b.NextTrain();
  EXPECT_TRUE(a.Submit(a.NextTrain(), {1, 1, 1}).accepted());
  const v1::Round round = host_.WaitForRound(1);
  EXPECT_EQ(round.accepted(), 1u);
  EXPECT_EQ(round.dropped(), 1u);
  const v1::SubmitUpdateResponse refused = b.Submit(late, {5, 5, 5});
  EXPECT_FALSE(refused.accepted());
  EXPECT_FALSE(refused.message().empty());
  EXPECT_THAT(host_.Parameters(1), ElementsAre(1, 2, 3));
}

TEST_F(RoundsTest, TellsNodesHowManyRoundsFailed) {
  StartRun(R"(
name = "r"
rounds = 2
min_nodes = 2
quorum = 2
deadline_s = 1
)");
  TestNode a(host_, "a"), b(host_, "b");
  EXPECT_EQ(a.NextTrain().failed_rounds(), 0u);
  const auto next = [](TestNode& node, std::uint32_t round) {
    v1::TrainTask task;
    while (task.round() < round) task = node.NextTrain();
    return task;
  };
  const v1::TrainTask of_a = next(a, 2), of_b = next(b, 2);
  EXPECT_EQ(of_a.failed_rounds(), 1u);
  a.Submit(of_a, {1, 1, 1});
  b.Submit(of_b, {1, 1, 1});
  host_.WaitForRound(2);
  EXPECT_EQ(next(a, 3).failed_rounds(), 1u) << "the second one was committed";
}

TEST_F(RoundsTest, StartsTheSameRunOnceAndRefusesAnotherOfItsName) {
  StartRun();
  StartRun();
  EXPECT_EQ(host_.StartRun(kTwoNodes, RoundsHost::ModelFile(4)).error_code(),
            grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(
      host_.StartRun(std::string(kTwoNodes) + "momentum = 0.5\n", RoundsHost::ModelFile(3)).error_code(),
      grpc::StatusCode::ALREADY_EXISTS);
}

// The node did not get its answer and sends the update again.
TEST_F(RoundsTest, CountsAnUpdateOfFedBuffOnceThoughTheAggregatorRestartsAfterItsCommit) {
  StartRun("name = \"r\"\nrounds = 9\nmin_nodes = 1\nmax_nodes = 1\n[strategy]\nkind = \"fedbuff\"\n");
  v1::UpdateHeader header;
  {
    TestNode a(host_, "a");
    header = a.Header(a.NextTrain());
    EXPECT_TRUE(a.Submit(header, {4, 4, 4}).accepted());
    host_.WaitForRound(1);
  }
  host_.Restart();
  TestNode a(host_, "a");
  const v1::TrainTask next = a.NextTrain();
  EXPECT_TRUE(a.Submit(header, {4, 4, 4}).accepted());
  EXPECT_TRUE(a.Submit(next, {0, 0, 0}).accepted());
  host_.WaitForRound(next.round());
  EXPECT_THAT(host_.Parameters(next.round()), ElementsAre(4, 5, 6));
  EXPECT_EQ(host_.Run().run().total_accepted_updates(), 2u);
}

TEST_F(RoundsTest, SaysEveryFaultOfARunThatCannotBe) {
  const grpc::Status status =
      host_.StartRun("name = \"\"\nrounds = 0\ncolour = 1\n", RoundsHost::ModelFile(3));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("colour"));
  EXPECT_THAT(status.error_message(), HasSubstr("rounds"));
  EXPECT_EQ(host_.StartRun(kTwoNodes, "not a model").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(RoundsTest, CountsTheRunsThatItRefuses) {
  StartRun();
  EXPECT_EQ(host_.coordinator().counters().refused_runs, 0u);
  EXPECT_FALSE(host_.StartRun("rounds = -1", RoundsHost::ModelFile(3)).ok());
  EXPECT_FALSE(host_.StartRun("", RoundsHost::ModelFile(3)).ok());
  EXPECT_EQ(host_.coordinator().counters().refused_runs, 2u);
}

TEST_F(RoundsTest, ShowsItsNodesBeforeTheyComeBackAfterARestart) {
  StartRun();
  {
    TestNode a(host_, "a"), b(host_, "b");
    EXPECT_TRUE(a.Submit(a.NextTrain(), {1, 1, 1}).accepted());
    EXPECT_TRUE(b.Submit(b.NextTrain(), {1, 1, 1}).accepted());
    host_.WaitForRound(1);
  }
  host_.Restart();
  const v1::GetRunResponse shown = host_.Run();
  EXPECT_EQ(shown.run().joined_nodes(), 2u);
  EXPECT_EQ(shown.run().connected_nodes(), 0u);
  ASSERT_EQ(shown.participants_size(), 2);
  EXPECT_EQ(shown.participants(0).accepted_updates(), 1u);
}

TEST_F(RoundsTest, TakesAWaitingNodeIntoARunThatStartsLater) {
  TestNode a(host_, "a", 1, ""), b(host_, "b", 1, "");
  EXPECT_TRUE(a.Next().has_wait());
  EXPECT_TRUE(b.Next().has_wait());
  StartRun();
  EXPECT_EQ(a.NextTrain().round(), 1u);
  EXPECT_EQ(b.NextTrain().round(), 1u);
}

TEST_F(RoundsTest, LetsANewerStreamOfANodeTakeThePlaceOfTheOlder) {
  StartRun();
  TestNode old(host_, "a"), b(host_, "b");
  EXPECT_EQ(old.NextTrain().round(), 1u);
  TestNode young(host_, "a");
  const grpc::Status end = old.End();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_NE(end.error_message().find("give each a name of its own"), std::string::npos)
      << end.error_message();
  EXPECT_EQ(young.NextTrain().round(), 1u);
}

TEST_F(RoundsTest, StopsClearlyWhenTheStoreCannotBeWritten) {
  StartRun();
  bool full = false;
  host_.Restart([&full](store::StoreStep step) {
    return full && step == store::StoreStep::kCommit ? absl::ResourceExhaustedError("no space left on device")
                                                     : absl::OkStatus();
  });
  TestNode a(host_, "a"), b(host_, "b");
  const v1::TrainTask task = a.NextTrain();
  full = true;
  const v1::SubmitUpdateResponse refused = a.Submit(task, {1, 1, 1});
  EXPECT_FALSE(refused.accepted());
  EXPECT_EQ(refused.reason(), v1::SUBMIT_REFUSAL_STORE);
  EXPECT_TRUE(refused.try_again());
  EXPECT_EQ(a.End().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(host_.Run().run().state(), v1::RUN_STATE_FAILED);
  EXPECT_THAT(host_.Run().run().message(), HasSubstr("no space left"));
  EXPECT_THAT(host_.Run().run().message(), HasSubstr("tributary run resume r"));
  full = false;
  host_.Restart();
  TestNode again(host_, "a"), other(host_, "b");
  EXPECT_TRUE(again.Submit(again.NextTrain(), {1, 1, 1}).accepted());
}

}  // namespace
}  // namespace tributary::learning
