// A node's memory, against the limit of its systemd unit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/learners.h"
#include "tests/support/process_usage.h"

namespace tributary::testing {
namespace {

// "MemoryMax=512M" of a unit, in MiB.
double MemoryMaxMiB(const std::string& unit) {
  std::ifstream file(TRIBUTARY_SOURCE_DIR "/deploy/systemd/" + unit);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("MemoryMax=") && line.ends_with("M")) return std::stod(line.substr(10));
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

// An aggregator with a store, and a node that does all that a node can.
class MemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef TRIBUTARY_SANITIZED
    GTEST_SKIP() << "the address sanitizer takes more memory than the node";
#endif
    aggregator_.Start();
    ASSERT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
  }
  // `launcher`: a command prefix such as prlimit.
  void StartNode(std::vector<std::string> launcher = {}, const std::string& federation_keys = "") {
    const std::string config =
        folder_.Write("node.toml", FullNode(aggregator_.ingest_port(), http_port_, federation_keys));
    launcher.insert(launcher.end(), {TRIBUTARY_BIN_DIR "/tributary-node", "--config", config});
    node_ = std::make_unique<Process>("/usr/bin/env", launcher, folder_.Path("node.log"));
  }
  void StartRun(const std::string& text) {
    const std::string file = folder_.Write("run.toml", "rounds = 1\nmin_nodes = 1\nquorum = 1\n" + text);
    ASSERT_EQ(Command({"run", "start", file}), 0) << Said();
  }
  int Command(std::vector<std::string> arguments) {
    const std::string address = fmt::format("127.0.0.1:{}", aggregator_.ingest_port());
    arguments.insert(arguments.end(), {"--aggregator", address});
    return RunCommand(folder_, arguments);
  }
  std::string Said() const { return ReadText(folder_.Path("command.log")); }
  double Value(const std::string& metric) const {
    return MetricValue(HttpGet(http_port_, "/metrics"), metric);
  }
  double Tuples() const { return Value("tributary_panel_tuples_total{panel=\"west\"}"); }

  const ScratchFolder folder_;
  AggregatorProcess aggregator_{folder_, "aggregator", kWalls, FederationKeys(folder_)};
  const int http_port_ = ReservePort();
  std::unique_ptr<Process> node_;
};

TEST_F(MemoryTest, TheUnitsLimitHoldsFourSimulatedPanelsALearnerAndAFullSpool) {
  StartRun("name = \"r\"\ndeadline_s = 300.0\n[client]\nlocal_steps = 2\nencoding = \"int8\"\n");
  StartNode();
  ASSERT_TRUE(WaitFor([&] { return Value("tributary_learner_accepted_updates_total") == 1 && Tuples() > 0; },
                      std::chrono::seconds(120)))
      << node_->Log();
  constexpr double kSpoolMiB = 16;  // uplink.spool_bytes; empty here
  const double peak = PeakMiB(node_->pid());
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
class PoisonPillTest : public MemoryTest, public ::testing::WithParamInterface<Limit> {};

TEST_P(PoisonPillTest, ARunThatNeedsMoreMemoryThanTheNodeHasIsDeclinedAndPanelsLoseNothing) {
  StartNode(GetParam().launcher, GetParam().federation_keys);
  ASSERT_TRUE(WaitFor([&] { return Tuples() > 0; }, std::chrono::seconds(60))) << node_->Log();
  StartRun("name = \"pill\"\ndeadline_s = 600.0\n[client]\nlocal_steps = 1\nbatch = 4096\n");
  ASSERT_TRUE(WaitFor([&] { return Value("tributary_learner_declined_tasks_total{reason=\"memory\"}") == 1; },
                      std::chrono::seconds(60)))
      << node_->Log();
  const double then = Tuples();
  EXPECT_TRUE(WaitFor([&] { return Tuples() > then + 20; }));
  EXPECT_TRUE(node_->Running());
  EXPECT_EQ(Value("tributary_uplink_dropped_frames_total"), 0);
  for (const std::string& wall : kWalls) {
    EXPECT_EQ(Value(fmt::format("tributary_panel_failed_frames_total{{panel=\"{}\"}}", wall)), 0);
  }
  EXPECT_GT(Value("tributary_learner_needed_bytes"), 1 << 30);
  EXPECT_LT(PeakMiB(node_->pid()), MemoryMaxMiB("tributary-node.service"));
  EXPECT_EQ(Command({"run", "show", "pill"}), 0);
  EXPECT_NE(Said().find("a batch of 4096 images of 28 x 28"), std::string::npos) << Said();
  EXPECT_NE(node_->Log().find("for learning"), std::string::npos);
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
