// Panels that run an ONNX graph of somebody's own: what they say to the aggregator, and what is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/graph/onnx_fixture.h"
#include "core/parameters/npy.h"
#include "tests/support/fleet.h"
#include "tests/support/http.h"
#include "tests/support/process.h"

namespace tributary::testing {
namespace {

using graph::testing::ModelText;
using ::nlohmann::json;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kBadConfiguration = 78;
const std::vector<std::string> kPanels = {"south", "east", "north", "west"};

// Images of 2 × 2; the logits of dark, grey and light are 0, 2 · mean and 4 · mean − 1.
ModelText Classifier() {
  return ModelText()
      .Input("images", {-1, 1, 2, 2})
      .Node("Flatten", {"images"}, "flat")
      .Floats("w", {4, 3}, {0, 0.5f, 1, 0, 0.5f, 1, 0, 0.5f, 1, 0, 0.5f, 1})
      .Floats("b", {3}, {0, 0, -1})
      .Node("MatMul", {"flat", "w"}, "product")
      .Node("Add", {"product", "b"}, "logits")
      .Output("logits");
}

class NetworkPanelTest : public ::testing::Test {
 protected:
  std::string Configuration(const std::string& panel, const std::string& keys, int aggregator_port,
                            const std::string& source) const {
    return folder_.Write(
        panel + ".toml",
        fmt::format("node = \"{0}\"\nsite = \"room\"\n[http]\nlisten = "
                    "\"127.0.0.1:{4}\"\n[uplink]\naggregator = \"127.0.0.1:{1}\"\n"
                    "[[panel]]\nname = \"{0}\"\nworkload = \"network\"\nmodel = \"model.onnx\"\n"
                    "{2}[panel.source]\n{3}",
                    panel, aggregator_port, keys, source, ReservePort()));
  }
  static std::string Replay() {
    return "kind = \"replay\"\nfile = \"images.npy\"\nloop = true\nrate_hz = 50\n";
  }

  // What --check says; it must refuse.
  std::string Refusal(const std::string& keys, const std::string& source = Replay()) const {
    Process check("tributary-node", {"--config", Configuration("south", keys, 1, source), "--check"},
                  folder_.Path("check.log"));
    EXPECT_EQ(check.Wait(std::chrono::seconds(30)), kBadConfiguration);
    return check.Log();
  }

  static json SlotOf(const AggregatorProcess& aggregator) {
    return json::parse(aggregator.Get("/api/v1/sites/room")).at("slot");
  }

  // Who contributed to the last slot, a bit for each panel; "" before the first.
  static std::string Contributors(const AggregatorProcess& aggregator) {
    const json answer = json::parse(aggregator.Get("/api/v1/sites/room"), nullptr, false);
    return answer.is_object() ? answer["slot"]["contributors"].at(0).get<std::string>() : "";
  }

  void WriteImages(float pixel) const {
    const std::uint64_t shape[] = {3, 1, 2, 2};
    folder_.Write("images.npy", parameters::EncodeNpy(shape, std::vector<float>(12, pixel)));
  }

  const ScratchFolder folder_;
};

TEST_F(NetworkPanelTest, FourNodesNameWhatTheySeeAndTheAggregatorFusesIt) {
  folder_.Write("model.onnx", Classifier().Bytes());
  WriteImages(1);
  AggregatorProcess aggregator(folder_, "hall", kPanels, "", "classes = [\"dark\", \"grey\", \"light\"]\n");
  aggregator.Start();
  ASSERT_TRUE(aggregator.Ready()) << aggregator.process().Log();
  const std::string keys =
      "[panel.outputs]\nkind = \"logits\"\nclasses = [\"dark\", \"grey\", \"light\"]\ntemperature = 2\n";
  std::vector<std::unique_ptr<Process>> nodes;
  for (const std::string& panel : kPanels) {
    nodes.push_back(std::make_unique<Process>(
        "tributary-node",
        std::vector<std::string>{"--config", Configuration(panel, keys, aggregator.ingest_port(), Replay())},
        folder_.Path(panel + ".log")));
  }
  ASSERT_TRUE(WaitFor([&] { return Contributors(aggregator) == "15"; })) << nodes[0]->Log();
  const json slot = SlotOf(aggregator);
  // The product of four tuples of logits 0, 2, 3 at a temperature of 2.
  const double scale[] = {0, 4 * 2 / 2.0, 4 * 3 / 2.0};
  const double total = std::exp(scale[0]) + std::exp(scale[1]) + std::exp(scale[2]);
  ASSERT_EQ(slot.at("log_probabilities").size(), 3u) << slot.dump();
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(std::exp(slot.at("log_probabilities").at(k).get<double>()), std::exp(scale[k]) / total, 1e-4);
  }
}

TEST_F(NetworkPanelTest, APositionIsTurnedAndMovedAsItsPanel) {
  // x = 1, y = 2, ln of the deviations: ln 0.1 and ln 0.2.
  folder_.Write("model.onnx", ModelText()
                                  .Input("x", {1, 2})
                                  .Floats("w", {2, 4}, std::vector<float>(8, 0))
                                  .Floats("b", {4}, {1, 2, std::log(0.1f), std::log(0.2f)})
                                  .Node("MatMul", {"x", "w"}, "zeros")
                                  .Node("Add", {"zeros", "b"}, "y")
                                  .Output("y")
                                  .Bytes());
  const std::uint64_t shape[] = {3, 2};
  folder_.Write("images.npy", parameters::EncodeNpy(shape, std::vector<float>(6, 1)));
  AggregatorProcess aggregator(folder_, "hall", {"south"});
  aggregator.Start();
  ASSERT_TRUE(aggregator.Ready()) << aggregator.process().Log();
  const Process node(
      "tributary-node",
      {"--config",
       Configuration("south", "orientation_deg = 90\nx_m = 10\n[panel.outputs]\nkind = \"log_deviation\"\n",
                     aggregator.ingest_port(), Replay())},
      folder_.Path("node.log"));
  ASSERT_TRUE(WaitFor([&] { return Contributors(aggregator) == "1"; })) << node.Log();
  const json slot = SlotOf(aggregator);
  EXPECT_NEAR(slot.at("means").at(0).get<double>(), 10 - 2, 1e-3) << slot.dump();
  EXPECT_NEAR(slot.at("means").at(1).get<double>(), 1, 1e-3);
}

TEST_F(NetworkPanelTest, WhatDoesNotFitIsRefusedWithItsKey) {
  folder_.Write("model.onnx", Classifier().Bytes());
  WriteImages(1);
  EXPECT_THAT(Refusal(""), HasSubstr("panel[0].outputs.kind: say what the outputs are"));
  EXPECT_THAT(Refusal("[panel.outputs]\nkind = \"logits\"\nclasses = [\"dark\", \"light\"]\n"),
              HasSubstr("panel[0].outputs.classes: 2 names for 3 outputs"));
  EXPECT_THAT(Refusal("[panel.outputs]\nkind = \"cholesky\"\n"),
              HasSubstr("panel[0].outputs.kind: the output has 3"));
  EXPECT_THAT(Refusal("[panel.outputs]\nkind = \"logits\"\noutput = \"features\"\n"),
              HasSubstr("panel[0].outputs.output: the graph has logits"));
  const std::string good = "[panel.outputs]\nkind = \"logits\"\nclasses = [\"a\", \"b\", \"c\"]\n";
  EXPECT_THAT(Refusal(good, "kind = \"room\"\n"), HasSubstr("the model takes 4"));
  EXPECT_THAT(Refusal("accelerator = \"xrt\"\nxclbin = \"x.xclbin\"\n" + good),
              AnyOf(HasSubstr("panel[0].xclbin: "), HasSubstr("built without XRT")));
  const std::uint64_t shape[] = {3, 5};
  folder_.Write("images.npy", parameters::EncodeNpy(shape, std::vector<float>(15, 1)));
  EXPECT_THAT(Refusal(good), HasSubstr("has 5 features, the model takes 4"));
  folder_.Write("model.onnx", "no model");
  EXPECT_THAT(Refusal(good), HasSubstr("no ONNX file"));
}

// The file itself says what it gives.
TEST_F(NetworkPanelTest, TheFilesMetadataStandForTheKeys) {
  ModelText model = Classifier();
  for (const auto& [key, value] :
       {std::pair("tributary.outputs", "logits"), std::pair("tributary.classes", "a,b,c")}) {
    onnx::StringStringEntryProto& entry = *model.proto().add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  folder_.Write("model.onnx", model.Bytes());
  WriteImages(1);
  Process check("tributary-node", {"--config", Configuration("south", "", 1, Replay()), "--check"},
                folder_.Path("check.log"));
  EXPECT_EQ(check.Wait(std::chrono::seconds(30)), 0) << check.Log();
}

}  // namespace
}  // namespace tributary::testing
