#include "core/runtime/freed_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tributary::runtime {
namespace {

// A process with 20 MiB in use. malloc counts as freed what it has returned, until it is used again.
class FreedMemoryTest : public ::testing::Test {
 protected:
  // Two seconds later; how often freed memory has been returned.
  int Later() {
    now_ += std::chrono::seconds(2);
    freed_.ReturnWhenQuiet(now_);
    return returned_;
  }
  // Connections or messages take so much and free it again.
  void Rush(double mib) {
    freed_mib_ = std::max(freed_mib_, mib);
    resident_freed_mib_ = std::max(resident_freed_mib_, mib);
  }

  static std::uint64_t Bytes(double mib) { return static_cast<std::uint64_t>(mib * (1 << 20)); }

  double in_use_mib_ = 20;
  double freed_mib_ = 0;
  double resident_freed_mib_ = 0;
  int returned_ = 0;
  std::chrono::steady_clock::time_point now_{};
  FreedMemory freed_{[this] { return Bytes(in_use_mib_ + resident_freed_mib_); },
                     [this] { return Bytes(freed_mib_); },
                     [this] {
                       ++returned_;
                       resident_freed_mib_ = 0;
                     }};
};

TEST_F(FreedMemoryTest, IsReturnedOnceTheProcessDoesNotGrowAnyMore) {
  EXPECT_EQ(Later(), 0);
  Rush(20);
  EXPECT_EQ(Later(), 0) << "in the middle of it";
  Rush(40);
  EXPECT_EQ(Later(), 0);
  EXPECT_EQ(Later(), 1);
  EXPECT_EQ(Later(), 1) << "once";
}

// A flood that comes back is over within a tenth of a second. malloc has as much freed after it as before.
TEST_F(FreedMemoryTest, IsReturnedAfterEachRushAsLargeAsTheLast) {
  Later();
  for (int rush = 1; rush <= 3; ++rush) {
    Rush(30);
    EXPECT_EQ(Later(), rush - 1);
    EXPECT_EQ(Later(), rush);
    EXPECT_EQ(Later(), rush);
  }
}

// gRPC may free what a rush took long after its end.
TEST_F(FreedMemoryTest, IsReturnedWhenItIsFreedLate) {
  Later();
  in_use_mib_ = 60;
  EXPECT_EQ(Later(), 0);
  EXPECT_EQ(Later(), 0) << "in use";
  in_use_mib_ = 20;
  Rush(40);
  EXPECT_EQ(Later(), 1);
}

TEST_F(FreedMemoryTest, ALittleStays) {
  Later();
  Rush(0.2);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Later(), 0);
}

TEST_F(FreedMemoryTest, IsLookedForEveryTwoSeconds) {
  Later();
  Rush(40);
  Later();
  for (int i = 0; i < 5; ++i) freed_.ReturnWhenQuiet(now_ + std::chrono::milliseconds(1900));
  EXPECT_EQ(returned_, 0);
}

}  // namespace
}  // namespace tributary::runtime
