// The xrt beacon on the software device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "fpga/device/xclbin/xclbin_writer.h"
#include "node/accelerator/create.h"
#include "tests/support/own_folder.h"

namespace tributary::accelerator {
namespace {

using Weights = BeaconAccelerator::Weights;

constexpr std::size_t kTags = 37;

class XrtBeaconTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("XILINX_XRT", TRIBUTARY_XRT_ROOT, 1);
    ::unsetenv("TRIBUTARY_DEVICE_FAULTS");
    options_.xclbin = OwnFolder() + "xrt_beacon_test.xclbin";
    std::ofstream(options_.xclbin, std::ios::binary)
        << device::WriteXclbin({.kernels = {{std::string(kXrtBeaconKernel), 2}}}).value();
    options_.frames_per_run = 8;
    options_.reopen_interval = std::chrono::milliseconds(0);
    network_.parameters = RandomWeights(2.0);
    network_.input_offset_m = {4, 5, 6};
    network_.input_gain_per_m = {0.25, 0.2, 0.3};
    network_.output_centre_m = {1, -1};
    network_.output_scale_m = 3;
    std::uniform_real_distribution<float> range_m(0.0f, 10.0f);
    for (float& range : ranges_) range = range_m(random_);
    ranges_[5 * 3 + 1] = std::numeric_limits<float>::quiet_NaN();
  }

  static void Inject(const char* faults) { ::setenv("TRIBUTARY_DEVICE_FAULTS", faults, 1); }

  Weights RandomWeights(double largest) {
    std::uniform_real_distribution<double> weight(-largest, largest);
    Weights weights;
    for (double& each : weights) each = weight(random_);
    return weights;
  }

  std::unique_ptr<BeaconAccelerator> Board() const {
    auto board = CreateAccelerator(
        {.format = fpga::NumberFormat::kInt16, .max_batch = kTags, .xrt = options_}, network_);
    EXPECT_TRUE(board.ok()) << board.status();
    return *std::move(board);
  }

  void ExpectAsOnCpu(BeaconAccelerator& board, const Weights& weights) const {
    nn::BeaconNetwork network = network_;
    network.parameters = weights;
    const auto cpu = CreateCpuBeacon(network, fpga::NumberFormat::kInt16, kTags);
    ASSERT_TRUE(cpu.ok()) << cpu.status();
    std::vector<float> expected(2 * kTags), outputs(2 * kTags);
    ASSERT_TRUE((*cpu)->Infer(ranges_, kTags, expected).ok());
    const absl::Status status = board.Infer(ranges_, kTags, outputs);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(std::memcmp(outputs.data(), expected.data(), outputs.size() * sizeof(float)), 0);
    EXPECT_TRUE(std::isnan(outputs[5 * 2]));
    EXPECT_TRUE(std::isfinite(outputs[6 * 2]));
    const auto read = board.weights();
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, (*cpu)->weights().value());
  }

  XrtOptions options_;
  nn::BeaconNetwork network_;
  std::mt19937 random_{21};
  std::vector<float> ranges_ = std::vector<float>(3 * kTags);
};

TEST_F(XrtBeaconTest, MatchesTheProcessorBitForBit) {
  for (const std::size_t units : {1, 2}) {
    options_.compute_units = units;
    ExpectAsOnCpu(*Board(), network_.parameters);
  }
}

TEST_F(XrtBeaconTest, WeightsAreReplacedBetweenBatchesOnEveryUnit) {
  options_.compute_units = 2;
  const auto board = Board();
  ExpectAsOnCpu(*board, network_.parameters);
  for (const double largest : {1.0, 20.0, 200.0}) {
    const Weights weights = RandomWeights(largest);
    const absl::Status status = board->SetWeights(weights);
    ASSERT_TRUE(status.ok()) << status;
    ExpectAsOnCpu(*board, weights);
  }
}

TEST_F(XrtBeaconTest, AWeightThatIsNotFiniteLeavesTheOldOnes) {
  const auto board = Board();
  Weights weights = network_.parameters;
  weights[61] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(board->SetWeights(weights).code(), absl::StatusCode::kInvalidArgument);
  ExpectAsOnCpu(*board, network_.parameters);
}

// Run 1 loads at the start, run 2 is the first batch; run 3, of the second load, fails.
TEST_F(XrtBeaconTest, ABoardThatFailsWhileItLoadsIsOpenedAgainWithTheNewWeights) {
  options_.frames_per_run = kTags;
  Inject("read_error=3");
  const auto board = Board();
  std::vector<float> outputs(2 * kTags);
  ASSERT_TRUE(board->Infer(ranges_, kTags, outputs).ok());
  const Weights weights = RandomWeights(1.5);
  EXPECT_FALSE(board->SetWeights(weights).ok());
  ::unsetenv("TRIBUTARY_DEVICE_FAULTS");
  ExpectAsOnCpu(*board, weights);
  EXPECT_EQ(board->counters().reopened, 1u);
}

TEST_F(XrtBeaconTest, TheProcessorTakesOverWithTheNewWeights) {
  options_.frames_per_run = kTags;
  options_.fall_back_to_cpu = true;
  options_.reopen_interval = std::chrono::hours(1);
  Inject("read_error=3");
  const auto board = Board();
  std::vector<float> outputs(2 * kTags);
  ASSERT_TRUE(board->Infer(ranges_, kTags, outputs).ok());
  const Weights weights = RandomWeights(1.5);
  EXPECT_TRUE(board->SetWeights(weights).ok());
  ExpectAsOnCpu(*board, weights);
  EXPECT_EQ(board->counters().fallbacks, 1u);
}

TEST_F(XrtBeaconTest, RunsInInt16Only) {
  for (const fpga::NumberFormat format : fpga::kNumberFormats) {
    const AcceleratorConfig config{.format = format, .max_batch = kTags, .xrt = options_};
    EXPECT_EQ(CheckAccelerator(config, network_).ok(), format == fpga::NumberFormat::kInt16);
  }
}

TEST_F(XrtBeaconTest, AnXclbinWithoutItsKernelIsRefusedBeforeTheStart) {
  std::ofstream(options_.xclbin, std::ios::binary)
      << device::WriteXclbin({.kernels = {{"fusion_kernel", 1}}}).value();
  const AcceleratorConfig config{.format = fpga::NumberFormat::kInt16, .max_batch = kTags, .xrt = options_};
  const absl::Status status = CheckAccelerator(config, network_);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("no compute unit of beacon_kernel"));
}

}  // namespace
}  // namespace tributary::accelerator
