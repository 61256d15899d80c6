// A node's memory, against the limit of its systemd unit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

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
std::string FullNode(int aggregator_port, int http_port) {
  std::string text = fmt::format(R"(node = "full"
site = "room"
[uplink]
aggregator = "127.0.0.1:{0}"
[http]
listen = "127.0.0.1:{1}"
[federation]
images = "glyphs"
)",
                                 aggregator_port, http_port);
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

}  // namespace
}  // namespace tributary::testing
