#include "core/runtime/plain_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/runtime/file.h"
#include "tests/support/own_folder.h"

namespace tributary::runtime {
namespace {

using ::testing::HasSubstr;

constexpr uid_t kDaemon = 12'345;

// A folder of root with a secret, beside one of a daemon.
class PlainFileTest : public ::testing::Test {
 protected:
  PlainFileTest() {
    std::filesystem::create_directories(daemons_);
    std::filesystem::create_directories(roots_);
    EXPECT_TRUE(WriteFileAtomically(roots_ + "/secret", "old").ok());
    if (geteuid() == 0) {
      EXPECT_EQ(chown(daemons_.c_str(), kDaemon, kDaemon), 0);
    }
  }
  ~PlainFileTest() override {
    std::filesystem::remove_all(daemons_);
    std::filesystem::remove_all(roots_);
  }

  // As the daemon's user lays it.
  void Link(const std::string& target, const std::string& name) const {
    std::filesystem::create_symlink(target, daemons_ + "/" + name);
    if (geteuid() != 0) return;
    EXPECT_EQ(lchown((daemons_ + "/" + name).c_str(), kDaemon, kDaemon), 0);
  }
  std::string Secret() const { return ReadFile(roots_ + "/secret").value_or("gone"); }
  static struct stat Facts(const std::string& path) {
    struct stat facts {};
    EXPECT_EQ(lstat(path.c_str(), &facts), 0) << path;
    return facts;
  }

  const std::string daemons_ = OwnFolder() + "daemons", roots_ = OwnFolder() + "roots";
};

TEST_F(PlainFileTest, NothingGoesThroughALink) {
  Link(roots_ + "/secret", "key");
  const absl::Status written = WritePlainFile(daemons_ + "/key", "new", 0600);
  EXPECT_TRUE(absl::IsFailedPrecondition(written));
  EXPECT_THAT(std::string(written.message()), HasSubstr(daemons_ + "/key: is a link"));
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckPlainFile(daemons_ + "/key")));
  EXPECT_TRUE(absl::IsFailedPrecondition(ReadPlainFile(daemons_ + "/key", 100).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(OpenPlainFile(daemons_ + "/key", O_WRONLY | O_TRUNC).status()));
  EXPECT_EQ(Secret(), "old");
  EXPECT_TRUE(S_ISLNK(Facts(daemons_ + "/key").st_mode));
}

TEST_F(PlainFileTest, NothingGoesIntoADeviceOrAPipe) {
  ASSERT_EQ(mkfifo((daemons_ + "/key").c_str(), 0600), 0);
  for (const std::string& path : {daemons_ + "/key", std::string("/dev/null")}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(WritePlainFile(path, "new", 0600))) << path;
    EXPECT_TRUE(absl::IsFailedPrecondition(OpenPlainFile(path, O_WRONLY).status())) << path;
  }
}

TEST_F(PlainFileTest, ReadsBackWhatItWroteWithItsMode) {
  const std::string path = roots_ + "/key";
  ASSERT_TRUE(WritePlainFile(path, "first", 0644).ok());
  ASSERT_TRUE(WritePlainFile(path, "key", 0600).ok());
  EXPECT_EQ(ReadPlainFile(path, 100).value(), "key");
  EXPECT_EQ(Facts(path).st_mode & 0777, 0600u);
  EXPECT_TRUE(absl::IsNotFound(ReadPlainFile(path + "2", 100).status()));
  EXPECT_TRUE(absl::IsNotFound(WritePlainFile(roots_ + "/none/key", "key", 0600)));
}

class PlainFileAsRootTest : public PlainFileTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to give files away";
  }
};

TEST_F(PlainFileAsRootTest, AFileBelongsToTheOwnerOfItsFolderOrToTheOneBefore) {
  const std::string path = daemons_ + "/key";
  ASSERT_TRUE(WritePlainFile(path, "key", 0600, FileOwner::kOfFolder).ok());
  EXPECT_EQ(Facts(path).st_uid, kDaemon);
  ASSERT_EQ(chown(path.c_str(), 77, 77), 0);
  ASSERT_TRUE(WritePlainFile(path, "key", 0600, FileOwner::kAsBefore).ok());
  EXPECT_EQ(Facts(path).st_uid, 77u);
  ASSERT_TRUE(WritePlainFile(daemons_ + "/new", "key", 0600, FileOwner::kAsBefore).ok());
  EXPECT_EQ(Facts(daemons_ + "/new").st_uid, kDaemon);
  ASSERT_TRUE(WritePlainFile(path, "key", 0600).ok());
  EXPECT_EQ(Facts(path).st_uid, 0u);
}

TEST_F(PlainFileAsRootTest, FollowsNoLinkOfAnotherUserToAFolder) {
  Link(roots_, "certs");
  const absl::Status written = WritePlainFile(daemons_ + "/certs/secret", "new", 0600);
  EXPECT_TRUE(absl::IsFailedPrecondition(written));
  EXPECT_THAT(std::string(written.message()), HasSubstr("\"certs\" is a link of another user"));
  EXPECT_TRUE(absl::IsFailedPrecondition(WriteFileAtomically(daemons_ + "/certs/secret", "new")));
  EXPECT_EQ(Secret(), "old");
  // Nor behind a link of its own.
  std::filesystem::create_symlink(daemons_ + "/certs", roots_ + "/own");
  EXPECT_TRUE(absl::IsFailedPrecondition(WritePlainFile(roots_ + "/own/secret", "new", 0600)));
  EXPECT_EQ(Secret(), "old");
}

TEST_F(PlainFileAsRootTest, FollowsItsOwnLinkToAFolder) {
  std::filesystem::create_symlink("../" + daemons_.substr(daemons_.rfind('/') + 1), roots_ + "/own");
  ASSERT_TRUE(WritePlainFile(roots_ + "/own/key", "key", 0600).ok());
  EXPECT_EQ(ReadFile(daemons_ + "/key").value(), "key");
}

TEST_F(PlainFileAsRootTest, WhatIsNoSecretFollowsNoLinkOfAnotherUserEither) {
  Link(roots_ + "/secret", "report");
  EXPECT_TRUE(absl::IsFailedPrecondition(WriteFileAtomically(daemons_ + "/report", "new")));
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckFolderOf(daemons_ + "/report")));
  Link("/dev/null", "device");
  EXPECT_TRUE(absl::IsFailedPrecondition(WriteFileAtomically(daemons_ + "/device", "new")));
  EXPECT_EQ(Secret(), "old");
}

}  // namespace
}  // namespace tributary::runtime
