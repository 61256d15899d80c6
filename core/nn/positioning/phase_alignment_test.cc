#include "core/nn/positioning/phase_alignment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <vector>

#include "core/nn/kernel/random_values_fixture.h"

namespace tributary::nn {
namespace {

constexpr std::size_t kWaveFeatures = PositioningNetwork::kInputs;
constexpr std::size_t kWaveHalf = kWaveFeatures / 2;

FeatureSpan WaveSpan(std::vector<float>& features) { return FeatureSpan(features.data(), kWaveFeatures); }

// Steps of phase from column to column, row to row and subcarrier to subcarrier, and at their middle, rad.
struct Wave {
  double column = 0, row = 0, subcarrier = 0, phase = 0;

  std::vector<float> Features() const {
    std::vector<float> features(kWaveFeatures);
    for (std::size_t i = 0; i < kWaveHalf; ++i) {
      const auto from_middle = [](std::size_t place) { return static_cast<double>(place) - 4; };
      const double angle = column * from_middle(i / 8 % 8) + row * from_middle(i / 64) +
                           subcarrier * from_middle(i % 8) + phase;
      features[i] = static_cast<float>(std::cos(angle));
      features[i + kWaveHalf] = static_cast<float>(std::sin(angle));
    }
    return features;
  }
};

double WavePhase(const std::vector<float>& features) {
  const std::complex<float> reference =
      PhaseReference(PhaseAlignment::kPlaneWave, ConstFeatureSpan(features.data(), kWaveFeatures));
  return std::arg(std::complex<double>(reference));
}

TEST(PlaneWaveTest, FindsThePhaseInTheMiddleOfAnyWave) {
  for (const Wave& wave : {Wave{0, 0, 0, 0.3}, Wave{2.5, -0.4, -1.1, -2}, Wave{-3, 2, 3, 1}}) {
    EXPECT_NEAR(WavePhase(wave.Features()), wave.phase, 1e-5);
  }
}

// Complex noise of power one for each of 512 values deviates the phase by √(1/2/512) = 0.03 rad.
TEST(PlaneWaveTest, IsHardlyMovedByNoise) {
  const Wave wave{1.2, -0.7, -0.9, 0.5};
  std::vector<float> features = wave.Features();
  const std::vector<float> noise = RandomValues(kWaveFeatures, 4);
  double power = 0;
  for (const float v : noise) power += static_cast<double>(v) * v / kWaveHalf;
  for (std::size_t i = 0; i < kWaveFeatures; ++i)
    features[i] += noise[i] / static_cast<float>(std::sqrt(power));
  EXPECT_NEAR(WavePhase(features), wave.phase, 4 * 0.0313);
}

TEST(PlaneWaveTest, NeedsNoSingleAntenna) {
  const Wave wave{1.2, -0.7, -0.9, 0.5};
  for (const std::size_t dead : {std::size_t{0}, std::size_t{4 * 8 + 4}}) {
    std::vector<float> features = wave.Features();
    for (std::size_t k = 0; k < 8; ++k) features[8 * dead + k] = features[kWaveHalf + 8 * dead + k] = 0;
    EXPECT_NEAR(WavePhase(features), wave.phase, 1e-5);
  }
}

TEST(PlaneWaveTest, TheOscillatorsPhaseDisappears) {
  std::vector<float> a = RandomValues(kWaveFeatures, 7);
  std::vector<float> b(kWaveFeatures);
  const std::complex<float> turn = std::polar(1.0f, 2.0f);
  for (std::size_t i = 0; i < kWaveHalf; ++i) {
    const std::complex<float> turned = turn * std::complex<float>(a[i], a[i + kWaveHalf]);
    b[i] = turned.real();
    b[i + kWaveHalf] = turned.imag();
  }
  AlignPhase(PhaseAlignment::kPlaneWave, WaveSpan(a));
  AlignPhase(PhaseAlignment::kPlaneWave, WaveSpan(b));
  for (std::size_t i = 0; i < kWaveFeatures; ++i) EXPECT_NEAR(a[i], b[i], 2e-5);
}

TEST(PlaneWaveTest, LeavesZerosAsTheyAre) {
  std::vector<float> features(kWaveFeatures, 0.0f);
  AlignPhase(PhaseAlignment::kPlaneWave, WaveSpan(features));
  EXPECT_EQ(features, std::vector<float>(kWaveFeatures, 0.0f));
}

TEST(PlaneWaveTest, ANumberThatIsNoneSpoilsTheReference) {
  std::vector<float> features = RandomValues(kWaveFeatures, 8);
  features[300] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(WavePhase(features)));
}

}  // namespace
}  // namespace tributary::nn
