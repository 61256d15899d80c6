#include "aggregator/server/peer_shares.h"

#include <gtest/gtest.h>

namespace tributary::server {
namespace {

TEST(PeerSharesTest, OnePeerCannotTakeThePlacesOfAnother) {
  PeerShares shares(4, 2);
  EXPECT_TRUE(shares.Take("greedy"));
  EXPECT_TRUE(shares.Take("greedy"));
  EXPECT_FALSE(shares.Take("greedy"));
  EXPECT_TRUE(shares.Take("modest"));
}

TEST(PeerSharesTest, APlaceGivenBackIsTakenAgain) {
  PeerShares shares(2, 2);
  EXPECT_TRUE(shares.Take("a"));
  EXPECT_TRUE(shares.Take("b"));
  EXPECT_FALSE(shares.Take("c"));
  shares.GiveBack("a");
  shares.GiveBack("stranger");
  EXPECT_TRUE(shares.Take("c"));
  EXPECT_EQ(shares.of("a"), 0u);
}

}  // namespace
}  // namespace tributary::server
