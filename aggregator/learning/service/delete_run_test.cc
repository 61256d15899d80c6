#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <memory>
#include <string>

#include "aggregator/learning/service/rounds_fixture.h"

namespace tributary::learning {
namespace {

using testing::RoundsHost;
using testing::SilentSink;
using testing::SlowNode;
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
  void Stop() {
    grpc::ClientContext context;
    v1::StopRunRequest request;
    request.set_run("r");
    v1::StopRunResponse response;
    ASSERT_TRUE(v1::RunService::NewStub(host_.channel())->StopRun(&context, request, &response).ok());
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

// Its store cannot be written while `full_`.
class FailedRunTest : public DeleteRunTest {
 protected:
  FailedRunTest() {
    host_.Restart([this](store::StoreStep step) {
      return full_ && step == store::StoreStep::kCommit
                 ? absl::ResourceExhaustedError("no space left on device")
                 : absl::OkStatus();
    });
    TestNode node(host_, "a");
    const v1::TrainTask task = node.NextTrain();
    full_ = true;
    EXPECT_FALSE(node.Submit(task, {1, 2, 3}).accepted());
    node.End();
    EXPECT_EQ(host_.Run().run().state(), v1::RUN_STATE_FAILED);
  }
  ~FailedRunTest() override { host_.Stop(); }
  grpc::Status Resume() {
    grpc::ClientContext context;
    v1::ResumeRunRequest request;
    request.set_run("r");
    v1::ResumeRunResponse response;
    return v1::RunService::NewStub(host_.channel())->ResumeRun(&context, request, &response);
  }

  std::atomic<bool> full_ = false;
};

TEST_F(FailedRunTest, IsDeletedWithoutBeingStopped) {
  full_ = false;
  ASSERT_TRUE(Delete().ok());
  EXPECT_EQ(Runs(), 0u);
  EXPECT_TRUE(std::filesystem::is_empty(host_.store() + "/models"));
  EXPECT_TRUE(Start().ok()) << "its name is free";
}

TEST_F(FailedRunTest, IsStoppedForGood) {
  full_ = false;
  Stop();
  EXPECT_EQ(host_.Run().run().state(), v1::RUN_STATE_STOPPED);
  host_.Restart();
  EXPECT_EQ(host_.Run().run().state(), v1::RUN_STATE_STOPPED);
}

TEST_F(FailedRunTest, GoesOnWithoutARestartWhenItIsResumed) {
  full_ = false;
  ASSERT_TRUE(Resume().ok());
  Finish();
  EXPECT_EQ(host_.Run().run().state(), v1::RUN_STATE_FINISHED);
}

TEST_F(FailedRunTest, FailsAgainWhileTheDiskIsFull) {
  ASSERT_TRUE(Resume().ok());
  TestNode node(host_, "a");
  EXPECT_FALSE(node.Submit(node.NextTrain(), {1, 2, 3}).accepted());
  node.End();
  EXPECT_EQ(host_.Run().run().state(), v1::RUN_STATE_FAILED);
  full_ = false;
  ASSERT_TRUE(Resume().ok());
  Finish();
}

// An update that was under way when its run ended and was deleted.
TEST_F(DeleteRunTest, AnUploadThatOutlivesItsRunIsRefused) {
  SlowNode slow(host_, "slow");
  ASSERT_TRUE(slow.Begin({1, 2, 3}));
  Stop();
  ASSERT_TRUE(Delete().ok());
  slow.EndOfChunks();
  EXPECT_FALSE(slow.Answer().accepted());
}

// It was told nothing, and had no place in the next run of that name.
TEST_F(DeleteRunTest, ANodeThatJoinsJustBeforeIsToldThatTheRunIsOver) {
  Stop();
  const auto sink = std::make_shared<SilentSink>();
  std::promise<void> queued;
  std::promise<absl::Status> deleted;
  Coordinator& coordinator = host_.coordinator();
  // Both commands are one batch.
  coordinator.Post([&](HostedRuns&, Attendance&) { queued.get_future().wait(); });
  v1::ParticipateRequest declaration;
  declaration.set_node("late");
  declaration.set_run("r");
  declaration.set_sample_count(1);
  coordinator.Join(declaration, sink);
  coordinator.DeleteRun("r", [&](const absl::Status& status) { deleted.set_value(status); });
  queued.set_value();
  ASSERT_EQ(deleted.get_future().get(), absl::OkStatus());
  ASSERT_TRUE(sink->ended.has_value());
  EXPECT_TRUE(sink->ended->ok()) << *sink->ended;
}

}  // namespace
}  // namespace tributary::learning
