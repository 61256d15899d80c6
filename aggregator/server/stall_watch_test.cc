#include "aggregator/server/stall_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tributary::server {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kKiB = 1024;

// Looks 5 ms apart, at a thread that is held all the time.
class StallWatchTest : public ::testing::Test {
 protected:
  using Numbers = std::vector<std::uint64_t>;

  struct Peer {
    std::uint64_t reads = 0;  // bytes since the last look
    std::uint64_t hears = 0;  // messages
  };

  // The peers that stall, by their places in `peers`.
  Numbers Look(const std::vector<Peer>& peers) {
    samples_.resize(peers.size());
    for (std::size_t i = 0; i < peers.size(); ++i) {
      samples_[i].connection = i;
      samples_[i].read += peers[i].reads;
      samples_[i].heard += peers[i].hears;
    }
    Numbers stalling = watch_.Look(samples_, milliseconds(5));
    std::ranges::sort(stalling);
    return stalling;
  }
  Numbers LookThrice(const std::vector<Peer>& peers) {
    Look(peers);
    Look(peers);
    return Look(peers);
  }

  std::vector<StallWatch::Sample> samples_;
  StallWatch watch_;
};

TEST_F(StallWatchTest, FindsWhoIsReadSlowlyWhileNothingComesOfIt) {
  EXPECT_EQ(Look({{8 * kKiB}}), Numbers());
  EXPECT_EQ(Look({{8 * kKiB}}), Numbers()) << "one look too few";
  EXPECT_EQ(Look({{8 * kKiB}}), Numbers({0}));
}

TEST_F(StallWatchTest, FindsAllOfThem) {
  EXPECT_EQ(LookThrice({{8 * kKiB}, {0}, {16 * kKiB}}), Numbers({0, 2}));
}

// gRPC may need longer for what it has read than the time between two looks.
TEST_F(StallWatchTest, FindsWhoWasReadOnce) {
  Look({{0}});
  EXPECT_EQ(Look({{8 * kKiB}}), Numbers());
  EXPECT_EQ(Look({{0}}), Numbers({0}));
}

TEST_F(StallWatchTest, LeavesWindowUpdatesAndPings) {
  EXPECT_EQ(LookThrice({{StallWatch::kFew - 1}}), Numbers());
}

TEST_F(StallWatchTest, LeavesWhoseMessagesCome) { EXPECT_EQ(LookThrice({{8 * kKiB, 1}}), Numbers()); }

TEST_F(StallWatchTest, AMessageAcquits) {
  Look({{8 * kKiB}});
  Look({{8 * kKiB}});
  EXPECT_EQ(Look({{8 * kKiB, 1}}), Numbers());
  EXPECT_EQ(Look({{0}}), Numbers());
}

TEST_F(StallWatchTest, LeavesUploadsHoweverTheyShareWhatIsRead) {
  EXPECT_EQ(LookThrice({{5 * StallWatch::kReadPerMs}}), Numbers()) << "one, at the limit";
  EXPECT_EQ(LookThrice(std::vector<Peer>(50, {8 * kKiB})), Numbers());
}

TEST_F(StallWatchTest, BeginsAgainOnceTheThreadHadAnEvent) {
  Look({{8 * kKiB}});
  Look({{8 * kKiB}});
  watch_.Forget();
  EXPECT_EQ(Look({{8 * kKiB}}), Numbers());
  EXPECT_EQ(Look({{8 * kKiB}}), Numbers());
  EXPECT_EQ(Look({{8 * kKiB}}), Numbers({0}));
}

}  // namespace
}  // namespace tributary::server
