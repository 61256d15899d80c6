// Nodes that train a modulation network together from bursts that they recorded: a real aggregator and real
// nodes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/nn/modulation/modulation_evaluation.h"
#include "core/nn/modulation/modulation_fixture.h"
#include "core/parameters/npy.h"
#include "core/radio/modulation.h"
#include "tests/integration/masked_run.h"

namespace tributary::testing::modulation {
namespace {

constexpr int kNodes = 3;
constexpr int kRounds = 6;

struct Bursts {
  std::vector<float> samples;
  std::vector<std::uint8_t> classes;
};

Bursts DrawBursts(std::uint64_t seed, std::size_t count) {
  Bursts bursts{.samples = std::vector<float>(count * nn::kModulationInput.size()),
                .classes = std::vector<std::uint8_t>(count)};
  nn::DrawTones(seed, bursts.samples, bursts.classes);
  return bursts;
}

// A node whose recording and labels are files, as a user has them.
class RadioNode {
 public:
  RadioNode(const ScratchFolder& folder, int number, int port) {
    const std::string name = "radio" + std::to_string(number);
    const Bursts bursts = DrawBursts(static_cast<std::uint64_t>(number) + 1, 300);
    const std::vector<std::uint64_t> shape = {bursts.classes.size(), 2, nn::kModulationInput.length};
    const std::string iq = folder.Write(name + ".npy", parameters::EncodeNpy(shape, bursts.samples));
    std::string names;
    for (const std::uint8_t tone : bursts.classes) names.append(radio::kModulations[tone]).append("\n");
    const std::string labels = folder.Write(name + ".txt", names);
    const std::string config = folder.Write(name + ".toml", fmt::format(R"(node = "{}"
[http]
listen = ""
[federation]
aggregator = "127.0.0.1:{}"
[federation.modulation]
iq = "{}"
labels = "{}"
)",
                                                                        name, port, iq, labels));
    process_ = std::make_unique<Process>("tributary-node", std::vector<std::string>{"--config", config},
                                         folder.Path(name + ".log"));
  }

 private:
  std::unique_ptr<Process> process_;
};

void ExpectThatARunLearns(const std::string& more) {
  const nn::ModulationNetwork start = nn::RandomModulationNetwork(*nn::FindModulationArchitecture("compact"));
  MaskedRun run(nn::EncodeModulation(start),
                "rounds = " + std::to_string(kRounds) +
                    "\nmin_nodes = 3\n[client]\nworkload = \"modulation\"\nlocal_steps = 40\nbatch = 32\n"
                    "learning_rate = 0.04\n" +
                    more);
  const ScratchFolder folder;
  std::vector<std::unique_ptr<RadioNode>> nodes;
  for (int n = 0; n < kNodes; ++n) nodes.push_back(std::make_unique<RadioNode>(folder, n, run.port()));
  run.AwaitCommitted(kRounds);
  const auto network = nn::DecodeModulation(run.Model(kRounds));
  ASSERT_TRUE(network.ok()) << network.status();
  const Bursts others = DrawBursts(99, 300);
  EXPECT_LT(nn::ScoreModulation(start, others.samples, others.classes).accuracy, 0.3);
  EXPECT_GT(nn::ScoreModulation(*network, others.samples, others.classes).accuracy, 0.8);
}

TEST(ModulationRunTest, NodesLearnFromTheirRecordings) { ExpectThatARunLearns(""); }

TEST(ModulationRunTest, NodesLearnAlsoIfTheirUpdatesAreMasked) {
  ExpectThatARunLearns("[privacy]\nsecure_aggregation = true\n");
}

}  // namespace
}  // namespace tributary::testing::modulation
