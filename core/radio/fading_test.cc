#include "core/radio/fading.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

namespace tributary::radio {
namespace {

constexpr int kPaths = 100'000;

struct Moments {
  double power = 0;
  double fourth = 0;
  std::complex<double> mean;
  std::complex<double> correlation;  // of the gains at the beginning and at the end
};

Moments Measure(const FadingOptions& options, bool line_of_sight, double duration_s) {
  Moments moments;
  for (std::uint64_t key = 0; key < kPaths; ++key) {
    Draws draws(key);
    const PathGain gain = DrawPath(options, line_of_sight, duration_s, draws);
    moments.power += std::norm(gain.begin) / kPaths;
    moments.fourth += std::norm(gain.begin) * std::norm(gain.begin) / kPaths;
    moments.mean += gain.begin / static_cast<double>(kPaths);
    moments.correlation += gain.begin * std::conj(gain.end) / static_cast<double>(kPaths);
  }
  return moments;
}

// E|s|⁴ of the scattered part with N sinusoids of random phase is 2 − 3/(4N); N → ∞ is Rayleigh's 2. The
// standard deviation of |h|² is below one, that of |h|⁴ below five. Five standard errors.
TEST(FadingTest, IsRayleighWithoutALineOfSight) {
  const Moments moments = Measure({.sinusoids = 8, .doppler_hz = 1, .k_factor = 4}, false, 0);
  EXPECT_NEAR(moments.power, 1, 5 / std::sqrt(kPaths));
  EXPECT_NEAR(moments.fourth, 2 - 3.0 / (4 * 8), 25 / std::sqrt(kPaths));
  EXPECT_LT(std::abs(moments.mean), 5 / std::sqrt(kPaths));
}

// E|h|⁴ = (K² + 4K + E|s|⁴) / (K + 1)². Its standard deviation is below 1.5.
TEST(FadingTest, HasTheKFactorOfItsLineOfSight) {
  for (const double k : {0.0, 1.0, 4.0, 50.0}) {
    const Moments moments = Measure({.sinusoids = 8, .doppler_hz = 1, .k_factor = k}, true, 0);
    EXPECT_NEAR(moments.power, 1, 5 / std::sqrt(kPaths)) << k;
    EXPECT_NEAR(moments.fourth, (k * k + 4 * k + 2 - 3.0 / 32) / ((k + 1) * (k + 1)),
                (k < 1 ? 25 : 10) / std::sqrt(kPaths))
        << k;
  }
}

// Angles of arrival are uniform, so the autocorrelation is Bessel's J₀(2π f t) [Alimohammad09].
TEST(FadingTest, MovesAsItsDopplerSays) {
  for (const double turn : {0.5, 2.0, 3.8}) {
    const double duration_s = turn / (2 * std::numbers::pi * 10);
    const Moments moments = Measure({.sinusoids = 8, .doppler_hz = 10, .k_factor = 4}, false, duration_s);
    EXPECT_NEAR(moments.correlation.real(), std::cyl_bessel_j(0, turn), 5 / std::sqrt(kPaths)) << turn;
    EXPECT_NEAR(moments.correlation.imag(), 0, 5 / std::sqrt(kPaths)) << turn;
  }
}

}  // namespace
}  // namespace tributary::radio
