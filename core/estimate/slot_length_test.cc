#include "core/estimate/slot_length.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tributary::estimate {
namespace {

constexpr std::int64_t kFirstTime = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kLastTime = std::numeric_limits<std::int64_t>::max();
constexpr Epoch kLastEpoch = std::numeric_limits<Epoch>::max();

SlotLength Ms(double ms) { return SlotLength::FromMs(ms).value(); }

TEST(SlotLengthTest, IsThePilotSlotUnlessSaid) {
  EXPECT_EQ(SlotLength().ns(), 500'000);
  EXPECT_EQ(SlotLength(), Ms(0.5));
  EXPECT_DOUBLE_EQ(SlotLength().rate_hz(), 2000.0);
}

TEST(SlotLengthTest, ASlotHoldsItsStartAndNotItsEnd) {
  for (const double ms : {0.01, 0.5, 10.0, 16.666667, 100.0, 1000.0, 3'600'000.0}) {
    const SlotLength slot = Ms(ms);
    for (const Epoch epoch : {Epoch{0}, Epoch{1}, slot.EpochAt(1'700'000'000'123'456'789)}) {
      EXPECT_EQ(slot.EpochAt(slot.StartNs(epoch)), epoch) << ms;
      EXPECT_EQ(slot.EpochAt(slot.EndNs(epoch) - 1), epoch) << ms;
      EXPECT_EQ(slot.EpochAt(slot.EndNs(epoch)), epoch + 1) << ms;
    }
  }
}

TEST(SlotLengthTest, TimesBefore1970LieInTheFirstSlot) {
  for (const std::int64_t unix_ns : {std::int64_t{-1}, kFirstTime}) {
    EXPECT_EQ(SlotLength().EpochAt(unix_ns), 0u);
    EXPECT_EQ(Ms(1000).EpochAt(unix_ns), 0u);
  }
}

TEST(SlotLengthTest, NoEpochOverflows) {
  for (const double ms : {0.01, 0.5, 3'600'000.0}) {
    const SlotLength slot = Ms(ms);
    const Epoch last = slot.EpochAt(kLastTime);
    EXPECT_LE(slot.StartNs(last), kLastTime);
    EXPECT_GE(slot.StartNs(last), kLastTime - slot.ns());
    EXPECT_EQ(slot.EndNs(last), kLastTime);
    for (const Epoch beyond : {last + 1, Epoch{1} << 63, kLastEpoch - 1, kLastEpoch}) {
      EXPECT_EQ(slot.StartNs(beyond), kLastTime) << ms << " " << beyond;
      EXPECT_EQ(slot.EndNs(beyond), kLastTime) << ms << " " << beyond;
    }
  }
}

TEST(SlotLengthTest, CountsWholeSlotsOfADuration) {
  EXPECT_EQ(Ms(10).SlotsIn(29'999'999), 2u);
  EXPECT_EQ(Ms(10).SlotsIn(30'000'000), 3u);
  EXPECT_EQ(Ms(10).SlotsIn(-30'000'000), 0u);
}

TEST(SlotLengthTest, RoundsToNanosecondsSoThatEqualTextsAgree) {
  EXPECT_EQ(Ms(16.666667).ns(), 16'666'667);
  EXPECT_EQ(Ms(0.1).ns(), 100'000);
  EXPECT_EQ(Ms(33.3333334).ns(), 33'333'333);
}

TEST(SlotLengthTest, RefusesWhatIsOutsideItsLimits) {
  for (const double ms : {0.0, -1.0, 0.009999, 3'600'000.000001, 1e300, std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    EXPECT_FALSE(SlotLength::FromMs(ms).has_value()) << ms;
  }
  for (const std::uint64_t ns :
       {std::uint64_t{0}, std::uint64_t{9'999}, std::uint64_t{3'600'000'000'001}, kLastEpoch}) {
    EXPECT_FALSE(SlotLength::FromNs(ns).has_value()) << ns;
  }
  EXPECT_TRUE(SlotLength::FromNs(SlotLength::kShortestNs).has_value());
  EXPECT_TRUE(SlotLength::FromNs(SlotLength::kLongestNs).has_value());
}

TEST(SlotLengthTest, ReadsAsAConfigurationSaysIt) {
  EXPECT_EQ(SlotLength().Text(), "0.5 ms");
  EXPECT_EQ(Ms(10).Text(), "10 ms");
  EXPECT_EQ(Ms(16.666667).Text(), "16.666667 ms");
  EXPECT_EQ(Ms(3'600'000).Text(), "3600000 ms");
}

}  // namespace
}  // namespace tributary::estimate
