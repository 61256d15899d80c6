#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "core/nn/modulation/modulation_fixture.h"
#include "core/nn/modulation/modulation_inference.h"
#include "fpga/model/modulation_import.h"
#include "fpga/model/modulation_int8.h"
#include "node/accelerator/create.h"

namespace tributary::accelerator {
namespace {

constexpr std::size_t kBatch = 20;

class CpuModulationTest : public ::testing::Test {
 protected:
  void SetUp() override { nn::DrawTones(1, bursts_, classes_); }

  const nn::ModulationNetwork network_ =
      nn::RandomModulationNetwork(*nn::FindModulationArchitecture("compact"));
  std::vector<float> bursts_ = std::vector<float>(kBatch * nn::kModulationInput.size());
  std::vector<std::uint8_t> classes_ = std::vector<std::uint8_t>(kBatch);
  std::vector<float> logits_ = std::vector<float>(kBatch * nn::kModulationClasses);
};

TEST_F(CpuModulationTest, RunsTheNetworkAsTrained) {
  const auto accelerator =
      CreateAccelerator({.format = fpga::NumberFormat::kFloat, .max_batch = kBatch}, network_);
  ASSERT_TRUE(accelerator.ok()) << accelerator.status();
  EXPECT_EQ((*accelerator)->shape().inputs, 256u);
  EXPECT_EQ((*accelerator)->shape().outputs, 10u);
  EXPECT_EQ((*accelerator)->description(), "cpu (float, compact)");
  ASSERT_TRUE((*accelerator)->Infer(bursts_, kBatch, logits_).ok());
  std::vector<float> expected(logits_.size());
  nn::ModulationInference(network_).Run(bursts_, kBatch, expected);
  // Sums of at most 512 products in each of five layers, each rounded by 6e-8, in the worst case all one way.
  for (std::size_t i = 0; i < logits_.size(); ++i) {
    EXPECT_NEAR(logits_[i], expected[i], 1.5e-4f * network_.activation_range.back());
  }
}

TEST_F(CpuModulationTest, GivesTheNumbersOfTheBlockInInt8) {
  const auto accelerator =
      CreateAccelerator({.format = fpga::NumberFormat::kInt8, .max_batch = kBatch}, network_);
  ASSERT_TRUE(accelerator.ok()) << accelerator.status();
  EXPECT_EQ((*accelerator)->description(), "cpu (int8, compact)");
  ASSERT_TRUE((*accelerator)->Infer(bursts_, kBatch, logits_).ok());
  const auto words = fpga::MakeInt8Modulation(fpga::ImportModulation(network_));
  ASSERT_TRUE(words.ok()) << words.status();
  std::vector<float> expected(nn::kModulationClasses);
  for (std::size_t i = 0; i < kBatch; ++i) {
    constexpr std::size_t kInputs = nn::kModulationInput.size();
    fpga::InferInt8(*words, std::span(bursts_).subspan(i * kInputs, kInputs), expected);
    EXPECT_TRUE(std::ranges::equal(
        expected, std::span(logits_).subspan(i * nn::kModulationClasses, nn::kModulationClasses)));
  }
}

TEST_F(CpuModulationTest, GivesNoLogitsForABurstThatIsNotFinite) {
  bursts_[5] = std::numeric_limits<float>::quiet_NaN();
  for (const fpga::NumberFormat format : {fpga::NumberFormat::kFloat, fpga::NumberFormat::kInt8}) {
    const auto accelerator = CreateCpuModulation(network_, format, kBatch);
    ASSERT_TRUE(accelerator.ok()) << accelerator.status();
    ASSERT_TRUE((*accelerator)->Infer(bursts_, kBatch, logits_).ok());
    for (std::size_t k = 0; k < nn::kModulationClasses; ++k) {
      EXPECT_TRUE(std::isnan(logits_[k]));
      EXPECT_TRUE(std::isfinite(logits_[nn::kModulationClasses + k]));
    }
  }
}

TEST_F(CpuModulationTest, RefusesFormatsAndBoardsThatItDoesNotHave) {
  EXPECT_EQ(CreateAccelerator({.format = fpga::NumberFormat::kInt16}, network_).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CreateAccelerator({.format = fpga::NumberFormat::kFloat, .xrt = XrtOptions{}}, network_)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tributary::accelerator
