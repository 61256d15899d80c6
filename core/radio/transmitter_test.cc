#include "core/radio/transmitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

namespace tributary::radio {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Waveform Write(Modulation modulation, std::uint64_t key, const TransmitterOptions& options = {}) {
  const auto transmitter = Transmitter::Create(options);
  EXPECT_TRUE(transmitter.ok()) << transmitter.status();
  Waveform waveform;
  Draws draws(key);
  transmitter->Write(modulation, draws, waveform);
  return waveform;
}

TEST(TransmitterTest, WritesAFiniteWaveformOfEveryModulation) {
  for (std::size_t m = 0; m < kModulations.size(); ++m) {
    for (std::uint64_t key = 0; key < 20; ++key) {
      const Waveform waveform = Write(static_cast<Modulation>(m), key);
      double energy = 0;
      for (std::size_t n = 0; n < Waveform::size(); ++n) energy += std::hypot(waveform.i[n], waveform.q[n]);
      EXPECT_TRUE(std::isfinite(energy) && energy > 0) << kModulations[m];
    }
  }
}

TEST(TransmitterTest, KeepsWidebandFmWithinItsDeviation) {
  const double most = 2 * std::numbers::pi * 75e3 / 200e3;
  double largest = 0;
  for (std::uint64_t key = 0; key < 300; ++key) {
    const Waveform waveform = Write(Modulation::kWbfm, key);
    std::complex<double> before(waveform.i[0], waveform.q[0]);
    for (std::size_t n = 1; n < Waveform::size(); ++n) {
      const std::complex<double> now(waveform.i[n], waveform.q[n]);
      ASSERT_NEAR(std::abs(now), 1, 1e-6);
      largest = std::max(largest, std::abs(std::arg(now * std::conj(before))));
      before = now;
    }
  }
  EXPECT_LE(largest, most + 1e-4);
  EXPECT_GT(largest, most - 1e-4);  // the limiter acts on loud sounds
}

TEST(TransmitterTest, DrawsAnotherRateOfSymbolsForEachBurst) {
  TransmitterOptions options;
  options.least_samples_per_symbol = 7.2;
  options.most_samples_per_symbol = 8.8;
  // A sample of CPFSK turns by (π/2) / (samples per symbol), so the largest turn tells the rate.
  double fastest = 0;
  double slowest = 1;
  for (std::uint64_t key = 0; key < 300; ++key) {
    const Waveform waveform = Write(Modulation::kCpfsk, key, options);
    double largest = 0;
    for (std::size_t n = 1; n < Waveform::size(); ++n) {
      const std::complex<double> now(waveform.i[n], waveform.q[n]);
      const std::complex<double> before(waveform.i[n - 1], waveform.q[n - 1]);
      largest = std::max(largest, std::abs(std::arg(now * std::conj(before))));
    }
    fastest = std::max(fastest, largest);
    slowest = std::min(slowest, largest);
  }
  EXPECT_NEAR(std::numbers::pi / 2 / fastest, 7.2, 0.05);
  EXPECT_NEAR(std::numbers::pi / 2 / slowest, 8.8, 0.05);
}

TEST(TransmitterTest, RefusesOptionsByName) {
  const auto refusal = [](void (*change)(TransmitterOptions&)) {
    TransmitterOptions options;
    change(options);
    return std::string(Transmitter::Create(options).status().message());
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal([](auto& o) { o.roll_off = 0; }), HasSubstr("roll_off: 0"));
  EXPECT_THAT(refusal([](auto& o) { o.roll_off = kNan; }), HasSubstr("roll_off"));
  EXPECT_THAT(refusal([](auto& o) { o.sample_rate_hz = 48e3; }), HasSubstr("sample_rate_hz: 48000"));
  EXPECT_THAT(refusal([](auto& o) { o.least_samples_per_symbol = 2; }), HasSubstr("samples_per_symbol: 2"));
  EXPECT_THAT(refusal([](auto& o) { o.least_samples_per_symbol = 9; }), HasSubstr("samples_per_symbol: 9"));
  EXPECT_THAT(refusal([](auto& o) { o.most_samples_per_symbol = kNan; }), HasSubstr("samples_per_symbol"));
}

}  // namespace
}  // namespace tributary::radio
