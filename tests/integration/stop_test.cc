// Daemons that are told to stop when it suits them least.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/fleet.h"
#include "tests/support/learners.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary::testing {
namespace {

// systemd waits for 90 s.
constexpr std::chrono::seconds kStopTime{10};

// Runs its arguments with a file /dev/fd/3 that never ends.
const std::vector<std::string> kWithEndlessFile = {
    "/bin/bash", "-c", "exec 3< <(exec tail -f /dev/null --pid=$$); exec \"$0\" \"$@\""};

// Whether the program has begun to read it: bash has gone, and the read blocks.
bool ReadsEndlessFile(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  return ReadText(folder + "/comm").starts_with("tributary") &&
         ReadText(folder + "/syscall").starts_with("0 0x");
}

// The signal was taken when the file had been read.
TEST(StopTest, AnAggregatorEndsWhileAFileLoads) {
  ScratchFolder folder;
  AggregatorProcess aggregator(
      folder, "aggregator", {"south"},
      FederationKeys(folder) + "[federation.evaluation]\nimages = \"/dev/fd/3\"\nlabels = \"/dev/fd/3\"\n");
  aggregator.Start(kWithEndlessFile);
  ASSERT_TRUE(WaitFor([&] { return ReadsEndlessFile(aggregator.process().pid()); }));
  aggregator.process().Signal(SIGTERM);
  EXPECT_EQ(aggregator.process().Wait(kStopTime), 0) << aggregator.process().Log();
  EXPECT_NE(aggregator.process().Log().find("stopped while starting"), std::string::npos);
}

TEST(StopTest, ANodeEndsWhileAFileLoads) {
  ScratchFolder folder;
  const std::string config = folder.Write("node.toml", R"(
node = "n"
aggregator = "127.0.0.1:7400"
[federation]
images = "/dev/fd/3"
labels = "/dev/fd/3"
)");
  std::vector<std::string> arguments(kWithEndlessFile.begin() + 1, kWithEndlessFile.end());
  arguments.insert(arguments.end(), {std::string(TRIBUTARY_BIN_DIR) + "/tributary-node", "--config", config});
  Process node(kWithEndlessFile[0], arguments, folder.Path("node.log"));
  ASSERT_TRUE(WaitFor([&] { return ReadsEndlessFile(node.pid()); }));
  node.Signal(SIGTERM);
  EXPECT_EQ(node.Wait(kStopTime), 0) << node.Log();
}

TEST(StopTest, ANodeThatIsRefusedSaysSoAndHowManyFramesItDrops) {
  ScratchFolder folder;
  AggregatorProcess aggregator(folder, "aggregator", {"south"});
  aggregator.Start();
  ASSERT_TRUE(aggregator.Ready()) << aggregator.process().Log();
  NodeProcess node(folder, "east", aggregator.ingest_port());
  ASSERT_TRUE(WaitFor([&] { return node.process().Log().find("refuses this node") != std::string::npos; }));
  ASSERT_TRUE(WaitFor([&] { return MetricValue(node.Metrics(), "tributary_uplink_spool_frames") > 2; }));
  node.process().Signal(SIGTERM);
  EXPECT_EQ(node.process().Wait(kStopTime), 0) << node.process().Log();
  const nlohmann::json summary = nlohmann::json::parse(ReadText(node.summary_path()), nullptr, false);
  const std::string dropped = summary["dropped_frames"].dump();
  EXPECT_NE(dropped, "0");
  EXPECT_NE(node.process().Log().find(dropped + " frames dropped: 127.0.0.1:" +
                                      std::to_string(aggregator.ingest_port()) + " refuses this node: "),
            std::string::npos)
      << node.process().Log();
}

TEST(StopTest, ANodeWithoutAnAggregatorSaysThatItHadNoConnection) {
  ScratchFolder folder;
  NodeProcess node(folder, "east", ReservePort(), "", {.rate_hz = 20});
  ASSERT_TRUE(WaitFor([&] { return MetricValue(node.Metrics(), "tributary_uplink_spool_frames") > 2; }));
  node.process().Signal(SIGTERM);
  EXPECT_EQ(node.process().Wait(kStopTime), 0) << node.process().Log();
  EXPECT_NE(node.process().Log().find(" frames dropped: no connection to 127.0.0.1:"), std::string::npos)
      << node.process().Log();
}

TEST(StopTest, AnAggregatorEndsWhileAModelIsBeingSentToIt) {
  ScratchFolder folder;
  AggregatorProcess aggregator(folder, "aggregator", {"south"}, FederationKeys(folder));
  aggregator.Start();
  ASSERT_TRUE(aggregator.Ready()) << aggregator.process().Log();
  const auto stub = v1::RunService::NewStub(grpc::CreateChannel(
      "127.0.0.1:" + std::to_string(aggregator.ingest_port()), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::StartRunResponse response;
  const auto writer = stub->StartRun(&context, &response);
  v1::StartRunRequest request;
  request.set_config("name = \"r\"\n");
  ASSERT_TRUE(writer->Write(request));
  request.clear_config();
  request.set_chunk(std::string(std::size_t{1} << 20, 'x'));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(writer->Write(request));
  aggregator.process().Signal(SIGTERM);
  EXPECT_EQ(aggregator.process().Wait(kStopTime), 0) << aggregator.process().Log();
  EXPECT_FALSE(writer->Finish().ok());
}

}  // namespace
}  // namespace tributary::testing
