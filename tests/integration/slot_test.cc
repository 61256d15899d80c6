// A site's slots may have any length. Sensors that share no phase meet in slots that are long enough, and a
// node with another slot length gets an error.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/nn/beacon/beacon_network.h"
#include "tests/support/fleet.h"
#include "tests/support/reporter.h"

namespace tributary::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kSamples = 100;  // of each board, 10 ms apart: one second
const std::vector<std::string> kBoards = {"left", "right"};

// Any network will do: only the times of its results matter.
nn::BeaconNetwork Network() {
  nn::BeaconNetwork network;
  for (std::size_t i = 0; i < network.parameters.size(); ++i) {
    network.parameters[i] = 0.3 * std::sin(static_cast<double>(i));
  }
  network.input_offset_m = {4, 4, 4};
  network.input_gain_per_m = {0.25, 0.25, 0.25};
  network.output_scale_m = 4;
  network.residual_deviation_m = 0.1;
  network.parameter_factor.assign(nn::BeaconNetwork::kParameters * nn::BeaconNetwork::kParameters, 0.01);
  network.anchors = {0, 1, 2};
  return network;
}

// Ranges at 100 Hz, the first one `phase_ms` after a full second.
std::string Recording(int phase_ms) {
  std::string csv;
  for (int i = 0; i < kSamples; ++i) {
    const int ms = 10 * i + phase_ms;
    csv += fmt::format("2022-08-15 10:00:{:02}.{:03}", ms / 1000, ms % 1000);
    for (int range = 0; range < 24; ++range) csv += ",4.0";
    csv += "\n";
  }
  return csv;
}

class SlotTest : public ::testing::Test {
 protected:
  SlotTest() {
    folder_.Write("beacon.safetensors", nn::EncodeBeacon(Network()));
    folder_.Write("left.csv", Recording(2));
    folder_.Write("right.csv", Recording(7));
  }

  // A site of recordings that waits a minute for the slower board.
  std::unique_ptr<AggregatorProcess> Aggregator(const std::string& name, const std::string& slot,
                                                const std::string& extra = "") {
    auto aggregator = std::make_unique<AggregatorProcess>(folder_, name, kBoards, extra,
                                                          slot + "max_age_s = 0\nmax_lead_s = 0\n");
    std::string config = ReadText(folder_.Path(name + ".toml"));
    const std::string deadline = "deadline_ms = 50.0";
    folder_.Write(name + ".toml",
                  config.replace(config.find(deadline), deadline.size(), "deadline_ms = 60000.0"));
    aggregator->Start();
    EXPECT_TRUE(aggregator->Ready()) << aggregator->process().Log();
    return aggregator;
  }

  // A board with a tag of its own, in real time.
  std::unique_ptr<Process> Board(const std::string& name, const AggregatorProcess& aggregator,
                                 const std::string& slot) {
    const std::string config =
        folder_.Write(name + ".toml", fmt::format(R"(node = "{0}"
site = "room"
{1}[uplink]
aggregator = "127.0.0.1:{2}"
[http]
listen = ""
[[panel]]
name = "{0}"
workload = "beacon"
model = "beacon.safetensors"
format = "float"
[panel.source]
kind = "ranges"
file = "{0}.csv"
)",
                                                  name, slot, aggregator.ingest_port()));
    return std::make_unique<Process>(
        "tributary-node",
        std::vector<std::string>{"--config", config, "--summary", folder_.Path(name + ".json")},
        folder_.Path(name + ".log"));
  }

  // Both boards play their recordings to the end; what their summaries say.
  std::vector<json> Play(const AggregatorProcess& aggregator, const std::string& slot) {
    std::vector<std::unique_ptr<Process>> boards;
    std::vector<json> summaries;
    for (const std::string& name : kBoards) boards.push_back(Board(name, aggregator, slot));
    for (std::size_t i = 0; i < boards.size(); ++i) {
      EXPECT_EQ(boards[i]->Wait(std::chrono::seconds(60)), 0) << boards[i]->Log();
      summaries.push_back(json::parse(ReadText(folder_.Path(kBoards[i] + ".json"))));
      EXPECT_EQ(summaries.back()["refused_frames"], 0) << summaries.back();
    }
    return summaries;
  }

  static double Metric(const AggregatorProcess& aggregator, const std::string& name) {
    return MetricValue(aggregator.Metrics(), name);
  }
  static double Complete(const AggregatorProcess& aggregator) {
    return Metric(aggregator, "tributary_slots_fused_total{end=\"complete\",site=\"room\"}");
  }

  ScratchFolder folder_;
};

TEST_F(SlotTest, BoardsOutOfPhaseNeverMeetInSlotsOfHalfAMillisecond) {
  const auto aggregator = Aggregator("aggregator", "");
  Play(*aggregator, "");
  EXPECT_EQ(Metric(*aggregator, "tributary_frames_accepted_total{site=\"room\"}"), 2 * kSamples);
  EXPECT_EQ(Complete(*aggregator), 0);
  EXPECT_EQ(Metric(*aggregator, "tributary_open_slots{site=\"room\"}"), 2 * kSamples)
      << "each waits for the other";
}

TEST_F(SlotTest, BoardsOutOfPhaseMeetInEverySlotOfTheirPeriod) {
  const auto aggregator = Aggregator("aggregator", "slot_ms = 10\n");
  const Collector fused(aggregator->ingest_port());
  Play(*aggregator, "slot_ms = 10\n");
  EXPECT_EQ(Complete(*aggregator), kSamples);
  EXPECT_EQ(Metric(*aggregator, "tributary_open_slots{site=\"room\"}"), 0);
  EXPECT_EQ(json::parse(aggregator->Get("/api/v1/sites"))["sites"][0]["slot_ns"], "10000000");

  // A reader converts epochs to times by the stream's slot length: 2022-08-15 10:00 is the first slot's
  // start.
  ASSERT_TRUE(WaitFor([&] { return !fused.slots().empty(); }));
  EXPECT_EQ(fused.length().ns(), 10'000'000);
  for (const auto& [epoch, slot] : fused.slots()) {
    const std::int64_t since_first_ns = fused.length().StartNs(epoch) - 1'660'557'600'000'000'000;
    EXPECT_GE(since_first_ns, 0);
    EXPECT_LT(since_first_ns, 1'000'000'000);
  }
}

// Each slot has two samples of a board: the first one counts, the node leaves out the second.
TEST_F(SlotTest, ABoardFasterThanItsSlotsSendsOneFrameForEach) {
  const auto aggregator = Aggregator("aggregator", "slot_ms = 20\n");
  for (const json& summary : Play(*aggregator, "slot_ms = 20\n")) {
    EXPECT_EQ(summary["frames"], kSamples);
    EXPECT_EQ(summary["surplus_frames"], kSamples / 2);
    EXPECT_EQ(summary["sent_frames"], kSamples / 2);
  }
  EXPECT_EQ(Complete(*aggregator), kSamples / 2);
}

TEST_F(SlotTest, ANodeThatCountsOtherSlotsThanItsSiteIsRefusedAndSaysBoth) {
  const auto aggregator = Aggregator("aggregator", "slot_ms = 10\n");
  const auto board = Board("left", *aggregator, "");
  ASSERT_TRUE(WaitFor([&] { return board->Log().find("refuses this node") != std::string::npos; }))
      << board->Log();
  EXPECT_THAT(board->Log(), AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("counts slots of 0.5 ms"),
                                  HasSubstr("of 10 ms"), HasSubstr("set slot_ms")));
  EXPECT_GE(Metric(*aggregator, "tributary_streams_refused_total{reason=\"slot_differs\"}"), 1);
  EXPECT_EQ(Metric(*aggregator, "tributary_frames_accepted_total{site=\"room\"}"), 0);
}

TEST_F(SlotTest, AChildCountsTheSlotsOfItsParent) {
  const auto root = Aggregator("root", "slot_ms = 10\n");
  const auto parent = [&](const std::string& node) {
    return fmt::format("[parent]\naggregator = \"127.0.0.1:{}\"\nnode = \"{}\"\n", root->ingest_port(), node);
  };
  const auto stray = Aggregator("stray", "", parent("stray"));
  EXPECT_TRUE(WaitFor([&] {
    return stray->process().Log().find("\"stray\" counts slots of 0.5 ms") != std::string::npos;
  })) << stray->process().Log();
  const auto child = Aggregator("child", "slot_ms = 10\n", parent("child"));
  Play(*child, "slot_ms = 10\n");
  EXPECT_TRUE(WaitFor([&] { return Complete(*root) == kSamples; })) << root->process().Log();
}

}  // namespace
}  // namespace tributary::testing
