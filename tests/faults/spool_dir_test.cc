// A node with a spool on its disk, through outages and SIGKILL: every tuple is fused, refused, dropped or
// still on the disk, counted by both sides.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "tests/support/fleet.h"

namespace tributary::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class SpoolDirTest : public ::testing::Test {
 protected:
  void SetUp() override {
    aggregator_.Start();
    ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
  }

  // 100 frames in memory are half a second.
  void StartNode(const std::string& wall, const std::string& keys = "") {
    nodes_.erase(wall);
    nodes_.try_emplace(wall, folder_, wall, aggregator_.ingest_port(), "",
                       PanelSettings{.uplink = fmt::format("spool_frames = 100\nspool_dir = \"{}\"\n{}",
                                                           folder_.Path(wall + ".spool"), keys)});
  }
  double OnNode(const std::string& wall, const std::string& metric) const {
    return MetricValue(nodes_.at(wall).Metrics(), "tributary_uplink_" + metric);
  }
  // Tuples of this source that the aggregator took into its window.
  double Taken(const std::string& wall) const {
    return MetricValue(
        aggregator_.Metrics(),
        fmt::format("tributary_source_tuples_accepted_total{{site=\"room\",source=\"{}\"}}", wall));
  }
  bool Sends(const std::string& wall) {
    return WaitFor([&] { return OnNode(wall, "acknowledged_frames_total") > 40; });
  }
  bool DiskIsEmpty(const std::string& wall) {
    return WaitFor([&] { return OnNode(wall, "disk_frames") == 0 && OnNode(wall, "disk_healthy") == 1; });
  }
  nlohmann::json EndOf(const std::string& wall) {
    NodeProcess& node = nodes_.at(wall);
    node.process().Signal(SIGTERM);
    EXPECT_EQ(node.process().Wait(seconds(10)), 0) << node.process().Log();
    return nlohmann::json::parse(ReadText(node.summary_path()), nullptr, false);
  }
  void ExpectOnlyDuplicates(const nlohmann::json& summary) {
    EXPECT_EQ(summary["refused_tuples"], 0) << summary;
    EXPECT_EQ(summary["dropped_tuples"], 0) << summary;
  }

  ScratchFolder folder_;
  AggregatorProcess aggregator_{
      folder_, "aggregator", {"south", "east"}, "", "late = \"revise\"\nmax_age_s = 60.0"};
  std::map<std::string, NodeProcess> nodes_;
};

TEST_F(SpoolDirTest, LosesNoTupleWhileTheAggregatorIsAway) {
  for (const std::string wall : {"south", "east"}) StartNode(wall);
  ASSERT_TRUE(Sends("south") && Sends("east"));
  aggregator_.process().Signal(SIGSTOP);
  std::this_thread::sleep_for(seconds(3));  // the outage: six times what the memory holds
  for (const std::string wall : {"south", "east"}) EXPECT_GT(OnNode(wall, "disk_frames"), 300) << wall;
  aggregator_.process().Signal(SIGCONT);
  for (const std::string wall : {"south", "east"}) {
    EXPECT_TRUE(DiskIsEmpty(wall)) << nodes_.at(wall).process().Log();
    const nlohmann::json summary = EndOf(wall);
    ExpectOnlyDuplicates(summary);
    EXPECT_EQ(summary["tuples"], summary["acknowledged_tuples"]) << summary;
    EXPECT_EQ(Taken(wall), summary["tuples"].get<double>()) << "each tuple once; " << summary;
  }
}

TEST_F(SpoolDirTest, ARestartedNodeSendsWhatAKilledOneHadStored) {
  StartNode("south");
  ASSERT_TRUE(Sends("south"));
  aggregator_.process().Signal(SIGSTOP);
  std::this_thread::sleep_for(seconds(2));
  const double stored = OnNode("south", "disk_frames");
  EXPECT_GT(stored, 200);
  nodes_.at("south").process().Signal(SIGKILL);
  EXPECT_EQ(nodes_.at("south").process().Wait(seconds(5)), 128 + SIGKILL);
  aggregator_.process().Signal(SIGCONT);
  StartNode("south");
  EXPECT_TRUE(WaitFor([&] { return OnNode("south", "disk_recovered_frames_total") >= stored; }))
      << nodes_.at("south").process().Log();
  EXPECT_TRUE(DiskIsEmpty("south"));
  const nlohmann::json summary = EndOf("south");
  ExpectOnlyDuplicates(summary);
  EXPECT_EQ(summary["tuples"].get<std::uint64_t>() + summary["recovered_tuples"].get<std::uint64_t>(),
            summary["acknowledged_tuples"].get<std::uint64_t>())
      << summary;
  EXPECT_GE(Taken("south"),
            summary["acknowledged_tuples"].get<double>() - summary["resent_duplicate_tuples"].get<double>());
}

TEST_F(SpoolDirTest, KeepsForTheNextStartWhatItCannotSend) {
  aggregator_.process().Signal(SIGKILL);
  EXPECT_EQ(aggregator_.process().Wait(seconds(5)), 128 + SIGKILL);
  StartNode("south", "drain_s = 0.2");
  ASSERT_TRUE(WaitFor([&] { return OnNode("south", "disk_frames") > 100; }));
  const nlohmann::json first = EndOf("south");
  EXPECT_EQ(first["dropped_tuples"], 0) << first;
  EXPECT_EQ(first["stored_tuples"], first["tuples"]) << first;
  aggregator_.Start();
  ASSERT_TRUE(aggregator_.Ready());
  StartNode("south");
  EXPECT_TRUE(WaitFor([&] { return OnNode("south", "disk_recovered_frames_total") > 100; }));
  EXPECT_TRUE(DiskIsEmpty("south"));
  const nlohmann::json second = EndOf("south");
  ExpectOnlyDuplicates(second);
  EXPECT_EQ(Taken("south"), second["tuples"].get<double>() + first["tuples"].get<double>());
}

TEST_F(SpoolDirTest, GoesOnFromMemoryWithoutTheFolder) {
  // Another process has the folder.
  StartNode("east");
  ASSERT_TRUE(Sends("east"));
  std::filesystem::create_symlink(folder_.Path("east.spool"), folder_.Path("south.spool"));
  StartNode("south");
  EXPECT_TRUE(Sends("south"));
  EXPECT_EQ(OnNode("south", "disk_healthy"), 0);
  EXPECT_NE(nodes_.at("south").process().Log().find("another process uses this folder"), std::string::npos);
  const nlohmann::json summary = EndOf("south");
  EXPECT_EQ(summary["lost_tuples"], 0) << summary;
}

}  // namespace
}  // namespace tributary::testing
