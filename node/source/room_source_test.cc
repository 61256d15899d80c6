#include "node/source/room_source.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <span>

#include "core/scene/room_channel.h"

namespace tributary::source {
namespace {

// A sleep jumps: time passes only where the test or the source says so.
class RoomClock final : public runtime::Clock {
 public:
  std::int64_t UnixNs() const override { return now_ns; }
  std::int64_t SteadyNs() const override { return now_ns; }
  void SleepUntil(std::int64_t unix_ns, std::stop_token stop) const override {
    if (!stop.stop_requested()) now_ns = std::max(now_ns, unix_ns);
  }
  mutable std::int64_t now_ns = estimate::SlotLength().StartNs(3'500'000'000'000) + 1'000;
};

class RoomSourceTest : public ::testing::Test {
 protected:
  static RoomSourceOptions Small() {
    RoomSourceOptions options;
    options.subjects = 3;
    options.motion.snapshots = 20;
    return options;
  }

  std::unique_ptr<Source> Make(const RoomSourceOptions& options = Small()) {
    auto source = CreateRoom(options, clock_);
    EXPECT_TRUE(source.ok()) << source.status();
    return *std::move(source);
  }

  estimate::Epoch NextEpoch(Source& source) {
    EXPECT_TRUE(source.Next({}, frame_).ok());
    return frame_.epoch;
  }

  // What a new source senses in that slot.
  SensorFrame Sensed(const RoomSourceOptions& options, estimate::Epoch epoch) {
    clock_.now_ns = options.slot.StartNs(epoch) - 1;
    EXPECT_EQ(NextEpoch(*Make(options)), epoch);
    return frame_;
  }

  static void ExpectRefused(const RoomSourceOptions& options) {
    const RoomClock clock;
    EXPECT_EQ(CreateRoom(options, clock).status().code(), absl::StatusCode::kInvalidArgument);
  }

  RoomClock clock_;
  SensorFrame frame_;
};

TEST_F(RoomSourceTest, GivesOneFramePerSlotStampedWithItsStart) {
  const auto source = Make();
  const estimate::Epoch first = NextEpoch(*source);
  EXPECT_EQ(first, estimate::SlotLength().EpochAt(clock_.now_ns));
  EXPECT_EQ(frame_.captured_unix_ns, estimate::SlotLength().StartNs(first));
  for (estimate::Epoch i = 1; i <= 100; ++i) EXPECT_EQ(NextEpoch(*source), first + i);
  EXPECT_EQ(source->missed_frames(), 0u);
}

TEST_F(RoomSourceTest, SensesTheChannelOfTheTrueUsersPlusNoise) {
  const RoomSourceOptions options = Small();
  const auto source = Make(options);
  const std::size_t n = options.subjects * scene::kChannelFeatures;
  double squares = 0;
  constexpr int kSlots = 100;
  for (int slot = 0; slot < kSlots; ++slot) {
    const estimate::Epoch epoch = NextEpoch(*source);
    ASSERT_EQ(frame_.features.size(), n);
    for (std::uint32_t i = 0; i < options.subjects; ++i) {
      EXPECT_EQ(frame_.subjects[i], i + 1);
      std::array<float, scene::kChannelFeatures> clean;
      scene::ComputeRoomChannel(
          scene::ToPanelFrame(options.wall, options.motion.At(i + 1, estimate::SlotLength().StartNs(epoch))),
          clean);
      for (std::size_t f = 0; f < scene::kChannelFeatures; ++f) {
        squares += std::pow(frame_.features[i * scene::kChannelFeatures + f] - clean[f], 2);
      }
    }
  }
  // σ² / 2 per part. 131,072 numbers in the pool: standard error of their variance 0.4 %.
  const double variance = squares / static_cast<double>(n * kSlots);
  EXPECT_NEAR(variance / (scene::kNoiseDeviation * scene::kNoiseDeviation / 2), 1.0, 0.02);
}

TEST_F(RoomSourceTest, GivesTheSameSampleForTheSameEpochAndFreshNoiseForAnother) {
  const SensorFrame frame = Sensed(Small(), 1000);
  EXPECT_EQ(frame.features, Sensed(Small(), 1000).features);
  EXPECT_NE(frame.features, Sensed(Small(), 1001).features) << "of the same snapshot";
}

TEST_F(RoomSourceTest, LowersTheRateOnEpochsThatAllPanelsShare) {
  RoomSourceOptions options = Small();
  options.rate_hz = 500;
  const auto source = Make(options);
  const estimate::Epoch first = NextEpoch(*source);
  EXPECT_EQ(first % 4, 0u);
  EXPECT_EQ(NextEpoch(*source), first + 4);
}

TEST_F(RoomSourceTest, GivesOneFrameInEachSlotOfTheSite) {
  RoomSourceOptions options = Small();
  options.slot = *estimate::SlotLength::FromMs(100);
  options.rate_hz = 10;
  const auto source = Make(options);
  const estimate::Epoch first = NextEpoch(*source);
  EXPECT_EQ(first, options.slot.EpochAt(clock_.now_ns));
  EXPECT_EQ(frame_.captured_unix_ns, options.slot.StartNs(first));
  EXPECT_EQ(NextEpoch(*source), first + 1);
  EXPECT_EQ(clock_.now_ns, options.slot.StartNs(first + 1));
  options.rate_hz = 20;
  ExpectRefused(options);
}

// Users do not walk faster when slots are longer.
TEST_F(RoomSourceTest, SensesTheSamePlacesAtTheSameTimeWhateverTheSlots) {
  const RoomSourceOptions fine = Small();
  RoomSourceOptions coarse = fine;
  coarse.slot = *estimate::SlotLength::FromMs(8);
  coarse.rate_hz = 125;
  double difference = 0;
  for (estimate::Epoch epoch = 1'000; epoch < 1'050; ++epoch) {
    const SensorFrame a = Sensed(coarse, epoch);
    const SensorFrame b = Sensed(fine, fine.slot.EpochAt(coarse.slot.StartNs(epoch)));
    ASSERT_EQ(a.captured_unix_ns, b.captured_unix_ns);
    for (std::size_t i = 0; i < a.features.size(); ++i) {
      difference += std::pow(a.features[i] - b.features[i], 2) / static_cast<double>(a.features.size() * 50);
    }
  }
  // Twice the noise of a part, which is σ² / 2; another place would add the channel's own power.
  EXPECT_NEAR(difference / (scene::kNoiseDeviation * scene::kNoiseDeviation), 1.0, 0.05);
}

TEST_F(RoomSourceTest, CatchesUpAfterAShortDelay) {
  const auto source = Make();
  const estimate::Epoch first = NextEpoch(*source);
  clock_.now_ns += 100 * estimate::SlotLength().ns();
  for (estimate::Epoch i = 1; i <= 100; ++i) EXPECT_EQ(NextEpoch(*source), first + i);
  EXPECT_EQ(source->missed_frames(), 0u);
}

TEST_F(RoomSourceTest, CountsTheSlotsThatItMissesInALongDelay) {
  const auto source = Make();
  const estimate::Epoch first = NextEpoch(*source);
  clock_.now_ns += 10'000 * estimate::SlotLength().ns();
  const estimate::Epoch resumed = NextEpoch(*source);
  EXPECT_EQ(resumed, first + 10'001);
  EXPECT_EQ(source->missed_frames(), 10'000u);
}

TEST_F(RoomSourceTest, GoesOnAtOnceWhenTheClockIsSetBack) {
  const auto source = Make();
  const estimate::Epoch first = NextEpoch(*source);
  clock_.now_ns -= 1'000'000 * estimate::SlotLength().ns();
  EXPECT_EQ(NextEpoch(*source), first - 1'000'000 + 1);
}

TEST_F(RoomSourceTest, IsCancelledOnceStopIsRequested) {
  const auto source = Make();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(source->Next(stop.get_token(), frame_).code(), absl::StatusCode::kCancelled);
}

TEST_F(RoomSourceTest, RefusesOptionsOutOfRange) {
  for (const double rate : {0.0, -1.0, 3000.0, 1999.0, std::nan("")}) {
    RoomSourceOptions options = Small();
    options.rate_hz = rate;
    ExpectRefused(options);
  }
  RoomSourceOptions options = Small();
  options.subjects = 0;
  ExpectRefused(options);
  options = Small();
  options.motion.snapshots = 1'000'000;
  ExpectRefused(options);
}

}  // namespace
}  // namespace tributary::source
