#include "fpga/model/modulation_import.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

#include "core/nn/modulation/modulation_fixture.h"
#include "core/nn/modulation/modulation_inference.h"

namespace tributary::fpga {
namespace {

TEST(ModulationImportTest, TheChainComputesWhatTheNetworkDoes) {
  constexpr std::size_t kCount = 5;
  std::vector<float> bursts(kCount * kModulationInputs), logits(kCount * kModulationClasses);
  std::vector<std::uint8_t> classes(kCount);
  nn::DrawTones(2, bursts, classes);
  for (const nn::ModulationArchitecture& architecture : nn::ModulationArchitectures()) {
    const nn::ModulationNetwork network = nn::RandomModulationNetwork(architecture);
    const TrainedModulation trained = ImportModulation(network);
    ASSERT_TRUE(CheckTrained(trained).ok()) << CheckTrained(trained);
    nn::ModulationInference(network).Run(bursts, kCount, logits);
    for (std::size_t n = 0; n < kCount; ++n) {
      const auto row =
          RunTrained(trained, std::span(bursts).subspan(n * kModulationInputs, kModulationInputs));
      for (std::size_t k = 0; k < kModulationClasses; ++k) {
        const float expected = logits[n * kModulationClasses + k];
        // Sums of some hundred products in single precision, in another order.
        EXPECT_NEAR(row[k], expected, 1e-4 * (1 + std::abs(expected))) << architecture.name;
      }
    }
  }
}

TEST(ModulationImportTest, TakesTheRangesBehindThePooling) {
  nn::ModulationNetwork network = nn::RandomModulationNetwork(*nn::FindModulationArchitecture("compact"));
  for (std::size_t i = 0; i < network.activation_range.size(); ++i) {
    network.activation_range[i] = static_cast<float>(i + 1);
  }
  const TrainedModulation trained = ImportModulation(network);
  EXPECT_EQ(trained.input_range, 1);
  ASSERT_EQ(trained.layers.size(), 4u);
  EXPECT_EQ(trained.layers[0].range, 3);
  EXPECT_EQ(trained.layers[2].range, 7);
  EXPECT_EQ(trained.layers[3].range, 9);
}

}  // namespace
}  // namespace tributary::fpga
