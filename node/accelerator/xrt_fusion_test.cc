// The xrt fusion on the software device.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "fpga/device/xclbin/xclbin_writer.h"
#include "node/accelerator/create.h"
#include "node/accelerator/fusion_accelerator.h"
#include "tests/support/own_folder.h"

namespace tributary::accelerator {
namespace {

constexpr std::size_t kPanels = 4;
constexpr std::size_t kSubjects = 50;

class XrtFusionTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("XILINX_XRT", TRIBUTARY_XRT_ROOT, 1);
    ::unsetenv("TRIBUTARY_DEVICE_FAULTS");
    options_.xclbin = OwnFolder() + "xrt_fusion_test.xclbin";
    std::ofstream(options_.xclbin, std::ios::binary)
        << device::WriteXclbin({.kernels = {{"fusion_kernel", 2}}}).value();
    options_.frames_per_run = 4;
    options_.reopen_interval = std::chrono::milliseconds(0);
  }

  static void Inject(const char* faults) { ::setenv("TRIBUTARY_DEVICE_FAULTS", faults, 1); }

  // Some panels have no tuple of a subject, some subjects none at all.
  static std::vector<float> Tuples() {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> position(-5, 5), deviation(0.01f, 2);
    std::vector<float> values;
    for (std::size_t i = 0; i < kSubjects * kPanels; ++i) {
      const float l11 = random() % 4 == 0 ? std::numeric_limits<float>::quiet_NaN() : deviation(random);
      values.insert(values.end(),
                    {position(random), position(random), l11, position(random) / 8, deviation(random)});
    }
    return values;
  }

  static void ExpectAsOnCpu(const std::vector<float>& tuples, const std::vector<float>& fused) {
    auto cpu = CreateCpuFusion(kPanels, kSubjects);
    std::vector<float> expected(fused.size());
    ASSERT_TRUE((*cpu)->Infer(tuples, kSubjects, expected).ok());
    EXPECT_EQ(std::memcmp(fused.data(), expected.data(), fused.size() * sizeof(float)), 0);
  }

  XrtOptions options_;
  const std::vector<float> tuples_ = Tuples();
  std::vector<float> fused_ = std::vector<float>(kSubjects * FusionAccelerator::kValues);
};

TEST_F(XrtFusionTest, MatchesTheProcessorBitForBitForEveryNumberOfTuples) {
  for (const std::size_t units : {1, 2}) {
    options_.compute_units = units;
    auto xrt = CreateXrtFusion(kPanels, kSubjects, options_);
    ASSERT_TRUE(xrt.ok()) << xrt.status();
    const absl::Status status = (*xrt)->Infer(tuples_, kSubjects, fused_);
    ASSERT_TRUE(status.ok()) << status;
    ExpectAsOnCpu(tuples_, fused_);
  }
}

TEST_F(XrtFusionTest, AHungBoardFailsTheBatchAndFusesTheNext) {
  Inject("hang=3");
  options_.run_timeout = std::chrono::milliseconds(300);
  auto xrt = CreateXrtFusion(kPanels, kSubjects, options_);
  ASSERT_TRUE(xrt.ok()) << xrt.status();
  EXPECT_TRUE(absl::IsDeadlineExceeded((*xrt)->Infer(tuples_, kSubjects, fused_)));
  ::unsetenv("TRIBUTARY_DEVICE_FAULTS");
  ASSERT_TRUE((*xrt)->Infer(tuples_, kSubjects, fused_).ok());
  ExpectAsOnCpu(tuples_, fused_);
  EXPECT_EQ((*xrt)->counters().reopened, 1u);
}

TEST_F(XrtFusionTest, TheProcessorTakesOverWithTheSameNumbersWhereAllowed) {
  Inject("read_error=2");
  options_.fall_back_to_cpu = true;
  auto fusion = CreateXrtFusion(kPanels, kSubjects, options_);
  ASSERT_TRUE(fusion.ok()) << fusion.status();
  ASSERT_TRUE((*fusion)->Infer(tuples_, kSubjects, fused_).ok());
  ExpectAsOnCpu(tuples_, fused_);
  EXPECT_EQ((*fusion)->counters().fallbacks, 1u);
}

}  // namespace
}  // namespace tributary::accelerator
