#include "node/learner/federation_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "node/config.h"
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

}  // namespace
}  // namespace tributary::learner
