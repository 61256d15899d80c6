#include "cli/token/token_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "cli/failure.h"
#include "core/runtime/file.h"
#include "core/runtime/process.h"
#include "tests/support/own_folder.h"

namespace tributary::cli {
namespace {

TEST(TokenLifetimeTest, IsHoursOrDaysUpToAYear) {
  EXPECT_EQ(*ParseLifetime("12h"), 12 * 3'600);
  EXPECT_EQ(*ParseLifetime("366d"), 366 * 86'400);
  EXPECT_EQ(*ParseLifetime("8784h"), 366 * 86'400);
  for (const char* text :
       {"", "d", "0d", "-1d", "367d", "8785h", "30", "1w", "9999999999999999999d", "1.5d"}) {
    EXPECT_FALSE(ParseLifetime(text).ok()) << text;
  }
}

class TokenFileTest : public ::testing::Test {
 protected:
  ~TokenFileTest() override { std::filesystem::remove(path_); }

  absl::Status AddToken(const std::string& name) const {
    const auto token = config::MakeToken(name, config::TokenRole::kViewer, 1, 2);
    return ChangeTokens(path_, [&](config::TokenSet& tokens) { return tokens.Add(token->record); });
  }
  mode_t Mode() const {
    struct stat facts {};
    stat(path_.c_str(), &facts);
    return facts.st_mode & 0777;
  }

  const std::string path_ = OwnFolder() + "tokens.toml";
};

TEST_F(TokenFileTest, IsReadableByItsOwnerOnlyUntilItsModeIsChanged) {
  ASSERT_TRUE(AddToken("a").ok());
  EXPECT_EQ(Mode(), 0600u);
  ASSERT_EQ(chmod(path_.c_str(), 0640), 0);
  ASSERT_TRUE(AddToken("b").ok());
  EXPECT_EQ(Mode(), 0640u);
}

TEST_F(TokenFileTest, BelongsToTheOwnerOfItsFolderWhoeverMakesIt) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give files away";
  const std::string folder = OwnFolder() + "state";
  std::filesystem::create_directory(folder);
  ASSERT_EQ(chown(folder.c_str(), 12'345, 12'345), 0);
  const auto token = config::MakeToken("a", config::TokenRole::kViewer, 1, 2);
  const std::string path = folder + "/tokens.toml";
  ASSERT_TRUE(ChangeTokens(path, [&](config::TokenSet& tokens) { return tokens.Add(token->record); }).ok());
  struct stat facts {};
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, 12'345u) << "or the aggregator could not read it";
  ASSERT_EQ(stat((path + ".lock").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, 12'345u) << "or nobody but root could change it again";
  std::filesystem::remove_all(folder);
}

// Whoever has the daemon's account could lead root anywhere.
TEST(LinkedTokenFileTest, IsRefusedAndSoIsItsLock) {
  const std::string path = OwnFolder() + "linked.toml", target = OwnFolder() + "target";
  const auto change = [&] { return ChangeTokens(path, [](config::TokenSet&) { return absl::OkStatus(); }); };
  std::ofstream(target) << "# of root\n";
  std::filesystem::create_symlink(target, path);
  EXPECT_TRUE(absl::IsFailedPrecondition(change()));
  EXPECT_EQ(ExitCode(change()), runtime::kExitCantCreate);
  std::filesystem::remove(path);
  std::filesystem::create_symlink(target, path + ".lock");
  EXPECT_TRUE(absl::IsFailedPrecondition(change()));
  EXPECT_EQ(*runtime::ReadFile(target), "# of root\n");
}

TEST_F(TokenFileTest, IsNoDevice) {
  const absl::Status refused = ChangeTokens("/dev/full", [](config::TokenSet&) { return absl::OkStatus(); });
  EXPECT_EQ(ExitCode(refused), runtime::kExitCantCreate);
  EXPECT_EQ(refused.message(), "/dev/full: is a pipe or a device, expected a file");
}

TEST_F(TokenFileTest, WritesNothingIfTheChangeIsRefused) {
  ASSERT_TRUE(AddToken("a").ok());
  EXPECT_TRUE(absl::IsAlreadyExists(AddToken("a")));
  EXPECT_EQ(config::TokenSet::Read(path_)->tokens().size(), 1u);
}

// Two operators at once.
TEST_F(TokenFileTest, KeepsEveryTokenThatIsMadeAtTheSameTime) {
  constexpr int kEach = 25;
  std::vector<std::jthread> operators;
  for (const char* who : {"anna", "ben"}) {
    operators.emplace_back([this, who] {
      for (int i = 0; i < kEach; ++i) EXPECT_TRUE(AddToken(who + std::to_string(i)).ok());
    });
  }
  operators.clear();
  EXPECT_EQ(config::TokenSet::Read(path_)->tokens().size(), 2u * kEach);
}

}  // namespace
}  // namespace tributary::cli
