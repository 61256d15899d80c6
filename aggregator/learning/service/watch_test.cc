#include <gtest/gtest.h>

#include "aggregator/learning/service/rounds_fixture.h"

namespace tributary::learning {
namespace {

using testing::RoundsHost;
using testing::TestNode;

constexpr const char* kOneRound = R"(
name = "r"
rounds = 1
min_nodes = 1
quorum = 1
[client]
local_steps = 1
)";

// A run of one round and somebody who watches it.
class WatchTest : public ::testing::Test {
 protected:
  void Start() {
    host_.Start();
    ASSERT_TRUE(host_.StartRun(kOneRound, RoundsHost::ModelFile(3)).ok());
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::WatchRunRequest request;
    request.set_run("r");
    stub_ = v1::RunService::NewStub(host_.channel());
    stream_ = stub_->WatchRun(&context_, request);
    TestNode node(host_, "a");
    ASSERT_TRUE(node.Submit(node.NextTrain(), {1, 1, 1}).accepted());
    v1::WatchRunResponse response;
    while (response.run().state() != v1::RUN_STATE_FINISHED && stream_->Read(&response)) last_ = response;
    ASSERT_EQ(last_.run().state(), v1::RUN_STATE_FINISHED);
  }
  // Reads to the end; the lines that came.
  std::vector<v1::Round> Rest() {
    std::vector<v1::Round> rounds;
    v1::WatchRunResponse response;
    while (stream_->Read(&response))
      rounds.insert(rounds.end(), response.rounds().begin(), response.rounds().end());
    const grpc::Status status = stream_->Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    return rounds;
  }

  RoundsHost host_;
  grpc::ClientContext context_;
  std::unique_ptr<v1::RunService::Stub> stub_;
  std::unique_ptr<grpc::ClientReader<v1::WatchRunResponse>> stream_;
  v1::WatchRunResponse last_;
};

TEST_F(WatchTest, EndsWithTheJudgementOfTheLastModel) {
  host_.ExpectJudgements(std::chrono::seconds(20));
  Start();
  EXPECT_EQ(host_.coordinator().board().Find("r")->to_judge, 1u);
  // Comes long after the run has ended.
  v1::Evaluation evaluation;
  evaluation.set_linear_probe(0.8);
  evaluation.set_random_linear_probe(0.7);
  host_.coordinator().AddEvaluation("r", 1, evaluation);
  const std::vector<v1::Round> rest = Rest();
  ASSERT_FALSE(rest.empty());
  EXPECT_EQ(rest.back().evaluation().linear_probe(), 0.8);
  EXPECT_EQ(rest.back().evaluation().random_linear_probe(), 0.7);
  EXPECT_FALSE(host_.coordinator().board().Find("r")->to_judge.has_value());
}

TEST_F(WatchTest, EndsWithoutFiguresIfTheLastModelCannotBeJudged) {
  host_.ExpectJudgements(std::chrono::seconds(20));
  Start();
  host_.coordinator().AddEvaluation("r", 1, std::nullopt);
  for (const v1::Round& round : Rest()) EXPECT_FALSE(round.has_evaluation());
}

TEST_F(WatchTest, WaitsForAJudgementNoLongerThanItsPatience) {
  host_.ExpectJudgements(std::chrono::seconds(0));
  Start();
  for (const v1::Round& round : Rest()) EXPECT_FALSE(round.has_evaluation());
}

TEST_F(WatchTest, EndsWithTheRunWhereNobodyJudges) {
  Start();
  for (const v1::Round& round : Rest()) EXPECT_FALSE(round.has_evaluation());
}

}  // namespace
}  // namespace tributary::learning
