#include "core/config/access_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/support/own_folder.h"

namespace tributary::config {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

NewToken Made(const std::string& name, TokenRole role = TokenRole::kViewer) {
  return MakeToken(name, role, 1'000, 2'000).value();
}

TEST(AccessTokenTest, KeepsTheHashAndNotTheToken) {
  const NewToken token = Made("wall");
  TokenSet set;
  ASSERT_TRUE(set.Add(token.record).ok());
  EXPECT_THAT(set.Text(), Not(HasSubstr(token.text.substr(token.text.rfind('_') + 1))));
  EXPECT_EQ(token.text.size(), 10 + 8 + 1 + 64u);
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
      << "the example of FIPS 180-2";
}

TEST(AccessTokenTest, NeverMakesTheSameTwice) {
  std::set<std::string> texts;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(texts.insert(Made("a").text).second);
}

TEST(AccessTokenTest, ReadsWhatItWrites) {
  TokenSet set;
  ASSERT_TRUE(set.Add(Made("wall").record).ok());
  ASSERT_TRUE(set.Add(Made("the \"north\" \\ laptop", TokenRole::kOperator).record).ok());
  AccessToken join = Made("new boards", TokenRole::kJoin).record;
  join.boards = {"east", "west"};
  ASSERT_TRUE(set.Add(join).ok());
  const auto read = TokenSet::Parse(set.Text(), "tokens.toml");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->tokens(), set.tokens());
}

TEST(AccessTokenTest, OnlyATokenThatLetsBoardsJoinHasBoardsAndEachOnce) {
  const auto fault = [](TokenRole role, const std::vector<std::string>& boards) {
    TokenSet set;
    AccessToken token = Made("new", role).record;
    token.boards = boards;
    EXPECT_TRUE(set.Add(token).ok());
    return std::string(TokenSet::Parse(set.Text(), "tokens.toml").status().message());
  };
  EXPECT_EQ(fault(TokenRole::kJoin, {"east"}), "");
  EXPECT_THAT(fault(TokenRole::kJoin, {}), HasSubstr("is required with the role join"));
  EXPECT_THAT(fault(TokenRole::kOperator, {"east"}), HasSubstr("goes with the role join only"));
  EXPECT_THAT(fault(TokenRole::kJoin, {"east", "east"}), HasSubstr("each once"));
  EXPECT_THAT(fault(TokenRole::kJoin, {""}), HasSubstr("each once"));
  EXPECT_THAT(fault(TokenRole::kJoin, std::vector<std::string>(1'001, "east")), HasSubstr("more than 1000"));
}

TEST(AccessTokenTest, FindsATokenByItsWholeTextOnly) {
  const NewToken token = Made("wall"), other = Made("door");
  TokenSet set;
  ASSERT_TRUE(set.Add(token.record).ok());
  ASSERT_NE(set.Find(token.text), nullptr);
  EXPECT_EQ(set.Find(token.text)->name, "wall");
  std::string changed = token.text;
  changed.back() = changed.back() == 'a' ? 'b' : 'a';
  for (const std::string& wrong :
       {changed, token.text + "0", token.text.substr(0, 82), other.text, token.record.sha256, token.record.id,
        std::string("tributary_"), std::string(), std::string("\0tributary_", 11)}) {
    EXPECT_EQ(set.Find(wrong), nullptr) << wrong;
  }
}

TEST(AccessTokenTest, RevokesByNameOrIdAndRefusesASecondOfAName) {
  TokenSet set;
  const NewToken wall = Made("wall"), door = Made("door");
  ASSERT_TRUE(set.Add(wall.record).ok());
  ASSERT_TRUE(set.Add(door.record).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(set.Add(Made("wall").record)));
  EXPECT_EQ(set.Remove("wall")->id, wall.record.id);
  EXPECT_EQ(set.Remove(door.record.id)->name, "door");
  EXPECT_TRUE(absl::IsNotFound(set.Remove("door").status()));
  EXPECT_EQ(set.Find(wall.text), nullptr);
}

TEST(AccessTokenTest, SaysEveryFaultWithItsLine) {
  const auto read = TokenSet::Parse(
      "[[token]]\nid = \"XYZ\"\nname = \"a\"\nrole = \"king\"\nsha256 = \"00\"\n[[token]]\nname = \"a\"\n",
      "tokens.toml");
  ASSERT_FALSE(read.ok());
  const std::string fault(read.status().message());
  for (const char* part : {"tokens.toml:2", "8 hexadecimal", "king", "64 hexadecimal", "two tokens"}) {
    EXPECT_THAT(fault, HasSubstr(part));
  }
}

TEST(AccessTokenTest, TakesNoFileForNoTokensAndRefusesOneThatAnybodyMayWrite) {
  const std::string path = OwnFolder() + "tokens.toml";
  std::filesystem::remove(path);
  EXPECT_TRUE(TokenSet::Read(path)->tokens().empty());
  TokenSet set;
  ASSERT_TRUE(set.Add(Made("wall").record).ok());
  std::ofstream(path) << set.Text();
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_EQ(TokenSet::Read(path)->tokens().size(), 1u);
  ASSERT_EQ(chmod(path.c_str(), 0606), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(TokenSet::Read(path).status()));
  std::filesystem::remove(path);
}

TEST(AccessTokenTest, RefusesAFileThatAnybodyCouldReplace) {
  const std::string folder = OwnFolder() + "tokens";
  std::filesystem::create_directory(folder);
  const std::string path = folder + "/tokens.toml";
  ASSERT_EQ(chmod(folder.c_str(), 0777), 0);
  EXPECT_THAT(std::string(TokenSet::Read(path).status().message()), HasSubstr("write to its folder"));
  ASSERT_EQ(chmod(folder.c_str(), 01777), 0);
  EXPECT_TRUE(TokenSet::Read(path).ok()) << "nobody but its owner replaces it";
  std::filesystem::remove_all(folder);
}

TEST(AccessTokenTest, RefusesAFileOfAnotherUserUnlessTheFolderIsThatUsersToo) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give files away";
  constexpr uid_t kOther = 12'345;
  const std::string folder = OwnFolder() + "tokens";
  std::filesystem::create_directory(folder);
  const std::string path = folder + "/tokens.toml";
  std::ofstream(path) << TokenSet().Text();
  ASSERT_EQ(chown(path.c_str(), kOther, kOther), 0);
  const absl::Status refused = TokenSet::Read(path).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("belongs to the user with the id 12345"));
  ASSERT_EQ(chown(folder.c_str(), kOther, kOther), 0);
  EXPECT_TRUE(TokenSet::Read(path).ok());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tributary::config
