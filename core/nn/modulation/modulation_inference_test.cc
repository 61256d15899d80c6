#include "core/nn/modulation/modulation_inference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/nn/modulation/modulation_fixture.h"

namespace tributary::nn {
namespace {

constexpr std::size_t kInferredFloats = kModulationInput.size();

// By definition, in double: for the layers that table4 has.
class ReferenceTable4 {
 public:
  explicit ReferenceTable4(const ModulationNetwork& network)
      : network_(network), layout_(network.architecture->tensors()) {}

  std::vector<double> Logits(std::span<const float> burst) const {
    std::vector<double> x(burst.begin(), burst.end());
    x = Pooled(Convolved("convolution1", x, 2, 32, 8), 32);
    x = Pooled(Convolved("convolution2", x, 32, 16, 16), 16);
    x = Clipped(Dense("dense1", x, 64));
    x = Clipped(Dense("dense2", x, 32));
    return Dense("dense3", x, 10);
  }

 private:
  std::span<const float> Tensor(const std::string& name) const {
    return layout_.Range(name).Of(std::span<const float>(network_.parameters));
  }

  static std::vector<double> Clipped(std::vector<double> x) {
    for (double& value : x) value = std::max(value, 0.0);
    return x;
  }

  std::vector<double> Convolved(const std::string& name, const std::vector<double>& x, std::size_t inputs,
                                std::size_t outputs, std::size_t taps) const {
    const std::size_t length = x.size() / inputs, steps = length - taps + 1;
    std::vector<double> y;
    for (std::size_t o = 0; o < outputs; ++o) {
      for (std::size_t t = 0; t < steps; ++t) {
        double sum = Tensor(name + ".bias")[o];
        for (std::size_t i = 0; i < inputs; ++i) {
          for (std::size_t k = 0; k < taps; ++k) {
            sum += Tensor(name + ".weight")[(o * inputs + i) * taps + k] * x[i * length + t + k];
          }
        }
        y.push_back(sum);
      }
    }
    return Clipped(y);
  }

  static std::vector<double> Pooled(const std::vector<double>& x, std::size_t channels) {
    const std::size_t length = x.size() / channels;
    std::vector<double> y;
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t t = 0; t + 1 < length; t += 2)
        y.push_back(std::max(x[c * length + t], x[c * length + t + 1]));
    }
    return y;
  }

  std::vector<double> Dense(const std::string& name, const std::vector<double>& x,
                            std::size_t outputs) const {
    std::vector<double> y(outputs);
    for (std::size_t o = 0; o < outputs; ++o) {
      for (std::size_t i = 0; i < x.size(); ++i) y[o] += Tensor(name + ".weight")[o * x.size() + i] * x[i];
    }
    return y;
  }

  const ModulationNetwork& network_;
  const ParameterLayout layout_;
};

TEST(ModulationInferenceTest, Table4IsItsDefinition) {
  const ModulationNetwork network = RandomModulationNetwork(ModulationArchitectures().front());
  std::vector<float> bursts(18 * kInferredFloats);
  std::vector<std::uint8_t> classes(18);
  DrawTones(4, bursts, classes);
  ModulationInference inference(network);
  std::vector<float> logits(18 * kModulationClasses);
  inference.Run(bursts, 18, logits);
  const ReferenceTable4 reference(network);
  for (const std::size_t n : {0u, 15u, 16u, 17u}) {
    const auto expected = reference.Logits(std::span(bursts).subspan(n * kInferredFloats, kInferredFloats));
    for (std::size_t k = 0; k < kModulationClasses; ++k) {
      EXPECT_NEAR(logits[n * kModulationClasses + k], expected[k], 1e-4 * (1 + std::abs(expected[k])));
    }
  }
}

TEST(ModulationInferenceTest, GivesNoLogitsForABurstThatIsNotFinite) {
  ModulationInference inference(RandomModulationNetwork(ModulationArchitectures().back()));
  std::vector<float> bursts(3 * kInferredFloats, 1.0f), logits(3 * kModulationClasses);
  bursts[kInferredFloats + 200] = std::numeric_limits<float>::infinity();
  inference.Run(bursts, 3, logits);
  for (std::size_t k = 0; k < kModulationClasses; ++k) {
    EXPECT_TRUE(std::isnan(logits[kModulationClasses + k]));
    EXPECT_TRUE(std::isfinite(logits[k]));
    EXPECT_EQ(logits[2 * kModulationClasses + k], logits[k]);
  }
}

TEST(ModulationInferenceTest, RangesAreThoseOfTheBurstsAlone) {
  ModulationNetwork network = RandomModulationNetwork(ModulationArchitectures().back());
  ModulationInference inference(network);
  std::vector<float> ranges(network.activation_range.size());
  std::vector<float> bursts(kInferredFloats, 0.0f);
  bursts[7] = -3.0f;
  inference.UpdateRanges(bursts, ranges);
  EXPECT_EQ(ranges[0], 3.0f);
  std::vector<float> logits(kModulationClasses);
  inference.Run(bursts, 1, logits);
  float largest = 0;
  for (const float logit : logits) largest = std::max(largest, std::abs(logit));
  EXPECT_EQ(ranges.back(), largest);
}

}  // namespace
}  // namespace tributary::nn
