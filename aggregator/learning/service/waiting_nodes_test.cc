#include "aggregator/learning/service/waiting_nodes.h"

#include <gtest/gtest.h>

namespace tributary::learning {
namespace {

TEST(WaitingNodesTest, ANodeWaitsUntilItsPlaceIsGivenUp) {
  WaitingNodes waiting;
  WaitingNodes::Place first = waiting.Add({"a", 7});
  const WaitingNodes::Place second = waiting.Add({"b", 0});
  ASSERT_EQ(waiting.size(), 2u);
  EXPECT_EQ(waiting.List()[0].node, "a");
  EXPECT_EQ(waiting.List()[0].sample_count, 7u);
  first.reset();
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting.List()[0].node, "b");
}

// A newer stream of a node joins before the older one is ended.
TEST(WaitingNodesTest, ANodeThatCameTwiceWaitsWithItsNewerPlace) {
  WaitingNodes waiting;
  WaitingNodes::Place older = waiting.Add({"a", 1});
  const WaitingNodes::Place newer = waiting.Add({"a", 2});
  older.reset();
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting.List()[0].sample_count, 2u);
}

TEST(WaitingNodesTest, APlaceMayOutliveTheList) {
  WaitingNodes::Place place;
  {
    WaitingNodes waiting;
    place = waiting.Add({"a", 1});
  }
  place.reset();
}

}  // namespace
}  // namespace tributary::learning
