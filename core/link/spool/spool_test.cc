#include "core/link/spool/spool.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tributary::link {
namespace {

class SpoolTest : public ::testing::Test {
 protected:
  // A frame of `tuples` two-dimensional tuples: 24 bytes each.
  static estimate::TupleFrame Frame(std::size_t tuples, estimate::Epoch epoch = 0) {
    estimate::TupleFrame frame;
    frame.epoch = epoch;
    frame.subjects.assign(tuples, 7);
    frame.means.assign(2 * tuples, 1.0f);
    frame.cholesky.assign(3 * tuples, 2.0f);
    return frame;
  }
  static std::uint64_t Offer(Spool& spool, std::size_t tuples = 1, estimate::Epoch epoch = 0) {
    estimate::TupleFrame frame = Frame(tuples, epoch);
    return spool.Offer(frame);
  }
  // Sequences that can be taken now.
  static std::vector<std::uint64_t> TakeAll(Spool& spool) {
    std::vector<std::uint64_t> sequences;
    for (estimate::TupleFrame frame; spool.Take(0, frame);) sequences.push_back(frame.sequence);
    return sequences;
  }
  static void ExpectBalance(const Spool& spool) {
    const SpoolCounters counters = spool.counters();
    EXPECT_EQ(counters.offered_frames,
              counters.acknowledged_frames + counters.dropped_frames + counters.held_frames);
    EXPECT_EQ(counters.offered_tuples,
              counters.acknowledged_tuples + counters.dropped_tuples + counters.held_tuples);
  }
};

using Sequences = std::vector<std::uint64_t>;

TEST_F(SpoolTest, NumbersFramesFromOneWithoutGaps) {
  Spool spool({8, 1 << 20});
  EXPECT_EQ(Offer(spool), 1u);
  EXPECT_EQ(Offer(spool), 2u);
  EXPECT_EQ(TakeAll(spool), (Sequences{1, 2}));
}

TEST_F(SpoolTest, GivesWhatItWasGiven) {
  Spool spool({8, 1 << 20});
  estimate::TupleFrame frame = Frame(3, 99);
  frame.source = 2;
  frame.contributors = {1, 2, 3};
  spool.Offer(frame);
  estimate::TupleFrame taken;
  ASSERT_TRUE(spool.Take(0, taken));
  EXPECT_EQ(taken.epoch, 99u);
  EXPECT_EQ(taken.source, 2u);
  EXPECT_EQ(taken.subjects, Frame(3).subjects);
  EXPECT_EQ(taken.means, Frame(3).means);
  EXPECT_EQ(taken.cholesky, Frame(3).cholesky);
  EXPECT_EQ(taken.contributors, (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST_F(SpoolTest, TakesEachFrameOnceUntilItIsRewound) {
  Spool spool({8, 1 << 20});
  Offer(spool);
  Offer(spool);
  EXPECT_EQ(TakeAll(spool), (Sequences{1, 2}));
  EXPECT_EQ(TakeAll(spool), Sequences{});
  ASSERT_TRUE(spool.Acknowledge(1).ok());
  spool.Rewind();
  EXPECT_EQ(spool.waiting_frames(), 1u);
  EXPECT_EQ(TakeAll(spool), Sequences{2});
  EXPECT_EQ(spool.counters().retaken_frames, 1u);
}

TEST_F(SpoolTest, AcknowledgesCumulativelyAndFreesTheMemory) {
  Spool spool({8, 1 << 20});
  for (int i = 0; i < 5; ++i) Offer(spool, 2);
  TakeAll(spool);
  ASSERT_TRUE(spool.Acknowledge(3).ok());
  EXPECT_EQ(spool.counters().acknowledged_frames, 3u);
  EXPECT_EQ(spool.counters().acknowledged_tuples, 6u);
  EXPECT_EQ(spool.counters().held_bytes, 2u * 2u * 24u);
  ASSERT_TRUE(spool.Acknowledge(2).ok()) << "an older acknowledgement changes nothing";
  EXPECT_EQ(spool.held_frames(), 2u);
  ExpectBalance(spool);
}

TEST_F(SpoolTest, RefusesAnAcknowledgementOfWhatWasNeverSent) {
  Spool spool({8, 1 << 20});
  Offer(spool);
  Offer(spool);
  estimate::TupleFrame taken;
  spool.Take(0, taken);
  EXPECT_EQ(spool.Acknowledge(2).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(spool.Acknowledge(UINT64_MAX).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(spool.held_frames(), 2u);
}

TEST_F(SpoolTest, SaysWhenTheNewestAcknowledgedFrameWasTaken) {
  Spool spool({8, 1 << 20});
  estimate::TupleFrame taken;
  Offer(spool);
  Offer(spool);
  spool.Take(100, taken);
  spool.Take(200, taken);
  EXPECT_EQ(*spool.Acknowledge(2), std::optional<std::int64_t>(200));
  EXPECT_EQ(*spool.Acknowledge(2), std::nullopt);
}

TEST_F(SpoolTest, SaysNothingOfTheTimeOfALostStream) {
  Spool spool({8, 1 << 20});
  estimate::TupleFrame taken;
  Offer(spool);
  spool.Take(100, taken);
  spool.Rewind();
  EXPECT_EQ(*spool.Acknowledge(1), std::nullopt);
  EXPECT_EQ(spool.held_frames(), 0u);
}

TEST_F(SpoolTest, DropsTheOldestAndCountsItWhenItIsFull) {
  Spool spool({3, 1 << 20});
  for (int i = 0; i < 5; ++i) Offer(spool, 4);
  EXPECT_EQ(TakeAll(spool), (Sequences{3, 4, 5}));
  EXPECT_EQ(spool.counters().dropped_frames, 2u);
  EXPECT_EQ(spool.counters().dropped_tuples, 8u);
  ExpectBalance(spool);
}

TEST_F(SpoolTest, IsBoundedByBytesToo) {
  Spool spool({100, 10 * 24});
  for (int i = 0; i < 4; ++i) Offer(spool, 4);
  EXPECT_EQ(spool.held_frames(), 2u);
  EXPECT_LE(spool.counters().held_bytes, 240u);
  ExpectBalance(spool);
}

TEST_F(SpoolTest, CountsTheBytesOfClassProbabilities) {
  Spool spool({100, 10 * 44});
  estimate::TupleFrame frame;
  for (int i = 0; i < 4; ++i) {
    frame.subjects.assign(4, 7);
    frame.log_probabilities.assign(4 * 10, -1.0f);
    spool.Offer(frame);
  }
  EXPECT_EQ(spool.held_frames(), 2u);
  EXPECT_EQ(spool.counters().held_bytes, 2u * 4 * 44);
}

TEST_F(SpoolTest, DropsAFrameThatAloneIsTooLargeAndKeepsTheOthers) {
  Spool spool({100, 10 * 24});
  Offer(spool, 2);
  EXPECT_EQ(Offer(spool, 11), 0u);
  EXPECT_EQ(spool.held_frames(), 1u);
  EXPECT_EQ(Offer(spool), 2u) << "it got no number";
  ExpectBalance(spool);
}

TEST_F(SpoolTest, GoesOnAfterATakenFrameWasDropped) {
  Spool spool({2, 1 << 20});
  Offer(spool);
  Offer(spool);
  TakeAll(spool);
  Offer(spool);  // drops 1, which may have arrived
  ASSERT_TRUE(spool.Acknowledge(1).ok());
  EXPECT_EQ(TakeAll(spool), Sequences{3});
  ASSERT_TRUE(spool.Acknowledge(3).ok());
  EXPECT_EQ(spool.counters().acknowledged_frames, 2u);
  ExpectBalance(spool);
}

TEST_F(SpoolTest, FindsOnlyWhatItHolds) {
  Spool spool({8, 1 << 20});
  Offer(spool, 5);
  Offer(spool, 6);
  TakeAll(spool);
  ASSERT_TRUE(spool.Acknowledge(1).ok());
  EXPECT_FALSE(spool.Find(0).has_value());
  EXPECT_FALSE(spool.Find(1).has_value());
  ASSERT_TRUE(spool.Find(2).has_value());
  EXPECT_EQ(spool.Find(2)->tuples, 6u);
  EXPECT_FALSE(spool.Find(2)->retaken);
  EXPECT_FALSE(spool.Find(3).has_value());
  spool.Rewind();
  TakeAll(spool);
  EXPECT_TRUE(spool.Find(2)->retaken);
}

TEST_F(SpoolTest, TakesNothingAndCountsOnceItIsClosed) {
  Spool spool({8, 1 << 20});
  Offer(spool);
  spool.Close();
  EXPECT_EQ(Offer(spool), 0u);
  EXPECT_EQ(spool.counters().dropped_frames, 1u);
  EXPECT_EQ(spool.DropAll(), 1u);
  EXPECT_EQ(spool.counters().dropped_frames, 2u);
  ExpectBalance(spool);
}

TEST_F(SpoolTest, HandsBackTheMemoryOfAcknowledgedFrames) {
  Spool spool({64, 1 << 20});
  estimate::TupleFrame frame = Frame(16);
  spool.Offer(frame);
  TakeAll(spool);
  ASSERT_TRUE(spool.Acknowledge(1).ok());
  frame = Frame(16);
  spool.Offer(frame);
  EXPECT_GE(frame.means.capacity(), 32u);
}

TEST_F(SpoolTest, LosesNothingBetweenThreads) {
  constexpr int kProducers = 3;
  constexpr std::uint64_t kEach = 4000;
  Spool spool({256, 1 << 20});
  std::vector<std::thread> producers;
  for (int i = 0; i < kProducers; ++i) {
    producers.emplace_back([&spool] {
      for (std::uint64_t n = 0; n < kEach; ++n) Offer(spool, 1 + n % 3, n);
    });
  }
  std::uint64_t last = 0;
  estimate::TupleFrame frame;
  while (spool.counters().offered_frames < kProducers * kEach || spool.waiting_frames() > 0) {
    while (spool.Take(0, frame)) {
      EXPECT_GT(frame.sequence, last);
      EXPECT_EQ(frame.means.size(), 2 * frame.subjects.size());
      last = frame.sequence;
    }
    ASSERT_TRUE(spool.Acknowledge(last).ok());
    if (last % 7 == 0) spool.Find(last);
  }
  for (std::thread& producer : producers) producer.join();
  EXPECT_EQ(spool.held_frames(), 0u);
  ExpectBalance(spool);
}

}  // namespace
}  // namespace tributary::link
