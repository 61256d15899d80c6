#include "cli/owned_output.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/own_folder.h"

namespace tributary::cli {
namespace {

TEST(OwnedOutputTest, AFolderAndAllInItBelongToTheOwnerOfTheFolderAbove) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give files away";
  const std::string above = OwnFolder() + "daemons";
  std::filesystem::create_directories(above + "/store/models");
  std::ofstream(above + "/store/models/1") << "model";
  ASSERT_EQ(chown(above.c_str(), 12'345, 12'345), 0);
  ASSERT_TRUE(GiveTreeToFolderOwner(above + "/store/").ok());
  for (const char* path : {"/store", "/store/models", "/store/models/1"}) {
    struct stat facts {};
    ASSERT_EQ(stat((above + path).c_str(), &facts), 0);
    EXPECT_EQ(facts.st_uid, 12'345u) << path;
  }
  std::filesystem::remove_all(above);
}

TEST(OwnedOutputTest, GivesNothingAwayThatIsALinkOrHasAnotherName) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give files away";
  const std::string above = OwnFolder() + "daemons", secret = OwnFolder() + "secret";
  std::filesystem::create_directories(above);
  ASSERT_EQ(chown(above.c_str(), 12'345, 12'345), 0);
  std::ofstream(secret) << "of root";
  std::filesystem::create_symlink(secret, above + "/link");
  std::filesystem::create_hard_link(secret, above + "/name");
  std::filesystem::create_directory_symlink(OwnFolder(), above + "/store");
  for (const char* path : {"/link", "/name"}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(GiveToFolderOwner(above + path))) << path;
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(GiveTreeToFolderOwner(above + "/store")));
  struct stat facts {};
  ASSERT_EQ(stat(secret.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, 0u);
  std::filesystem::remove_all(above);
  std::filesystem::remove(secret);
}

}  // namespace
}  // namespace tributary::cli
