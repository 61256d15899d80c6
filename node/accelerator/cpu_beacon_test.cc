#include <cmath>
#include <limits>
#include <vector>

#include "fpga/model/beacon_model.h"
#include "gtest/gtest.h"
#include "node/accelerator/create.h"

namespace tributary::accelerator {
namespace {

nn::BeaconNetwork Network() {
  nn::BeaconNetwork network;
  for (std::size_t i = 0; i < network.parameters.size(); ++i) {
    network.parameters[i] = 0.3 * std::sin(static_cast<double>(i));
  }
  network.input_offset_m = {4, 4, 4};
  network.input_gain_per_m = {0.25, 0.25, 0.25};
  network.output_centre_m = {1, -1};
  network.output_scale_m = 4;
  return network;
}

TEST(CpuBeaconTest, EqualsTheBoardsModel) {
  const auto accelerator = CreateCpuBeacon(Network(), fpga::NumberFormat::kInt16, 4);
  ASSERT_TRUE(accelerator.ok());
  const std::vector<float> features = {1, 2, 3, 7.5f, 0.5f, 20};
  std::vector<float> outputs(4);
  ASSERT_TRUE((*accelerator)->Infer(features, 2, outputs).ok());
  for (std::size_t i = 0; i < 2; ++i) {
    const nn::BeaconInputs ranges = {features[3 * i], features[3 * i + 1], features[3 * i + 2]};
    const nn::BeaconOutputs expected =
        nn::PositionOf(Network(), fpga::BeaconModel(Network()).Infer(nn::NormaliseRanges(Network(), ranges)));
    EXPECT_EQ(outputs[2 * i], static_cast<float>(expected[0]));
    EXPECT_EQ(outputs[2 * i + 1], static_cast<float>(expected[1]));
  }
}

TEST(CpuBeaconTest, ReplacedWeightsAreThoseOfTheNextBatch) {
  nn::BeaconNetwork other = Network();
  for (double& parameter : other.parameters) parameter *= -0.7;
  for (const fpga::NumberFormat format : {fpga::NumberFormat::kInt16, fpga::NumberFormat::kFloat}) {
    const auto accelerator = CreateCpuBeacon(Network(), format, 1);
    const auto expected = CreateCpuBeacon(other, format, 1);
    ASSERT_TRUE(accelerator.ok() && expected.ok());
    ASSERT_TRUE((*accelerator)->SetWeights(other.parameters).ok());
    const std::vector<float> ranges = {1, 2, 3};
    std::vector<float> outputs(2), outputs_expected(2);
    ASSERT_TRUE((*accelerator)->Infer(ranges, 1, outputs).ok());
    ASSERT_TRUE((*expected)->Infer(ranges, 1, outputs_expected).ok());
    EXPECT_EQ(outputs, outputs_expected);
    EXPECT_EQ((*accelerator)->weights().value(), (*expected)->weights().value());
    BeaconAccelerator::Weights weights = Network().parameters;
    weights[0] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ((*accelerator)->SetWeights(weights).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ((*accelerator)->weights().value(), (*expected)->weights().value());
  }
}

TEST(CpuBeaconTest, RangeThatIsNotFiniteGivesNaN) {
  const auto accelerator = CreateCpuBeacon(Network(), fpga::NumberFormat::kFloat, 4);
  std::vector<float> outputs(4);
  const std::vector<float> features = {1, std::numeric_limits<float>::quiet_NaN(), 3, 1, 2, 3};
  ASSERT_TRUE((*accelerator)->Infer(features, 2, outputs).ok());
  EXPECT_TRUE(std::isnan(outputs[0]) && std::isnan(outputs[1]));
  EXPECT_TRUE(std::isfinite(outputs[2]) && std::isfinite(outputs[3]));
}

TEST(CpuBeaconTest, RefusesFormatsAndSizesThatDoNotExist) {
  EXPECT_EQ(CreateCpuBeacon(Network(), fpga::NumberFormat::kInt8, 4).status().code(),
            absl::StatusCode::kInvalidArgument);
  const auto accelerator = CreateCpuBeacon(Network(), fpga::NumberFormat::kFloat, 1);
  std::vector<float> outputs(4);
  EXPECT_EQ((*accelerator)->Infer(std::vector<float>(6), 2, outputs).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tributary::accelerator
