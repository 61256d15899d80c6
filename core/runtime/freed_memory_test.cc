#include "core/runtime/freed_memory.h"

#include <gtest/gtest.h>

namespace tributary::runtime {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

class FreedMemoryTest : public ::testing::Test {
 protected:
  // Two seconds later the process has this much; how often it has returned memory.
  int After(std::uint64_t resident_mib) {
    resident_ = resident_mib * kMiB;
    now_ += std::chrono::seconds(2);
    freed_.ReturnWhenQuiet(now_);
    return returned_;
  }

  std::uint64_t resident_ = 0;
  std::uint64_t used_ = 30 * kMiB;
  int returned_ = 0;
  std::chrono::steady_clock::time_point now_{};
  FreedMemory freed_{[this] { return resident_; },
                     [this] {
                       ++returned_;
                       resident_ = used_;
                     }};
};

TEST_F(FreedMemoryTest, IsReturnedWhenTheProcessHasGrownAndGrowsNoMore) {
  EXPECT_EQ(After(30), 0);
  EXPECT_EQ(After(200), 0) << "in the middle of it";
  EXPECT_EQ(After(400), 0);
  EXPECT_EQ(After(400), 1);
  EXPECT_EQ(resident_, used_);
  EXPECT_EQ(After(31), 1);
}

TEST_F(FreedMemoryTest, IsNotLookedForAgainIfItIsInUse) {
  EXPECT_EQ(After(30), 0);
  used_ = 100 * kMiB;
  EXPECT_EQ(After(100), 0);
  EXPECT_EQ(After(100), 1);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(After(100), 1);
}

TEST_F(FreedMemoryTest, ASmallGrowthStays) {
  EXPECT_EQ(After(30), 0);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(After(33), 0);
}

}  // namespace
}  // namespace tributary::runtime
