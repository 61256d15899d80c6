// A real aggregator with one run, for tests of what masked nodes make of it.
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/integration/federation_simulated_node.h"
#include "tests/support/learners.h"

namespace tributary::testing {

// One aggregator and one run "r" of it.
class MaskedRun {
 public:
  MaskedRun(const std::string& model, const std::string& config) {
    aggregator_.Start();
    EXPECT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
    const std::string model_path = folder_.Write("w.safetensors", model);
    const std::string config_path = folder_.Write("run.toml", "name = \"r\"\n" + config);
    EXPECT_EQ(RunCommand(folder_, {"run", "start", config_path, "--model", model_path, "--aggregator",
                                   "127.0.0.1:" + std::to_string(aggregator_.ingest_port())}),
              0)
        << ReadText(folder_.Path("command.log"));
  }

  int port() const { return aggregator_.ingest_port(); }

  void KillAggregator() {
    aggregator_.process().Signal(SIGKILL);
    aggregator_.process().Wait(std::chrono::seconds(10));
    aggregator_.Start();
    EXPECT_TRUE(aggregator_.Ready()) << aggregator_.process().Log();
  }

  void AwaitCommitted(int rounds) {
    EXPECT_TRUE(WaitFor([&] {
      return Answer().value(nlohmann::json::json_pointer("/run/committed_rounds"), 0) >= rounds;
    })) << Answer();
  }

  nlohmann::json Round(std::uint32_t number) {
    const nlohmann::json history = Answer().value("history", nlohmann::json::array());
    for (const nlohmann::json& round : history) {
      if (round.value("round", 0U) == number) return round;
    }
    return nlohmann::json::object();
  }

  // The file after this round: equal models are equal bytes.
  std::string Model(int round) const {
    return ReadText(folder_.Path("store/models/r." + std::to_string(round) + ".safetensors"));
  }
  std::vector<float> Parameters(int round) const { return *FlatModel(Model(round)); }

 private:
  nlohmann::json Answer() {
    auto answer = nlohmann::json::parse(aggregator_.Get("/api/v1/runs/r"), nullptr, false);
    return answer.is_discarded() ? nlohmann::json::object() : answer;
  }

  ScratchFolder folder_;
  AggregatorProcess aggregator_{folder_, "aggregator", {"south"}, FederationKeys(folder_)};
};

}  // namespace tributary::testing
