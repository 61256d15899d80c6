// The xrt modulation on the software device.
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
#include <string>
#include <vector>

#include "core/nn/modulation/modulation_fixture.h"
#include "fpga/device/xclbin/xclbin_writer.h"
#include "fpga/model/modulation_image.h"
#include "node/accelerator/create.h"
#include "tests/support/own_folder.h"

namespace tributary::accelerator {
namespace {

constexpr std::size_t kBursts = 21;
constexpr std::size_t kBurstSize = nn::kModulationInput.size();
constexpr std::size_t kClasses = nn::kModulationClasses;

class XrtModulationTest : public testing::TestWithParam<fpga::ModulationKernel> {
 protected:
  void SetUp() override {
    ::setenv("XILINX_XRT", TRIBUTARY_XRT_ROOT, 1);
    ::unsetenv("TRIBUTARY_DEVICE_FAULTS");
    options_.xclbin = OwnFolder() + "xrt_modulation_test.xclbin";
    std::ofstream(options_.xclbin, std::ios::binary)
        << device::WriteXclbin({.kernels = {{std::string(GetParam().name), 2}}}).value();
    options_.frames_per_run = 4;
    options_.reopen_interval = std::chrono::milliseconds(0);
    std::vector<std::uint8_t> classes(kBursts);
    nn::DrawTones(3, bursts_, classes);
    bursts_[5 * kBurstSize + 200] = std::numeric_limits<float>::quiet_NaN();
  }

  static void Inject(const char* faults) { ::setenv("TRIBUTARY_DEVICE_FAULTS", faults, 1); }

  void ExpectAsOnCpu(const nn::ModulationNetwork& network) const {
    auto cpu = CreateCpuModulation(network, fpga::NumberFormat::kInt8, kBursts);
    ASSERT_TRUE(cpu.ok()) << cpu.status();
    std::vector<float> expected(logits_.size());
    ASSERT_TRUE((*cpu)->Infer(bursts_, kBursts, expected).ok());
    EXPECT_EQ(std::memcmp(logits_.data(), expected.data(), logits_.size() * sizeof(float)), 0);
    EXPECT_TRUE(std::isnan(logits_[5 * kClasses]));
    EXPECT_TRUE(std::isfinite(logits_[6 * kClasses]));
  }

  XrtOptions options_;
  std::vector<float> bursts_ = std::vector<float>(kBursts * kBurstSize);
  std::vector<float> logits_ = std::vector<float>(kBursts * kClasses);
};

INSTANTIATE_TEST_SUITE_P(Kernels, XrtModulationTest, testing::ValuesIn(fpga::kModulationKernels),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST_P(XrtModulationTest, MatchesTheProcessorBitForBitForEveryArchitecture) {
  for (const nn::ModulationArchitecture& architecture : nn::ModulationArchitectures()) {
    const nn::ModulationNetwork network = nn::RandomModulationNetwork(architecture);
    for (const std::size_t units : {1, 2}) {
      options_.compute_units = units;
      const AcceleratorConfig config{
          .format = fpga::NumberFormat::kInt8, .max_batch = kBursts, .xrt = options_};
      auto xrt = CreateAccelerator(config, network);
      ASSERT_TRUE(xrt.ok()) << xrt.status();
      const absl::Status status = (*xrt)->Infer(bursts_, kBursts, logits_);
      ASSERT_TRUE(status.ok()) << status;
      ExpectAsOnCpu(network);
    }
  }
}

TEST_P(XrtModulationTest, TheProcessorTakesOverWithTheSameNumbersWhereAllowed) {
  Inject("read_error=2");
  options_.fall_back_to_cpu = true;
  const nn::ModulationNetwork network = nn::RandomModulationNetwork(nn::ModulationArchitectures().front());
  auto modulation = CreateXrtModulation(network, kBursts, options_);
  ASSERT_TRUE(modulation.ok()) << modulation.status();
  ASSERT_TRUE((*modulation)->Infer(bursts_, kBursts, logits_).ok());
  ExpectAsOnCpu(network);
  EXPECT_EQ((*modulation)->counters().fallbacks, 1u);
}

TEST_P(XrtModulationTest, RunsInInt8Only) {
  const nn::ModulationNetwork network = nn::RandomModulationNetwork(nn::ModulationArchitectures().front());
  for (const fpga::NumberFormat format : fpga::kNumberFormats) {
    const AcceleratorConfig config{.format = format, .max_batch = kBursts, .xrt = options_};
    EXPECT_EQ(CheckAccelerator(config, network).ok(), format == fpga::NumberFormat::kInt8);
  }
}

TEST(XrtModulationKernelTest, AnXclbinWithoutItsKernelsIsRefusedBeforeTheStart) {
  XrtOptions options;
  options.xclbin = OwnFolder() + "no_modulation.xclbin";
  std::ofstream(options.xclbin, std::ios::binary)
      << device::WriteXclbin({.kernels = {{"fusion_kernel", 1}}}).value();
  const AcceleratorConfig config{.format = fpga::NumberFormat::kInt8, .max_batch = kBursts, .xrt = options};
  const absl::Status status =
      CheckAccelerator(config, nn::RandomModulationNetwork(nn::ModulationArchitectures().front()));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              testing::HasSubstr("no compute unit of modulation_kernel or modulation_kernel_8"));
}

}  // namespace
}  // namespace tributary::accelerator
