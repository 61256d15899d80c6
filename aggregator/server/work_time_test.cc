#include "aggregator/server/work_time.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace tributary::server {
namespace {

constexpr std::int64_t kMs = 1'000'000;

void Work(std::int64_t least_ns) {
  for (const std::int64_t begin_ns = ThreadProcessorNs(); ThreadProcessorNs() - begin_ns < least_ns;) {
  }
}

TEST(WorkTimeTest, IsTheProcessorsAndNotWhatPasses) {
  for (const bool told : {false, true}) {
    WorkTime time;
    if (told) time.WaitsAreTold();
    time.Begin();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_LT(time.Take(), 3 * kMs) << told;
    Work(5 * kMs);
    EXPECT_GE(time.Take(), 5 * kMs) << told;
  }
}

TEST(WorkTimeTest, LeavesOutWhatWasDoneLongBeforeItsBeginning) {
  WorkTime time;
  time.WaitsAreTold();
  time.Begin();
  Work(20 * kMs);
  time.Begin();
  Work(kMs);
  const std::int64_t took_ns = time.Take();
  EXPECT_GE(took_ns, kMs);
  EXPECT_LT(took_ns, 20 * kMs);
}

TEST(WorkTimeTest, ShortWorkAddsUp) {
  WorkTime time;
  time.WaitsAreTold();
  time.Begin();
  const std::int64_t begin_ns = ThreadProcessorNs();
  std::int64_t sum_ns = 0;
  for (int i = 0; i < 100; ++i) {
    Work(WorkTime::kShortNs / 5);
    sum_ns += time.Take();
  }
  EXPECT_GE(sum_ns, ThreadProcessorNs() - begin_ns - kMs);
}

// As it must be where nobody tells when a thread waits.
TEST(WorkTimeTest, ShortWaitsCountForNothingWhereTheyAreNotTold) {
  WorkTime time;
  time.Begin();
  std::int64_t sum_ns = 0;
  for (int i = 0; i < 1'000; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(1));
    sum_ns += time.Take();
  }
  EXPECT_LT(sum_ns, 40 * kMs) << "a sleep takes 50 us and more, and little of that is work";
}

}  // namespace
}  // namespace tributary::server
