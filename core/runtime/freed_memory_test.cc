#include "core/runtime/freed_memory.h"

#include <gtest/gtest.h>

namespace tributary::runtime {
namespace {

class FreedMemoryTest : public ::testing::Test {
 protected:
  // Two seconds later malloc keeps so many bytes; how often they have been returned.
  int After(double freed_mib) {
    freed_mib_ = freed_mib;
    now_ += std::chrono::seconds(2);
    freed_.ReturnWhenQuiet(now_);
    return returned_;
  }

  double freed_mib_ = 0;
  int returned_ = 0;
  std::chrono::steady_clock::time_point now_{};
  FreedMemory freed_{[this] { return static_cast<std::uint64_t>(freed_mib_ * (1 << 20)); },
                     [this] { ++returned_; }};
};

TEST_F(FreedMemoryTest, IsReturnedOnceItDoesNotGrowAnyMore) {
  EXPECT_EQ(After(0.5), 0);
  EXPECT_EQ(After(20), 0) << "in the middle of it";
  EXPECT_EQ(After(40), 0);
  EXPECT_EQ(After(40), 1);
  EXPECT_EQ(After(40), 1) << "once";
}

// gRPC may free what a rush took long after its end.
TEST_F(FreedMemoryTest, IsReturnedAgainWhenMoreIsFreed) {
  After(10);
  EXPECT_EQ(After(10), 1);
  After(60);
  EXPECT_EQ(After(60), 2);
}

TEST_F(FreedMemoryTest, IsReturnedAgainAfterItWasUsed) {
  After(40);
  EXPECT_EQ(After(40), 1);
  EXPECT_EQ(After(2), 1) << "in use";
  EXPECT_EQ(After(40), 1);
  EXPECT_EQ(After(40), 2);
}

TEST_F(FreedMemoryTest, ALittleStays) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(After(0.9), 0);
}

TEST_F(FreedMemoryTest, IsLookedForEveryTwoSeconds) {
  After(40);
  for (int i = 0; i < 5; ++i) freed_.ReturnWhenQuiet(now_ + std::chrono::milliseconds(1900));
  EXPECT_EQ(returned_, 0);
}

}  // namespace
}  // namespace tributary::runtime
