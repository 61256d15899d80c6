#include "cli/load/load_pace.h"

#include <gtest/gtest.h>

namespace tributary::cli {
namespace {

constexpr std::int64_t kUnixNs = 1'700'000'000'000'000'000;
constexpr std::int64_t kSteadyNs = 42'000'000'000;
constexpr std::int64_t kMsNs = 1'000'000;
const estimate::SlotLength kSlot = *estimate::SlotLength::FromMs(0.5);

// A run of 100 slots a second for ten seconds in a site of 0.5 ms.
class LoadPaceTest : public ::testing::Test {
 protected:
  LoadPaceTest() { pace_.Begin(kUnixNs, kSteadyNs, 10'000 * kMsNs); }

  // By the time since the run began.
  std::optional<estimate::Epoch> TakeAt(std::int64_t ms) { return pace_.Take(kSteadyNs + ms * kMsNs); }
  std::uint64_t SkipAt(std::int64_t ms) { return pace_.Skip(kSteadyNs + ms * kMsNs); }
  static estimate::Epoch EpochAt(std::int64_t ms) { return kSlot.EpochAt(kUnixNs + ms * kMsNs); }

  LoadPace pace_{100, kSlot};
};

TEST_F(LoadPaceTest, TakesASlotOnceItIsDue) {
  EXPECT_EQ(TakeAt(9), std::nullopt);
  EXPECT_EQ(TakeAt(10), EpochAt(10));
  EXPECT_EQ(TakeAt(10), std::nullopt);
  EXPECT_EQ(pace_.NextDueNs(), kSteadyNs + 20 * kMsNs);
}

TEST_F(LoadPaceTest, ALateSlotHasTheEpochAtWhichItWasDue) {
  for (int due_ms = 10; due_ms <= 250; due_ms += 10) EXPECT_EQ(TakeAt(250), EpochAt(due_ms));
  EXPECT_EQ(TakeAt(250), std::nullopt);
  EXPECT_EQ(TakeAt(260), EpochAt(260)) << "and those after it are on time";
}

TEST_F(LoadPaceTest, EverySlotOfARunIsTakenOrSkippedHoweverLateItEnds) {
  EXPECT_EQ(SkipAt(4'000), 400u);
  int taken = 0;
  while (TakeAt(60'000)) ++taken;
  EXPECT_EQ(taken, 600);
  EXPECT_EQ(SkipAt(60'000), 0u);
}

TEST_F(LoadPaceTest, EpochsRunAheadOnlyAtARateAboveThatOfTheSite) {
  LoadPace fast(4'000, kSlot);
  fast.Begin(kUnixNs, kSteadyNs, 1'000 * kMsNs);
  std::optional<estimate::Epoch> last;
  while (const auto epoch = fast.Take(kSteadyNs + 1'000 * kMsNs)) last = epoch;
  EXPECT_EQ(last, EpochAt(0) + 3'999);
  // The next run does not use them again.
  fast.Begin(kUnixNs + 1'000 * kMsNs, kSteadyNs + 1'000 * kMsNs, 1'000 * kMsNs);
  EXPECT_EQ(fast.Take(kSteadyNs + 1'001 * kMsNs), EpochAt(0) + 4'000);
}

}  // namespace
}  // namespace tributary::cli
