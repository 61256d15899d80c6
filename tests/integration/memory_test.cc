// A node's memory, against the limit of its systemd unit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/support/learners.h"

namespace tributary::testing {
namespace {

constexpr double kMiB = 1 << 20;

// "MemoryMax=512M" of a unit, in MiB.
double MemoryMaxMiB(const std::string& unit) {
  std::ifstream file(TRIBUTARY_SOURCE_DIR "/deploy/systemd/" + unit);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("MemoryMax=") && line.ends_with("M")) return std::stod(line.substr(10));
  }
  return 0;
}

// The process's peak memory ("VmHWM:  1234 kB"), in MiB.
double PeakMiB(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) * 1024 / kMiB;
  }
  return 0;
}

// Four simulated panels and a learner with their defaults, except for the panels' rate: it needs time, not
// memory.
std::string FullNode(int aggregator_port, int http_port, const std::string& federation_keys = "") {
  std::string text = fmt::format(R"(node = "full"
site = "room"
[uplink]
aggregator = "127.0.0.1:{0}"
[http]
listen = "127.0.0.1:{1}"
[federation]
images = "glyphs"
{2})",
                                 aggregator_port, http_port, federation_keys);
  for (const std::string& wall : kWalls) {
    text += fmt::format(R"([[panel]]
name = "{0}"
model = "{1}/models/positioning.safetensors"
[panel.source]
kind = "room"
wall = "{0}"
rate_hz = 20.0
)",
                        wall, TRIBUTARY_SOURCE_DIR);
  }
  return text;
}

TEST(MemoryTest, TheUnitsLimitHoldsFourSimulatedPanelsALearnerAndAFullSpool) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer takes more memory than the node";
#endif
  const ScratchFolder folder;
  AggregatorProcess aggregator(folder, "aggregator", kWalls, FederationKeys(folder));
  aggregator.Start();
  ASSERT_TRUE(aggregator.Ready()) << aggregator.process().Log();
  const std::string run =
      folder.Write("run.toml",
                   "name = \"r\"\nrounds = 1\nmin_nodes = 1\nquorum = 1\ndeadline_s = 300.0\n"
                   "[client]\nlocal_steps = 2\nencoding = \"int8\"\n");
  ASSERT_EQ(RunCommand(folder, {"run", "start", run, "--aggregator",
                                fmt::format("127.0.0.1:{}", aggregator.ingest_port())}),
            0)
      << ReadText(folder.Path("command.log"));
  const int http_port = ReservePort();
  Process node("tributary-node",
               {"--config", folder.Write("node.toml", FullNode(aggregator.ingest_port(), http_port))},
               folder.Path("node.log"));
  ASSERT_TRUE(WaitFor(
      [&] {
        const std::string metrics = HttpGet(http_port, "/metrics");
        return MetricValue(metrics, "tributary_learner_accepted_updates_total") == 1 &&
               MetricValue(metrics, "tributary_panel_tuples_total{panel=\"west\"}") > 0;
      },
      std::chrono::seconds(120)))
      << node.Log();
  constexpr double kSpoolMiB = 16;  // uplink.spool_bytes; empty here
  const double peak = PeakMiB(node.pid());
  RecordProperty("peak_mib", static_cast<int>(peak));
  EXPECT_GT(peak, 4 * 62) << "2,000 snapshots of 16 users, 2 KiB each, for each panel";
  EXPECT_LT(peak + kSpoolMiB, MemoryMaxMiB("tributary-node.service"));
}

struct Limit {
  std::string name;
  std::vector<std::string> launcher;
  std::string federation_keys;
};

// A run's author chooses batch and network. One that needs 2 GB took nodes with their panels, again after
// each restart.
class PoisonPillTest : public ::testing::TestWithParam<Limit> {};

TEST_P(PoisonPillTest, ARunThatNeedsMoreMemoryThanTheNodeHasIsDeclinedAndPanelsLoseNothing) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer takes more memory than the node";
#endif
  const ScratchFolder folder;
  AggregatorProcess aggregator(folder, "aggregator", kWalls, FederationKeys(folder));
  aggregator.Start();
  ASSERT_TRUE(aggregator.Ready()) << aggregator.process().Log();
  const std::string address = fmt::format("127.0.0.1:{}", aggregator.ingest_port());
  const int http_port = ReservePort();
  std::vector<std::string> command = GetParam().launcher;
  command.push_back(TRIBUTARY_BIN_DIR "/tributary-node");
  command.push_back("--config");
  command.push_back(
      folder.Write("node.toml", FullNode(aggregator.ingest_port(), http_port, GetParam().federation_keys)));
  Process node(command[0], {command.begin() + 1, command.end()}, folder.Path("node.log"));
  const auto tuples = [&] {
    return MetricValue(HttpGet(http_port, "/metrics"), "tributary_panel_tuples_total{panel=\"west\"}");
  };
  ASSERT_TRUE(WaitFor([&] { return tuples() > 0; }, std::chrono::seconds(60))) << node.Log();

  const std::string run = folder.Write("run.toml",
                                       "name = \"pill\"\nrounds = 1\nmin_nodes = 1\nquorum = 1\n"
                                       "deadline_s = 600.0\n[client]\nlocal_steps = 1\nbatch = 4096\n");
  ASSERT_EQ(RunCommand(folder, {"run", "start", run, "--aggregator", address}), 0)
      << ReadText(folder.Path("command.log"));
  const std::string declined = "tributary_learner_declined_tasks_total{reason=\"memory\"}";
  ASSERT_TRUE(WaitFor([&] { return MetricValue(HttpGet(http_port, "/metrics"), declined) == 1; },
                      std::chrono::seconds(60)))
      << node.Log();
  const double then = tuples();
  EXPECT_TRUE(WaitFor([&] { return tuples() > then + 20; }));
  EXPECT_TRUE(node.Running());
  const std::string metrics = HttpGet(http_port, "/metrics");
  EXPECT_EQ(MetricValue(metrics, "tributary_uplink_dropped_frames_total"), 0);
  for (const std::string& wall : kWalls) {
    EXPECT_EQ(MetricValue(metrics, fmt::format("tributary_panel_failed_frames_total{{panel=\"{}\"}}", wall)),
              0);
  }
  EXPECT_GT(MetricValue(metrics, "tributary_learner_needed_bytes"), 1024 * kMiB);
  EXPECT_LT(PeakMiB(node.pid()), MemoryMaxMiB("tributary-node.service"));
  EXPECT_EQ(RunCommand(folder, {"run", "show", "pill", "--aggregator", address}), 0);
  const std::string shown = ReadText(folder.Path("command.log"));
  EXPECT_NE(shown.find("a batch of 4096 images of 28 x 28"), std::string::npos) << shown;
  EXPECT_NE(node.Log().find("for learning"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    MemoryTest, PoisonPillTest,
    ::testing::Values(
        Limit{"BySetting", {}, "memory_bytes = 134217728\n"},
        // What the system gives the process; here its address space, for control groups need root.
        Limit{"ByTheProcesssLimit", {"/usr/bin/prlimit", "--as=1610612736"}, ""}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace tributary::testing
