#include "aggregator/publish/watch_queue.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace tributary::publish {
namespace {

estimate::FusedSlot Slot(estimate::Epoch epoch, std::int64_t fused_unix_ns = 0) {
  estimate::FusedSlot slot;
  slot.epoch = epoch;
  slot.fused_unix_ns = fused_unix_ns;
  return slot;
}

TEST(WatchQueueTest, GivesEverySlotInOrderWhileThereIsRoom) {
  WatchQueue queue(0);
  for (estimate::Epoch epoch = 0; epoch < WatchQueue::kCapacity; ++epoch) queue.Push(Slot(epoch));
  for (estimate::Epoch epoch = 0; epoch < WatchQueue::kCapacity; ++epoch) {
    ASSERT_FALSE(queue.empty());
    EXPECT_EQ(queue.front().epoch, epoch);
    queue.Pop();
  }
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.TakeSkipped(), 0u);
}

TEST(WatchQueueTest, ContinuesAtThePresentWhenItIsFullAndCountsWhatItSkips) {
  WatchQueue queue(0);
  for (estimate::Epoch epoch = 0; epoch <= WatchQueue::kCapacity; ++epoch) queue.Push(Slot(epoch));
  EXPECT_EQ(queue.front().epoch, WatchQueue::kCapacity);
  queue.Pop();
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.TakeSkipped(), WatchQueue::kCapacity);
  EXPECT_EQ(queue.TakeSkipped(), 0u);
  EXPECT_EQ(queue.skipped_total(), WatchQueue::kCapacity);
}

// Its arrays take `bytes`.
estimate::FusedSlot LargeSlot(estimate::Epoch epoch, std::size_t bytes) {
  estimate::FusedSlot slot = Slot(epoch);
  slot.log_probabilities.resize(bytes / sizeof(float));
  return slot;
}

TEST(WatchQueueTest, HoldsFewerSlotsIfTheyAreLarge) {
  constexpr std::size_t kEach = WatchQueue::kMostBytes / 4;
  WatchQueue queue(0);
  for (estimate::Epoch epoch = 0; epoch < 4; ++epoch) queue.Push(LargeSlot(epoch, kEach));
  EXPECT_EQ(queue.front().epoch, 0u);
  queue.Push(LargeSlot(4, kEach));
  EXPECT_EQ(queue.front().epoch, 4u);
  EXPECT_EQ(queue.TakeSkipped(), 4u);
  EXPECT_EQ(queue.bytes(), kEach);
}

TEST(WatchQueueTest, ASlotThatIsLargerThanAllMayHaveGoesThroughAlone) {
  WatchQueue queue(0);
  for (estimate::Epoch epoch = 0; epoch < 3; ++epoch) {
    queue.Push(LargeSlot(epoch, 2 * WatchQueue::kMostBytes));
    EXPECT_EQ(queue.front().epoch, epoch);
    queue.Pop();
  }
  EXPECT_EQ(queue.skipped_total(), 0u);
}

TEST(WatchQueueTest, AReaderThatKeepsUpLosesNoLargeSlotAndTheSlotsThatWereSentTakeNoMore) {
  WatchQueue queue(0);
  for (estimate::Epoch epoch = 0; epoch < 10 * WatchQueue::kCapacity; ++epoch) {
    queue.Push(LargeSlot(epoch, WatchQueue::kMostBytes / 8));
    ASSERT_EQ(queue.front().epoch, epoch);
    queue.Pop();
    ASSERT_LE(queue.bytes(), WatchQueue::kMostBytes);
  }
  EXPECT_EQ(queue.skipped_total(), 0u);
}

TEST(WatchQueueTest, WrapsAround) {
  WatchQueue queue(0);
  for (estimate::Epoch epoch = 0; epoch < 10 * WatchQueue::kCapacity; ++epoch) {
    queue.Push(Slot(epoch));
    if (epoch > 0) {
      EXPECT_EQ(queue.front().epoch, epoch - 1);
      queue.Pop();
    }
  }
  EXPECT_EQ(queue.skipped_total(), 0u);
}

TEST(WatchQueueTest, AdmitsTheRateThatWasAskedForOnAverage) {
  WatchQueue queue(300);
  int admitted = 0;
  // Two seconds of slots at 2 kHz.
  for (int i = 0; i < 4000; ++i) admitted += queue.Admit(Slot(0, std::int64_t{500'000} * i));
  EXPECT_NEAR(admitted, 600, 1);
  EXPECT_EQ(queue.TakeSkipped(), 4000u - static_cast<unsigned>(admitted));
}

TEST(WatchQueueTest, IsNotSilencedByAClockThatWasSetBack) {
  WatchQueue queue(10);
  EXPECT_TRUE(queue.Admit(Slot(0, 1'000'000'000'000)));
  EXPECT_TRUE(queue.Admit(Slot(1, 1'000'000'000)));
  EXPECT_FALSE(queue.Admit(Slot(2, 1'000'500'000)));
}

TEST(WatchQueueTest, TakesAMeaninglessRateAsNoLimit) {
  WatchQueue queue(-1);
  EXPECT_TRUE(queue.Admit(Slot(0, 0)));
  EXPECT_TRUE(queue.Admit(Slot(1, 0)));
}

TEST(WatchQueueTest, KeepsToTheReadersShareAndLetsShortBurstsPass) {
  constexpr std::int64_t kIntervalNs = 8'000'000;
  WatchQueue queue(0);
  const std::int64_t now_ns = 1'700'000'000'000'000'000;
  // A burst at one moment, as when slots reach their deadline together.
  int admitted = 0;
  for (int i = 0; i < 50; ++i) admitted += queue.Admit(Slot(0, now_ns), kIntervalNs);
  EXPECT_EQ(admitted, WatchQueue::kBurstNs / kIntervalNs);
  // Two seconds of slots at 2 kHz.
  admitted = 0;
  for (int i = 0; i < 4000; ++i) {
    admitted += queue.Admit(Slot(0, now_ns + std::int64_t{500'000} * i), kIntervalNs);
  }
  EXPECT_NEAR(admitted, 250, 1);
}

TEST(WatchQueueTest, HoldsTheLatestBeyondTheShareAndCountsTheOthers) {
  constexpr std::int64_t kHour = 3'600'000'000'000;
  WatchQueue queue(0);
  estimate::FusedSlot slot;
  EXPECT_FALSE(queue.TakeHeld(slot));
  EXPECT_TRUE(queue.Admit(Slot(1, kHour), kHour));
  for (estimate::Epoch epoch = 2; epoch <= 9; ++epoch) EXPECT_FALSE(queue.Admit(Slot(epoch, kHour), kHour));
  EXPECT_EQ(queue.TakeSkipped(), 7u) << "the ninth is still there";
  ASSERT_TRUE(queue.TakeHeld(slot));
  EXPECT_EQ(slot.epoch, 9u);
  EXPECT_FALSE(queue.TakeHeld(slot));
  EXPECT_FALSE(queue.Admit(Slot(10, kHour), kHour));
  EXPECT_TRUE(queue.Admit(Slot(11, 2 * kHour), kHour)) << "an hour later";
  EXPECT_EQ(queue.TakeSkipped(), 1u) << "the tenth";
  EXPECT_FALSE(queue.TakeHeld(slot));
}

TEST(WatchQueueTest, ShowsTheFirstSlotHoweverSmallTheShare) {
  WatchQueue queue(0);
  EXPECT_TRUE(queue.Admit(Slot(0, 1'700'000'000'000'000'000), 3'600'000'000'000));
}

TEST(WatchQueueTest, SpendsNoShareOnSlotsThatAreNotDue) {
  WatchQueue queue(100);
  int admitted = 0;
  for (int i = 0; i < 4000; ++i) admitted += queue.Admit(Slot(0, std::int64_t{500'000} * i), 9'000'000);
  EXPECT_NEAR(admitted, 200, 1);
}

constexpr std::int64_t kSlotNs = 500'000;
constexpr std::int64_t kWriteNs = 10'000;

// One thread that fuses 2,000 slots a second and writes each to the readers whose turn it is.
class ReaderShareTest : public ::testing::Test {
 protected:
  void Add(int readers, double max_rate_hz) {
    for (int i = 0; i < readers; ++i) {
      queues_.emplace_back(max_rate_hz);
      sent_.push_back(0);
      share_.Join();
    }
  }
  // The part of the time that the writes took.
  double Run(double seconds) {
    const std::int64_t end_ns = now_ns_ + static_cast<std::int64_t>(1e9 * seconds);
    std::fill(sent_.begin(), sent_.end(), 0);
    std::int64_t spent_ns = 0;
    for (; now_ns_ < end_ns; now_ns_ += kSlotNs) {
      estimate::FusedSlot slot;
      slot.fused_unix_ns = now_ns_;
      for (std::size_t i = 0; i < queues_.size(); ++i) {
        if (!queues_[i].Admit(slot, share_.IntervalNs())) continue;
        ++sent_[i];
        spent_ns += kWriteNs;
        share_.Spent(kWriteNs, now_ns_);
      }
    }
    return 1e-9 * static_cast<double>(spent_ns) / seconds;
  }

  ReaderShare share_{1};
  std::vector<WatchQueue> queues_;
  std::vector<int> sent_;
  std::int64_t now_ns_ = 1'700'000'000'000'000'000;
};

TEST_F(ReaderShareTest, ADozenReadersGetEverySlot) {
  Add(12, 0);
  Run(2);
  for (const int sent : sent_) EXPECT_EQ(sent, 4000);
}

TEST_F(ReaderShareTest, TwoHundredReadersTakeAQuarterOfTheTimeAndEachGetsItsPart) {
  Add(200, 0);
  Run(1);
  EXPECT_NEAR(Run(4), 0.25, 0.06);
  for (const int sent : sent_) EXPECT_NEAR(sent / 4.0, 125, 40);
}

TEST_F(ReaderShareTest, ReadersThatAskForLittleTakeNothingFromOneThatAsksForAll) {
  Add(200, 1);
  Add(1, 0);
  Run(2);
  EXPECT_EQ(sent_.back(), 4000);
}

TEST_F(ReaderShareTest, ThoseThatRemainGetEverySlotAgain) {
  Add(200, 0);
  Run(2);
  ASSERT_GT(share_.IntervalNs(), 0);
  while (queues_.size() > 4) queues_.pop_back();
  sent_.resize(4);
  Run(2);
  Run(1);
  for (const int sent : sent_) EXPECT_EQ(sent, 2000);
}

}  // namespace
}  // namespace tributary::publish
