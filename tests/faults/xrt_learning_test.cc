// Federated runs whose nodes make their views and convolutions on a board. The boards are software devices,
// one in each node's process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "fpga/device/xclbin/xclbin_writer.h"
#include "tests/support/learners.h"

namespace tributary::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kNodesOnBoards = 2;
constexpr int kRoundsOnBoards = 2;
constexpr auto kLearningPatience = std::chrono::seconds(120);

// Few images, because a simulated kernel computes some fifty a second.
constexpr const char* kRunOnBoards =
    "name = \"r\"\nrounds = 2\nmin_nodes = 2\nquorum = 2\ndeadline_s = 300.0\n"
    "[client]\nlocal_steps = 2\nbatch = 4\naugmentation = \"table\"\nmethod = \"simsiam\"\n"
    "[encoder]\nchannels = [4, 8]\nquantised = true\n";

class XrtLearningTest : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("XILINX_XRT", TRIBUTARY_XRT_ROOT, 1); }
  void TearDown() override { ::unsetenv("TRIBUTARY_DEVICE_FAULTS"); }

  static std::string Xclbin(const ScratchFolder& folder, const char* tensor_kernel = "tensor_kernel") {
    const auto bytes = device::WriteXclbin({.kernels = {{"augment_convolve_kernel", 2}, {tensor_kernel, 2}}});
    return folder.Write("learning.xclbin", bytes.value());
  }

  static std::string OnBoard(const std::string& xclbin, const std::string& keys = "") {
    return "accelerator = \"xrt\"\nxclbin = \"" + xclbin + "\"\nrun_timeout_ms = 2000\n" + keys;
  }

  // What a run ended with.
  struct Outcome {
    std::string model;                      // the file after the last round: equal models are equal bytes
    std::vector<nlohmann::json> summaries;  // of each node
    std::string log;                        // of the first node
  };

  // Runs it to its end; `keys`: those of the nodes.
  static Outcome Run(const ScratchFolder& folder, const std::string& keys) {
    AggregatorProcess aggregator(folder, "aggregator", {"south"}, FederationKeys(folder));
    aggregator.Start();
    EXPECT_TRUE(aggregator.Ready()) << aggregator.process().Log();
    EXPECT_EQ(RunCommand(folder, {"run", "start", folder.Write("run.toml", kRunOnBoards), "--aggregator",
                                  "127.0.0.1:" + std::to_string(aggregator.ingest_port())}),
              0)
        << ReadText(folder.Path("command.log"));
    std::vector<LearnerProcess> nodes;
    for (int n = 0; n < kNodesOnBoards; ++n) {
      nodes.emplace_back(folder, n, kNodesOnBoards, aggregator.ingest_port(), keys);
      nodes.back().Start();
    }
    EXPECT_TRUE(WaitFor(
        [&] {
          const auto run = nlohmann::json::parse(aggregator.Get("/api/v1/runs/r"), nullptr, false);
          return !run.is_discarded() && run["run"].value("committed_rounds", 0) == kRoundsOnBoards;
        },
        kLearningPatience))
        << aggregator.Get("/api/v1/runs/r") << nodes.front().process().Log();
    Outcome outcome;
    for (LearnerProcess& node : nodes) {
      node.process().Signal(SIGTERM);
      EXPECT_EQ(node.process().Wait(kLearningPatience), 0) << node.process().Log();
      outcome.summaries.push_back(nlohmann::json::parse(ReadText(node.summary_path())));
    }
    outcome.log = nodes.front().process().Log();
    outcome.model = ReadText(folder.Path("store/models/r.2.safetensors"));
    EXPECT_FALSE(outcome.model.empty());
    return outcome;
  }

  static std::string ModelOfProcessors() {
    const ScratchFolder folder;
    return Run(folder, "").model;
  }
};

TEST_F(XrtLearningTest, GivesTheBitsOfTheProcessors) {
  const ScratchFolder folder;
  const Outcome outcome = Run(folder, OnBoard(Xclbin(folder)));
  EXPECT_EQ(outcome.model, ModelOfProcessors());
  for (const nlohmann::json& summary : outcome.summaries) {
    const nlohmann::json& board = summary["learner"]["device"];
    // Two rounds of two steps, of two batches of four views each.
    EXPECT_GE(board.value("accelerator_runs", 0), kRoundsOnBoards * 2 * 2 * (1 + 4)) << summary;
    EXPECT_GT(board.value("accelerator_cycles", 0.0), 0) << summary;
    EXPECT_EQ(board.value("accelerator_fallback_batches", -1), 0) << summary;
  }
}

// Their bits are those of the golden model (XrtTrainingTest), however many units there are.
TEST_F(XrtLearningTest, GradientsOnTheBoardMakeAModelOfTheirOwn) {
  const ScratchFolder one, two;
  const std::string model = Run(one, OnBoard(Xclbin(one, "tensor_kernel_bfloat"))).model;
  const Outcome outcome = Run(two, OnBoard(Xclbin(two, "tensor_kernel_bfloat"), "compute_units = 2\n"));
  EXPECT_EQ(outcome.model, model);
  EXPECT_NE(model, ModelOfProcessors()) << "gradients are rounded to bfloat16";
  EXPECT_THAT(outcome.log, HasSubstr("convolutions and their gradients in this node's training"));
  for (const nlohmann::json& summary : outcome.summaries)
    EXPECT_EQ(summary["learner"]["device"].value("accelerator_fallback_batches", -1), 0) << summary;
}

TEST_F(XrtLearningTest, AFailingBoardLeavesTheBatchToTheProcessorWithFallback) {
  ::setenv("TRIBUTARY_DEVICE_FAULTS", "read_error=3", 1);
  const ScratchFolder folder;
  const Outcome outcome = Run(folder, OnBoard(Xclbin(folder), "fallback = \"cpu\"\n"));
  EXPECT_THAT(outcome.log, HasSubstr("the processor computes the "));
  EXPECT_GE(outcome.summaries[0]["learner"]["device"].value("accelerator_fallback_batches", 0), 1)
      << outcome.summaries[0];
  ::unsetenv("TRIBUTARY_DEVICE_FAULTS");
  EXPECT_EQ(outcome.model, ModelOfProcessors());
}

TEST_F(XrtLearningTest, AHungBoardDeclinesOneRoundWithTheReasonAndDoesTheNext) {
  // A round takes 20 runs of the board, and the device counts them from each opening.
  ::setenv("TRIBUTARY_DEVICE_FAULTS", "hang=30", 1);
  const ScratchFolder folder;
  const std::string xclbin = Xclbin(folder);
  AggregatorProcess aggregator(folder, "aggregator", {"south"}, FederationKeys(folder));
  aggregator.Start();
  ASSERT_TRUE(aggregator.Ready()) << aggregator.process().Log();
  ASSERT_EQ(RunCommand(folder, {"run", "start", folder.Write("run.toml", kRunOnBoards), "--aggregator",
                                "127.0.0.1:" + std::to_string(aggregator.ingest_port())}),
            0);
  LearnerProcess ill(folder, 0, kNodesOnBoards, aggregator.ingest_port(), OnBoard(xclbin));
  ill.Start();
  LearnerProcess well(folder, 1, kNodesOnBoards, aggregator.ingest_port());
  well.Start();
  std::string run;
  EXPECT_TRUE(WaitFor(
      [&] {
        run = aggregator.Get("/api/v1/runs/r");
        return run.find("did not end within") != std::string::npos;
      },
      kLearningPatience))
      << run << ill.process().Log();
  EXPECT_TRUE(WaitFor(
      [&] {
        run = aggregator.Get("/api/v1/runs/r");
        const auto json = nlohmann::json::parse(run, nullptr, false);
        return !json.is_discarded() && json["run"].value("committed_rounds", 0) == kRoundsOnBoards;
      },
      kLearningPatience))
      << run << ill.process().Log();
}

TEST_F(XrtLearningTest, StopsAtItsStartWithoutTheKernels) {
  const ScratchFolder folder;
  const auto bytes = device::WriteXclbin({.kernels = {{"loopback_kernel", 1}}});
  const std::string xclbin = folder.Write("loopback.xclbin", bytes.value());
  LearnerProcess node(folder, 0, 1, 1, OnBoard(xclbin));
  node.Start();
  EXPECT_EQ(node.process().Wait(kLearningPatience), 78);
  EXPECT_THAT(node.process().Log(), HasSubstr("federation.xclbin"));
  EXPECT_THAT(node.process().Log(), HasSubstr("augment_convolve_kernel or tensor_kernel"));
}

}  // namespace
}  // namespace tributary::testing
