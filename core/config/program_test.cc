#include "core/config/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tributary::config {
namespace {

using ::testing::HasSubstr;

constexpr const char* kNode = "node = \"south\"\nsite = \"lab\"\n[[panel]]\nname = \"p\"\n";
constexpr const char* kAggregator = "listen = \"127.0.0.1:7400\"\n[[site]]\nname = \"lab\"\n";
constexpr const char* kRun = "name = \"letters\"\nrounds = 3\n[client]\nbatch = 4\n";

std::string Said(const char* text, Program reader) {
  return std::string(CheckProgram(*ConfigFile::Parse(text, "a.toml"), reader).message());
}

TEST(ProgramTest, TakesTheReadersOwnFiles) {
  EXPECT_EQ(Said(kNode, Program::kNode), "");
  EXPECT_EQ(Said(kAggregator, Program::kAggregator), "");
  EXPECT_EQ(Said(kRun, Program::kRun), "");
}

TEST(ProgramTest, SaysForWhichProgramAFileIs) {
  EXPECT_EQ(Said(kAggregator, Program::kNode),
            "a.toml: is a configuration for tributary-aggregator, not for tributary-node");
  EXPECT_THAT(Said(kNode, Program::kRun), HasSubstr("for tributary-node, not for tributary run start"));
  EXPECT_THAT(Said(kRun, Program::kAggregator), HasSubstr("for tributary run start"));
}

TEST(ProgramTest, LeavesAFileThatIsOnlyFaultyToItsReader) {
  EXPECT_EQ(Said("node = \"south\"\nlisten = \"127.0.0.1:7481\"\n", Program::kNode), "");
  EXPECT_EQ(Said("lissten = 1\n", Program::kAggregator), "");
  EXPECT_EQ(Said("", Program::kNode), "");
  EXPECT_EQ(Said("[federation]\nstore = \"s\"\n", Program::kNode), "") << "both daemons have it";
}

TEST(ProgramTest, ANodesSiteIsNotTakenForAnAggregators) {
  EXPECT_THAT(Said(kNode, Program::kAggregator), HasSubstr("for tributary-node"));
  EXPECT_THAT(Said("[[site]]\nname = \"lab\"\n", Program::kNode), HasSubstr("for tributary-aggregator"));
}

}  // namespace
}  // namespace tributary::config
