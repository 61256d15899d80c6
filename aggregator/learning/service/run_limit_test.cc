// How many runs may be under way at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "aggregator/learning/service/rounds_fixture.h"

namespace tributary::learning {
namespace {

using ::testing::HasSubstr;
using testing::RoundsHost;

class RunLimitTest : public ::testing::Test {
 protected:
  RunLimitTest() {
    host_.options().max_runs = 2;
    host_.Start();
    EXPECT_TRUE(Start("a").ok());
    EXPECT_TRUE(Start("b").ok());
  }
  grpc::Status Start(const std::string& name) const {
    return host_.StartRun("name = \"" + name + "\"\nrounds = 1\nmin_nodes = 1\nquorum = 1\n",
                          RoundsHost::ModelFile(3));
  }
  void Stop(const std::string& name) const {
    grpc::ClientContext context;
    v1::StopRunRequest request;
    request.set_run(name);
    v1::StopRunResponse stopped;
    EXPECT_TRUE(v1::RunService::NewStub(host_.channel())->StopRun(&context, request, &stopped).ok());
  }

  // More runs that may be started, as the list says.
  std::uint32_t Room() const {
    grpc::ClientContext context;
    v1::ListRunsResponse runs;
    const auto stub = v1::RunService::NewStub(host_.channel());
    EXPECT_TRUE(stub->ListRuns(&context, v1::ListRunsRequest(), &runs).ok());
    return runs.room();
  }

  RoundsHost host_;
};

TEST_F(RunLimitTest, RefusesAnotherRunAndSaysWhatToDo) {
  const grpc::Status status = Start("c");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("2 runs have not ended"));
  EXPECT_THAT(status.error_message(), HasSubstr("tributary run stop"));
  EXPECT_TRUE(Start("b").ok()) << "it is there already";
}

TEST_F(RunLimitTest, ARunThatHasEndedMakesRoomWhicheverItIs) {
  EXPECT_EQ(Room(), 0U);
  Stop("b");
  EXPECT_EQ(Room(), 1U);
  EXPECT_TRUE(Start("c").ok());
  EXPECT_FALSE(Start("d").ok());
  Stop("a");
  EXPECT_TRUE(Start("d").ok());
  EXPECT_FALSE(Start("e").ok());
}

// The limit was lowered, or the runs are of an earlier release.
TEST_F(RunLimitTest, RunsBeyondTheLimitGoOnAfterARestart) {
  host_.options().max_runs = 1;
  host_.Restart();
  EXPECT_FALSE(Start("c").ok());
  EXPECT_EQ(host_.Run("b").run().state(), v1::RUN_STATE_WAITING);
  Stop("a");
  EXPECT_FALSE(Start("c").ok());
  Stop("b");
  EXPECT_TRUE(Start("c").ok());
}

}  // namespace
}  // namespace tributary::learning
