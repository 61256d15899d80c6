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

// A thread that a library has started under this name, until it is told to end.
class Foreign {
 public:
  explicit Foreign(const std::string& name) {
    std::latch named(1);
    thread_ = std::jthread([&named, name, this] {
      EnterThread(name, ThreadRank::kFusion);
      named.count_down();
      end_.wait();
    });
    named.wait();
  }
  ~Foreign() { end_.count_down(); }

 private:
  std::latch end_{1};
  std::jthread thread_;
};

TEST(ForeignThreadsTest, RanksThoseOfItsNameWheneverTheyStart) {
  const int process = getpriority(PRIO_PROCESS, 0);
  const int expected = std::min(process + NiceLevels(ThreadRank::kBackground), kNicest);
  ForeignThreads foreign("foreign", ThreadRank::kBackground);
  const Foreign other("other");
  foreign.Look();
  const Foreign late("foreign");
  EXPECT_EQ(NiceOf("foreign"), process);
  foreign.Look();
  EXPECT_EQ(NiceOf("foreign"), expected);
  foreign.Look();
  EXPECT_EQ(NiceOf("foreign"), expected) << "twice";
  EXPECT_EQ(NiceOf("other"), process);
}

TEST(ThreadRankOrderTest, LearningWaitsForFusionAndFiguresWaitForBoth) {
  EXPECT_EQ(NiceLevels(ThreadRank::kFusion), 0);
  EXPECT_LT(NiceLevels(ThreadRank::kFusion), NiceLevels(ThreadRank::kBackground));
  EXPECT_LT(NiceLevels(ThreadRank::kBackground), NiceLevels(ThreadRank::kSpare));
}

}  // namespace
}  // namespace tributary::runtime
