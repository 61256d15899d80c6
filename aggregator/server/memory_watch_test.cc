#include "aggregator/server/memory_watch.h"

#include <gtest/gtest.h>

namespace tributary::server {
namespace {

class MemoryWatchTest : public ::testing::Test {
 protected:
  MemoryState Look(std::uint64_t resident, std::uint64_t in_use) {
    resident_ = resident;
    in_use_ = in_use;
    return watch_.Look();
  }

  std::uint64_t resident_ = 0;
  std::uint64_t in_use_ = 0;
  MemoryWatch watch_{800, [this] { return resident_; }, [this] { return in_use_; }};
};

TEST_F(MemoryWatchTest, HasPlentyWhileHalfIsResident) { EXPECT_EQ(Look(400, 900), MemoryState::kPlenty); }

TEST_F(MemoryWatchTest, WhatWasFreedAndStaysResidentIsNotInUse) {
  EXPECT_EQ(Look(790, 300), MemoryState::kScarce);
  EXPECT_EQ(Look(790, 600), MemoryState::kScarce);
}

TEST_F(MemoryWatchTest, IsOutWhileMoreThanThreeQuartersAreInUseAndDoNotBecomeLess) {
  EXPECT_EQ(Look(750, 601), MemoryState::kOut);
  EXPECT_EQ(Look(750, 601), MemoryState::kOut);
  EXPECT_EQ(Look(750, 640), MemoryState::kOut);
}

// A cut connection's memory goes within some hundred milliseconds: no other is cut meanwhile.
TEST_F(MemoryWatchTest, IsFullAndNotOutWhileMemoryIsComingBack) {
  EXPECT_EQ(Look(790, 790), MemoryState::kOut);
  EXPECT_EQ(Look(790, 760), MemoryState::kFull);
  EXPECT_EQ(Look(790, 620), MemoryState::kFull);
  EXPECT_EQ(Look(790, 600), MemoryState::kScarce);
  EXPECT_EQ(Look(790, 610), MemoryState::kOut);
}

}  // namespace
}  // namespace tributary::server
