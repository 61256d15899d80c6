#include "core/runtime/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tributary::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// `arguments` in reverse, as CLI11 takes them.
std::string FaultOf(std::vector<std::string> arguments) {
  CLI::App app("", "tributary");
  app.require_subcommand(1);
  CLI::App* run = app.add_subcommand("run")->require_subcommand(1);
  std::string name;
  int after = 0;
  for (const char* command : {"start", "show"}) {
    CLI::App* added = run->add_subcommand(command);
    if (added->get_name() == "start") {
      added->add_option("config", name, "Configuration of the run")->required()->type_name("FILE");
    } else {
      added->add_option("name", name)->required();
    }
    added->add_option("--after", after);
    added->add_flag("--json")->disable_flag_override();
  }
  app.add_subcommand("status");
  try {
    app.parse(arguments);
  } catch (const CLI::Error& error) {
    return CommandLineFault(&app, error);
  }
  return "";
}

TEST(CommandLineTest, NamesTheCommandsWhereOneIsUnknown) {
  EXPECT_EQ(
      FaultOf({"letters", "foo", "run"}),
      "tributary run: \"foo\" is not a command; there are start, show\n`tributary run --help` says more.\n");
  EXPECT_THAT(FaultOf({"foo"}), StartsWith("tributary: \"foo\" is not a command; there are run, status\n"));
}

TEST(CommandLineTest, NamesTheCommandsWhereOneIsMissing) {
  EXPECT_THAT(FaultOf({"run"}), StartsWith("tributary run: a command is missing; there are start, show\n"));
  EXPECT_THAT(FaultOf({}), StartsWith("tributary: a command is missing"));
}

TEST(CommandLineTest, SaysOfWhichCommandAnArgumentIsMissingOrWrong) {
  EXPECT_EQ(FaultOf({"show", "run"}),
            "tributary run show: name is required\n`tributary run show --help` says more.\n");
  EXPECT_THAT(FaultOf({"start", "run"}),
              StartsWith("tributary run start: config is required: FILE, Configuration of the run\n"));
  EXPECT_THAT(FaultOf({"x", "--after", "letters", "show", "run"}), StartsWith("tributary run show: "));
  EXPECT_THAT(FaultOf({"--nope", "status"}), HasSubstr("\"--nope\" is not an option\n"));
  EXPECT_THAT(FaultOf({"letters", "status"}), HasSubstr("unexpected argument \"letters\"\n"));
}

TEST(CommandLineTest, AsksWhatAMistypedCommandWasMeantToBe) {
  EXPECT_THAT(FaultOf({"statsu"}),
              StartsWith("tributary: \"statsu\" is not a command; did you mean status?\n"));
  EXPECT_THAT(FaultOf({"letters", "strat", "run"}),
              StartsWith("tributary run: \"strat\" is not a command; did you mean start?\n"));
  EXPECT_THAT(FaultOf({"letters", "show"}),
              StartsWith("tributary: \"show\" is not a command; did you mean run show?\n"));
}

TEST(CommandLineTest, AsksWhatAMistypedOptionWasMeantToBe) {
  EXPECT_THAT(FaultOf({"3", "--atfer", "letters", "show", "run"}),
              StartsWith("tributary run show: \"--atfer\" is not an option; did you mean --after?\n"));
  EXPECT_THAT(FaultOf({"--aftr=3", "letters", "show", "run"}),
              HasSubstr("\"--aftr\" is not an option; did you mean"));
  EXPECT_THAT(FaultOf({"--hlep"}),
              StartsWith("tributary: \"--hlep\" is not an option; did you mean --help?\n"));
}

TEST(CommandLineTest, SaysHowOftenAnOptionIsGivenAndWhetherItTakesAValue) {
  EXPECT_THAT(FaultOf({"--after", "letters", "show", "run"}),
              StartsWith("tributary run show: --after needs a value\n"));
  EXPECT_THAT(FaultOf({"2", "--after", "1", "--after", "letters", "show", "run"}),
              StartsWith("tributary run show: --after may be given only once\n"));
  EXPECT_THAT(FaultOf({"--json=yes", "letters", "show", "run"}),
              StartsWith("tributary run show: --json takes no value\n"));
}

TEST(CommandLineTest, FindsACommandByItsWords) {
  CLI::App app("", "tributary");
  const CLI::App* start = app.add_subcommand("run")->add_subcommand("start");
  const auto find = [&app](const std::vector<std::string>& words) { return FindCommand(app, words); };
  EXPECT_EQ(*find({}), &app);
  EXPECT_EQ(*find({"run", "start"}), start);
  EXPECT_EQ(CommandPath(**find({"run", "start"})), "tributary run start");
  EXPECT_EQ(find({"run", "strat"}).status().message(), "\"strat\" is not a command; did you mean start?");
  EXPECT_EQ(find({"run", "start", "now"}).status().message(), "\"tributary run start\" has no commands");
}

TEST(CommandLineTest, EscapesWhatATerminalWouldObey) {
  EXPECT_THAT(FaultOf({"sta\x1b[31mtus"}), StartsWith("tributary: \"sta\\x1b[31mtus\" is not a command"));
  EXPECT_THAT(FaultOf({"--a\x1b[31m", "status"}), HasSubstr("\"--a\\x1b[31m\" is not an option"));
}

}  // namespace
}  // namespace tributary::runtime
