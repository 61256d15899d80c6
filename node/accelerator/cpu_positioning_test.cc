#include <cmath>
#include <limits>

#include "core/nn/positioning/positioning_inference.h"
#include "fpga/model/positioning_model.h"
#include "fpga/model/random_network_fixture.h"
#include "gtest/gtest.h"
#include "hwy/targets.h"
#include "node/accelerator/create.h"

namespace tributary::accelerator {
namespace {

constexpr std::size_t kInputs = fpga::FixedPositioning::kInputs;
constexpr std::size_t kOutputs = fpga::FixedPositioning::kOutputs;
constexpr std::size_t kMaxBatch = 17;

// Every instruction set that this processor has and this build contains.
class CpuPositioningTest : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }

  std::unique_ptr<Accelerator> Make(const nn::PositioningNetwork& network, fpga::NumberFormat format) {
    auto accelerator = CreateCpuPositioning(network, format, kMaxBatch);
    EXPECT_TRUE(accelerator.ok()) << accelerator.status();
    return *std::move(accelerator);
  }

  std::vector<float> Expected(const nn::PositioningNetwork& network, fpga::NumberFormat format,
                              std::span<const float> features) {
    const auto model = fpga::MakeFixedPositioning(network, format);
    std::vector<float> outputs(features.size() / kInputs * kOutputs);
    for (std::size_t i = 0; i * kInputs < features.size(); ++i) {
      fpga::InferPositioning(*model, features.subspan(i * kInputs, kInputs),
                             std::span(outputs).subspan(i * kOutputs, kOutputs));
    }
    return outputs;
  }
};

INSTANTIATE_TEST_SUITE_P(Targets, CpuPositioningTest, testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& instance) { return std::string(hwy::TargetName(instance.param)); });

TEST_P(CpuPositioningTest, FixedPointEqualsTheModelBitForBit) {
  for (const fpga::NumberFormat format : {fpga::NumberFormat::kInt32, fpga::NumberFormat::kInt16,
                                          fpga::NumberFormat::kInt8, fpga::NumberFormat::kInt8Int16}) {
    for (const std::uint64_t seed : {1, 2}) {
      const nn::PositioningNetwork network = fpga::RandomPositioningNetwork(seed);
      const auto accelerator = Make(network, format);
      for (const std::size_t batch : {1, 7, 16, 17}) {
        const std::vector<float> features = fpga::RandomFeatures(seed + batch, batch);
        std::vector<float> outputs(batch * kOutputs);
        ASSERT_TRUE(accelerator->Infer(features, batch, outputs).ok());
        ASSERT_EQ(outputs, Expected(network, format, features))
            << accelerator->description() << " batch " << batch;
      }
    }
  }
}

TEST_P(CpuPositioningTest, FixedPointEqualsTheModelWhereEverythingSaturates) {
  for (const fpga::NumberFormat format :
       {fpga::NumberFormat::kInt16, fpga::NumberFormat::kInt8, fpga::NumberFormat::kInt8Int16}) {
    nn::PositioningNetwork network = fpga::RandomPositioningNetwork(4);
    for (float& w : network.weights[0]) w = w > 0.0f ? 1.0f : -1.0f;
    for (float& range : network.activation_range) range *= 0.01f;
    const auto accelerator = Make(network, format);
    std::vector<float> features = fpga::RandomFeatures(4, 16);
    for (float& f : features) f *= 1e6f;
    std::vector<float> outputs(16 * kOutputs);
    ASSERT_TRUE(accelerator->Infer(features, 16, outputs).ok());
    EXPECT_EQ(outputs, Expected(network, format, features)) << accelerator->description();
  }
}

TEST_P(CpuPositioningTest, FloatAgreesUpToRounding) {
  const nn::PositioningNetwork network = fpga::RandomPositioningNetwork(1);
  const auto accelerator = Make(network, fpga::NumberFormat::kFloat);
  const std::vector<float> features = fpga::RandomFeatures(1, kMaxBatch);
  std::vector<float> expected(kMaxBatch * kOutputs);
  nn::PositioningInference(network, kMaxBatch).Run(features, kMaxBatch, expected);
  std::vector<float> outputs(kMaxBatch * kOutputs);
  ASSERT_TRUE(accelerator->Infer(features, kMaxBatch, outputs).ok());
  // 1024 + 200 + 100 + 20 roundings of 6e-8, in the worst case all one way.
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_NEAR(outputs[i], expected[i], 1e-4f * network.activation_range[5]);
  }
}

TEST_P(CpuPositioningTest, OnlyTheSubjectWithABadFeatureIsLost) {
  for (const fpga::NumberFormat format : fpga::kNumberFormats) {
    const auto accelerator = Make(fpga::RandomPositioningNetwork(1), format);
    for (const std::size_t place : {std::size_t{0}, std::size_t{512}, std::size_t{777}}) {
      std::vector<float> features = fpga::RandomFeatures(1, 3);
      features[kInputs + place] = std::numeric_limits<float>::quiet_NaN();
      std::vector<float> outputs(3 * kOutputs);
      ASSERT_TRUE(accelerator->Infer(features, 3, outputs).ok());
      for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(std::isnan(outputs[i]), i / kOutputs == 1);
    }
  }
}

TEST_P(CpuPositioningTest, RefusesWrongSizes) {
  const auto accelerator = Make(fpga::RandomPositioningNetwork(1), fpga::NumberFormat::kInt8Int16);
  std::vector<float> features((kMaxBatch + 1) * kInputs);
  std::vector<float> outputs((kMaxBatch + 1) * kOutputs);
  const auto code = [&](std::size_t inputs, std::size_t batch, std::size_t results) {
    return accelerator->Infer(std::span(features).first(inputs), batch, std::span(outputs).first(results))
        .code();
  };
  EXPECT_EQ(code(kInputs, 1, kOutputs), absl::StatusCode::kOk);
  EXPECT_EQ(code(kInputs - 1, 1, kOutputs), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(kInputs, 1, kOutputs + 1), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(features.size(), kMaxBatch + 1, outputs.size()), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tributary::accelerator
