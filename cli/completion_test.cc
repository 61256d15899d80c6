#include "cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/commands.h"
#include "core/runtime/file.h"
#include "tests/support/own_folder.h"

namespace tributary::cli {
namespace {

using ::testing::HasSubstr;

struct BrewArguments {
  std::string kind = "ale", recipe, cellar, heat, note;
  double days = 14;
  bool dry = false;
};

absl::Status Brew(const BrewArguments&) { return absl::OkStatus(); }

// A program of one group, one command and `help`.
class CompletionTest : public ::testing::Test {
 protected:
  CompletionTest() {
    std::filesystem::create_directories(folder_);
    Commands beer = program_.Group("beer", "It's all about beer");
    auto [command, arguments] = beer.Add<BrewArguments>("brew", "Brew: what's in the \\recipe", Brew);
    command.Choice("--kind", arguments.kind, {{"ale", "ale"}, {"lager", "lager"}}, "Kind of beer");
    command.Text("recipe", arguments.recipe, "FILE", "Recipe to follow");
    command.Text("--cellar", arguments.cellar, "FOLDER", "Where to keep it");
    command.Text("--heat", arguments.heat, "max|K", "Heat");
    command.Number("--days", arguments.days, "N", "How long");
    command.Flag("--dry", arguments.dry, "Without sugar");
    beer.Add<BrewArguments>("bottle", "Fill bottles", Brew);
    AddHelpCommand(program_);
    AddCompletionCommand(program_);
  }
  ~CompletionTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) {
    EXPECT_TRUE(runtime::WriteFileAtomically(folder_ + name, text).ok());
    return folder_ + name;
  }
  std::string WriteScript(const std::string& shell) {
    ::testing::internal::CaptureStdout();
    app_.parse("completion " + shell);
    return Write("script", ::testing::internal::GetCapturedStdout());
  }
  static bool Installed(const std::string& shell) {
    return std::system(("command -v " + shell + " > /dev/null").c_str()) == 0;
  }
  int Check(const std::string& command, const std::string& shell) {
    return std::system((command + " '" + WriteScript(shell) + "'").c_str());
  }

  // What bash offers for the last of `words`, with "''" for an empty one. The program is a function that has
  // the answer to them.
  std::string Offered(const std::string& words) {
    std::vector<std::string> asked = absl::StrSplit(words, ' ');
    if (asked.back() == "''") asked.back().clear();
    const std::string expected = Write("words", absl::StrJoin(asked, "\n"));
    const std::string answer = Write("answer", Completions(app_, asked));
    const std::string line = Write(
        "line", "cd " + folder_ + "; source '" + WriteScript("bash") +
                    "'; tributary() { [[ $1 == __complete && $(printf '%s\n' \"${@:2}\") == $(< '" +
                    expected + "') ]] && cat '" + answer + "'; }; COMP_WORDS=(tributary " + words +
                    "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _tributary; echo -n \"${COMPREPLY[*]}\"");
    std::string offered;
    if (FILE* pipe = ::popen(("bash '" + line + "'").c_str(), "r")) {
      for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) offered += static_cast<char>(c);
      EXPECT_EQ(::pclose(pipe), 0) << words;
    }
    return offered;
  }

  const std::string folder_ = OwnFolder() + "completion_test/";
  CLI::App app_{"", "tributary"};
  int exit_code_ = 0;
  Commands program_{app_, exit_code_};
};

TEST_F(CompletionTest, BashCompletesCommandsAndOptions) {
  EXPECT_EQ(Offered("b"), "beer");
  EXPECT_EQ(Offered("beer ''"), "brew bottle");
  EXPECT_EQ(Offered("beer bo"), "bottle");
  EXPECT_EQ(Offered("beer brew --d"), "--days --dry");
  EXPECT_EQ(Offered("beer bottle ''"), "--help") << "nothing else can follow";
}

TEST_F(CompletionTest, BashCompletesTheWordsThatAnOptionKnows) {
  EXPECT_EQ(Offered("beer brew --kind ''"), "ale lager");
  EXPECT_EQ(Offered("beer brew --dry --kind la"), "lager");
  EXPECT_EQ(Offered("beer brew --kind = la"), "lager") << "as bash cuts --kind=la";
  EXPECT_EQ(Offered("beer brew --kind ="), "ale lager");
  EXPECT_EQ(Offered("beer brew --heat ''"), "max");
  EXPECT_EQ(Offered("beer brew --days ''"), "") << "any number";
}

TEST_F(CompletionTest, BashCompletesPathsWhereOneIsExpected) {
  EXPECT_EQ(Offered("beer brew scr"), "script");
  EXPECT_EQ(Offered("beer brew --cellar scr"), "") << "no folder";
  EXPECT_EQ(Offered("beer brew --heat scr"), "");
}

TEST_F(CompletionTest, BashCompletesTheCommandsThatHelpTakes) {
  EXPECT_EQ(Offered("help ''"), "beer help completion");
  EXPECT_EQ(Offered("help beer b"), "brew bottle");
}

TEST_F(CompletionTest, BashAcceptsItsScript) { EXPECT_EQ(Check("bash -n", "bash"), 0); }

TEST_F(CompletionTest, ZshAcceptsItsScript) {
  if (!Installed("zsh")) GTEST_SKIP() << "zsh is not installed";
  EXPECT_EQ(Check("zsh -n", "zsh"), 0);
}

TEST_F(CompletionTest, FishAcceptsItsScript) {
  if (!Installed("fish")) GTEST_SKIP() << "fish is not installed";
  EXPECT_EQ(Check("fish --no-execute", "fish"), 0);
}

// zsh and fish show them.
TEST_F(CompletionTest, DescribesCommandsAndOptions) {
  EXPECT_THAT(Completions(app_, {""}), HasSubstr("\nbeer\tIt's all about beer\n"));
  EXPECT_THAT(Completions(app_, {"beer", ""}), HasSubstr("\nbrew\tBrew: what's in the \\recipe\n"));
  EXPECT_THAT(Completions(app_, {"beer", "brew", "--"}), HasSubstr("\n--dry\tWithout sugar\n"));
}

// zsh and fish leave an option and its value in one word.
TEST_F(CompletionTest, CompletesAValueBehindItsOption) {
  EXPECT_EQ(Completions(app_, {"beer", "brew", "--kind=la"}), "\nale\nlager\n");
  EXPECT_EQ(Completions(app_, {"beer", "brew", "--cellar="}), "-d\n");
  EXPECT_EQ(Completions(app_, {"beer", "brew", "x"}), "-f\n");
}

}  // namespace
}  // namespace tributary::cli
