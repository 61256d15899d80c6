#include "core/runtime/thread_rank.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <latch>
#include <string>
#include <thread>

#include "tests/support/thread_stat.h"

namespace tributary::runtime {
namespace {

constexpr int kNicest = 19;

// The nice value that the kernel shows for a thread of that rank, and for one that it has started.
struct Seen {
  int own = -1;
  int child = -1;
};

int NiceOf(const std::string& name) {
  for (const testing::ThreadStat& each : testing::ThreadsOf("self")) {
    if (each.name == name) return each.nice;
  }
  return -1;
}

Seen NiceOfRank(ThreadRank rank) {
  std::latch entered(1), seen(1);
  std::jthread child;
  std::jthread thread([&] {
    EnterThread("ranked", rank);
    child = std::jthread([&] {
      EnterThread("child", ThreadRank::kFusion);
      entered.count_down();
      seen.wait();
    });
    seen.wait();
  });
  entered.wait();
  const Seen found{NiceOf("ranked"), NiceOf("child")};
  seen.count_down();
  thread.join();
  return found;
}

class ThreadRankTest : public ::testing::TestWithParam<ThreadRank> {};

TEST_P(ThreadRankTest, GivesWayByItsRankAndSoDoWhatItStarts) {
  const int process = getpriority(PRIO_PROCESS, 0);
  const int expected = std::min(process + NiceLevels(GetParam()), kNicest);
  const Seen seen = NiceOfRank(GetParam());
  EXPECT_EQ(seen.own, expected);
  EXPECT_EQ(seen.child, expected);
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), process) << "of another thread";
}

INSTANTIATE_TEST_SUITE_P(Ranks, ThreadRankTest,
                         ::testing::Values(ThreadRank::kFusion, ThreadRank::kBackground, ThreadRank::kSpare));

TEST(ThreadRankOrderTest, LearningWaitsForFusionAndFiguresWaitForBoth) {
  EXPECT_EQ(NiceLevels(ThreadRank::kFusion), 0);
  EXPECT_LT(NiceLevels(ThreadRank::kFusion), NiceLevels(ThreadRank::kBackground));
  EXPECT_LT(NiceLevels(ThreadRank::kBackground), NiceLevels(ThreadRank::kSpare));
}

}  // namespace
}  // namespace tributary::runtime
