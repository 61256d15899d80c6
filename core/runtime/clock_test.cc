#include "core/runtime/clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace tributary::runtime {
namespace {

TEST(ManualClockTest, WakesASleeperOnlyAtItsTime) {
  ManualClock clock(1'000);
  std::jthread sleeper([&](std::stop_token stop) {
    clock.SleepUntil(1'500, stop);
    EXPECT_GE(clock.UnixNs(), 1'500);
  });
  clock.Advance(400);
  clock.Advance(100);
  sleeper.join();
  EXPECT_EQ(clock.UnixNs(), 1'500);
}

TEST(ManualClockTest, AStopEndsASleep) {
  ManualClock clock(0);
  std::jthread sleeper([&](std::stop_token stop) { clock.SleepUntil(1'000'000'000, stop); });
  sleeper.request_stop();
  sleeper.join();
  EXPECT_EQ(clock.UnixNs(), 0);
}

TEST(SystemClockTest, ReturnsAtOnceForATimeInThePast) {
  const SystemClock clock;
  const std::int64_t before = clock.SteadyNs();
  clock.SleepUntil(0, {});
  EXPECT_LT(clock.SteadyNs() - before, 1'000'000'000);
}

TEST(SystemClockTest, SleepsUntilTheGivenTime) {
  const SystemClock clock;
  const std::int64_t wake_ns = clock.UnixNs() + 2'000'000;
  clock.SleepUntil(wake_ns, {});
  EXPECT_GE(clock.UnixNs(), wake_ns);
}

TEST(SystemClockTest, SleepsForTheGivenTimeOrUntilItIsStopped) {
  const SystemClock clock;
  const std::int64_t begin_ns = clock.SteadyNs();
  clock.SleepFor(2'000'000, {});
  EXPECT_GE(clock.SteadyNs() - begin_ns, 2'000'000);
  std::jthread sleeper([&](std::stop_token stop) { clock.SleepFor(INT64_MAX / 2, stop); });
  sleeper.request_stop();
  sleeper.join();
  EXPECT_LT(clock.SteadyNs() - begin_ns, 60'000'000'000);
}

}  // namespace
}  // namespace tributary::runtime
