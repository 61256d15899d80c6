// The front door at a unix socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "aggregator/server/front_door.h"
#include "core/runtime/clock.h"
#include "tests/support/process.h"

namespace tributary::server {
namespace {

using ::testing::HasSubstr;

class UnixDoorTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<FrontDoor>> Listen(const std::string& path) const {
    return FrontDoor::Listen("unix:" + path, {}, MemoryWatch(512 << 20), clock_);
  }

  runtime::SystemClock clock_;
  const testing::ScratchFolder folder_;
  const std::string path_ = folder_.Path("socket");
};

TEST_F(UnixDoorTest, ListensOnASocketThatAKilledProcessLeftBehind) {
  for (int i = 0; i < 2; ++i) {
    auto door = Listen(path_);
    ASSERT_TRUE(door.ok()) << door.status();
    if (i == 0) {
      ASSERT_EQ(link(path_.c_str(), (path_ + ".left").c_str()), 0);
    }
    door->reset();
    if (i == 0) {
      ASSERT_EQ(rename((path_ + ".left").c_str(), path_.c_str()), 0);
    }
  }
  EXPECT_NE(::access(path_.c_str(), F_OK), 0) << "removed at the end";
}

TEST_F(UnixDoorTest, TakesNoSocketFromAnotherProcessAndNoOtherFile) {
  const auto first = Listen(path_);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ((*first)->port(), 0);
  EXPECT_THAT(Listen(path_).status().ToString(), HasSubstr("another process listens there; stop it"));
  EXPECT_EQ(::access(path_.c_str(), F_OK), 0) << "it is still the first one's";

  const std::string other = folder_.Write("text", "x");
  EXPECT_THAT(Listen(other).status().ToString(), HasSubstr("is no socket; remove it"));
  EXPECT_EQ(::access(other.c_str(), F_OK), 0);
}

TEST_F(UnixDoorTest, LeavesThePathOfItsSocketToWhoHasTakenIt) {
  auto first = Listen(path_);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_EQ(unlink(path_.c_str()), 0);
  const auto second = Listen(path_);
  ASSERT_TRUE(second.ok()) << second.status();
  first->reset();
  EXPECT_EQ(::access(path_.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace tributary::server
