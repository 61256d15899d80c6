#include "node/source/emitter_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "core/radio/burst.h"

namespace tributary::source {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A sleep jumps: time passes only where the test or the source says so.
class EmitterClock final : public runtime::Clock {
 public:
  std::int64_t UnixNs() const override { return now_ns; }
  std::int64_t SteadyNs() const override { return now_ns; }
  void SleepUntil(std::int64_t unix_ns, std::stop_token stop) const override {
    if (!stop.stop_requested()) now_ns = std::max(now_ns, unix_ns);
  }
  mutable std::int64_t now_ns = estimate::SlotLength().StartNs(3'500'000'000'000) + 1'000;
};

class EmitterSourceTest : public testing::Test {
 protected:
  static EmitterSourceOptions Receiver(std::uint32_t receiver) {
    EmitterSourceOptions options;
    options.subjects = 3;
    options.receiver = receiver;
    return options;
  }

  // The next frame of a new source.
  SensorFrame Heard(const EmitterSourceOptions& options) {
    const EmitterClock clock;
    auto source = CreateEmitters(options, clock);
    EXPECT_TRUE(source.ok()) << source.status();
    SensorFrame frame;
    EXPECT_TRUE((*source)->Next({}, frame).ok());
    return frame;
  }

  static std::string Refusal(void (*change)(EmitterSourceOptions&)) {
    EmitterSourceOptions options;
    change(options);
    return std::string(CreateEmitters(options, EmitterClock()).status().message());
  }
};

TEST_F(EmitterSourceTest, GivesOneBurstOfEachEmitter) {
  const SensorFrame frame = Heard(Receiver(0));
  EXPECT_THAT(frame.subjects, ElementsAre(1, 2, 3));
  ASSERT_EQ(frame.features.size(), 3 * radio::kBurstFeatures);
  double energy = 0;
  for (const float feature : frame.features) energy += static_cast<double>(feature) * feature;
  EXPECT_NEAR(energy / 3 / radio::kBurstSamples, 1, 1e-5);
}

TEST_F(EmitterSourceTest, SubjectsMayStartElsewhereAndHearTheSame) {
  EmitterSourceOptions options = Receiver(0);
  const SensorFrame from_one = Heard(options);
  options.first_subject = 9;
  const SensorFrame frame = Heard(options);
  EXPECT_THAT(frame.subjects, ElementsAre(9, 10, 11));
  EXPECT_EQ(frame.features, from_one.features);
}

TEST_F(EmitterSourceTest, GivesThatWhichTheGeneratorGivesForItsEpoch) {
  const EmitterSourceOptions options = Receiver(2);
  const SensorFrame frame = Heard(options);
  const auto generator = radio::BurstGenerator::Create(options.burst, options.emitter.seed);
  ASSERT_TRUE(generator.ok());
  for (std::uint32_t emitter = 1; emitter <= 3; ++emitter) {
    const radio::Emission truth = radio::EmissionAt(options.emitter, emitter, frame.epoch);
    std::array<float, radio::kBurstFeatures> expected;
    generator->Generate(truth.modulation, truth.snr_db, radio::BurstIndex(emitter, frame.epoch), 2, expected);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                           frame.features.begin() + (emitter - 1) * radio::kBurstFeatures));
  }
}

TEST_F(EmitterSourceTest, GivesReceiversChannelsOfTheirOwn) {
  EXPECT_EQ(Heard(Receiver(1)).features, Heard(Receiver(1)).features);
  EXPECT_NE(Heard(Receiver(1)).features, Heard(Receiver(0)).features);
}

TEST_F(EmitterSourceTest, CountsFramesByTheSlotsOfItsRate) {
  EmitterSourceOptions options = Receiver(0);
  options.rate_hz = 200;  // every tenth slot
  const SensorFrame frame = Heard(options);
  EXPECT_EQ(frame.epoch % 10, 0u);
  const auto generator = radio::BurstGenerator::Create(options.burst, options.emitter.seed);
  const radio::Emission truth = radio::EmissionAt(options.emitter, 1, frame.epoch / 10);
  std::array<float, radio::kBurstFeatures> expected;
  generator->Generate(truth.modulation, truth.snr_db, radio::BurstIndex(1, frame.epoch / 10), 0, expected);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), frame.features.begin()));
}

TEST_F(EmitterSourceTest, RefusesOptionsByName) {
  EXPECT_THAT(Refusal([](auto& o) { o.subjects = 0; }), HasSubstr("subjects: 0"));
  EXPECT_THAT(Refusal([](auto& o) { o.rate_hz = 1500; }), HasSubstr("rate_hz"));
  EXPECT_THAT(Refusal([](auto& o) { o.emitter.frames_per_emission = 0; }), HasSubstr("frames_per_emission"));
  EXPECT_THAT(Refusal([](auto& o) { o.emitter.lowest_snr_db = 20; }), HasSubstr("lowest_snr_db: 20"));
  EXPECT_THAT(Refusal([](auto& o) { o.emitter.highest_snr_db = std::numeric_limits<double>::infinity(); }),
              HasSubstr("highest_snr_db"));
  EXPECT_THAT(Refusal([](auto& o) { o.burst.channel.taps = 0; }), HasSubstr("taps"));
}

}  // namespace
}  // namespace tributary::source
