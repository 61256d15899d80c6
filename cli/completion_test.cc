#include "cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

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
  }
  ~CompletionTest() override { std::remove(script_.c_str()); }

  void Write(Shell shell) {
    ASSERT_TRUE(runtime::WriteFileAtomically(script_, CompletionScript(app_, shell)).ok());
  }
  static bool Installed(const std::string& shell) {
    return std::system(("command -v " + shell + " > /dev/null").c_str()) == 0;
  }
  int Check(const std::string& command) { return std::system((command + " '" + script_ + "'").c_str()); }

  // What bash offers for the last of `words`, which are quoted for it.
  std::string Offered(const std::string& words) {
    Write(Shell::kBash);
    const std::string line =
        "cd " + OwnFolder() + "; source '" + script_ + "'; COMP_WORDS=(tributary " + words +
        "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _tributary; echo -n \"${COMPREPLY[*]}\"";
    EXPECT_TRUE(runtime::WriteFileAtomically(line_, line).ok());
    std::string offered;
    if (FILE* pipe = ::popen(("bash '" + line_ + "'").c_str(), "r")) {
      for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) offered += static_cast<char>(c);
      EXPECT_EQ(::pclose(pipe), 0) << words;
    }
    std::remove(line_.c_str());
    return offered;
  }

  const std::string script_ = OwnFolder() + "completion_test.script";
  const std::string line_ = OwnFolder() + "line.bash";
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
  EXPECT_EQ(Offered("beer brew completion_test.s"), "completion_test.script");
  EXPECT_EQ(Offered("beer brew --cellar completion_test.s"), "") << "no folder";
  EXPECT_EQ(Offered("beer brew --heat completion_test.s"), "");
}

TEST_F(CompletionTest, BashCompletesTheCommandsThatHelpTakes) {
  EXPECT_EQ(Offered("help ''"), "beer help");
  EXPECT_EQ(Offered("help beer b"), "brew bottle");
}

TEST_F(CompletionTest, BashAcceptsItsScript) {
  Write(Shell::kBash);
  EXPECT_EQ(Check("bash -n"), 0);
}

TEST_F(CompletionTest, ZshAcceptsItsScript) {
  if (!Installed("zsh")) GTEST_SKIP() << "zsh is not installed";
  Write(Shell::kZsh);
  EXPECT_EQ(Check("zsh -n"), 0);
}

TEST_F(CompletionTest, FishAcceptsItsScript) {
  if (!Installed("fish")) GTEST_SKIP() << "fish is not installed";
  Write(Shell::kFish);
  EXPECT_EQ(Check("fish --no-execute"), 0);
}

TEST_F(CompletionTest, ZshAndFishKnowTheSameCommandsWordsAndPaths) {
  const std::string zsh = CompletionScript(app_, Shell::kZsh);
  EXPECT_THAT(zsh, HasSubstr("commands=('beer:It'\\''s all about beer'"));
  EXPECT_THAT(zsh, HasSubstr("('tributary beer brew --kind') compadd -- ale lager; return ;;"));
  EXPECT_THAT(zsh, HasSubstr("('tributary beer brew --cellar') _files -/; return ;;"));
  const std::string fish = CompletionScript(app_, Shell::kFish);
  const std::string brew = "-n '__tributary_at \\'tributary beer brew\\'' ";
  EXPECT_THAT(
      fish,
      HasSubstr("-n '__tributary_at \\'tributary beer\\'' -a brew -d 'Brew: what\\'s in the \\\\recipe'"));
  EXPECT_THAT(fish, HasSubstr(brew + "-l kind -x -a 'ale lager' -d 'Kind of beer'"));
  EXPECT_THAT(fish, HasSubstr(brew + "-l dry -d"));
  EXPECT_THAT(fish, HasSubstr(brew + "-F\n"));
}

}  // namespace
}  // namespace tributary::cli
