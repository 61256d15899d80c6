// kill -9 of whole daemons under load: the rest continues, and restarted daemons join again.
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "tests/support/fleet.h"
#include "tests/support/reporter.h"

namespace tributary::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class KillTest : public ::testing::Test {
 protected:
  void SetUp() override {
    aggregator_.Start();
    ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
    for (const std::string& wall : kWalls)
      nodes_.emplace(wall, NodeProcess(folder_, wall, aggregator_.ingest_port()));
    ASSERT_TRUE(WaitFor([&] { return Connected() == 4 && Fused("complete") > 20; }));
  }

  // Connected nodes from which this aggregator has accepted frames.
  int Connected() const {
    const auto answer = nlohmann::json::parse(aggregator_.Get("/api/v1/nodes"), nullptr, false);
    if (answer.is_discarded()) return 0;
    int count = 0;
    for (const auto& node : answer["nodes"]) {
      count += node["connected"].get<bool>() && node["accepted_frames"] != "0";
    }
    return count;
  }

  double Fused(const std::string& end) const {
    return MetricValue(aggregator_.Metrics(),
                       "tributary_slots_fused_total{end=\"" + end + "\",site=\"room\"}");
  }

  ScratchFolder folder_;
  // Takes late frames: on a busy machine a frame may need longer than the slots' deadline of 50 ms.
  AggregatorProcess aggregator_{folder_, "aggregator", kWalls, "", "late = \"revise\"\nmax_age_s = 20.0"};
  std::map<std::string, NodeProcess> nodes_;
};

TEST_F(KillTest, AllNodesReportAgainWithinTwoSecondsOfTheAggregatorsRestart) {
  aggregator_.process().Signal(SIGKILL);
  EXPECT_EQ(aggregator_.process().Wait(milliseconds(5'000)), 128 + SIGKILL);
  aggregator_.Start();
  ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
  const auto serving = steady_clock::now();
  EXPECT_TRUE(WaitFor([&] { return Connected() == 4; }, milliseconds(2'000)));
  RecordProperty(
      "all_reported_ms",
      std::to_string(std::chrono::duration_cast<milliseconds>(steady_clock::now() - serving).count()));
  for (auto& [wall, node] : nodes_) EXPECT_TRUE(node.process().Running()) << wall;
  EXPECT_TRUE(WaitFor([&] { return Fused("complete") > 20; }));
}

TEST_F(KillTest, AWatcherSeesNewSlotsSoonAfterTheAggregatorsRestart) {
  const Collector watcher(aggregator_.ingest_port());
  ASSERT_TRUE(WaitFor([&] { return !watcher.slots().empty(); }));
  aggregator_.process().Signal(SIGKILL);
  EXPECT_EQ(aggregator_.process().Wait(milliseconds(5'000)), 128 + SIGKILL);
  const estimate::Epoch last = watcher.slots().rbegin()->first;
  aggregator_.Start();
  ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
  // The nodes must report again within two seconds; gRPC alone would check the channel every five.
  EXPECT_TRUE(WaitFor([&] { return watcher.slots().rbegin()->first > last; }, milliseconds(4'000)));
}

TEST_F(KillTest, FusionGoesOnWithThreePanelsAtTheDeadline) {
  nodes_.at("east").process().Signal(SIGKILL);
  EXPECT_EQ(nodes_.at("east").process().Wait(milliseconds(5'000)), 128 + SIGKILL);
  const double before = Fused("deadline");
  EXPECT_TRUE(WaitFor([&] { return Fused("deadline") > before + 20; }));
  const auto site = nlohmann::json::parse(aggregator_.Get("/api/v1/sites/room"));
  ASSERT_FALSE(site["slot"]["contributors"].empty());
  EXPECT_EQ(site["leaves"], nlohmann::json({"south", "east", "north", "west"}));
  EXPECT_EQ(site["slot"]["contributors"][0], "13") << "all but the bit of east";

  nodes_.at("east") = NodeProcess(folder_, "east", aggregator_.ingest_port());
  const double complete = Fused("complete");
  EXPECT_TRUE(WaitFor([&] { return Fused("complete") > complete + 20; }))
      << "a restarted node is taken in again";
}

// No slot is ever complete here: the aggregator must not read the one stream at the pace of its deadlines.
TEST_F(KillTest, OnePanelOfFourIsTakenAtTheFullRate) {
  for (auto& [wall, node] : nodes_) {
    node.process().Signal(SIGTERM);
    ASSERT_EQ(node.process().Wait(milliseconds(10'000)), 0);
  }
  NodeProcess fast(folder_, "south", aggregator_.ingest_port(), "", {.rate_hz = 2'000});
  const double before = Fused("deadline");
  ASSERT_TRUE(WaitFor([&] { return Fused("deadline") > before + 3'000; }));
  fast.process().Signal(SIGTERM);
  ASSERT_EQ(fast.process().Wait(milliseconds(10'000)), 0) << fast.process().Log();
  const auto summary = nlohmann::json::parse(ReadText(fast.summary_path()));
  EXPECT_EQ(summary["lost_tuples"], 0) << summary;
}

TEST_F(KillTest, ATerminatedFleetAccountsForEveryTuple) {
  for (auto& [wall, node] : nodes_) node.process().Signal(SIGTERM);
  for (auto& [wall, node] : nodes_) {
    ASSERT_EQ(node.process().Wait(milliseconds(10'000)), 0) << node.process().Log();
    const auto summary = nlohmann::json::parse(ReadText(node.summary_path()));
    EXPECT_GT(summary["tuples"].get<int>(), 0);
    EXPECT_EQ(summary["tuples"], summary["acknowledged_tuples"]) << summary;
    EXPECT_EQ(summary["lost_tuples"], 0) << summary;
  }
  aggregator_.process().Signal(SIGTERM);
  EXPECT_EQ(aggregator_.process().Wait(milliseconds(10'000)), 0) << aggregator_.process().Log();
}

}  // namespace
}  // namespace tributary::testing
