// Runs that go back to an earlier model, also after their end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <string>
#include <vector>

#include "aggregator/learning/service/rounds_fixture.h"

namespace tributary::learning {
namespace {

using ::testing::ElementsAre;
using testing::RoundsHost;
using testing::TestNode;

// A run of two nodes, "r".
class RollBackTest : public ::testing::Test {
 protected:
  void SetUp() override {
    host_.Start();
    const grpc::Status status = host_.StartRun(
        "name = \"r\"\nrounds = 3\nmin_nodes = 2\ndeadline_s = 30\n[client]\nlocal_steps = 1\n",
        RoundsHost::ModelFile(3));
    ASSERT_TRUE(status.ok()) << status.error_message();
  }

  void Stop() {
    grpc::ClientContext context;
    v1::StopRunRequest request;
    request.set_run("r");
    v1::StopRunResponse response;
    const grpc::Status status =
        v1::RunService::NewStub(host_.channel())->StopRun(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  void RollBackToTheStart() {
    grpc::ClientContext context;
    v1::RollBackModelRequest request;
    request.set_run("r");
    v1::RollBackModelResponse response;
    const grpc::Status status =
        v1::ModelService::NewStub(host_.channel())->RollBackModel(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }

  RoundsHost host_;
};

TEST_F(RollBackTest, GoesOnFromAnEarlierModel) {
  TestNode a(host_, "a"), b(host_, "b");
  EXPECT_TRUE(a.Submit(a.NextTrain(), {1, 1, 1}).accepted());
  EXPECT_TRUE(b.Submit(b.NextTrain(), {1, 1, 1}).accepted());
  host_.WaitForRound(1);
  EXPECT_TRUE(a.Submit(a.NextTrain(), {1, 1, 1}).accepted());
  RollBackToTheStart();
  v1::TrainTask task;
  do {
    task = a.NextTrain();
  } while (task.round() < 3);  // the one that was under way has been given up
  EXPECT_TRUE(a.Submit(task, {8, 0, 0}).accepted());
  do {
    task = b.NextTrain();
  } while (task.round() < 3);
  EXPECT_TRUE(b.Submit(task, {0, 8, 0}).accepted());
  host_.WaitForRound(3);
  EXPECT_THAT(host_.Parameters(3), ElementsAre(4, 5, 2));
  const v1::GetRunResponse shown = host_.Run();
  const auto back = std::ranges::find_if(shown.history(), &v1::Round::rolled_back);
  ASSERT_NE(back, shown.history().end());
  EXPECT_EQ(back->accepted(), 0u) << "the update of the round that was under way is void";
}

TEST_F(RollBackTest, IsSaidOfARunThatHasEnded) {
  TestNode a(host_, "a"), b(host_, "b");
  EXPECT_TRUE(a.Submit(a.NextTrain(), {1, 1, 1}).accepted());
  EXPECT_TRUE(b.Submit(b.NextTrain(), {1, 1, 1}).accepted());
  host_.WaitForRound(1);
  Stop();
  EXPECT_EQ(host_.Run().run().message(), "the run was stopped");
  RollBackToTheStart();
  const std::string message = "the run was stopped; rolled back to the model after round 0";
  EXPECT_EQ(host_.Run().run().message(), message);
  host_.Restart();
  EXPECT_EQ(host_.Run().run().message(), message);
}

class EndedRunTest : public RollBackTest {
 protected:
  // On the coordinator's thread.
  bool Released() {
    std::promise<bool> released;
    host_.coordinator().Post([&released](HostedRuns& runs, Attendance&) {
      released.set_value(runs.Find("r")->model().released());
    });
    return released.get_future().get();
  }
  // The run is settled after the call that changes it was answered.
  bool AwaitReleased() {
    for (int i = 0; i < 10'000; ++i) {
      if (Released()) return true;
    }
    return false;
  }
};

TEST_F(EndedRunTest, KeepsNoModelInMemoryAndCanStillBeReadAndRolledBack) {
  EXPECT_FALSE(Released());
  {
    TestNode a(host_, "a"), b(host_, "b");
    EXPECT_TRUE(a.Submit(a.NextTrain(), {1, 1, 1}).accepted());
    EXPECT_TRUE(b.Submit(b.NextTrain(), {1, 1, 1}).accepted());
    host_.WaitForRound(1);
  }
  const std::vector<float> first = host_.Parameters(1);
  Stop();
  EXPECT_TRUE(AwaitReleased());
  EXPECT_EQ(host_.Parameters(1), first);
  RollBackToTheStart();
  EXPECT_TRUE(AwaitReleased());
  host_.Restart();
  EXPECT_TRUE(Released()) << "as the store says";
  EXPECT_EQ(host_.Parameters(0), (std::vector<float>{0, 1, 2}));
}

}  // namespace
}  // namespace tributary::learning
