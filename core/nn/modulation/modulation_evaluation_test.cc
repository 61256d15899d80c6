#include "core/nn/modulation/modulation_evaluation.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/nn/modulation/modulation_fixture.h"
#include "core/nn/modulation/modulation_inference.h"
#include "core/nn/modulation/modulation_trainer.h"

namespace tributary::nn {
namespace {

constexpr std::size_t kToneFloats = kModulationInput.size();

class ModulationEvaluationTest : public ::testing::TestWithParam<const ModulationArchitecture*> {
 protected:
  void Draw(std::size_t count) {
    bursts_.resize(count * kToneFloats);
    classes_.resize(count);
    DrawTones(1, bursts_, classes_);
  }

  std::vector<float> bursts_;
  std::vector<std::uint8_t> classes_;
};

TEST_P(ModulationEvaluationTest, CountsWhatIsRightAndHowSureTheNetworkWas) {
  Draw(40);
  const ModulationNetwork network = RandomModulationNetwork(*GetParam());
  std::vector<float> logits(40 * kModulationClasses);
  ModulationInference(network).Run(bursts_, 40, logits);
  double right = 0, nll = 0;
  for (std::size_t n = 0; n < 40; ++n) {
    const float* of_burst = logits.data() + n * kModulationClasses;
    right += std::max_element(of_burst, of_burst + kModulationClasses) - of_burst == classes_[n];
    double sum = 0;
    for (std::size_t k = 0; k < kModulationClasses; ++k) sum += std::exp(of_burst[k] / 1.5);
    nll += std::log(sum) - of_burst[classes_[n]] / 1.5;
  }
  const ModulationScore score = ScoreModulation(network, bursts_, classes_);
  EXPECT_NEAR(score.accuracy, right / 40, 1e-12);
  EXPECT_NEAR(score.nll, nll / 40, 1e-4);
}

TEST_P(ModulationEvaluationTest, NoOtherTemperatureIsBetter) {
  Draw(200);
  ModulationNetwork network = RandomModulationNetwork(*GetParam());
  const float fitted = ModulationTemperature(network, bursts_, classes_);
  const auto nll_at = [&](float temperature) {
    network.temperature = temperature;
    return ScoreModulation(network, bursts_, classes_).nll;
  };
  const double least = nll_at(fitted);
  EXPECT_LE(least, nll_at(0.9f * fitted) + 1e-4);
  EXPECT_LE(least, nll_at(1.1f * fitted) + 1e-4);
}

TEST_P(ModulationEvaluationTest, ATrainersMemoryIsKnownBefore) {
#ifdef TRIBUTARY_SANITIZED
  GTEST_SKIP() << "the sanitizer's malloc does not count";
#endif
  const ModulationNetwork network = RandomModulationNetwork(*GetParam());
  const auto allocated = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  for (const std::size_t batch : {std::size_t{2}, std::size_t{64}, std::size_t{1000}}) {
    Draw(batch);
    ModulationTrainer(*GetParam(), {.from = network.parameters}).Step(bursts_, classes_);
    const std::uint64_t before = allocated();
    ModulationTrainer trainer(*GetParam(), {.from = network.parameters});
    trainer.Step(bursts_, classes_);
    const std::uint64_t held = allocated() - before, known = ModulationTrainerBytes(*GetParam(), batch);
    EXPECT_LE(held, known) << batch;
    EXPECT_GE(1.5 * static_cast<double>(held) + 3e5, static_cast<double>(known)) << batch;
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, ModulationEvaluationTest,
                         ::testing::Values(&ModulationArchitectures()[0], &ModulationArchitectures()[1],
                                           &ModulationArchitectures()[2]),
                         [](const auto& tested) { return std::string(tested.param->name); });

}  // namespace
}  // namespace tributary::nn
