#include "core/runtime/new_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/own_folder.h"

namespace tributary::runtime {
namespace {

using ::testing::HasSubstr;

class NewFolderTest : public ::testing::Test {
 protected:
  ~NewFolderTest() override {
    std::filesystem::remove_all(to_);
    std::filesystem::remove_all(to_ + ".partial");
  }
  absl::StatusOr<NewFolder> Create() const {
    return NewFolder::Create(to_ + "/", [](std::string_view name) { return name == "part"; });
  }
  bool Exists(const std::string& path) const { return std::filesystem::exists(path); }

  const std::string to_ = OwnFolder() + "new";
};

TEST_F(NewFolderTest, AppearsWhenItIsCommittedAndForItsUserOnly) {
  absl::StatusOr<NewFolder> folder = Create();
  ASSERT_TRUE(folder.ok()) << folder.status();
  std::ofstream(folder->partial() + "/part") << "bytes";
  EXPECT_FALSE(Exists(to_));
  ASSERT_TRUE(folder->Commit().ok());
  EXPECT_TRUE(Exists(to_ + "/part"));
  EXPECT_FALSE(Exists(to_ + ".partial"));
  struct stat facts {};
  ASSERT_EQ(stat(to_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700u);
}

TEST_F(NewFolderTest, LeavesNothingIfItIsNotCommitted) {
  { std::ofstream(Create()->partial() + "/part") << "bytes"; }
  EXPECT_FALSE(Exists(to_ + ".partial"));
  EXPECT_FALSE(Exists(to_));
}

TEST_F(NewFolderTest, RemovesAnEarlierAttemptAndNothingElse) {
  std::filesystem::create_directory(to_ + ".partial");
  std::ofstream(to_ + ".partial/part") << "half";
  EXPECT_TRUE(Create().ok());
  std::filesystem::create_directory(to_ + ".partial");
  std::ofstream(to_ + ".partial/letter") << "of somebody";
  EXPECT_THAT(std::string(Create().status().message()),
              HasSubstr("has letter, which no earlier attempt has left"));
  EXPECT_TRUE(Exists(to_ + ".partial/letter"));
}

TEST_F(NewFolderTest, ReplacesNoFolderThatHasSomething) {
  std::filesystem::create_directory(to_);
  EXPECT_TRUE(Create().ok()) << "it is empty";
  std::ofstream(to_ + "/part") << "bytes";
  EXPECT_TRUE(absl::IsFailedPrecondition(Create().status()));
}

}  // namespace
}  // namespace tributary::runtime
