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

}  // namespace
}  // namespace tributary::cli
