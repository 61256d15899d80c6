#include "core/nn/modulation/modulation_trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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

// Norms would couple the bursts of a batch: from given parameters there are none.
TEST_P(ModulationTrainerTest, TheGradientIsTheMeanOverTheBursts) {
  Draw(2, 21);  // two passes, the second one not full
  const ModulationNetwork network = RandomModulationNetwork(*GetParam());
  ModulationTrainer trainer(*GetParam(), {.from = network.parameters});
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
  network.parameters = trainer.NetworkParameters();
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

TEST_P(ModulationTrainerTest, GoesOnWithGivenParameters) {
  const ModulationNetwork network = RandomModulationNetwork(*GetParam());
  ModulationTrainer trainer(*GetParam(), {.from = network.parameters});
  EXPECT_EQ(trainer.NetworkParameters(), network.parameters);
  Draw(4, 32);
  trainer.Step(bursts_, classes_);
  EXPECT_NE(trainer.NetworkParameters(), network.parameters);
}

TEST_P(ModulationTrainerTest, EqualSeedsGiveEqualNetworks) {
  Draw(3, 32);
  ModulationTrainer a(*GetParam(), {.seed = 5}), b(*GetParam(), {.seed = 5}), c(*GetParam(), {.seed = 6});
  for (ModulationTrainer* trainer : {&a, &b, &c}) trainer->Step(bursts_, classes_);
  EXPECT_TRUE(std::ranges::equal(a.parameters(), b.parameters()));
  EXPECT_FALSE(std::ranges::equal(a.parameters(), c.parameters()));
}

INSTANTIATE_TEST_SUITE_P(Networks, ModulationTrainerTest,
                         ::testing::Values(FindModulationArchitecture("table4"),
                                           FindModulationArchitecture("compact"),
                                           FindModulationArchitecture("deep")),
                         [](const auto& test) { return std::string(test.param->name); });

}  // namespace
}  // namespace tributary::nn
