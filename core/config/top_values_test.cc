#include "core/config/top_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/config/config.h"

namespace tributary::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Read {
  std::string name, kind;
  std::int64_t rounds = 0;
  std::vector<std::string> nodes;
};

Read ReadAll(std::string_view text) {
  const absl::StatusOr<ConfigFile> file = ConfigFile::Parse(text, "again.toml");
  EXPECT_TRUE(file.ok()) << file.status();
  Read read;
  file->Root().Read("name", read.name);
  file->Root().Read("rounds", read.rounds);
  file->Root().Read("nodes", read.nodes);
  file->Root().Section("strategy").Read("kind", read.kind);
  EXPECT_TRUE(file->Finish().ok()) << file->Finish();
  return read;
}

TEST(TopValuesTest, ReplacesAndAddsAndKeepsTheRest) {
  const auto text =
      WithTopValues("# first\nname = \"a\"\nrounds = 4\n[strategy]\nkind = \"fedavg\"\n", "run.toml",
                    {{"name", "a-1"}, {"nodes", std::vector<std::string>{"x\"y", "é"}}});
  ASSERT_TRUE(text.ok()) << text.status();
  const Read read = ReadAll(*text);
  EXPECT_EQ(read.name, "a-1");
  EXPECT_EQ(read.rounds, 4);
  EXPECT_EQ(read.kind, "fedavg");
  EXPECT_THAT(read.nodes, ElementsAre("x\"y", "é"));
}

TEST(TopValuesTest, GivesTheSameTextForTheSameInput) {
  const auto once = WithTopValues("name = \"a\"\n", "run.toml", {{"rounds", std::int64_t{3}}});
  EXPECT_EQ(*once, *WithTopValues("name = \"a\"\n", "run.toml", {{"rounds", std::int64_t{3}}}));
}

TEST(TopValuesTest, RefusesWhatIsNotToml) {
  EXPECT_THAT(std::string(WithTopValues("name = ", "run.toml", {}).status().message()),
              HasSubstr("run.toml:1"));
  const std::string deep = "a = " + std::string(50'000, '[');
  EXPECT_FALSE(WithTopValues(deep, "run.toml", {}).ok());
}

}  // namespace
}  // namespace tributary::config
