#include "node/accelerator/modulation_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "fpga/model/random_modulation_fixture.h"
#include "gtest/gtest.h"
#include "hwy/targets.h"

namespace tributary::accelerator {
namespace {

constexpr std::size_t kBurst = fpga::kModulationInputs;
constexpr std::size_t kClasses = fpga::kModulationClasses;

// Every instruction set that this processor has and this build contains.
class ModulationKernelsTest : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }

  static fpga::Int8Modulation Fixed(const fpga::TrainedModulation& network) {
    return *fpga::MakeInt8Modulation(network);
  }

  static std::vector<float> Run(PackedModulation& packed, const std::vector<float>& bursts) {
    const std::size_t batch = bursts.size() / kBurst;
    std::vector<float> logits(batch * kClasses);
    RunModulation(packed, bursts.data(), batch, logits.data());
    return logits;
  }

  // Bit for bit.
  static void ExpectModel(const fpga::Int8Modulation& network, const std::vector<float>& bursts) {
    PackedModulation packed = PackModulation(network);
    const std::vector<float> logits = Run(packed, bursts);
    std::vector<float> expected(logits.size());
    for (std::size_t i = 0; i * kBurst < bursts.size(); ++i) {
      fpga::InferInt8(network, std::span(bursts).subspan(i * kBurst, kBurst),
                      std::span(expected).subspan(i * kClasses, kClasses));
    }
    EXPECT_EQ(std::memcmp(logits.data(), expected.data(), logits.size() * sizeof(float)), 0)
        << testing::PrintToString(logits) << ", expected " << testing::PrintToString(expected);
  }

  std::mt19937_64 random_{5};
};

INSTANTIATE_TEST_SUITE_P(Targets, ModulationKernelsTest,
                         testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& instance) { return std::string(hwy::TargetName(instance.param)); });

TEST_P(ModulationKernelsTest, EqualTheModelForBothNetworksAndAnyBatch) {
  for (const fpga::TrainedModulation& trained : {fpga::RandomTable4(1), fpga::RandomCompact(2)}) {
    const fpga::Int8Modulation network = Fixed(trained);
    for (const std::size_t batch : {1, 2, 7, 8, 9, 20}) {
      ExpectModel(network, fpga::RandomBursts(random_, batch));
    }
  }
}

TEST_P(ModulationKernelsTest, EqualTheModelForAnyShape) {
  for (std::uint64_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    fpga::Int8Modulation network = Fixed(fpga::RandomModulation(seed));
    if (seed % 3 == 2) fpga::MakeExtreme(random_, network);
    SCOPED_TRACE(seed);
    ExpectModel(network, fpga::RandomBursts(random_, 1 + seed % 10));
  }
}

TEST_P(ModulationKernelsTest, SaturateAsTheModelDoes) {
  const fpga::Int8Modulation network = Fixed(fpga::RandomTable4(3));
  std::vector<float> bursts = fpga::RandomBursts(random_, 9);
  for (float& sample : bursts) sample *= 1e30f;
  ExpectModel(network, bursts);
}

// Words half-way between two are rounded to the even one.
TEST_P(ModulationKernelsTest, RoundSamplesAsTheModelDoes) {
  fpga::Int8Modulation network = Fixed(fpga::RandomCompact(4));
  network.input_gain = 0.5f;
  std::vector<float> bursts(3 * kBurst);
  for (std::size_t i = 0; i < bursts.size(); ++i) bursts[i] = static_cast<float>(i % 511) - 255.0f;
  ExpectModel(network, bursts);
}

TEST_P(ModulationKernelsTest, OnlyTheBurstWithABadSampleIsLost) {
  const fpga::Int8Modulation network = Fixed(fpga::RandomCompact(5));
  PackedModulation packed = PackModulation(network);
  const std::vector<float> good = fpga::RandomBursts(random_, 10);
  const std::vector<float> expected = Run(packed, good);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    for (const std::size_t place : {std::size_t{0}, std::size_t{127}, std::size_t{128}, kBurst - 1}) {
      std::vector<float> bursts = good;
      bursts[8 * kBurst + place] = bad;
      const std::vector<float> logits = Run(packed, bursts);
      for (std::size_t i = 0; i < logits.size(); ++i) {
        if (i / kClasses == 8) {
          EXPECT_TRUE(std::isnan(logits[i]));
        } else {
          EXPECT_EQ(logits[i], expected[i]);
        }
      }
    }
  }
}

TEST_P(ModulationKernelsTest, FloatAgreesUpToRounding) {
  for (std::uint64_t seed = 0; seed < 20 && !HasFailure(); ++seed) {
    const fpga::TrainedModulation network = seed == 0   ? fpga::RandomTable4(1)
                                            : seed == 1 ? fpga::RandomCompact(2)
                                                        : fpga::RandomModulation(seed);
    PackedFloatModulation packed = PackFloatModulation(network);
    const std::size_t batch = 1 + seed % 10;
    const std::vector<float> bursts = fpga::RandomBursts(random_, batch);
    std::vector<float> logits(batch * kClasses);
    RunFloatModulation(packed, bursts.data(), batch, logits.data());
    for (std::size_t i = 0; i < batch; ++i) {
      const std::vector<float> expected =
          fpga::RunTrained(network, std::span(bursts).subspan(i * kBurst, kBurst));
      for (std::size_t k = 0; k < kClasses; ++k) {
        // Sums of at most 512 products in each of eight layers, each rounded by 6e-8.
        EXPECT_NEAR(logits[i * kClasses + k], expected[k], 2.5e-4f * network.layers.back().range) << seed;
      }
    }
  }
}

TEST_P(ModulationKernelsTest, FloatLosesOnlyTheBurstWithABadSample) {
  PackedFloatModulation packed = PackFloatModulation(fpga::RandomTable4(7));
  std::vector<float> bursts = fpga::RandomBursts(random_, 9);
  bursts[8 * kBurst - 1] = std::numeric_limits<float>::infinity();
  std::vector<float> logits(9 * kClasses);
  RunFloatModulation(packed, bursts.data(), 9, logits.data());
  for (std::size_t i = 0; i < logits.size(); ++i) EXPECT_EQ(std::isnan(logits[i]), i / kClasses == 7);
}

TEST_P(ModulationKernelsTest, KeepNothingOfTheBatchBefore) {
  const fpga::Int8Modulation network = Fixed(fpga::RandomTable4(6));
  PackedModulation packed = PackModulation(network);
  const std::vector<float> first = fpga::RandomBursts(random_, 1);
  const std::vector<float> alone = Run(packed, first);
  Run(packed, fpga::RandomBursts(random_, 20));
  EXPECT_EQ(Run(packed, first), alone);
}

}  // namespace
}  // namespace tributary::accelerator
