#include "core/link/spool/backoff.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tributary::link {
namespace {

TEST(BackoffTest, DoublesWithJitterUpToTheCap) {
  Backoff backoff({100, 1000}, 1);
  for (const std::int64_t ceiling : {100, 200, 400, 800, 1000, 1000, 1000}) {
    const std::int64_t delay = backoff.Next();
    EXPECT_GE(delay, ceiling / 2);
    EXPECT_LE(delay, ceiling);
  }
}

TEST(BackoffTest, StartsAgainAfterASuccess) {
  Backoff backoff({100, 1'000'000}, 1);
  for (int i = 0; i < 10; ++i) backoff.Next();
  backoff.Reset();
  EXPECT_LE(backoff.Next(), 100);
}

TEST(BackoffTest, NeverOverflows) {
  Backoff backoff({1'000'000'000, INT64_MAX / 2}, 1);
  for (int i = 0; i < 200; ++i) EXPECT_GE(backoff.Next(), 500'000'000);
}

TEST(BackoffTest, SpreadsTheNodesOfASite) {
  Backoff a({1'000'000, 1'000'000}, 1);
  Backoff b({1'000'000, 1'000'000}, 2);
  EXPECT_NE(a.Next(), b.Next());
}

}  // namespace
}  // namespace tributary::link
