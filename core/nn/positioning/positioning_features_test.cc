#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <vector>

#include "core/nn/kernel/random_values_fixture.h"
#include "core/nn/positioning/positioning_inference.h"

namespace tributary::nn {
namespace {

constexpr std::size_t kFeatureCount = PositioningNetwork::kInputs;

FeatureSpan Span(std::vector<float>& features) { return FeatureSpan(features.data(), kFeatureCount); }

TEST(AlignPhaseTest, ClearsTheFirstPhaseAndKeepsTheRelativeOnes) {
  const std::vector<float> raw = RandomValues(kFeatureCount, 1);
  std::vector<float> aligned = raw;
  AlignPhase(PhaseAlignment::kFirstAntenna, Span(aligned));
  EXPECT_GT(aligned[0], 0);
  EXPECT_EQ(aligned[kFeatureCount / 2], 0);
  const std::complex<double> rotation = std::conj(std::complex<double>(raw[0], raw[kFeatureCount / 2])) /
                                        std::hypot(double{raw[0]}, double{raw[kFeatureCount / 2]});
  for (std::size_t i = 0; i < kFeatureCount / 2; ++i) {
    const std::complex<double> expected = rotation * std::complex<double>(raw[i], raw[i + kFeatureCount / 2]);
    EXPECT_NEAR(aligned[i], expected.real(), 2e-6);
    EXPECT_NEAR(aligned[i + kFeatureCount / 2], expected.imag(), 2e-6);
  }
}

TEST(AlignPhaseTest, IsIdempotent) {
  std::vector<float> once = RandomValues(kFeatureCount, 2);
  AlignPhase(PhaseAlignment::kFirstAntenna, Span(once));
  std::vector<float> twice = once;
  AlignPhase(PhaseAlignment::kFirstAntenna, Span(twice));
  EXPECT_EQ(once, twice);
}

TEST(AlignPhaseTest, LeavesFeaturesWithoutAReferenceAsTheyAre) {
  std::vector<float> features = RandomValues(kFeatureCount, 3);
  features[0] = features[kFeatureCount / 2] = 0.0f;
  const std::vector<float> before = features;
  AlignPhase(PhaseAlignment::kFirstAntenna, Span(features));
  EXPECT_EQ(features, before);
}

}  // namespace
}  // namespace tributary::nn
