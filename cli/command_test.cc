#include "cli/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/failure.h"
#include "core/runtime/command_line.h"

namespace tributary::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

enum class Metal { kIron, kLead };

struct SmeltArguments {
  Metal metal = Metal::kLead;
  std::string fuel = "coal";
  std::string name;
  std::uint32_t crucibles = 4;
  std::uint64_t seed = 1;
  double heat_k = 1800;
  int exit_code = 0;
};

SmeltArguments smelted;

absl::Status Smelt(const SmeltArguments& arguments) {
  smelted = arguments;
  if (arguments.exit_code > 0) return AlreadyReported(arguments.exit_code);
  return arguments.name == "cold" ? absl::UnavailableError("the furnace is out") : absl::OkStatus();
}

// A program with one command in a group.
class CommandDeclarationTest : public ::testing::Test {
 protected:
  CommandDeclarationTest() {
    Commands group = program_.Group("metal", "Work with metal");
    auto [command, arguments] = group.Add<SmeltArguments>("smelt", "Smelt a metal", Smelt);
    command.Choice("--metal", arguments.metal, {{"iron", Metal::kIron}, {"lead", Metal::kLead}},
                   "What to smelt");
    command.Choice("--fuel", arguments.fuel, {{"coal", "coal"}, {"coke", "coke"}, {"gas", "gas"}},
                   "What to burn");
    command.Text("name,--name", arguments.name, "NAME", "What to call it");
    command.Number("--crucibles", arguments.crucibles, "N", "How many crucibles", {1, 64});
    command.Number("--seed", arguments.seed, "N", "Seed of the draw");
    command.Number("--heat", arguments.heat_k, "K", "Heat");
    command.Number("--exit-code", arguments.exit_code, "N", "How it ends");
    command.Examples("Example:\n  forge metal smelt --metal iron");
  }

  // What is wrong with `forge metal smelt ARGUMENTS`; empty if it ran.
  std::string FaultOf(const std::string& arguments) {
    try {
      app_.parse("metal smelt " + arguments);
    } catch (const CLI::ParseError& error) {
      return runtime::CommandLineFault(&app_, error);
    }
    return "";
  }

  CLI::App app_{"", "forge"};
  int exit_code_ = -1;
  Commands program_{app_, exit_code_};
};

TEST_F(CommandDeclarationTest, GivesTheActionWhatItsOptionsSay) {
  EXPECT_EQ(FaultOf("ingot --metal iron --fuel gas --crucibles 64 --seed 18446744073709551615 --heat 1e3"),
            "");
  EXPECT_EQ(exit_code_, 0);
  EXPECT_EQ(smelted.metal, Metal::kIron);
  EXPECT_EQ(smelted.fuel, "gas");
  EXPECT_EQ(smelted.name, "ingot");
  EXPECT_EQ(smelted.crucibles, 64u);
  EXPECT_EQ(smelted.seed, 18446744073709551615u);
  EXPECT_EQ(smelted.heat_k, 1000);
}

TEST_F(CommandDeclarationTest, EndsWithTheExitCodeAndTheErrorLineOfTheActionsStatus) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(FaultOf("cold"), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "forge metal smelt: the furnace is out\n");
  EXPECT_EQ(exit_code_, 69);
}

TEST_F(CommandDeclarationTest, SaysNothingMoreWhereTheActionHasSaidAll) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(FaultOf("--exit-code 65"), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(exit_code_, 65);
}

TEST_F(CommandDeclarationTest, ListsTheWordsThatAnOptionKnows) {
  EXPECT_THAT(FaultOf("--metal gold"),
              StartsWith("forge metal smelt: --metal: \"gold\" is not known; use iron or lead\n"));
  EXPECT_THAT(FaultOf("--fuel wood"), HasSubstr("--fuel: \"wood\" is not known; use coal, coke or gas\n"));
}

TEST_F(CommandDeclarationTest, SaysWhichNumbersAreAllowedAndWhatWasFound) {
  const std::string crucibles = "is not allowed; use a whole number from 1 to 64\n";
  for (const char* text : {"0", "65", "-1", "1.5", "many", "4294967297"}) {
    EXPECT_THAT(FaultOf(std::string("--crucibles=") + text),
                HasSubstr("smelt: --crucibles: \"" + std::string(text) + "\" " + crucibles));
  }
  for (const char* text : {"-1", "inf", "nan", "hot"}) {
    EXPECT_THAT(
        FaultOf(std::string("--heat=") + text),
        HasSubstr("--heat: \"" + std::string(text) + "\" is not allowed; use a number of at least 0\n"));
  }
  EXPECT_THAT(FaultOf("--seed=-1"), HasSubstr("use a whole number from 0 to 18446744073709551615\n"));
}

// `--fuel $FUEL --metal iron`, where the variable is empty.
TEST_F(CommandDeclarationTest, AnotherOptionIsNoValue) {
  EXPECT_THAT(FaultOf("--fuel --metal iron"), HasSubstr("--fuel: needs a value, and --metal is an option\n"));
  EXPECT_THAT(FaultOf("--name --metal iron"), HasSubstr("--name: needs a value, and --metal is an option\n"));
  EXPECT_EQ(FaultOf("--name --silver"), "") << "no option of this command";
}

TEST_F(CommandDeclarationTest, SaysThatAnArgumentWasGivenAsAnOptionToo) {
  EXPECT_THAT(FaultOf("ingot --name bar"),
              HasSubstr("--name is given twice: as an argument and as an option\n"));
}

TEST_F(CommandDeclarationTest, HelpShowsWordsUnitsDefaultsAndExamples) {
  const std::string help = (*runtime::FindCommand(app_, std::vector<std::string>{"metal", "smelt"}))->help();
  for (const char* said : {"--metal iron|lead=lead", "--crucibles N=4", "--heat K=1800", "Smelt a metal",
                           "Example:\n  forge metal smelt --metal iron"}) {
    EXPECT_THAT(help, HasSubstr(said));
  }
  EXPECT_THAT(app_.get_subcommand("metal")->help(),
              HasSubstr("`forge metal COMMAND --help` says more, with examples."));
}

class SlotOptionTest : public ::testing::Test {
 protected:
  SlotOptionTest() { Command(app_, exit_code_).SlotLength(slot_); }

  int exit_code_ = 0;
  CLI::App app_;
  estimate::SlotLength slot_;
};

TEST_F(SlotOptionTest, IsThePilotSlotUnlessGiven) {
  app_.parse("", false);
  EXPECT_EQ(slot_, estimate::SlotLength());
}

TEST_F(SlotOptionTest, TakesALengthInMilliseconds) {
  app_.parse("--slot-ms 16.666667", false);
  EXPECT_EQ(slot_.ns(), 16'666'667);
}

TEST_F(SlotOptionTest, RefusesWhatNoSiteCanHave) {
  for (const char* text : {"0", "-1", "0.009", "nan", "inf", "10ms", "4000000"}) {
    EXPECT_THROW(app_.parse(std::string("--slot-ms=") + text, false), CLI::ValidationError) << text;
  }
}

}  // namespace
}  // namespace tributary::cli
