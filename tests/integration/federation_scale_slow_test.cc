// Two hundred nodes in one process: 20 rounds of a model of a million parameters. A tenth of the nodes drops
// out of each round and a tenth is late.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/integration/federation_simulated_node.h"
#include "tests/support/learners.h"

namespace tributary::testing {
namespace {

constexpr int kNodes = 200;
constexpr int kRounds = 20;
constexpr std::size_t kElements = 1'000'000;
constexpr double kDeadlineS = 10;

// A tenth drops out, a tenth answers after the round's end.
bool TakesPart(const link::FederationClient::Assignment& assignment, int node) {
  std::mt19937 random(1000 * assignment.task.round + node);
  const auto lot = random() % 10;
  if (lot == 1) {
    const std::int64_t late_ns = assignment.task.deadline_ns + 300'000'000;
    runtime::SystemClock().SleepFor(late_ns - runtime::SystemClock().SteadyNs(), assignment.withdrawn);
  }
  return lot != 0;
}

std::optional<std::vector<float>> HalfTheWay(const link::FederationClient::Assignment& assignment,
                                             link::FederationClient& client) {
  const auto file = client.FetchModel(assignment);
  if (!file.ok()) return std::nullopt;
  auto flat = FlatModel(*file);
  if (!flat.ok()) return std::nullopt;
  for (float& value : *flat) value = 0.5f * (1 - value);
  return *std::move(flat);
}

TEST(FederationScaleSlowTest, TwoHundredNodesFinishWithinTheirDeadlinesInFlatMemory) {
  ScratchFolder folder;
  AggregatorProcess aggregator(folder, "aggregator", {"south"}, FederationKeys(folder) + "keep_models = 2\n");
  aggregator.Start();
  ASSERT_TRUE(aggregator.Ready()) << aggregator.process().Log();
  const std::string model = folder.Write("w.safetensors", OneTensorModel(std::vector<float>(kElements)));
  const std::string config = folder.Write(
      "run.toml", "name = \"r\"\nrounds = 20\nmin_nodes = 200\nquorum = 100\nmax_nodes = 200\ndeadline_s = " +
                      std::to_string(kDeadlineS) + "\n[client]\nencoding = \"int8\"\n");
  ASSERT_EQ(RunCommand(folder, {"run", "start", config, "--model", model, "--aggregator",
                                "127.0.0.1:" + std::to_string(aggregator.ingest_port())}),
            0)
      << ReadText(folder.Path("command.log"));
  Places places(8);
  std::vector<std::unique_ptr<SimulatedNode>> nodes;
  for (int n = 0; n < kNodes; ++n) {
    nodes.push_back(std::make_unique<SimulatedNode>(
        aggregator.ingest_port(), "n" + std::to_string(n), "r", HalfTheWay,
        [n](const link::FederationClient::Assignment& assignment) { return TakesPart(assignment, n); },
        &places));
  }
  const auto run = [&] { return nlohmann::json::parse(aggregator.Get("/api/v1/runs/r"), nullptr, false); };
  const auto committed = [&] {
    const auto answer = run();
    return answer.is_discarded() ? 0 : answer["run"].value("committed_rounds", 0);
  };
  const auto resident = [&] { return MetricValue(aggregator.Metrics(), "process_resident_memory_bytes"); };
  // The highest reading until this many rounds are committed.
  const auto highest_until = [&](int rounds) {
    double highest = 0;
    EXPECT_TRUE(WaitFor(
        [&] {
          highest = std::max(highest, resident());
          return committed() >= rounds;
        },
        std::chrono::seconds(400)))
        << run();
    return highest;
  };
  const double early = highest_until(kRounds / 2);
  const double late = highest_until(kRounds);
  nodes.clear();

  const auto answer = run();
  for (const auto& round : answer["history"]) {
    const double seconds = 1e-9 * (std::stod(round["ended_unix_ns"].get<std::string>()) -
                                   std::stod(round["started_unix_ns"].get<std::string>()));
    EXPECT_LT(seconds, kDeadlineS + 3) << round;
    EXPECT_GE(round["accepted"].get<int>(), 100) << round;
    EXPECT_LT(round["accepted"].get<int>(), kNodes) << round;
  }
  // Ten further rounds bring some 1,600 updates of a megabyte: keeping a twentieth of one round's would show.
  // Heap fragmentation may still grow.
  EXPECT_LT(late, early + 32e6);
  RecordProperty("highest_resident_mb_of_rounds_1_to_10", std::to_string(early / 1e6));
  RecordProperty("highest_resident_mb_of_rounds_11_to_20", std::to_string(late / 1e6));
  // Twenty steps of half the way to 1, each quantised to 8 bits of the remainder.
  const auto flat = FlatModel(ReadText(folder.Path("store/models/r.20.safetensors")));
  ASSERT_TRUE(flat.ok()) << flat.status();
  for (const float value : *flat) ASSERT_NEAR(value, 1, 1e-3);
}

}  // namespace
}  // namespace tributary::testing
