// Nodes with a failing board. A permanent fault stops the node at its start with the remedy, the node
// recovers from a passing one, and the aggregator gets only computed results. The boards are software
// devices, one in each node's process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "fpga/device/xclbin/xclbin_writer.h"
#include "tests/support/fleet.h"

namespace tributary::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr int kUnavailable = 69;  // sysexits.h: systemd starts the node again
constexpr int kConfig = 78;       // and not after this one
constexpr auto kPatience = std::chrono::seconds(60);
constexpr int kSubjects = 4;

class XrtBoardTest : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("XILINX_XRT", TRIBUTARY_XRT_ROOT, 1); }
  void TearDown() override { ::unsetenv("TRIBUTARY_DEVICE_FAULTS"); }

  std::string Xclbin(const std::string& kernel) const {
    const auto bytes = device::WriteXclbin({.kernels = {{kernel, 1}}});
    return folder_.Write(kernel + ".xclbin", bytes.value());
  }

  // A node with one panel on the board, at five slots a second: a simulated kernel is fast enough for that.
  NodeProcess Node(const std::string& faults, const std::string& xclbin, const std::string& keys = "") const {
    ::setenv("TRIBUTARY_DEVICE_FAULTS", faults.c_str(), 1);
    const std::string board = "accelerator = \"xrt\"\nxclbin = \"" + xclbin + "\"\n";
    return NodeProcess(folder_, "south", aggregator_.ingest_port(), "", {board + keys, 5});
  }

  static double Metric(const NodeProcess& node, const std::string& name) {
    return MetricValue(node.Metrics(), name + "{panel=\"south\"}");
  }

  ScratchFolder folder_;
  AggregatorProcess aggregator_{folder_, "aggregator", {"south"}};
};

struct Hopeless {
  const char* name;
  const char* faults;
  const char* xclbin;  // empty: a good one
  const char* keys;
  int exit_code;
  const char* says;
  const char* remedy;
};
void PrintTo(const Hopeless& shown, std::ostream* out) { *out << shown.name; }

class XrtStartTest : public XrtBoardTest, public ::testing::WithParamInterface<Hopeless> {};

TEST_P(XrtStartTest, StopsAtOnceAndNamesDeviceAndRemedy) {
  const std::string good = Xclbin("positioning_kernel");
  Xclbin("loopback_kernel");
  folder_.Write("truncated.xclbin", ReadText(good).substr(0, 600));
  const std::string xclbin = *GetParam().xclbin == '\0' ? good : folder_.Path(GetParam().xclbin);
  NodeProcess node = Node(GetParam().faults, xclbin, GetParam().keys);
  EXPECT_EQ(node.process().Wait(kPatience), GetParam().exit_code);
  // A fault of the board names panel and device. A fault of the file, which needs no board, names its key.
  const bool of_the_file = std::string(GetParam().says).find("panel[0]") != std::string::npos;
  EXPECT_THAT(node.process().Log(), HasSubstr(of_the_file ? ".toml:" : "panel south: "));
  if (!of_the_file) {
    EXPECT_THAT(node.process().Log(), HasSubstr("device 0"));
  }
  EXPECT_THAT(node.process().Log(), HasSubstr(GetParam().says));
  EXPECT_THAT(node.process().Log(), HasSubstr(GetParam().remedy));
}

INSTANTIATE_TEST_SUITE_P(
    Boards, XrtStartTest,
    ::testing::Values(
        Hopeless{"NoDevice", "no_device", "", "", kUnavailable, "opening device 0", "zocl driver"},
        Hopeless{"NoPermission", "no_permission", "", "", kConfig, "opening device 0", "udev"},
        Hopeless{"NoXclbin", "", "absent.xclbin", "", kConfig, "panel[0].xclbin: xclbin",
                 "Install the bitstream"},
        Hopeless{"TruncatedXclbin", "", "truncated.xclbin", "", kConfig, "panel[0].xclbin: xclbin",
                 "Copy it to the board again"},
        Hopeless{"KernelNotInIt", "", "loopback_kernel.xclbin", "", kConfig,
                 "panel[0].xclbin: ", "Build the xclbin with it"},
        Hopeless{"WrongUuid", "", "", "xclbin_uuid = \"00000000-0000-0000-0000-000000000000\"", kConfig,
                 "panel[0].xclbin_uuid: xclbin", "Install the right one"},
        Hopeless{"BoardHoldsAnotherXclbin", "wrong_uuid", "", "", kUnavailable, "another UUID",
                 "stop it and start"},
        Hopeless{"BufferTooLarge", "memory_bytes=65536", "", "", kUnavailable, "allocating buffers", "cma="}),
    ::testing::PrintToStringParamName());

TEST_F(XrtBoardTest, TwoXclbinsForOneBoardAreAFaultOfTheConfiguration) {
  const std::string learner =
      "[federation]\nimages = \"glyphs\"\nglyphs = 20\naccelerator = \"xrt\"\nxclbin = \"" +
      Xclbin("tensor_kernel") + "\"\n";
  const std::string board = "accelerator = \"xrt\"\nxclbin = \"" + Xclbin("positioning_kernel") + "\"\n";
  NodeProcess node(folder_, "south", aggregator_.ingest_port(), learner, {board, 5});
  EXPECT_EQ(node.process().Wait(kPatience), kConfig);
  EXPECT_THAT(node.process().Log(), HasSubstr("federation.xclbin: device 0 holds one xclbin at a time"));
}

struct Passing {
  const char* name;
  const char* faults;  // run 1 loads the parameters, each later one computes a slot
  const char* metric;
  const char* says;
};
void PrintTo(const Passing& shown, std::ostream* out) { *out << shown.name; }

class XrtRunTest : public XrtBoardTest, public ::testing::WithParamInterface<Passing> {};

TEST_P(XrtRunTest, LosesTheSlotCountsItAndComputesAgain) {
  aggregator_.Start();
  ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
  NodeProcess node = Node(GetParam().faults, Xclbin("positioning_kernel"), "run_timeout_ms = 1000");
  // The device counts its runs from each opening: the fault repeats.
  EXPECT_TRUE(WaitFor([&] { return Metric(node, GetParam().metric) >= 2; }, kPatience))
      << node.process().Log();
  const double tuples = Metric(node, "tributary_panel_tuples_total");
  EXPECT_TRUE(WaitFor([&] { return Metric(node, "tributary_panel_tuples_total") > tuples; }, kPatience))
      << node.process().Log();
  node.process().Signal(SIGTERM);
  ASSERT_EQ(node.process().Wait(kPatience), 0) << node.process().Log();
  EXPECT_THAT(node.process().Log(), HasSubstr("device 0"));
  EXPECT_THAT(node.process().Log(), HasSubstr(GetParam().says));

  const auto account = nlohmann::json::parse(ReadText(node.summary_path()));
  EXPECT_GE(account["failed_frames"].get<int>(), 2) << account;
  EXPECT_EQ(account["tuples"],
            kSubjects * (account["frames"].get<int>() - account["failed_frames"].get<int>()))
      << account;
  EXPECT_EQ(account["acknowledged_tuples"], account["tuples"]) << account;
}

INSTANTIATE_TEST_SUITE_P(
    Boards, XrtRunTest,
    ::testing::Values(
        Passing{"NeverEnds", "hang=3", "tributary_accelerator_timeouts_total", "did not end within 1000 ms"},
        Passing{"ReportsAnError", "read_error=3", "tributary_accelerator_failed_runs_total", "a failed read"},
        Passing{"DeviceDisappears", "disappear=3", "tributary_accelerator_reopened_total", "zocl driver"}),
    ::testing::PrintToStringParamName());

TEST_F(XrtBoardTest, ARunThatCannotBeAbortedHoldsUpNeitherThePanelNorItsStop) {
  aggregator_.Start();
  ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
  NodeProcess node =
      Node("hang_hard=3", Xclbin("positioning_kernel"), "fallback = \"cpu\"\nrun_timeout_ms = 500");
  EXPECT_TRUE(
      WaitFor([&] { return Metric(node, "tributary_accelerator_fallback_batches_total") >= 3; }, kPatience))
      << node.process().Log();
  EXPECT_THAT(node.process().Log(), HasSubstr("could not be aborted"));
  node.process().Signal(SIGTERM);
  EXPECT_EQ(node.process().Wait(kPatience), 0) << node.process().Log();
}

TEST_F(XrtBoardTest, TheProcessorComputesWhereTheConfigurationAllowsItAndSaysSo) {
  aggregator_.Start();
  ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
  NodeProcess node = Node("no_device", Xclbin("positioning_kernel"), "fallback = \"cpu\"");
  EXPECT_TRUE(
      WaitFor([&] { return Metric(node, "tributary_accelerator_fallback_batches_total") >= 2; }, kPatience))
      << node.process().Log();
  EXPECT_GT(Metric(node, "tributary_panel_tuples_total"), 0);
  EXPECT_THAT(node.process().Log(), HasSubstr("the processor computes instead"));
}

}  // namespace
}  // namespace tributary::testing
