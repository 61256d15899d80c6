// deploy/examples/node*.toml and docs/configuration.md against what the node reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "node/config.h"
#include "tests/support/example_keys.h"
#include "tests/support/parse_config.h"

namespace tributary::node {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const std::string kExamples = TRIBUTARY_SOURCE_DIR "/deploy/examples/";

// An example with everything that it has commented out, and what the node asked it for.
struct Example {
  explicit Example(const std::string& name)
      : text(testing::Uncommented(testing::ReadExample(kExamples + name))),
        file(*config::ConfigFile::Parse(text, kExamples + name)) {
    ReadNodeConfig(file);
  }
  std::vector<config::ConfigKey> Keys(std::string_view prefix = "") const {
    std::vector<config::ConfigKey> keys = file.Keys();
    std::erase_if(keys, [prefix](const config::ConfigKey& key) { return !key.name.starts_with(prefix); });
    return keys;
  }

  std::string text;
  config::ConfigFile file;
};

// Those that panels of other workloads do not have, without their source's.
std::vector<config::ConfigKey> NetworkKeys(const Example& network) {
  std::vector<config::ConfigKey> keys = network.Keys("panel[].float_layers");
  const std::vector<config::ConfigKey> outputs = network.Keys("panel[].outputs.");
  keys.insert(keys.end(), outputs.begin(), outputs.end());
  return keys;
}

TEST(NodeExamplesTest, ShowEveryKeyWithItsDefaultAndNoOther) {
  const Example node("node.toml");
  EXPECT_TRUE(node.file.Finish().ok()) << node.file.Finish();
  EXPECT_THAT(testing::KeysShownWrongly(node.Keys(), node.text), IsEmpty());
  const Example ranges("node-ranges.toml");
  EXPECT_TRUE(ranges.file.Finish().ok()) << ranges.file.Finish();
  EXPECT_THAT(testing::KeysShownWrongly(ranges.Keys("panel[].source."), ranges.text), IsEmpty());
  const Example radio("node-radio.toml");
  EXPECT_TRUE(radio.file.Finish().ok()) << radio.file.Finish();
  EXPECT_THAT(testing::KeysShownWrongly(radio.Keys("panel[].source."), radio.text), IsEmpty());
  const Example network("node-network.toml");
  EXPECT_TRUE(network.file.Finish().ok()) << network.file.Finish();
  EXPECT_THAT(testing::KeysShownWrongly(network.Keys("panel[].source."), network.text), IsEmpty());
  for (const config::ConfigKey& key : NetworkKeys(network)) {
    EXPECT_NE(network.text.find("\n" + key.name.substr(key.name.rfind('.') + 1) + " = "), std::string::npos)
        << key.name;
  }
}

TEST(NodeExamplesTest, SayOfEachKeyWhatItsReaderSays) {
  const char* hint = "write them with TRIBUTARY_WRITE_DOCS=1";
  const Example node("node.toml"), ranges("node-ranges.toml"), radio("node-radio.toml");
  for (const config::ConfigKey& key : node.Keys()) EXPECT_NE(key.help, "") << key.name;
  for (const config::ConfigKey& key : ranges.Keys()) EXPECT_NE(key.help, "") << key.name;
  for (const config::ConfigKey& key : radio.Keys()) EXPECT_NE(key.help, "") << key.name;
  EXPECT_THAT(testing::WrongComments(kExamples + "node.toml", node.Keys()), IsEmpty()) << hint;
  EXPECT_THAT(testing::WrongComments(kExamples + "node-ranges.toml", ranges.Keys("panel[].source.")),
              IsEmpty())
      << hint;
  EXPECT_THAT(testing::WrongComments(kExamples + "node-radio.toml", radio.Keys("panel[].source.")), IsEmpty())
      << hint;
  EXPECT_THAT(testing::WrongComments(kExamples + "node-network.toml",
                                     Example("node-network.toml").Keys("panel[].source.")),
              IsEmpty())
      << hint;
}

// A kind or a choice that no example shows would hide its keys from the test above.
TEST(NodeExamplesTest, ShowEveryKindOfSourceAndAccelerator) {
  std::set<std::string> kinds, accelerators;
  for (const char* name : {"node.toml", "node-ranges.toml", "node-radio.toml", "node-network.toml"}) {
    const auto config = testing::ParseConfig(ReadNodeConfig, Example(name).text, kExamples + name);
    ASSERT_TRUE(config.ok()) << config.status();
    for (const panel::PanelConfig& panel : config->panels) {
      kinds.insert(std::to_string(panel.source.index()));
      accelerators.insert(panel.accelerator.xrt.has_value() ? "xrt" : "cpu");
    }
    if (std::string(name) == "node.toml") {
      EXPECT_TRUE(config->fusion && config->federation && config->tls);
    }
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<panel::SourceConfig>);
  EXPECT_THAT(accelerators, UnorderedElementsAre("cpu", "xrt"));
}

TEST(NodeExamplesTest, ThePageOfKeysIsCurrent) {
  const Example node("node.toml"), ranges("node-ranges.toml");
  std::vector<config::ConfigKey> keys = node.Keys();
  const std::string page = TRIBUTARY_SOURCE_DIR "/docs/configuration.md";
  const char* hint = "write it with TRIBUTARY_WRITE_DOCS=1";
  EXPECT_TRUE(testing::PageHolds(page, "node", testing::KeyTable(keys))) << hint;
  std::vector<config::ConfigKey> more = ranges.Keys("panel[].source.");
  std::erase_if(more, [](const config::ConfigKey& key) {
    return key.name.ends_with(".kind") || key.name.ends_with(".file");
  });
  EXPECT_TRUE(testing::PageHolds(page, "node ranges", testing::KeyTable(more))) << hint;
  std::vector<config::ConfigKey> bursts = Example("node-radio.toml").Keys("panel[].source.");
  std::erase_if(bursts, [](const config::ConfigKey& key) { return key.name.ends_with(".kind"); });
  EXPECT_TRUE(testing::PageHolds(page, "node radio", testing::KeyTable(bursts))) << hint;
  const std::vector<config::ConfigKey> of_networks = NetworkKeys(Example("node-network.toml"));
  EXPECT_TRUE(testing::PageHolds(page, "node network", testing::KeyTable(of_networks))) << hint;
  std::vector<config::ConfigKey> pictures = Example("node-network.toml").Keys("panel[].source.");
  std::erase_if(pictures, [](const config::ConfigKey& key) { return key.name.ends_with(".kind"); });
  EXPECT_TRUE(testing::PageHolds(page, "node images", testing::KeyTable(pictures))) << hint;
}

// The tests above can fail.
TEST(NodeExamplesTest, AMissingKeyAndAWrongDefaultAreFound) {
  const std::string text = "node = \"a\"\nsite = \"b\"  # required\n[uplink]\ndrain_s = 6.0\n";
  const auto file = *config::ConfigFile::Parse(text, "a.toml");
  ReadNodeConfig(file);
  const std::vector<std::string> wrong = testing::KeysShownWrongly(file.Keys(), text);
  EXPECT_EQ(std::ranges::count(wrong, "line 1: node = \"a\", default none: it is required"), 1);
  EXPECT_EQ(std::ranges::count(wrong, "line 4: uplink.drain_s = 6.0, default 5.0"), 1);
  EXPECT_EQ(std::ranges::count(wrong, "log_level is not shown; default \"info\""), 1);
}

}  // namespace
}  // namespace tributary::node
