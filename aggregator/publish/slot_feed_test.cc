#include "aggregator/publish/slot_feed.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace tributary::publish {
namespace {

class CountingSink final : public SlotSink {
 public:
  void OnSlots(std::span<const estimate::FusedSlot> slots) override { count += slots.size(); }
  std::atomic<std::size_t> count = 0;
};

std::vector<estimate::FusedSlot> Slots(std::size_t n, std::int64_t fused_unix_ns = 0) {
  std::vector<estimate::FusedSlot> slots(n);
  for (estimate::FusedSlot& slot : slots) slot.fused_unix_ns = fused_unix_ns;
  return slots;
}

TEST(SlotFeedTest, TellsEverySinkOfEverySlotUntilItIsRemoved) {
  SlotFeed feed;
  auto first = std::make_shared<CountingSink>();
  auto second = std::make_shared<CountingSink>();
  feed.Add(first);
  feed.Add(second);
  feed.Publish(Slots(3));
  feed.Remove(first.get());
  feed.Publish(Slots(2));
  EXPECT_EQ(first->count, 3u);
  EXPECT_EQ(second->count, 5u);
}

TEST(SlotFeedTest, LosesNothingWhileSinksComeAndGo) {
  SlotFeed feed;
  auto steady = std::make_shared<CountingSink>();
  feed.Add(steady);
  std::jthread publisher([&] {
    for (int i = 0; i < 2000; ++i) feed.Publish(Slots(1));
  });
  for (int i = 0; i < 500; ++i) {
    auto passing = std::make_shared<CountingSink>();
    feed.Add(passing);
    feed.Remove(passing.get());
  }
  publisher.join();
  EXPECT_EQ(steady->count, 2000u);
}

TEST(SiteBoardTest, HasNothingBeforeTheFirstSlot) { EXPECT_FALSE(SiteBoard().Latest().has_value()); }

TEST(SiteBoardTest, CopiesAtItsIntervalOnly) {
  SiteBoard board;
  board.OnSlots(Slots(1, 100));
  board.OnSlots(Slots(1, 100 + SiteBoard::kIntervalNs - 1));
  EXPECT_EQ(board.Latest()->slot.fused_unix_ns, 100);
  board.OnSlots(Slots(1, 100 + SiteBoard::kIntervalNs));
  EXPECT_EQ(board.Latest()->slot.fused_unix_ns, 100 + SiteBoard::kIntervalNs);
}

TEST(SiteBoardTest, GivesASlotOnceToAReaderThatRemembers) {
  SiteBoard board;
  std::uint64_t seen = 0;
  board.OnSlots(Slots(1, 100));
  EXPECT_TRUE(board.LatestAfter(seen).has_value());
  EXPECT_FALSE(board.LatestAfter(seen).has_value());
  board.OnSlots(Slots(1, 100 + SiteBoard::kIntervalNs));
  EXPECT_TRUE(board.LatestAfter(seen).has_value());
}

TEST(SiteBoardTest, CountsTheSlotsThatAReaderSkipped) {
  SiteBoard board;
  std::uint64_t seen = 0;
  board.OnSlots(Slots(3, 100));
  EXPECT_EQ(board.LatestAfter(seen)->skipped, 0u) << "a new reader has skipped nothing";
  board.OnSlots(Slots(2, 101));
  board.OnSlots(Slots(1, 100 + SiteBoard::kIntervalNs));
  EXPECT_EQ(board.LatestAfter(seen)->skipped, 2u);
}

}  // namespace
}  // namespace tributary::publish
