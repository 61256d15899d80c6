// A node that fuses its panels on the board, and what it sends when the board hangs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "fpga/device/xclbin/xclbin_writer.h"
#include "tests/support/fleet.h"

namespace tributary::testing {
namespace {

using ::testing::HasSubstr;

constexpr auto kFusionPatience = std::chrono::seconds(60);

class XrtBoardFusionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("XILINX_XRT", TRIBUTARY_XRT_ROOT, 1);
    aggregator_.Start();
    ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
  }
  void TearDown() override { ::unsetenv("TRIBUTARY_DEVICE_FAULTS"); }

  Process Node(const std::string& faults) const {
    ::setenv("TRIBUTARY_DEVICE_FAULTS", faults.c_str(), 1);
    folder_.Write("board.xclbin", device::WriteXclbin({.kernels = {{"fusion_kernel", 1}}}).value());
    std::string config = fmt::format(R"(node = "roof"
site = "room"
[uplink]
aggregator = "127.0.0.1:{}"
[http]
listen = "127.0.0.1:{}"
[fusion]
accelerator = "xrt"
xclbin = "board.xclbin"
run_timeout_ms = 500
deadline_ms = 1000.0
)",
                                     aggregator_.ingest_port(), http_port_);
    for (const char* wall : {"south", "east"}) {
      config += fmt::format(R"([[panel]]
name = "{0}"
model = "{1}/models/positioning.safetensors"
[panel.source]
kind = "room"
wall = "{0}"
subjects = 4
rate_hz = 50.0
)",
                            wall, TRIBUTARY_SOURCE_DIR);
    }
    return Process("tributary-node", {"--config", folder_.Write("roof.toml", config), "--summary", Summary()},
                   folder_.Path("roof.log"));
  }

  std::string Summary() const { return folder_.Path("roof.json"); }
  double Metric(const std::string& name) const {
    return MetricValue(HttpGet(http_port_, "/metrics"), name + "{panel=\"roof\"}");
  }

  ScratchFolder folder_;
  int http_port_ = ReservePort();
  AggregatorProcess aggregator_{folder_, "aggregator", {"south", "east"}};
};

TEST_F(XrtBoardFusionTest, ShipsOneTupleThatNamesBothPanels) {
  Process node = Node("");
  ASSERT_TRUE(WaitFor([&] { return Metric("tributary_board_fusion_slots_total") >= 5; }, kFusionPatience))
      << node.Log();
  // The first slots may lack the panel that started later.
  nlohmann::json site;
  EXPECT_TRUE(WaitFor([&] {
    site = nlohmann::json::parse(aggregator_.Get("/api/v1/sites/room"), nullptr, false);
    return site.is_object() && site["slot"]["contributors"] == nlohmann::json({"3", "3", "3", "3"});
  })) << site;
  EXPECT_GT(Metric("tributary_accelerator_runs_total"), 0);
}

TEST_F(XrtBoardFusionTest, LosesTheSlotOfAHungRunAndNothingElseUncounted) {
  Process node = Node("hang=4");
  ASSERT_TRUE(
      WaitFor([&] { return Metric("tributary_board_fusion_failed_slots_total") >= 1; }, kFusionPatience))
      << node.Log();
  const double slots = Metric("tributary_board_fusion_slots_total");
  EXPECT_TRUE(WaitFor([&] { return Metric("tributary_board_fusion_slots_total") > slots; }, kFusionPatience))
      << node.Log();
  EXPECT_GE(Metric("tributary_accelerator_timeouts_total"), 1);
  node.Signal(SIGTERM);
  ASSERT_EQ(node.Wait(kFusionPatience), 0) << node.Log();
  EXPECT_THAT(node.Log(), HasSubstr("did not end within 500 ms"));
  const auto account = nlohmann::json::parse(ReadText(Summary()));
  EXPECT_EQ(account["fusion"]["tuples"], account["acknowledged_tuples"]) << account;
  EXPECT_EQ(account["lost_tuples"], 0) << account;
  const auto slots_of_panel = [&](const char* key) { return account["fusion"][key].get<int>(); };
  // Each of two panels' frames was in a slot that was sent, failed or dropped, or came too late for it.
  EXPECT_GE(2 * (slots_of_panel("slots") + slots_of_panel("failed_slots") + slots_of_panel("dropped_slots")) +
                slots_of_panel("late_frames"),
            account["frames"].get<int>())
      << account;
}

}  // namespace
}  // namespace tributary::testing
