#include <gtest/gtest.h>

#include <filesystem>

#include "aggregator/learning/service/rounds_fixture.h"

namespace tributary::learning {
namespace {

using testing::RoundsHost;
using testing::TestNode;

class DeleteRunTest : public ::testing::Test {
 protected:
  DeleteRunTest() {
    host_.Start();
    EXPECT_TRUE(Start().ok());
  }
  grpc::Status Start() const {
    return host_.StartRun("name = \"r\"\nrounds = 1\nmin_nodes = 1\nquorum = 1\n", RoundsHost::ModelFile(3));
  }
  grpc::Status Delete(const std::string& run = "r") {
    grpc::ClientContext context;
    v1::DeleteRunRequest request;
    request.set_run(run);
    return v1::RunService::NewStub(host_.channel())->DeleteRun(&context, request, &deleted_);
  }
  std::size_t Runs() const {
    grpc::ClientContext context;
    v1::ListRunsResponse runs;
    EXPECT_TRUE(
        v1::RunService::NewStub(host_.channel())->ListRuns(&context, v1::ListRunsRequest(), &runs).ok());
    return static_cast<std::size_t>(runs.runs_size());
  }
  void Finish() {
    TestNode node(host_, "a");
    EXPECT_TRUE(node.Submit(node.NextTrain(), {1, 2, 3}).accepted());
    host_.WaitForRound(1);
  }

  RoundsHost host_;
  v1::DeleteRunResponse deleted_;
};

TEST_F(DeleteRunTest, RemovesARunThatHasEndedAlsoFromTheStore) {
  Finish();
  ASSERT_TRUE(Delete().ok());
  EXPECT_EQ(deleted_.run().committed_rounds(), 1u);
  EXPECT_EQ(Runs(), 0u);
  EXPECT_TRUE(std::filesystem::is_empty(host_.store() + "/models"));
  host_.Restart();
  EXPECT_EQ(Runs(), 0u);
  EXPECT_TRUE(Start().ok()) << "its name is free";
  Finish();
}

TEST_F(DeleteRunTest, RefusesARunThatHasNotEnded) {
  const grpc::Status status = Delete();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_NE(status.error_message().find("stop it first"), std::string::npos) << status.error_message();
  EXPECT_EQ(Runs(), 1u);
}

TEST_F(DeleteRunTest, DoesNotKnowARunThatWasDeleted) {
  Finish();
  ASSERT_TRUE(Delete().ok());
  EXPECT_EQ(Delete().error_code(), grpc::StatusCode::NOT_FOUND);
}

// An update that was under way when its run ended and was deleted.
TEST_F(DeleteRunTest, AnUploadThatOutlivesItsRunIsRefused) {
  TestNode slow(host_, "slow");
  const v1::TrainTask task = slow.NextTrain();
  const auto messages = TestNode::Messages(slow.Header(task), {1, 2, 3}, 1 << 18);
  const auto stub = v1::FederationService::NewStub(host_.channel());
  grpc::ClientContext context;
  v1::SubmitUpdateResponse answer;
  const auto writer = stub->SubmitUpdate(&context, &answer);
  ASSERT_TRUE(writer->Write(messages[0]) && writer->Write(messages[1]));
  {
    grpc::ClientContext stop;
    v1::StopRunRequest request;
    request.set_run("r");
    v1::StopRunResponse stopped;
    ASSERT_TRUE(v1::RunService::NewStub(host_.channel())->StopRun(&stop, request, &stopped).ok());
  }
  ASSERT_TRUE(Delete().ok());
  writer->WritesDone();
  EXPECT_TRUE(writer->Finish().ok());
  EXPECT_FALSE(answer.accepted());
}

}  // namespace
}  // namespace tributary::learning
