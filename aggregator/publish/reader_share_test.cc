#include "aggregator/publish/reader_share.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "aggregator/publish/watch_queue.h"

namespace tributary::publish {
namespace {

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
