#include "core/radio/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

namespace tributary::radio {
namespace {

// One path in sight, that does nothing but turn the phase.
ChannelOptions Wire() {
  ChannelOptions options;
  options.max_sample_rate_offset_hz = 0;
  options.max_carrier_offset_hz = 0;
  options.fading.k_factor = 1e6;
  options.delays_samples = {0};
  options.magnitudes = {1};
  return options;
}

Waveform Tone(double cycles_per_sample) {
  Waveform tone;
  for (std::size_t n = 0; n < Waveform::size(); ++n) {
    const double phase = 2 * std::numbers::pi * cycles_per_sample * static_cast<double>(n);
    tone.i[n] = static_cast<float>(std::cos(phase));
    tone.q[n] = static_cast<float>(std::sin(phase));
  }
  return tone;
}

class ChannelTest : public testing::Test {
 protected:
  void Pass(const ChannelOptions& options, const Waveform& sent, std::uint64_t key) {
    const auto channel = Channel::Create(options);
    ASSERT_TRUE(channel.ok()) << channel.status();
    channel->Pass(sent, key, received_);
  }

  std::complex<double> At(std::size_t n) const { return {received_.i[n], received_.q[n]}; }

  double Power() const {
    double power = 0;
    for (std::size_t n = 0; n < kBurstSamples; ++n) power += std::norm(At(n)) / kBurstSamples;
    return power;
  }

  // Cycles per sample between the first and the last sample.
  double Frequency() const {
    double turned = 0;
    for (std::size_t n = 1; n < kBurstSamples; ++n) turned += std::arg(At(n) * std::conj(At(n - 1)));
    return turned / (2 * std::numbers::pi) / (kBurstSamples - 1);
  }

  Received received_;
};

// The resampler's table has 512 moments: 2π × 0.3 / 1024 rad at most, and its passband ripples by 0.5 %.
TEST_F(ChannelTest, PassesATone) {
  for (const double frequency : {-0.3, 0.0, 0.05, 0.3}) {
    for (std::uint64_t key = 0; key < 20; ++key) {
      Pass(Wire(), Tone(frequency), key);
      EXPECT_NEAR(Power(), 1, 0.01) << frequency;
      EXPECT_NEAR(Frequency(), frequency, 1e-4) << frequency;
    }
  }
}

// The expected power of a tone is Σ magnitude² |Σ sinc(k − delay) e^(−jωk)|²: paths are independent with mean
// power one. A path's power has at most the standard deviation of its mean: five standard errors.
TEST_F(ChannelTest, GivesEachPathItsDelayAndMagnitude) {
  constexpr int kChannels = 4000;
  for (const double frequency : {0.0, 0.2, 0.35}) {
    const ChannelOptions options;
    double expected = 0;
    for (std::size_t path = 0; path < 3; ++path) {
      std::complex<double> response;
      for (std::size_t k = 0; k < options.taps; ++k) {
        const double x = std::numbers::pi * (static_cast<double>(k) - options.delays_samples[path]);
        response += (x == 0 ? 1 : std::sin(x) / x) *
                    std::polar(1.0, -2 * std::numbers::pi * frequency * static_cast<double>(k));
      }
      expected += std::norm(options.magnitudes[path] * response);
    }
    double power = 0;
    const Waveform tone = Tone(frequency);
    const auto channel = Channel::Create(options);
    ASSERT_TRUE(channel.ok());
    for (std::uint64_t key = 0; key < kChannels; ++key) {
      channel->Pass(tone, key, received_);
      power += Power() / kChannels;
    }
    EXPECT_NEAR(power / expected, 1, 5 / std::sqrt(kChannels)) << frequency;
  }
}

// The variance of a uniform offset is a third of the square of its limit, and that square's standard
// deviation is 0.9 times its mean.
TEST_F(ChannelTest, DrawsTheCarrierOffsetBetweenItsLimits) {
  constexpr int kChannels = 3000;
  ChannelOptions options = Wire();
  options.max_carrier_offset_hz = 500;
  options.offset_step_hz = 0;
  double square = 0;
  double largest = 0;
  for (std::uint64_t key = 0; key < kChannels; ++key) {
    Pass(options, Tone(0), key);
    const double hz = Frequency() * options.sample_rate_hz;
    square += hz * hz / kChannels;
    largest = std::max(largest, std::abs(hz));
  }
  EXPECT_NEAR(square / (500.0 * 500 / 3), 1, 5 * 0.9 / std::sqrt(kChannels));
  EXPECT_LE(largest, 501);
}

// A clock that is off by ε turns a tone of f into one of f (1 + ε).
TEST_F(ChannelTest, DrawsTheClockOffsetBetweenItsLimits) {
  constexpr int kChannels = 2000;
  ChannelOptions options = Wire();
  options.max_sample_rate_offset_hz = 2000;
  options.offset_step_hz = 0;
  double square = 0;
  for (std::uint64_t key = 0; key < kChannels; ++key) {
    Pass(options, Tone(0.2), key);
    const double hz = (Frequency() / 0.2 - 1) * options.sample_rate_hz;
    square += hz * hz / kChannels;
    ASSERT_LE(std::abs(hz), 2030);
  }
  EXPECT_NEAR(square / (2000.0 * 2000 / 3), 1, 5 * 0.9 / std::sqrt(kChannels));
}

// A walk of steps σ has the variance n σ² after n steps, if it is far from its limits.
TEST_F(ChannelTest, WalksFromSampleToSample) {
  constexpr int kChannels = 3000;
  ChannelOptions options = Wire();
  options.max_carrier_offset_hz = 10'000;
  options.offset_step_hz = 20;
  double square = 0;
  for (std::uint64_t key = 0; key < kChannels; ++key) {
    Pass(options, Tone(0), key);
    const auto hz = [&](std::size_t n) {
      return std::arg(At(n) * std::conj(At(n - 1))) / (2 * std::numbers::pi) * options.sample_rate_hz;
    };
    const double walked = hz(101) - hz(1);
    square += walked * walked / kChannels;
  }
  EXPECT_NEAR(square / (100 * 20.0 * 20), 1, 0.15);  // five standard errors, and some walks that met a limit
}

TEST_F(ChannelTest, IsTheSameForTheSameKeyAlone) {
  const Waveform tone = Tone(0.1);
  Pass({}, tone, 1);
  const Received first = received_;
  Pass({}, tone, 2);
  EXPECT_NE(first.i, received_.i);
  Pass({}, tone, 1);
  EXPECT_EQ(first.i, received_.i);
  EXPECT_EQ(first.q, received_.q);
}

TEST_F(ChannelTest, StaysWithinItsWaveformAtTheLargestOffsets) {
  ChannelOptions options;
  options.max_sample_rate_offset_hz = 0.01 * options.sample_rate_hz;
  options.max_carrier_offset_hz = 0.1 * options.sample_rate_hz;
  options.offset_step_hz = options.sample_rate_hz;  // jumps from limit to limit
  options.taps = Channel::kMaxTaps;
  for (std::uint64_t key = 0; key < 200; ++key) {
    Pass(options, Tone(0.1), key);
    EXPECT_TRUE(std::isfinite(Power()));
  }
}

TEST_F(ChannelTest, RefusesOptionsByName) {
  const auto refusal = [](void (*change)(ChannelOptions&)) {
    ChannelOptions options;
    change(options);
    return std::string(Channel::Create(options).status().message());
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal([](auto& o) { o.taps = 0; }), HasSubstr("taps: 0"));
  EXPECT_THAT(refusal([](auto& o) { o.taps = 17; }), HasSubstr("taps: 17"));
  EXPECT_THAT(refusal([](auto& o) { o.delays_samples.pop_back(); }), HasSubstr("delays_samples: 2"));
  EXPECT_THAT(refusal([](auto& o) { o.delays_samples = o.magnitudes = {}; }), HasSubstr("delays_samples"));
  EXPECT_THAT(refusal([](auto& o) { o.delays_samples = {0, 1, 7.5}; }), HasSubstr("delays_samples: 7.5"));
  EXPECT_THAT(refusal([](auto& o) { o.delays_samples[1] = -1; }), HasSubstr("delays_samples: -1"));
  EXPECT_THAT(refusal([](auto& o) { o.magnitudes = {0, 0, 0}; }), HasSubstr("magnitudes"));
  EXPECT_THAT(refusal([](auto& o) { o.sample_rate_hz = 0; }), HasSubstr("sample_rate_hz"));
  EXPECT_THAT(refusal([](auto& o) { o.max_carrier_offset_hz = 1e5; }), HasSubstr("max_carrier_offset_hz"));
  EXPECT_THAT(refusal([](auto& o) { o.max_sample_rate_offset_hz = -1; }),
              HasSubstr("max_sample_rate_offset"));
  EXPECT_THAT(refusal([](auto& o) { o.fading.doppler_hz = 200; }), HasSubstr("doppler_hz: 200"));
  EXPECT_THAT(refusal([](auto& o) { o.fading.k_factor = std::nan(""); }), HasSubstr("k_factor"));
  EXPECT_THAT(refusal([](auto& o) { o.fading.sinusoids = 0; }), HasSubstr("sinusoids: 0"));
}

}  // namespace
}  // namespace tributary::radio
