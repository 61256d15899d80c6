// Eight thousand runs, one after the other, over one connection. The cost of one does not depend on how many
// there are. The first release took 480 s.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/integration/federation_simulated_node.h"
#include "tests/support/fleet.h"
#include "tests/support/learners.h"
#include "tests/support/process_usage.h"
#include "tributary/v1/run.grpc.pb.h"

namespace tributary::testing {
namespace {

constexpr int kRuns = 8'000;
constexpr int kPart = 1'000;

bool StartOneRun(v1::RunService::Stub& stub, const std::string& name, const std::string& model) {
  grpc::ClientContext context;
  v1::StartRunResponse response;
  const auto writer = stub.StartRun(&context, &response);
  v1::StartRunRequest request;
  request.set_config("name = \"" + name + "\"\n");
  writer->Write(request);
  request.clear_config();
  request.set_chunk(model);
  writer->Write(request);
  writer->WritesDone();
  return writer->Finish().ok();
}

TEST(ManyRunsSlowTest, StartingARunDoesNotTakeLongerTheMoreThereAre) {
  ScratchFolder folder;
  AggregatorProcess aggregator(folder, "aggregator", {"south"},
                               FederationKeys(folder) + "max_runs = 10000\n");
  aggregator.Start();
  ASSERT_TRUE(aggregator.Ready()) << aggregator.process().Log();
  const auto stub = v1::RunService::NewStub(grpc::CreateChannel(
      "127.0.0.1:" + std::to_string(aggregator.ingest_port()), grpc::InsecureChannelCredentials()));
  const std::string model = OneTensorModel(std::vector<float>{1, 2, 3});
  // Processor time: a machine that is busier in one part than in another does not count.
  std::vector<double> parts;
  for (int run = 0; run < kRuns;) {
    const double before_s = CpuSeconds(aggregator.process().pid());
    for (const int end = run + kPart; run < end; ++run) {
      ASSERT_TRUE(StartOneRun(*stub, "r" + std::to_string(run), model)) << run;
    }
    parts.push_back(CpuSeconds(aggregator.process().pid()) - before_s);
    std::printf("runs %d to %d: %.2f s of processor time\n", run - kPart, run, parts.back());
  }
  EXPECT_GT(parts.front(), 0);
  EXPECT_LT(parts.back(), 2 * parts.front() + 1);

  // A restart takes them all in again.
  aggregator.process().Signal(SIGTERM);
  ASSERT_EQ(aggregator.process().Wait(std::chrono::seconds(20)), 0);
  aggregator.Start();
  ASSERT_TRUE(aggregator.Ready());
  std::printf("restart with %d runs: %.2f s of processor time\n", kRuns,
              CpuSeconds(aggregator.process().pid()));
}

}  // namespace
}  // namespace tributary::testing
