#include "core/runtime/elapsed.h"

#include <gtest/gtest.h>

namespace tributary::runtime {
namespace {

constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

TEST(ElapsedTest, IsTheDifference) {
  EXPECT_EQ(ElapsedNs(5, 12), 7);
  EXPECT_EQ(ElapsedNs(12, 5), -7);
  EXPECT_DOUBLE_EQ(ElapsedSeconds(0, 1'500'000'000), 1.5);
}

TEST(ElapsedTest, ATimeThatAPeerInventedOverflowsNothing) {
  EXPECT_EQ(ElapsedNs(kFirst, 1), kLast);
  EXPECT_EQ(ElapsedNs(kFirst, kLast), kLast);
  EXPECT_EQ(ElapsedNs(kLast, -2), kFirst);
  EXPECT_EQ(ElapsedNs(kFirst, -1), kLast);
}

}  // namespace
}  // namespace tributary::runtime
