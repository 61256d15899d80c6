#include "core/radio/speech.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

namespace tributary::radio {
namespace {

// Loudness is lognormal: the power's standard deviation is three times its mean. Five standard errors.
TEST(SpeechTest, HasPowerOneOverManySounds) {
  constexpr int kSounds = 100'000;
  double power = 0;
  int pauses = 0;
  for (std::uint64_t key = 0; key < kSounds; ++key) {
    Draws draws(key);
    const double one = Speech::Draw(draws).power();
    power += one / kSounds;
    pauses += one < 4e-3;  // −24 dB: a pause has −42.4 dB in the median, an unvoiced sound −12.4
  }
  EXPECT_NEAR(power, 1, 5 * 3 / std::sqrt(kSounds));
  // 0.1 % of the pauses are louder, 2.7 % of the unvoiced sounds quieter. Five standard errors.
  EXPECT_NEAR(static_cast<double>(pauses) / kSounds, 0.12 * 0.999 + 0.23 * 0.027, 0.0053);
}

// The power of the samples is that of the partials, and stands at their frequencies alone.
TEST(SpeechTest, IsAnalyticUpToSixKilohertz) {
  constexpr std::size_t kSamples = 2048;
  constexpr double kRateHz = 16'000;
  std::vector<float> i(kSamples), q(kSamples);
  for (std::uint64_t key = 0; key < 8; ++key) {
    Draws draws(key);
    const Speech speech = Speech::Draw(draws);
    speech.WriteAnalytic(kRateHz, i, q);
    double within = 0;
    double beyond = 0;
    for (int bin = -1024; bin < 1024; ++bin) {
      std::complex<double> sum;
      const std::complex<double> step = std::polar(1.0, -2 * std::numbers::pi * bin / kSamples);
      std::complex<double> turn = 1;
      for (std::size_t n = 0; n < kSamples; ++n, turn *= step) {
        const double x = 2 * std::numbers::pi * static_cast<double>(n) / kSamples;
        const double window = 0.35875 - 0.48829 * std::cos(x) + 0.14128 * std::cos(2 * x) -
                              0.01168 * std::cos(3 * x);  // Blackman-Harris: −92 dB beyond four bins
        sum += window * turn * std::complex<double>(i[n], q[n]);
      }
      const double hz = bin * kRateHz / kSamples;
      (hz > 0 && hz < 6000 + 5 * kRateHz / kSamples ? within : beyond) += std::norm(sum);
    }
    EXPECT_LT(beyond / within, 1e-7) << key;
  }
}

TEST(SpeechTest, FilterActsOnEachPartial) {
  Draws draws(4);
  Speech speech = Speech::Draw(draws);
  const double power = speech.power();
  speech.Filter([](double) { return std::complex<float>(0, 2); });
  EXPECT_NEAR(speech.power(), 4 * power, 1e-5 * power);
  speech.Filter([](double hz) { return hz > 7000 ? 1.0f : 0.0f; });
  EXPECT_EQ(speech.power(), 0);
}

}  // namespace
}  // namespace tributary::radio
