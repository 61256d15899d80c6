#include "core/config/nesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/config/config.h"

namespace tributary::config {
namespace {

using ::testing::HasSubstr;

std::string Repeat(std::string_view text, std::size_t count) {
  std::string repeated;
  for (std::size_t i = 0; i < count; ++i) repeated += text;
  return repeated;
}

std::string Refusal(const std::string& text) {
  return std::string(ConfigFile::Parse(text, "run.toml").status().message());
}

TEST(NestingTest, RefusesAKeyOfThirtyTwoThousandParts) {
  EXPECT_THAT(Refusal("a = 1\n" + Repeat("b.", 32'000) + "c = 1\n"),
              HasSubstr("run.toml:2: a key has too many parts"));
  EXPECT_THAT(Refusal("[" + Repeat("b . ", 32'000) + "c]\n"), HasSubstr("too many parts"));
  EXPECT_THAT(Refusal(Repeat("\"b\".", 32'000) + "c = 1\n"), HasSubstr("too many parts"));
  EXPECT_THAT(Refusal("a = {" + Repeat("b.", 32'000) + "c = 1}\n"), HasSubstr("too many parts"));
}

TEST(NestingTest, RefusesArraysAndTablesSixtyThousandDeep) {
  for (const char* opening : {"[", "{a = ", "[{a = ", "[\n", "[ # ]\n", "[\"]\", ", "[''']\n''', "}) {
    EXPECT_THAT(Refusal("a = " + Repeat(opening, 60'000)), HasSubstr("nest too deep")) << opening;
  }
}

TEST(NestingTest, RefusesATextBeyondAMebibyte) {
  EXPECT_THAT(Refusal("#" + std::string(kMaxTextBytes, ' ')), HasSubstr("1048577 bytes, at most 1048576"));
}

TEST(NestingTest, CountsNothingInStringsAndComments) {
  const std::string brackets = Repeat("[", 100) + Repeat("a.", 100);
  EXPECT_EQ(Refusal("a = \"" + brackets + "\"\nb = '" + brackets + "' # " + brackets + "\nc = \"\"\"\n" +
                    brackets + "\\\"\"\"\"\nd = '''\n" + brackets + "'''\n"),
            "");
}

TEST(NestingTest, AllowsWhatIsClosedAgain) {
  EXPECT_EQ(Refusal("a = [" + Repeat("[[1.5]], {b.c.d = 2.5}, ", 2'000) + "]\n"), "");
  EXPECT_EQ(Refusal("a = " + Repeat("[", kMaxNesting) + Repeat("]", kMaxNesting) + "\n"), "");
  EXPECT_EQ(Refusal(Repeat("b.", kMaxNesting - 1) + "c = 1\n"), "");
}

}  // namespace
}  // namespace tributary::config
