#include "node/source/replay.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tributary::source {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A sleep jumps: time passes only where the test or the source says so.
class JumpingClock final : public runtime::Clock {
 public:
  std::int64_t UnixNs() const override { return now_ns; }
  std::int64_t SteadyNs() const override { return now_ns; }
  void SleepUntil(std::int64_t unix_ns, std::stop_token stop) const override {
    if (!stop.stop_requested()) now_ns = std::max(now_ns, unix_ns);
  }
  mutable std::int64_t now_ns = estimate::SlotLength().StartNs(10'000) + 1;
};

class ReplaySourceTest : public testing::Test {
 protected:
  std::unique_ptr<Source> Make(parameters::NpyArray recording, const ReplayOptions& options) {
    auto source = CreateReplay(std::move(recording), options, clock_);
    EXPECT_TRUE(source.ok()) << source.status();
    return *std::move(source);
  }

  static parameters::NpyArray ThreeSlots() { return {.shape = {3, 2}, .values = {1, 2, 3, 4, 5, 6}}; }

  JumpingClock clock_;
  SensorFrame frame_;
};

TEST_F(ReplaySourceTest, PlaysSlotsInOrderAndEnds) {
  const auto source = Make(ThreeSlots(), {.rate_hz = 1000.0});
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(source->Next({}, frame_).ok());
    EXPECT_EQ(frame_.epoch, 10'002 + 2 * i);
    EXPECT_EQ(frame_.captured_unix_ns, estimate::SlotLength().StartNs(frame_.epoch));
    EXPECT_THAT(frame_.subjects, ElementsAre(1));
    EXPECT_THAT(frame_.features, ElementsAre(2 * i + 1, 2 * i + 2));
  }
  EXPECT_EQ(source->Next({}, frame_).code(), absl::StatusCode::kOutOfRange);
}

TEST_F(ReplaySourceTest, LoopPlaysBySlotOfTheWallClock) {
  const parameters::NpyArray recording{.shape = {4, 2, 1}, .values = {0, 10, 1, 11, 2, 12, 3, 13}};
  const auto source = Make(recording, {.loop = true, .first_subject = 7});
  for (int i = 0; i < 9; ++i) {
    ASSERT_TRUE(source->Next({}, frame_).ok());
    const auto slot = static_cast<float>(frame_.epoch % 4);
    EXPECT_THAT(frame_.features, ElementsAre(slot, 10 + slot));
    EXPECT_THAT(frame_.subjects, ElementsAre(7, 8));
  }
}

TEST_F(ReplaySourceTest, PlaysOneFrameInEachSlotOfTheSite) {
  const estimate::SlotLength slot = *estimate::SlotLength::FromMs(100);
  const auto source = Make(ThreeSlots(), {.rate_hz = 10, .slot = slot});
  const estimate::Epoch first = slot.EpochAt(clock_.now_ns) + 1;
  for (estimate::Epoch i = 0; i < 3; ++i) {
    ASSERT_TRUE(source->Next({}, frame_).ok());
    EXPECT_EQ(frame_.epoch, first + i);
    EXPECT_EQ(frame_.captured_unix_ns, slot.StartNs(first + i));
    EXPECT_EQ(clock_.now_ns, slot.StartNs(first + i));
  }
}

TEST_F(ReplaySourceTest, LeavesOutAndCountsWhatIsTooOld) {
  const auto source = Make(ThreeSlots(), {.loop = true});
  ASSERT_TRUE(source->Next({}, frame_).ok());
  clock_.now_ns += 1000 * estimate::SlotLength().ns();
  ASSERT_TRUE(source->Next({}, frame_).ok());
  EXPECT_EQ(frame_.epoch, 11'002);
  EXPECT_EQ(source->missed_frames(), 1000);
}

TEST_F(ReplaySourceTest, GoesOnAfterTheClockWasSetBack) {
  const auto source = Make(ThreeSlots(), {.loop = true});
  ASSERT_TRUE(source->Next({}, frame_).ok());
  clock_.now_ns -= 5000 * estimate::SlotLength().ns();
  ASSERT_TRUE(source->Next({}, frame_).ok());
  EXPECT_EQ(frame_.epoch, 5'002);
}

TEST_F(ReplaySourceTest, StopsWhenAsked) {
  const auto source = Make(ThreeSlots(), {});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(source->Next(stop.get_token(), frame_).code(), absl::StatusCode::kCancelled);
}

TEST_F(ReplaySourceTest, RefusesOtherShapesAndRates) {
  const auto error = [&](parameters::NpyArray recording, const ReplayOptions& options) {
    return std::string(CreateReplay(std::move(recording), options, clock_).status().message());
  };
  EXPECT_THAT(error({.shape = {3}, .values = {1, 2, 3}}, {}), HasSubstr("not [3]"));
  EXPECT_THAT(error({.shape = {0, 4}, .values = {}}, {}), HasSubstr("not [0, 4]"));
  for (const double rate : {0.0, -1.0, 3.0e3, 1500.0, 1e-4})
    EXPECT_THAT(error(ThreeSlots(), {.rate_hz = rate}), HasSubstr("rate_hz"));
}

}  // namespace
}  // namespace tributary::source
