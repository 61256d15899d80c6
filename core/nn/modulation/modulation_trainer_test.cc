#include "core/nn/modulation/modulation_trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/nn/modulation/modulation_fixture.h"
#include "core/nn/modulation/modulation_inference.h"

namespace tributary::nn {
namespace {

constexpr std::size_t kBurstFloats = kModulationInput.size();

class ModulationTrainerTest : public ::testing::TestWithParam<const ModulationArchitecture*> {
 protected:
  void Draw(std::uint64_t seed, std::size_t count) {
    bursts_.resize(count * kBurstFloats);
    classes_.resize(count);
    DrawTones(seed, bursts_, classes_);
  }

  std::vector<float> bursts_;
  std::vector<std::uint8_t> classes_;
};

TEST_P(ModulationTrainerTest, BeginsWithoutAnOpinion) {
  Draw(1, 64);
  ModulationTrainer trainer(*GetParam(), {});
  EXPECT_NEAR(trainer.Gradient(bursts_, classes_), std::log(10), 0.05);
}

TEST_P(ModulationTrainerTest, TheGradientIsTheMeanOverTheBursts) {
  Draw(2, 21);  // two passes, the second one not full
  ModulationTrainer trainer(*GetParam(), {});
  trainer.Gradient(bursts_, classes_);
  const std::vector<float> together(trainer.gradient().begin(), trainer.gradient().end());
  std::vector<double> mean(together.size());
  for (std::size_t n = 0; n < classes_.size(); ++n) {
    trainer.Gradient(std::span(bursts_).subspan(n * kBurstFloats, kBurstFloats),
                     std::span(classes_).subspan(n, 1));
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += trainer.gradient()[i] / 21.0;
  }
  // Sums of some thousand products in single precision, in another order.
  for (std::size_t i = 0; i < mean.size(); ++i) {
    ASSERT_NEAR(together[i], mean[i], 1e-4 * (1e-3 + std::abs(mean[i]))) << i;
  }
}

// Tones differ by a whole turn in 25 samples: a network that learns tells nearly all of them apart.
TEST_P(ModulationTrainerTest, LearnsToTellTonesApart) {
  constexpr std::size_t kSteps = 150;
  ModulationTrainer trainer(*GetParam(), {.steps = kSteps, .peak_learning_rate = 5e-3});
  for (std::size_t step = 0; step < kSteps; ++step) {
    Draw(100 + step, 64);
    trainer.Step(bursts_, classes_);
  }
  ModulationNetwork network = RandomModulationNetwork(*GetParam());
  network.parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
  ModulationInference inference(network);
  Draw(99, 200);
  std::vector<float> logits(200 * kModulationClasses);
  inference.Run(bursts_, 200, logits);
  std::size_t right = 0;
  for (std::size_t n = 0; n < 200; ++n) {
    const auto first = logits.begin() + static_cast<std::ptrdiff_t>(n * kModulationClasses);
    right += std::max_element(first, first + kModulationClasses) - first == classes_[n];
  }
  EXPECT_GE(right, 190u);
}

TEST_P(ModulationTrainerTest, EqualSeedsGiveEqualNetworks) {
  Draw(3, 32);
  ModulationTrainer a(*GetParam(), {.seed = 5}), b(*GetParam(), {.seed = 5}), c(*GetParam(), {.seed = 6});
  for (ModulationTrainer* trainer : {&a, &b, &c}) trainer->Step(bursts_, classes_);
  EXPECT_TRUE(std::ranges::equal(a.parameters(), b.parameters()));
  EXPECT_FALSE(std::ranges::equal(a.parameters(), c.parameters()));
}

INSTANTIATE_TEST_SUITE_P(Networks, ModulationTrainerTest,
                         ::testing::Values(&ModulationArchitectures()[0], &ModulationArchitectures()[1]),
                         [](const auto& test) { return std::string(test.param->name); });

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
  std::vector<float> bursts(18 * kBurstFloats);
  std::vector<std::uint8_t> classes(18);
  DrawTones(4, bursts, classes);
  ModulationInference inference(network);
  std::vector<float> logits(18 * kModulationClasses);
  inference.Run(bursts, 18, logits);
  const ReferenceTable4 reference(network);
  for (const std::size_t n : {0u, 15u, 16u, 17u}) {
    const auto expected = reference.Logits(std::span(bursts).subspan(n * kBurstFloats, kBurstFloats));
    for (std::size_t k = 0; k < kModulationClasses; ++k) {
      EXPECT_NEAR(logits[n * kModulationClasses + k], expected[k], 1e-4 * (1 + std::abs(expected[k])));
    }
  }
}

TEST(ModulationInferenceTest, GivesNoLogitsForABurstThatIsNotFinite) {
  ModulationInference inference(RandomModulationNetwork(ModulationArchitectures().back()));
  std::vector<float> bursts(3 * kBurstFloats, 1.0f), logits(3 * kModulationClasses);
  bursts[kBurstFloats + 200] = std::numeric_limits<float>::infinity();
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
  std::vector<float> bursts(kBurstFloats, 0.0f);
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
