// deploy/examples/aggregator.toml and docs/configuration.md against what the aggregator reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aggregator/config.h"
#include "tests/support/example_keys.h"

namespace tributary::aggregator {
namespace {

using ::testing::IsEmpty;

class AggregatorExampleTest : public ::testing::Test {
 protected:
  AggregatorExampleTest() : config_(ReadAggregatorConfig(file_)) {}

  const std::string path_ = TRIBUTARY_SOURCE_DIR "/deploy/examples/aggregator.toml";
  const std::string text_ = testing::Uncommented(testing::ReadExample(path_));
  const config::ConfigFile file_ = *config::ConfigFile::Parse(text_, path_);
  const AggregatorConfig config_;
};

TEST_F(AggregatorExampleTest, ShowsEveryKeyWithItsDefaultAndNoOther) {
  EXPECT_TRUE(file_.Finish().ok()) << file_.Finish();
  EXPECT_TRUE(config_.tls && config_.parent && config_.federation && config_.federation->parent &&
              config_.federation->evaluation);
  EXPECT_THAT(testing::KeysShownWrongly(file_.Keys(), text_), IsEmpty());
}

TEST_F(AggregatorExampleTest, SaysOfEachKeyWhatItsReaderSays) {
  for (const config::ConfigKey& key : file_.Keys()) EXPECT_NE(key.help, "") << key.name;
  EXPECT_THAT(testing::WrongComments(path_, file_.Keys()), IsEmpty())
      << "write them with TRIBUTARY_WRITE_DOCS=1";
}

TEST_F(AggregatorExampleTest, ThePageOfKeysIsCurrent) {
  EXPECT_TRUE(testing::PageHolds(TRIBUTARY_SOURCE_DIR "/docs/configuration.md", "aggregator",
                                 testing::KeyTable(file_.Keys())))
      << "write it with TRIBUTARY_WRITE_DOCS=1";
}

}  // namespace
}  // namespace tributary::aggregator
