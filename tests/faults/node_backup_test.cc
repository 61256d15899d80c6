// A node that is backed up while it runs, and restored on an empty disk.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/fleet.h"
#include "tests/support/learners.h"

namespace tributary::testing {
namespace {

using std::chrono::seconds;

TEST(NodeBackupTest, TakesAStoreOrANodeAndNotBoth) {
  const ScratchFolder folder;
  for (const std::string command : {"backup", "restore"}) {
    const std::string other = command == "backup" ? "--out" : "--backup";
    EXPECT_EQ(RunCommand(folder, {command, other, folder.Path("x")}), 64);
    EXPECT_EQ(RunCommand(folder, {command, other, folder.Path("x"), "--store", "a", "--config", "b"}), 64);
  }
}

TEST(NodeBackupTest, ARestoredNodeSendsTheFramesOfItsBackup) {
  const ScratchFolder folder;
  AggregatorProcess aggregator(folder, "aggregator", {"south"}, "", "late = \"revise\"\nmax_age_s = 60.0");
  aggregator.Start();
  ASSERT_TRUE(aggregator.Ready()) << aggregator.process().Log();
  const std::string spool = folder.Path("south.spool");
  const std::string config = folder.Path(fmt::format("south.{}.toml", aggregator.ingest_port()));
  const PanelSettings panel{.uplink = fmt::format("spool_frames = 100\nspool_dir = \"{}\"\n", spool)};
  const auto on_node = [](NodeProcess& node, const std::string& metric) {
    return MetricValue(node.Metrics(), "tributary_uplink_" + metric);
  };
  nlohmann::json backup;
  {
    NodeProcess node(folder, "south", aggregator.ingest_port(), "", panel);
    ASSERT_TRUE(WaitFor([&] { return on_node(node, "acknowledged_frames_total") > 40; }));
    aggregator.process().Signal(SIGSTOP);
    ASSERT_TRUE(WaitFor([&] { return on_node(node, "disk_frames") > 300; }));
    ASSERT_EQ(RunCommand(folder, {"backup", "--config", config, "--out", folder.Path("backup"), "--json"}), 0)
        << ReadText(folder.Path("command.log"));
    backup = nlohmann::json::parse(ReadText(folder.Path("command.log")));
    EXPECT_GT(std::stoi(backup["frames"].get<std::string>()), 300) << backup;
    EXPECT_NE(RunCommand(folder, {"restore", "--backup", folder.Path("backup"), "--config", config}), 0)
        << "it runs";
    node.process().Signal(SIGKILL);
    node.process().Wait(seconds(5));
  }
  std::filesystem::remove_all(spool);
  ASSERT_EQ(RunCommand(folder, {"restore", "--backup", folder.Path("backup"), "--config", config}), 0)
      << ReadText(folder.Path("command.log"));
  aggregator.process().Signal(SIGCONT);
  NodeProcess again(folder, "south", aggregator.ingest_port(), "", panel);
  EXPECT_TRUE(
      WaitFor([&] { return on_node(again, "disk_frames") == 0 && on_node(again, "disk_healthy") == 1; }));
  again.process().Signal(SIGTERM);
  EXPECT_EQ(again.process().Wait(seconds(10)), 0) << again.process().Log();
  const auto summary = nlohmann::json::parse(ReadText(again.summary_path()));
  EXPECT_EQ(std::to_string(summary["recovered_tuples"].get<std::uint64_t>()), backup["tuples"]) << summary;
  EXPECT_EQ(summary["dropped_tuples"], 0) << summary;
  EXPECT_EQ(summary["tuples"].get<std::uint64_t>() + summary["recovered_tuples"].get<std::uint64_t>(),
            summary["acknowledged_tuples"].get<std::uint64_t>())
      << summary;
}

}  // namespace
}  // namespace tributary::testing
