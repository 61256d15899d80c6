#include "node/learner/federation_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "core/parameters/npy.h"
#include "core/runtime/file.h"
#include "node/config.h"
#include "tests/support/own_folder.h"
#include "tests/support/parse_config.h"

namespace tributary::learner {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kMinimalFederation = "node = \"south\"\n[federation]\nimages = \"glyphs\"\n";

node::NodeConfig ParseFederation(const std::string& text) {
  auto config = testing::ParseConfig(node::ReadNodeConfig, text, "/etc/tributary/node.toml");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.value_or(node::NodeConfig());
}

std::string FederationFaults(const std::string& text) {
  const auto config = testing::ParseConfig(node::ReadNodeConfig, text, "/etc/tributary/node.toml");
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(config.status().message());
}

TEST(FederationConfigTest, ANodeMayLearnAlone) {
  const node::NodeConfig config = ParseFederation(kMinimalFederation);
  ASSERT_TRUE(config.federation.has_value());
  EXPECT_TRUE(config.panels.empty());
  EXPECT_EQ(config.federation->aggregator, "127.0.0.1:7400");
  EXPECT_EQ(config.federation->glyphs, 7'000u);
  EXPECT_EQ(config.federation->split.nodes, 1u);
  EXPECT_EQ(config.federation->buffer, 0u);
}

TEST(FederationConfigTest, ResolvesFilesAgainstItsOwnFolder) {
  const node::NodeConfig config = ParseFederation(
      "node = \"south\"\n[federation]\nimages = \"a.gz\"\nlabels = \"/b.gz\"\nsplit = \"dirichlet\"\n"
      "alpha = 0.1\nshards = 5\nshard_index = 4\nstate = \"state.safetensors\"\nbuffer = 256\n");
  EXPECT_EQ(config.federation->images, "/etc/tributary/a.gz");
  EXPECT_EQ(config.federation->labels, "/b.gz");
  EXPECT_EQ(config.federation->state, "/etc/tributary/state.safetensors");
  EXPECT_EQ(config.federation->split.kind, images::ImageSplit::kDirichlet);
  EXPECT_EQ(config.federation->split.concentration, 0.1);
  EXPECT_EQ(config.federation->shard, 4u);
  EXPECT_EQ(config.federation->buffer, 256u);
}

TEST(FederationConfigTest, NamesEveryFaultAtOnce) {
  EXPECT_THAT(
      FederationFaults(
          "node = \"south\"\n[federation]\nsplit = \"fair\"\nshards = 2\nshard_index = 2\ntypo = 1\n"),
      AllOf(HasSubstr("images: is required"), HasSubstr("split: expected one of"),
            HasSubstr("expected less than shards = 2, found 2"), HasSubstr("typo: unknown key")));
  EXPECT_THAT(FederationFaults("node = \"south\"\n[federation]\nimages = \"a.gz\"\nsplit = \"shard\"\n"),
              HasSubstr("needs the labels"));
  EXPECT_THAT(FederationFaults(std::string(kMinimalFederation) + "aggregator = \"10.0.0.1:7400\"\n"),
              HasSubstr("not on the loopback"));
}

TEST(FederationConfigTest, ThePartsOfAllNodesAreTheSet) {
  std::size_t total = 0;
  for (const std::string index : {"0", "1", "2"}) {
    const node::NodeConfig config =
        ParseFederation(std::string(kMinimalFederation) +
                        "glyphs = 100\nsplit = \"dirichlet\"\nshards = 3\nshard_index = " + index + "\n");
    const auto part = LoadPart(*config.federation);
    ASSERT_TRUE(part.ok()) << part.status();
    EXPECT_TRUE(part->labels.empty());
    total += part->count();
  }
  EXPECT_EQ(total, 100u);
}

TEST(FederationConfigTest, RecordedBurstsOrSnapshotsStandInPlaceOfImages) {
  const node::NodeConfig radio = ParseFederation(
      "node = \"south\"\n[federation]\nheld_out = 0.1\n[federation.modulation]\niq = \"a.npy\"\nlabels = "
      "\"/b.txt\"\n");
  ASSERT_TRUE(radio.federation->modulation.has_value());
  EXPECT_EQ(radio.federation->modulation->iq, "/etc/tributary/a.npy");
  EXPECT_EQ(radio.federation->modulation->labels, "/b.txt");
  EXPECT_EQ(radio.federation->held_out, 0.1);
  const node::NodeConfig panel = ParseFederation(
      "node = \"south\"\n[federation.positioning]\nfeatures = \"a.npy\"\npositions = "
      "\"b.csv\"\norientation_deg = 90\n"
      "x_m = 1\ny_m = -2\n");
  ASSERT_TRUE(panel.federation->positioning.has_value());
  EXPECT_EQ(panel.federation->positioning->positions, "/etc/tributary/b.csv");
  EXPECT_EQ(panel.federation->positioning->pose.angle_deg, 90);
  EXPECT_EQ(panel.federation->positioning->pose.x_m, 1);
  EXPECT_EQ(panel.federation->positioning->pose.y_m, -2);
}

TEST(FederationConfigTest, ANodeLearnsFromOneKindOfSamples) {
  const std::string bursts = "[federation.modulation]\niq = \"a.npy\"\nlabels = \"b.txt\"\n";
  const std::string points = "[federation.positioning]\nfeatures = \"a.npy\"\npositions = \"b.csv\"\n";
  const std::string head = "node = \"south\"\n[federation]\n";
  EXPECT_THAT(FederationFaults(head + bursts + points),
              HasSubstr("federation.positioning: a node learns from one kind of samples"));
  EXPECT_THAT(FederationFaults(head + "images = \"glyphs\"\n" + bursts),
              HasSubstr("images: [federation.modulation] has its own samples"));
  EXPECT_THAT(FederationFaults(head + "[federation.modulation]\niq = \"a.npy\"\n"),
              HasSubstr("labels: needed to train on bursts"));
  EXPECT_THAT(FederationFaults(head + "[federation.positioning]\nfeatures = \"a.npy\"\n"),
              HasSubstr("positions: needed to train on snapshots"));
  EXPECT_THAT(FederationFaults(head + "held_out = 0.1\n[federation.beacon]\nranges = \"a\"\ntruth = \"b\"\n"),
              HasSubstr("held_out: the model of this node's runs is not judged by accuracy"));
}

class PanelPointsTest : public ::testing::Test {
 protected:
  absl::StatusOr<PanelPoints> Load(const std::vector<std::uint64_t>& shape, const std::string& positions,
                                   float value = 1) {
    std::uint64_t size = 1;
    for (const std::uint64_t side : shape) size *= side;
    const PointSamplesConfig config{.features = OwnFolder() + "points.npy",
                                    .positions = OwnFolder() + "points.csv",
                                    .pose = {.x_m = 1, .y_m = 2, .angle_deg = 90}};
    const std::vector<float> values(size, value);
    EXPECT_TRUE(runtime::WriteFileAtomically(config.features, parameters::EncodeNpy(shape, values)).ok());
    EXPECT_TRUE(runtime::WriteFileAtomically(config.positions, positions).ok());
    return LoadPoints(config);
  }
  std::string WhyRefused(const std::vector<std::uint64_t>& shape, const std::string& positions,
                         float value = 1) {
    return std::string(Load(shape, positions, value).status().message());
  }
};

// A panel at (1, 2) that looks to −x: what is a metre further along x is a metre behind it.
TEST_F(PanelPointsTest, PositionsAreTurnedIntoThePanelsFrame) {
  const auto points = Load({2, 1024}, "x,y\n1,2\n1,5\n");
  ASSERT_TRUE(points.ok()) << points.status();
  EXPECT_EQ(points->count(), 2u);
  EXPECT_NEAR(points->positions[0], 0, 1e-6);
  EXPECT_NEAR(points->positions[1], 0, 1e-6);
  EXPECT_NEAR(points->positions[2], 3, 1e-6);
  EXPECT_NEAR(points->positions[3], 0, 1e-6);
}

TEST_F(PanelPointsTest, WhatDoesNotFitNamesTheFile) {
  EXPECT_THAT(WhyRefused({2, 512}, "1,2\n3,4\n"),
              HasSubstr("points.npy: the array is [2, 512], not [n, 1024]"));
  EXPECT_THAT(WhyRefused({3, 1024}, "1,2\n3,4\n"),
              HasSubstr("points.csv: 2 positions for 3 snapshots: each snapshot needs one position"));
  EXPECT_THAT(WhyRefused({1, 1024}, "1;2\n"), HasSubstr("points.csv: line 1"));
  EXPECT_THAT(WhyRefused({0, 1024}, ""), HasSubstr("has no snapshot"));
  EXPECT_THAT(WhyRefused({1, 1024}, "1,2\n", std::numeric_limits<float>::quiet_NaN()),
              HasSubstr("snapshot 0, feature 0 is not finite"));
}

}  // namespace
}  // namespace tributary::learner
