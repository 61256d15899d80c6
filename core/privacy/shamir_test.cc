#include "core/privacy/shamir.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace tributary::privacy {
namespace {

Key32 Secret() {
  Key32 secret;
  for (std::size_t i = 0; i < secret.size(); ++i) secret[i] = static_cast<std::byte>(37 * i + 11);
  return secret;
}

TEST(ShamirTest, AnyThresholdOfTheSharesGivesTheSecret) {
  std::mt19937_64 random(1);
  for (const auto& [threshold, count] : {std::pair{1, 1}, {1, 5}, {2, 3}, {4, 7}, {7, 7}, {170, 255}}) {
    auto shares = SplitSecret(Secret(), threshold, count);
    ASSERT_TRUE(shares.ok());
    for (int trial = 0; trial < 3; ++trial) {
      std::shuffle(shares->begin(), shares->end(), random);
      const std::span<const ShamirShare> some = *shares;
      EXPECT_EQ(*JoinShares(some.first(static_cast<std::size_t>(threshold))), Secret());
      EXPECT_EQ(*JoinShares(some), Secret());
      if (threshold > 1) {
        EXPECT_NE(*JoinShares(some.first(static_cast<std::size_t>(threshold - 1))), Secret());
      }
    }
  }
}

// One share fewer than needed reveals nothing: over many splits its bytes take all values, whatever the
// secret.
TEST(ShamirTest, ASingleShareIsUniform) {
  std::set<std::byte> seen;
  for (int i = 0; i < 200; ++i) {
    const auto shares = SplitSecret(Secret(), 2, 3);
    seen.insert((*shares)[0].value.begin(), (*shares)[0].value.end());
  }
  EXPECT_EQ(seen.size(), 256u);
}

TEST(ShamirTest, RefusesSharesThatCannotBe) {
  EXPECT_FALSE(SplitSecret(Secret(), 0, 3).ok());
  EXPECT_FALSE(SplitSecret(Secret(), 4, 3).ok());
  EXPECT_FALSE(SplitSecret(Secret(), 2, 256).ok());
  EXPECT_FALSE(JoinShares({}).ok());
  auto shares = *SplitSecret(Secret(), 2, 3);
  shares[1].abscissa = shares[0].abscissa;
  EXPECT_FALSE(JoinShares(shares).ok());
  shares[1].abscissa = 0;
  EXPECT_FALSE(JoinShares(shares).ok());
}

}  // namespace
}  // namespace tributary::privacy
